"""What the three kernels share: a block of scores, and which of its cells may be looked at.

A kernel keeps scores in a unit of its own, `raw`, chosen so that few operations stand between q.k and a weight:

    log2 of a weight = raw * unit - shift        where nothing is added to the scores: one multiply-add
    log2 of a weight = (raw - shift) * unit      where something is: it may be as far down as finfo.min

Every `Strided` argument is a pointer and its strides, 0 where the tensor broadcasts.
"""

from __future__ import annotations

import triton
import triton.language as tl

FLOOR = tl.constexpr(-1e4)  # exp2 of it is exactly 0, and 0 * FLOOR is 0 where 0 * -inf would be NaN
NOWHERE = tl.constexpr(float("-inf"))
LOG2E = tl.constexpr(1.4426950408889634)
LANES = tl.constexpr(8)  # columns that a matrix product spreads over threads; the others of a row lie in one thread


@triton.jit
def head_start(strided, batch, key_head, member):
    """Where one head begins; counted in 64 bits, as everything that may lie far away is."""
    far = batch.to(tl.int64) * strided.batch + key_head.to(tl.int64) * strided.key_head
    return strided.pointer + far + member.to(tl.int64) * strided.member


@triton.jit
def head_of(number, sight):
    """The number of a head, and the same as batch, key head and member of its group."""
    shared = sight.group * sight.key_heads
    return number, number // shared, number // sight.group % sight.key_heads, number % sight.group


@triton.jit
def starts_of(operands, batch, key_head, member, FLAGS: tl.constexpr):
    """Where query, key, mask and term of a head begin; those that are absent nowhere in particular."""
    query_at = head_start(operands.query, batch, key_head, member)
    key_at = head_start(operands.key, batch, key_head, member)
    mask_at, term_at = query_at, query_at
    if FLAGS.MASK:
        mask_at = head_start(operands.mask, batch, key_head, member)
    if FLAGS.TERM:
        term_at = head_start(operands.term, batch, key_head, member)
    return query_at, key_at, mask_at, term_at


@triton.jit
def load_rows(start, strided, first, rows, dims, limit, DIM: tl.constexpr, MASKED: tl.constexpr):
    """The vectors of some rows counted from the `first`, (rows, dims): zeros from `limit` on and beyond the head's dim.

    Only the way to the first takes 64 bits: so many for every address would cost registers.
    """
    start += tl.cast(first, tl.int64) * strided.row
    at = start + rows[:, None] * strided.row + dims[None, :] * strided.column
    if MASKED:
        vectors = tl.load(at, mask=(rows < limit - first)[:, None] & (dims < DIM)[None, :], other=0.0)
    elif dims.shape[0] == DIM:
        vectors = tl.load(at)
    else:
        vectors = tl.load(at, mask=(dims < DIM)[None, :], other=0.0)
    return vectors


@triton.jit
def in_band(positions, columns, sight, LEFT: tl.constexpr, RIGHT: tl.constexpr):
    """Which cells the band shows, and the keys that are there at all; both arguments broadcast."""
    shown = columns < sight.keys
    if LEFT:
        shown = shown & (columns >= positions - sight.left)
    if RIGHT:
        shown = shown & (columns <= positions + sight.right)
    return shown


@triton.jit
def raw_score(product, rule, SOFTCAP: tl.constexpr, TERM: tl.constexpr):
    """q.k in the kernel's unit, capped, before something is added to it."""
    if SOFTCAP:
        product = tanh(product * rule.inner)
    if TERM:
        product = product * rule.outer
    return product


@triton.jit
def tanh(y):
    """To float32's precision also near 0, where (1 - e) / (1 + e) cancels."""
    square = y * y
    series = 1.0 + square * (-1 / 3 + square * (2 / 15 + square * (-17 / 315 + square * (62 / 2835))))
    falling = tl.exp2(tl.abs(y) * -2.8853900817779268)  # exp(-2 |y|)
    far = (1.0 - falling) / (1.0 + falling)
    return tl.where(tl.abs(y) < 0.25, y * series, tl.where(y < 0, -far, far))


@triton.jit
def shift_of(raw, rule, TERM: tl.constexpr):
    """What `below` subtracts to make `raw` the zero; 0 where a row has met nothing yet."""
    anchor = tl.where(raw == NOWHERE, 0.0, raw)
    return anchor if TERM else anchor * rule.unit


@triton.jit
def below(raw, shift, rule, TERM: tl.constexpr):
    """log2 of a weight whose row has its zero at `shift`."""
    return (raw - shift) * rule.unit if TERM else tl.fma(raw, rule.unit, -shift)  # rounds once, however large both are


@triton.jit
def at_least(x, floor):
    """The larger of two, NaN where x is NaN: what comes in broken must not go out whole."""
    return tl.maximum(x, floor, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def add_and_hide(raw, shown, operands, starts, rows, columns, FLAGS: tl.constexpr, TURNED: tl.constexpr):
    """Raw scores with what is added to them, -inf where something hides them; `TURNED`: keys down, queries across."""
    sight, mask, term = operands.sight, operands.mask, operands.term
    mask_at, term_at = starts[2], starts[3]
    if TURNED:
        rows, columns = rows[None, :], columns[:, None]
    else:
        rows, columns = rows[:, None], columns[None, :]
    inside = columns < sight.keys
    on_grid = inside & (rows < sight.queries)
    if FLAGS.MASK == 1:
        shown = shown & (tl.load(mask_at + columns * mask.column, mask=inside, other=0) != 0)
    if FLAGS.MASK == 2:
        at = mask_at + columns.to(tl.int64) * mask.column + rows.to(tl.int64) * mask.row
        shown = shown & (tl.load(at, mask=on_grid, other=0) != 0)
    if FLAGS.TERM == 1:
        added = tl.load(term_at + columns * term.column, mask=inside, other=NOWHERE).to(tl.float32)
        raw, shown = raw + added, shown & (added != NOWHERE)
    if FLAGS.TERM == 2:
        at = term_at + columns.to(tl.int64) * term.column + rows.to(tl.int64) * term.row
        added = tl.load(at, mask=on_grid, other=NOWHERE).to(tl.float32)
        raw, shown = raw + added, shown & (added != NOWHERE)
    return tl.where(shown, raw, NOWHERE)


@triton.jit
def load_shift(sums, at, there, TERM: tl.constexpr, MASKED: tl.constexpr):
    """The two parts of some rows' lse; infinite, so that weights are 0, for rows that are not there."""
    top = tl.load(sums.top + at, mask=there, other=float("inf")) if MASKED else tl.load(sums.top + at)
    rest = 0.0
    if TERM:
        rest = tl.load(sums.rest + at, mask=there, other=0.0)
    return top, rest


@triton.jit
def weight_logs(raw, top, rest, rule, TERM: tl.constexpr):
    """log2 of the weights: where nothing is added, `top` is the whole lse."""
    return below(raw, top, rule, TERM) - rest if TERM else below(raw, top, rule, TERM)
