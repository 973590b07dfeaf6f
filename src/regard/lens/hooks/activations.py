"""The activations of one run: what each head asked, held, brought and gave, kept for another run to take from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from regard.attention import attend
from regard.attention.inputs import ScoreOptions
from regard.attention.masks import cut
from regard.errors import InputError
from regard.lens.hooks.attention_inputs import AttentionInputs

OF_KEYS = ("key", "value")  # parts whose positions are those of keys, not of rows
PARTS = ("output", "query", *OF_KEYS, "weights")


@dataclass(frozen=True)
class SiteActivations:
    """One attention layer: rows and keys of whole texts, from position 0."""

    query: Tensor  # (B, H, Q, D)
    key: Tensor  # (B, J, K, D)
    value: Tensor  # (B, J, K, V)
    output: Tensor  # (B, H, Q, V)
    options: ScoreOptions

    @classmethod
    def of(cls, inputs: AttentionInputs, output: Tensor) -> SiteActivations:
        """Copies, since what the model has may be written over; of a mask or bias that it shares there is one."""
        query, key, value, output = (
            tensor.detach().clone() for tensor in (inputs.query, inputs.key, inputs.value, output)
        )
        options: Any = {
            name: option.detach() if isinstance(option, Tensor) else option
            for name, option in inputs.options.items()
            if name in ScoreOptions.__annotations__
        }
        return cls(query, key, value, output, options)

    @property
    def rows(self) -> int:
        return self.query.shape[-2]

    @property
    def keys(self) -> int:
        return self.key.shape[-2]

    def positions(self, part: str) -> int:
        """How many this part has."""
        return self.keys if part in OF_KEYS else self.rows

    @torch.no_grad()
    def weights(self, row: int | None = None) -> Tensor:
        """The weights (B, H, rows, K) of one row or of all, made again from queries and keys, before any dropout."""
        rows = slice(0, self.rows) if row is None else slice(row, row + 1)
        options, offset = self.options.copy(), self.options.get("offset")
        mask, bias = options.get("mask"), options.get("bias")
        if mask is not None and mask.ndim > 1:
            options["mask"] = cut(mask, rows, slice(None))
        if bias is not None and bias.ndim > 1:
            options["bias"] = cut(bias, rows, slice(None))
        options["offset"] = (self.keys - self.rows if offset is None else offset) + rows.start
        _, steps = attend(self.query[..., rows, :], self.key, self.value, **options, see="steps")
        return steps.weights


@dataclass
class Activations:
    """What every site computed in one run; nothing of size rows x keys is kept or, unless weights are asked, made."""

    sites: dict[str, SiteActivations] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Activations({', '.join(self.sites)})"

    def site(self, site: str) -> SiteActivations:
        if site not in self.sites:
            raise InputError(
                f"the source run has no attention at {site}", found=f"its sites: {', '.join(self.sites) or 'none'}",
                do="with activations(model) as run: call the whole model once within the block",
            )  # fmt: skip
        return self.sites[site]


def per_query_head(tensor: Tensor, heads: int) -> Tensor:
    """A key or value (B, J, K, D) as each of the query heads sees it; as it is where they are as many."""
    served = tensor.shape[-3]
    return tensor if served == heads else tensor.repeat_interleave(heads // served, -3)
