"""One attention call on its way to be changed, and where its rows and keys stand in their texts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from regard.attention.inputs import ScoreOptions
from regard.attention.torch_names import COMPILED
from regard.errors import InputError
from regard.lens.recording.forward import CROSS


@dataclass(frozen=True)
class AttentionInputs:
    """What attention is asked: `first` is the position of query 0 in its text, None where nobody knows."""

    site: str
    query: Tensor  # (B, H, Q, D)
    key: Tensor  # (B, J, K, D)
    value: Tensor  # (B, J, K, V)
    options: ScoreOptions
    first: int | None = 0
    first_key: int = 0  # the position of key 0: a cache may have forgotten those before it

    @property
    def heads(self) -> int:
        return self.query.shape[-3]

    @property
    def keys(self) -> int:
        return self.key.shape[-2]

    @property
    def queries(self) -> int:
        """How many rows it computes."""
        return self.query.shape[-2]

    def start(self, row: str) -> int:
        """The position of the first row, which is asked for because of this one."""
        if self.first is None:
            raise InputError(
                f"which rows {self.site} computes cannot be known here",
                found=f"{row}, and a call of {self.queries} rows",
                do="change all rows (row None), or run the model on the whole text at once",
            )
        return self.first

    def rows(self, position: int | None) -> slice | None:
        """The query that stands at that position; all for None; None if it is not among these."""
        if position is None:
            return slice(None)
        row = position - self.start(f"row {position}")
        return slice(row, row + 1) if 0 <= row < self.queries else None


class RowPositions:
    """Follows the attentions of a model, and knows for each at which position of its text the first query stands."""

    def __init__(self, model: nn.Module) -> None:
        self.crossing: Collection[str] = cross_sites(model)
        self.position: int | None = None  # of the first row that the decoder computes now
        self.stepped = False  # row by row, as a text is generated: it may end before a row that was meant

    def inputs(self, site: str, query: Tensor, key: Tensor, value: Tensor, options: dict[str, Any]) -> AttentionInputs:
        """The call, as a change takes it."""
        first, first_key = self.first(site, query, key, options), options.get("first_key", 0)
        return AttentionInputs(site, query, key, value, options, first, first_key)  # type: ignore[arg-type]

    def first(self, site: str, query: Tensor, key: Tensor, options: dict[str, Any]) -> int | None:
        """The position of the first query. Looking at another text says nothing of it, but the layer before did."""
        if site in self.crossing or any(sign in site.lower() for sign in CROSS):
            return self.position
        offset = options.get("offset")
        if offset is None and other_text(query, key, options):
            return self.position or 0
        offset = key.shape[-2] - query.shape[-2] if offset is None else offset
        self.position = offset + options.get("first_key", 0)
        self.stepped |= query.shape[-2] == 1
        return self.position


def cross_sites(model: nn.Module) -> set[str]:
    """The sites of PyTorch's own decoder that look at another text, which their name does not say."""
    layers = (name for name, part in model.named_modules() if isinstance(part, nn.TransformerDecoderLayer))
    return {f"{name.replace(COMPILED, '')}.multihead_attn".removeprefix(".") for name in layers}


def other_text(query: Tensor, key: Tensor, options: dict[str, Any]) -> bool:
    """Several rows that may all look at every key, of which there are more or fewer: not those of their own text."""
    mask = options.get("mask")
    drawn = options.get("causal") or options.get("window") or (mask is not None and mask.shape[-2] > 1)
    return query.shape[-2] > 1 and key.shape[-2] != query.shape[-2] and not drawn
