"""What a block of rows writes when its walk is over: sinks join, sums become fields, two single keys are looked up."""

from __future__ import annotations

import triton
import triton.language as tl

from regard.attention.kernels.score_blocks import FLOOR, LOG2E, NOWHERE, at_least, below, in_band, raw_score

LN2 = tl.constexpr(0.6931471805599453)


@triton.jit
def join_sink(top, sink, rule, TERM: tl.constexpr):
    """A further logit in the softmax: the shift of both, and how far below it the row's top and the sink lie."""
    if not TERM:
        top, sink = top * rule.unit, sink * LOG2E
    higher = tl.maximum(top, sink)
    shift = tl.where(higher == NOWHERE, 0.0, higher)
    fall, sink_log = top - shift, sink - shift
    if TERM:
        fall, sink_log = fall * rule.unit, sink_log * rule.unit
    return shift, at_least(fall, FLOOR), at_least(sink_log, FLOOR)


@triton.jit
def band_shows(positions, sight, LEFT: tl.constexpr, RIGHT: tl.constexpr):
    """Does the band leave a row any key?"""
    lowest, highest = positions * 0, positions * 0 + sight.keys - 1
    if LEFT:
        lowest = tl.maximum(lowest, positions - sight.left)
    if RIGHT:
        highest = tl.minimum(highest, positions + sight.right)
    return lowest <= highest


@triton.jit
def write_lse(fields, at, there, top, shift, total, TERM: tl.constexpr):
    """In two parts, as `LogSum` has it; -inf and 0 for a row that saw nothing."""
    blank, top = total == 0.0, shift if TERM else shift * LN2
    tl.store(fields[0] + at, tl.where(blank, NOWHERE, top), mask=there)
    tl.store(fields[1] + at, tl.where(blank, 0.0, tl.log2(total) * LN2), mask=there)


@triton.jit
def write_sums(fields, at, there, lit, top, top_key, shift, total, spread, distance, rule, TERM: tl.constexpr):
    """The fields of `Statistics` that come from sums, in their order. A row that may look nowhere reads 0, and -1."""
    rest = tl.log2(total)
    lse = shift + rest * LN2 if TERM else (shift + rest) * LN2
    tl.store(fields[0] + at, tl.where(total == 0.0, NOWHERE, lse), mask=there)
    entropy = (rest - spread / total) * LN2
    store_lit(fields[1] + at, tl.where(entropy < 0.0, 0.0, entropy), lit, there)
    store_lit(fields[2] + at, tl.exp2(below(top, shift, rule, TERM)) / total, lit, there)
    tl.store(fields[3] + at, tl.where(lit, top_key, -1).to(tl.int64), mask=there)
    store_lit(fields[4] + at, distance / total, lit, there)


@triton.jit
def picked(starts, operands, rows, columns, FLAGS: tl.constexpr):
    """The raw score of one key for each row, -inf where it may not look there."""
    sight, rule = operands.sight, operands.rule
    query_at, key_at, mask_at, term_at = starts
    PIECE: tl.constexpr = min(FLAGS.BLOCK_D, 64)  # of the dims at a time: whole vectors of all rows would spill
    inside = (columns >= 0) & (columns < sight.keys) & (rows < sight.queries)
    query_rows = query_at + rows.to(tl.int64)[:, None] * operands.query.row
    key_rows = key_at + columns.to(tl.int64)[:, None] * operands.key.row
    product = tl.full([FLAGS.BLOCK_M], 0.0, tl.float32)
    for piece in tl.static_range(0, FLAGS.BLOCK_D // PIECE):
        dims = piece * PIECE + tl.arange(0, PIECE)[None, :]
        there = inside[:, None] & (dims < FLAGS.DIM)
        query = tl.load(query_rows + dims * operands.query.column, mask=there, other=0.0).to(tl.float32)
        key = tl.load(key_rows + dims * operands.key.column, mask=there, other=0.0).to(tl.float32)
        product += tl.sum(query * key, 1)
    raw = raw_score(product * rule.sign, rule, FLAGS.SOFTCAP, FLAGS.TERM)
    shown = inside & in_band(rows + sight.offset, columns, sight, FLAGS.LEFT, FLAGS.RIGHT)
    columns, rows = columns.to(tl.int64), rows.to(tl.int64)
    if FLAGS.MASK:
        at = mask_at + rows * operands.mask.row + columns * operands.mask.column
        shown = shown & (tl.load(at, mask=inside, other=0) != 0)
    if FLAGS.TERM:
        at = term_at + rows * operands.term.row + columns * operands.term.column
        added = tl.load(at, mask=inside, other=NOWHERE).to(tl.float32)
        shown = shown & (added != NOWHERE)
        raw = raw + added
    return tl.where(shown, raw, NOWHERE)


@triton.jit
def pick_weight(raw, top, shift, total, rule, TERM: tl.constexpr):
    """The weight of a key whose score was summed in another order than the block's: never above the top weight."""
    return tl.exp2(below(tl.minimum(raw, top), shift, rule, TERM)) / total


@triton.jit
def store_lit(at, field, lit, there):
    """A row that may look nowhere reads 0."""
    tl.store(at, tl.where(lit, field, 0.0), mask=there)
