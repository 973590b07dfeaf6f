"""One attention call of somebody's model, in the words of `attend`, and what computes it in the end."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, nn

from regard.attention import attend
from regard.attention.attend import attend_with_lse
from regard.attention.inputs import ScoreOptions
from regard.lens.recording.score_terms import compact_mask

OUTPUT = re.compile(r"(?i)(^|\.)(o_proj|out_proj|c_proj|wo|out|o|out_lin|to_out(\.0)?|proj|dense)$")
Native = Callable[[], Tensor]  # the model's own attention, arguments and all -> output (B, H, Q, V)


@dataclass(frozen=True)
class AttentionCall:
    """What was asked: tensors (batch, heads, length, dim), key heads not expanded."""

    query: Tensor
    key: Tensor
    value: Tensor
    options: ScoreOptions
    implementation: str
    dropout: float = 0.0
    first_key: int = 0  # the position of key 0 in the text
    native: Native | None = None  # None: by `attend`
    projection: Tensor | None = None  # W_O (model dim, heads x value dim), where it is known

    def cut(self, keys: int) -> AttentionCall:
        """With only so many keys: those of a cache that nobody has written yet are left out."""
        if keys >= self.key.shape[-2]:
            return self
        options = self.options.copy()
        mask, bias = options.get("mask"), options.get("bias")
        if mask is not None and mask.shape[-1] > 1:
            options["mask"] = mask[..., :keys]
        if bias is not None and bias.shape[-1] > 1:
            options["bias"] = bias[..., :keys]
        return replace(self, key=self.key[..., :keys, :], value=self.value[..., :keys, :], options=options)

    def masked(self, mask: Tensor | None, *, causal: bool) -> AttentionCall:
        """With a mask that is drawn, or none.

        Without one `causal` counts from the upper left, as SDPA does and as a cache longer than the text needs.
        """
        options = self.options.copy()
        if mask is not None:
            options["mask"] = compact_mask(mask[..., : self.key.shape[-2]] if mask.shape[-1] > 1 else mask)
            return replace(self, options=options)
        queries = self.query.shape[-2]
        if not causal or queries == 1:
            return self
        options.update({"causal": True, "offset": 0})
        return replace(self, options=options).cut(queries)

    def same_as(self, query: Tensor, key: Tensor, value: Tensor, options: dict[str, Any]) -> bool:
        """Are these still the call's own arguments?"""
        same = query is self.query and key is self.key and value is self.value
        own: dict[str, Any] = {**self.options, "dropout": self.dropout}
        return same and all(options.get(name) is own.get(name) for name in {*options, *own})


class Kernel:
    """What computes an attention, after all hooks: as the model would have, or `attend` once one changed something."""

    def __init__(self, call: AttentionCall | None = None) -> None:
        self.call = call  # as it was computed in the end
        self.lse: Tensor | None = None  # (B, H, Q), if the computation gave it by the way

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        options.pop("first_key", None)
        call = self.call
        if call is not None and call.native is not None and call.same_as(query, key, value, options):
            return call.native()
        if call is not None:
            score = score_options(options)
            self.call = replace(call, query=query, key=key, value=value, options=score, native=None)
        if options.get("see") is not None:
            return attend(query, key, value, **options)  # type: ignore[no-any-return]
        output, self.lse = attend_with_lse(query, key, value, **options)
        return output


def score_options(options: dict[str, Any]) -> ScoreOptions:
    """Those that the score is made of."""
    return {name: options[name] for name in ScoreOptions.__annotations__ if name in options}  # type: ignore[return-value]


def same_batch(query: Tensor, tensor: Tensor) -> Tensor:
    """A key or value that serves the whole batch, seen as often as needed and stored once."""
    if tensor.shape[0] == 1 and query.shape[0] > 1:
        return tensor.expand(query.shape[0], *tensor.shape[1:])
    return tensor


def output_projection(module: nn.Module, width: int, around: nn.Module | None = None) -> Tensor | None:
    """The matrix W_O (model dim, `width`) that the heads' outputs go through after this module's attention.

    By its name and its width, and only if no other is meant by them: in the module itself, else in `around`, the
    attention that the module is a part of, as in BERT. None where that is not sure. What a model does in between, as a
    gate or a norm of the heads' outputs, is not in it.
    """
    candidates = projections(module, width)
    if not candidates and around is not None:
        own = set(module.modules())
        candidates = [part for part in projections(around, width) if part not in own]
    if len(candidates) != 1:
        return None
    (part,) = candidates
    weight: Tensor = part.weight.detach()
    return weight.T if lies_on_its_side(part) else weight


def projections(module: nn.Module, width: int) -> list[Any]:
    """The linear layers inside of it that are named as W_O is and take so many numbers, each once."""
    linear: list[Any] = [
        part
        for name, part in module.named_modules()
        if OUTPUT.search(name) and (isinstance(part, nn.Linear) or lies_on_its_side(part))
    ]
    return [
        part
        for part in linear
        if part.weight.is_floating_point() and part.weight.shape[0 if lies_on_its_side(part) else -1] == width
    ]


def lies_on_its_side(part: nn.Module) -> bool:
    """Is it one of GPT-2's layers, whose matrices are (in, out)?"""
    return type(part).__name__ == "Conv1D"
