"""Scores as the kernels take them: pointers with strides, numbers, and what is decided when a kernel is compiled.

Nothing is copied that a stride can express: grouped heads, broadcast masks, tensors that were turned or expanded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.scores import NOWHERE, LogSum, ScoreRule, Scores, narrow

LOG2E = 1.4426950408889634
SMALLEST = 16  # the least a matrix product of the hardware takes to a side


class Strided(NamedTuple):
    """A tensor of rank (batch, key heads, group, rows, columns), as a pointer and its strides; 0: broadcast."""

    pointer: Tensor | None
    batch: int = 0
    key_head: int = 0
    member: int = 0
    row: int = 0
    column: int = 0


class SightNumbers(NamedTuple):
    """`Sight` in numbers; a bound that is None is 0 here, and its flag says so."""

    queries: int
    keys: int
    offset: int
    left: int
    right: int
    key_heads: int
    group: int


class Unit(NamedTuple):
    """How q.k becomes a raw score, and that the logarithm of a weight to base 2: see `score_blocks`."""

    sign: float  # of the scale, so that what follows is never negative
    inner: float  # before tanh
    outer: float  # to natural units, where something is added
    unit: float


class Operands(NamedTuple):
    """Everything that the scores are made from."""

    query: Strided
    key: Strided
    mask: Strided
    term: Strided
    sinks: Strided
    sight: SightNumbers
    rule: Unit


class Shifts(NamedTuple):
    """The lse of every row in the unit of a kernel, filled up to whole blocks by rows whose weights are 0."""

    top: Tensor  # all of it where nothing is added to the scores
    rest: Tensor | None
    length: int  # of a head's rows


class Traits(NamedTuple):
    """What makes one kernel another, beside dtype and dim; by default the plain causal one."""

    mask: int = 0
    term: int = 0
    left: bool = False
    right: bool = True
    causal: bool = True
    softcap: bool = False
    sinks: bool = False
    signed: bool = False


@dataclass(frozen=True)
class Flags:
    """What is fixed when a kernel is compiled. MASK and TERM: 0 absent, 1 the same for all rows, 2 a grid."""

    MASK: int
    TERM: int
    LEFT: bool
    RIGHT: bool
    CAUSAL: bool
    SOFTCAP: bool
    SINKS: bool
    SIGNED: bool
    DIM: int
    BLOCK_D: int
    PRECISION: str
    BLOCK_M: int
    BLOCK_N: int


@dataclass(frozen=True)
class RowFlags(Flags):
    """Of the forward pass: all statistics or lse alone, with an output or without."""

    FULL: bool
    MIX: bool
    FIRST: bool
    VALUE_DIM: int
    BLOCK_V: int


@dataclass(frozen=True)
class ColumnFlags(Flags):
    """Of `received`: does each query count with a factor?"""

    WEIGH: bool


@dataclass(frozen=True)
class TileFlags(Flags):
    """Of `tile`: a factor for each key; the sides of a cell, padded, or of a piece of it that fits a block; pooling."""

    WEIGH: bool
    CELL_M: int
    CELL_N: int
    LARGEST: bool
    MERGE: bool


class Side(NamedTuple):
    """One side of a rectangle: positions, how many make a cell, how many cells, and blocks that one program does."""

    start: int
    stop: int
    cell: int
    bins: int
    span: int = 0


def operands_of(scores: Scores) -> Operands:
    sight, sinks = scores.rule.sight, scores.sinks_JG
    *batch, key_heads, group, _, _ = scores.query_BJGQD.shape
    band = SightNumbers(sight.queries, sight.keys, sight.offset, sight.left or 0, sight.right or 0, key_heads, group)
    mask, term = sight.mask, scores.terms[0] if scores.terms else None
    return Operands(
        strided(scores.query_BJGQD, batch),
        strided(scores.key_BJKD.unsqueeze(-3), batch),
        Strided(None) if mask is None else strided(mask.view(torch.uint8) if kind(mask) == 2 else mask.int(), batch),
        Strided(None) if term is None else strided(term, batch),
        Strided(None) if sinks is None else strided(sinks[..., None, None].float(), ()),
        band,
        unit_of(scores.rule, term is not None),
    )


def flags_of(scores: Scores, block_m: int, block_n: int) -> Flags:
    sight, rule, dim = scores.rule.sight, scores.rule, scores.query_BJGQD.shape[-1]
    return Flags(
        MASK=kind(sight.mask),
        TERM=kind(scores.terms[0] if scores.terms else None),
        LEFT=sight.left is not None,
        RIGHT=sight.right is not None,
        CAUSAL=sight.right == 0,
        SOFTCAP=rule.softcap is not None,
        SINKS=scores.sinks_JG is not None,
        SIGNED=rule.scale <= 0,
        DIM=dim,
        BLOCK_D=padded(dim),
        PRECISION="ieee" if scores.dtype == torch.float32 else "tf32",  # which half precision does not look at
        BLOCK_M=block_m,
        BLOCK_N=block_n,
    )


def traits_of(scores: Scores) -> Traits:
    flags = flags_of(scores, 0, 0)
    term = max((kind(term) for term in scores.terms), default=0)
    names = (flags.LEFT, flags.RIGHT, flags.CAUSAL, flags.SOFTCAP, flags.SINKS, flags.SIGNED)
    return Traits(flags.MASK, term, *names)


def shifts_of(sums: LogSum, added: bool, block: int) -> Shifts:
    fill = 0, -sums.top.shape[-1] % block
    top = sums.top if added else sums.total * LOG2E
    top = F.pad(top.masked_fill(sums.top == NOWHERE, 0.0), fill, value=math.inf)
    return Shifts(top.contiguous(), F.pad(sums.rest * LOG2E, fill) if added else None, top.shape[-1])


def unit_of(rule: ScoreRule, added: bool) -> Unit:
    sign, scale = math.copysign(1.0, rule.scale) if rule.scale else 0.0, abs(rule.scale) or 1.0
    inner, outer = (1.0, scale) if rule.softcap is None else (scale / rule.softcap, rule.softcap)
    return Unit(sign, inner, outer, LOG2E if added else outer * LOG2E)


def one_term(scores: Scores) -> Scores:
    """The same scores with all that is added to them in one tensor, of a dtype that kernels read."""
    if not scores.terms:
        return scores
    added = scores.added(slice(0, scores.rule.sight.queries), slice(0, scores.rule.sight.keys))
    assert added is not None
    return replace(scores, terms=(narrow(added, torch.float32) if added.dtype == torch.float64 else added,))


def kind(term: Tensor | None) -> int:
    return 0 if term is None else 1 if term.shape[-2] == 1 else 2


def padded(dim: int) -> int:
    """The power of two that holds a head's dim."""
    return max(SMALLEST, 1 << (dim - 1).bit_length())


def strided(tensor: Tensor, batch: Sequence[int]) -> Strided:
    """A tensor of rank (B..., J, G, R, C), sizes 1 where it broadcasts, its batch dims as one.

    They are one already in nearly every call; otherwise a copy of the tensor is made where no stride can say it.
    """
    tensor = tensor.reshape((1,) * (len(batch) + 4 - tensor.ndim) + tensor.shape)
    lead = tensor.shape[:-4]
    if len(lead) != 1:
        lead = torch.Size(batch) if lead.numel() > 1 else lead
        tensor = tensor.expand(*lead, *tensor.shape[-4:]).reshape(-1, *tensor.shape[-4:])
    steps = (0 if size == 1 else step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    return Strided(tensor, *steps)
