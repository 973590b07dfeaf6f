"""One attention call of somebody's model, in the words of `attend`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from regard.attention import attend
from regard.attention.inputs import ScoreOptions
from regard.errors import ShapeError
from regard.lens.hooks.compact import compact
from regard.lens.hooks.lazy_mask import LazyMask, Order
from regard.lens.hooks.mask_functions import Pattern

Compute = Callable[..., Tensor]  # (query, key, value, dropout=..., **options) -> output (B, H, Q, V)


@dataclass(frozen=True)
class Call:
    """What was asked: tensors (batch, heads, length, dim), key heads not expanded."""

    query: Tensor
    key: Tensor
    value: Tensor
    options: ScoreOptions
    implementation: str
    dropout: float = 0.0
    first_key: int = 0  # the position of key 0 in the text
    compute: Compute = attend

    def cut(self, keys: int) -> Call:
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


def with_mask(call: Call, mask: Tensor | None, causal: bool) -> Call:
    """The call with what may be seen: a mask that knows its order, one that is drawn, or none.

    Without a mask `causal` counts from the upper left, as SDPA does and as a cache that is longer than the text needs.
    """
    if isinstance(mask, LazyMask):
        beside = call.key.shape[-2] > 1 and mask.order.says_nothing
        return call if beside else ordered(call, mask.order)
    options = call.options.copy()
    if mask is not None:
        options["mask"] = compact(mask[..., : call.key.shape[-2]] if mask.shape[-1] > 1 else mask)
        return replace(call, options=options)
    queries = call.query.shape[-2]
    if not causal or queries == 1:
        return call
    options.update({"causal": True, "offset": 0})
    return replace(call, options=options).cut(queries)


def ordered(call: Call, order: Order) -> Call:
    """The call with the mask that was ordered, said as causal, window, offset and padding where these can say it."""
    check_lengths(call, order)
    options, pattern, end = call.options.copy(), order.pattern(), order.offset + order.queries
    if pattern != Pattern(paddings=pattern.paddings):  # of what looks both ways, or at another text, it says nothing
        options["offset"] = order.offset
    if pattern.strange:
        options["mask"] = drawn = order.drawn()
        tail = bool(drawn[..., max(end, 0) :].any())
    else:
        options["mask"] = order.padded()
        options["causal"] = pattern.right == 0
        if pattern.left is not None or pattern.right:
            options["window"] = (pattern.left, pattern.right)
        tail = pattern.right != 0
    call = replace(call, options=options, first_key=order.key_offset)
    return call if tail else call.cut(end)


def check_lengths(call: Call, order: Order) -> None:
    queries, keys = call.query.shape[-2], call.key.shape[-2]
    if queries != order.queries or keys != order.keys:
        raise ShapeError(
            "the model uses its mask for other lengths than it was made for",
            found=f"{queries} queries x {keys} keys, a mask of {order.queries} x {order.keys}",
            do="this model's attention cannot be held; please report its name",
        )


def same_batch(query: Tensor, tensor: Tensor) -> Tensor:
    """A key or value that serves the whole batch, seen as often as needed and stored once."""
    if tensor.shape[0] == 1 and query.shape[0] > 1:
        return tensor.expand(query.shape[0], *tensor.shape[1:])
    return tensor


def unchanged(call: Call, query: Tensor, key: Tensor, value: Tensor, options: dict[str, Any]) -> bool:
    """Are these still the call's own arguments?"""
    same = query is call.query and key is call.key and value is call.value
    given: dict[str, Any] = {**call.options, "dropout": call.dropout}
    return same and all(options.get(name) is given.get(name) for name in {*options, *given})
