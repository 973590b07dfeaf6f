"""A mask that has not been drawn: to transformers a tensor (batch, 1, queries, keys), in memory a few numbers.

Their masks would be 10 GB at 100,000 tokens. Models hand masks on and look at their shape; the few that calculate with
one get a true tensor at that moment, up to a stated size: booleans, or numbers to add where eager attention is used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from regard.attention.torch_names import plain_functions, tree_map, without_storage
from regard.errors import InputError, ShapeError
from regard.lens.hooks.attention_call import AttentionCall
from regard.lens.hooks.transformers_internals import (
    FunctionPattern,
    MaskFunction,
    causal_mask_function,
    draw_mask,
    read_pattern,
    usual,
)

LARGEST = 1 << 26  # cells of a mask worked out one by one: 64 MB


@dataclass(frozen=True)
class MaskOrder:
    """All that transformers says when it asks for a mask."""

    batch: int
    queries: int
    keys: int
    query_offset: int
    key_offset: int
    function: MaskFunction
    padding: Tensor | None = None  # (batch, positions), True = a token
    vmap: bool = False
    device: torch.device | str = "cpu"
    dtype: torch.dtype = torch.bool  # what the model expects to get, when it calculates with its mask

    @property
    def offset(self) -> int:
        """Query i stands at position i + offset among these keys."""
        return self.query_offset - self.key_offset

    @cached_property
    def pattern(self) -> FunctionPattern:
        return read_pattern(self.function, self.key_offset + self.keys)

    @property
    def says_nothing(self) -> bool:
        """Is it about one token, which may look at itself? Some models order that while a cache has more keys."""
        return self.queries == self.keys == 1 and self.offset == 0 and self.padded is None

    @cached_property
    def drawn(self) -> Tensor:
        """The mask, cell by cell, as transformers draws it for SDPA."""
        cells = self.batch * self.queries * self.keys
        if cells > LARGEST:
            raise InputError(
                "this mask has no compact form, and is too large to be worked out cell by cell",
                found=f"{', '.join(self.pattern.strange) or 'a model that calculates with its mask'}, "
                f"{self.batch} x {self.queries:,} x {self.keys:,} cells; at most {LARGEST:,}",
                do="give the model a shorter text, or fewer texts at once",
            )
        return draw_mask(
            batch_size=self.batch, q_length=self.queries, kv_length=self.keys, q_offset=self.query_offset,
            kv_offset=self.key_offset, mask_function=self.function, attention_mask=self.padding,
            use_vmap=self.vmap, device=self.device,
        )  # fmt: skip

    def for_the_model(self) -> Tensor:
        """The mask as this model would have got it without us."""
        mask = self.drawn
        if self.dtype == torch.bool:
            return mask
        hidden = torch.tensor(torch.finfo(self.dtype).min, dtype=self.dtype, device=mask.device)
        return torch.where(mask, torch.zeros_like(hidden), hidden)

    @cached_property
    def padded(self) -> Tensor | None:
        """Which keys are tokens, (batch, 1, 1, keys); None when all are. Looked at once, for all layers."""
        shown: Tensor | None = None
        for padding in (*self.pattern.paddings, *([] if self.padding is None else [self.padding])):
            part = padding[:, self.key_offset : self.key_offset + self.keys].to(device=self.device, dtype=torch.bool)
            part = torch.nn.functional.pad(part, (0, self.keys - part.shape[-1]))  # what is not there yet is no token
            shown = part if shown is None else shown & part
        return None if shown is None or bool(shown.all()) else shown[:, None, None]


class UndrawnError(Exception):
    """Somebody calculates with a mask."""


class LazyMask(Tensor):
    """A tensor without storage that knows its order, and draws itself when someone calculates with it."""

    order: MaskOrder

    @staticmethod
    def __new__(cls, order: MaskOrder) -> LazyMask:
        shape = (order.batch, 1, order.queries, order.keys)
        mask: LazyMask = without_storage(cls, shape, order.dtype, torch.device(order.device))
        mask.order = order
        return mask

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with plain_functions():
            try:
                return func(*args, **(kwargs or {}))
            except UndrawnError:
                return func(*tree_map(draw, args), **tree_map(draw, kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        if func in (torch.ops.aten.detach.default, torch.ops.aten.alias.default):
            return cls(args[0].order)
        if any(isinstance(arg, LazyMask) and arg.order.vmap for arg in args):
            raise UndrawnError  # in here a function over indices cannot be mapped
        return func(*tree_map(draw, args), **tree_map(draw, kwargs or {}))

    def __repr__(self) -> str:  # type: ignore[override]
        return f"LazyMask{tuple(self.shape)}"


def draw(thing: Any) -> Any:
    return thing.order.for_the_model() if isinstance(thing, LazyMask) else thing


def lazy_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int | Tensor = 0,
    kv_offset: int | Tensor = 0,
    mask_function: MaskFunction | None = None,
    attention_mask: Tensor | None = None,
    use_vmap: bool = False,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    config: Any = None,
    **kwargs: Any,
) -> Tensor:
    """What we register as transformers' mask function: it draws nothing."""
    if isinstance(attention_mask, LazyMask):
        return attention_mask
    return LazyMask(
        MaskOrder(
            batch_size, q_length, kv_length, int(q_offset), int(kv_offset),
            mask_function or causal_mask_function(), attention_mask, use_vmap, device,
            dtype if usual(config) == "eager" else torch.bool,
        )
    )  # fmt: skip


def with_mask(call: AttentionCall, mask: Tensor | None, *, causal: bool) -> AttentionCall:
    """The call with what may be seen: a mask that knows its order, one that is drawn, or none."""
    if not isinstance(mask, LazyMask):
        return call.masked(mask, causal=causal)
    beside = call.key.shape[-2] > 1 and mask.order.says_nothing
    return call if beside else ordered(call, mask.order)


def ordered(call: AttentionCall, order: MaskOrder) -> AttentionCall:
    """The call with the mask that was ordered, said as causal, window, offset and padding where these can say it."""
    check_lengths(call, order)
    options, pattern, end = call.options.copy(), order.pattern, order.offset + order.queries
    if pattern != FunctionPattern(paddings=pattern.paddings):  # of what looks both ways, or elsewhere, it says nothing
        options["offset"] = order.offset
    if pattern.strange:
        options["mask"] = cells = order.drawn
        tail = bool(cells[..., max(end, 0) :].any())
    else:
        options["mask"] = order.padded
        options["causal"] = pattern.right == 0
        if pattern.left is not None or pattern.right:
            options["window"] = (pattern.left, pattern.right)
        tail = pattern.right != 0
    call = replace(call, options=options, first_key=order.key_offset)
    return call if tail else call.cut(end)


def check_lengths(call: AttentionCall, order: MaskOrder) -> None:
    queries, keys = call.query.shape[-2], call.key.shape[-2]
    if queries != order.queries or keys != order.keys:
        raise ShapeError(
            "the model uses its mask for other lengths than it was made for",
            found=f"{queries} queries x {keys} keys, a mask of {order.queries} x {order.keys}",
            do="this model's attention cannot be watched; please report its name",
        )
