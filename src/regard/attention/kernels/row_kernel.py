"""The forward pass of some rows of one head: their output, and what `Statistics` says of them, in one walk over the keys.

The sums are those of `statistics.py` in base 2. Each is kept as eight partial sums a row (`LANES`), which threads add up
without talking to each other; they meet once, at the end. The walk has five stretches:

    0  cut by the window's left edge     1  before the rows' own positions     2  around them
    3  behind them                       4  cut by the right edge, or by the end of the keys

Only 0, 2 and 4 look at the band, and only they measure each cell's distance on its own.
"""

from __future__ import annotations

import triton
import triton.language as tl

from regard.attention.kernels.score_blocks import (
    FLOOR,
    LANES,
    LOG2E,
    NOWHERE,
    add_and_hide,
    at_least,
    below,
    head_start,
    in_band,
    load_rows,
    raw_score,
    shift_of,
)

LN2 = tl.constexpr(0.6931471805599453)


@triton.jit
def stretch(first_row, sight, STRETCH: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr, BLOCK_M: tl.constexpr,
            BLOCK_N: tl.constexpr):  # fmt: skip
    """From which key to which one stretch goes, in whole blocks of keys."""
    low = first_row + sight.offset  # the first row's own position, and the last row's
    high = tl.minimum(first_row + BLOCK_M, sight.queries) - 1 + sight.offset
    begin = low * 0
    end = begin + sight.keys
    if RIGHT:
        end = tl.maximum(tl.minimum(end, high + sight.right + 1), 0)
    end = (end + BLOCK_N - 1) // BLOCK_N * BLOCK_N
    whole = sight.keys // BLOCK_N * BLOCK_N
    uncut = begin
    if LEFT:
        begin = tl.minimum(tl.maximum(low - sight.left, 0) // BLOCK_N * BLOCK_N, end)
        uncut = (tl.maximum(high - sight.left, 0) + BLOCK_N - 1) // BLOCK_N * BLOCK_N
    near = tl.minimum(tl.minimum(tl.maximum(low + 1, 0) // BLOCK_N * BLOCK_N, whole), end)
    near = tl.maximum(near, begin)
    uncut = tl.minimum(tl.maximum(uncut, begin), near)
    behind = tl.minimum(tl.maximum((tl.maximum(high, 0) + BLOCK_N - 1) // BLOCK_N * BLOCK_N, near), end)
    cut = whole
    if RIGHT:
        cut = tl.minimum(cut, tl.maximum(low + sight.right + 1, 0) // BLOCK_N * BLOCK_N)
    cut = tl.minimum(tl.maximum(cut, behind), end)
    if STRETCH == 0:
        span = begin, uncut
    elif STRETCH == 1:
        span = uncut, near
    elif STRETCH == 2:
        span = near, behind
    elif STRETCH == 3:
        span = behind, cut
    else:
        span = cut, end
    return span


@triton.jit
def top_column(raw, top, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """The first column of each row whose score is the block's top."""
    inner: tl.constexpr = BLOCK_N // LANES
    cells = tl.reshape(raw, (BLOCK_M, inner, LANES))
    steps = tl.min(tl.where(cells == top[:, None, None], tl.arange(0, inner)[None, :, None], inner), 1)
    return tl.min(steps * LANES + tl.arange(0, LANES)[None, :], 1)


@triton.jit
def lane_sums(cells, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    return tl.sum(tl.reshape(cells, (BLOCK_M, BLOCK_N // LANES, LANES)), 1)


@triton.jit
def lane_distances(exps, mass, positions, start, STRETCH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Sums of exps * |position - column|; beside the diagonal counted from the near edge, so that nothing cancels."""
    inner: tl.constexpr = BLOCK_N // LANES
    steps, lanes = tl.arange(0, inner), tl.arange(0, LANES)
    if STRETCH % 2 == 0:
        columns = start + tl.arange(0, BLOCK_N)
        gaps = tl.abs(positions[:, None] - columns[None, :]).to(tl.float32)
        sums = lane_sums(exps * gaps, BLOCK_M, BLOCK_N)
    else:
        if STRETCH == 1:
            steps = inner - 1 - steps
            ahead = (positions - start - (BLOCK_N - LANES))[:, None] - lanes[None, :]
        else:
            ahead = (start - positions)[:, None] + lanes[None, :]
        cells = tl.reshape(exps, (BLOCK_M, inner, LANES))
        steps = (steps * LANES).to(tl.float32)[None, :, None]
        sums = tl.sum(cells * steps, 1) + ahead.to(tl.float32) * mass
    return sums


@triton.jit
def picked(query_at, key_at, operands, mask_at, term_at, rows, positions, columns, FLAGS: tl.constexpr):
    """The raw score of one key for each row, -inf where it may not look there."""
    sight, rule = operands.sight, operands.rule
    dims = tl.arange(0, FLAGS.BLOCK_D)
    inside = (columns >= 0) & (columns < sight.keys) & (rows < sight.queries)
    at = query_at + rows.to(tl.int64)[:, None] * operands.query.row + dims[None, :] * operands.query.column
    query = tl.load(at, mask=inside[:, None] & (dims < FLAGS.DIM)[None, :], other=0.0).to(tl.float32)
    at = key_at + columns.to(tl.int64)[:, None] * operands.key.row + dims[None, :] * operands.key.column
    key = tl.load(at, mask=inside[:, None] & (dims < FLAGS.DIM)[None, :], other=0.0).to(tl.float32)
    raw = raw_score(tl.sum(query * key, 1) * rule.sign, rule, FLAGS.SOFTCAP, FLAGS.TERM)
    shown = inside & in_band(positions, columns, sight, FLAGS.LEFT, FLAGS.RIGHT)
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
def row_pass(operands, value, first, output, fields, FLAGS: tl.constexpr):
    """One block of rows of one head. `fields`: where lse (as top and rest) or all of `Statistics` goes."""
    BLOCK_M: tl.constexpr = FLAGS.BLOCK_M
    BLOCK_N: tl.constexpr = FLAGS.BLOCK_N
    BLOCK_V: tl.constexpr = FLAGS.BLOCK_V
    sight, rule = operands.sight, operands.rule
    blocks = (sight.queries + BLOCK_M - 1) // BLOCK_M
    program = tl.program_id(0)
    head = program // blocks
    block = blocks - 1 - program % blocks  # under causality the last rows have most to do: they begin
    member, key_head = head % sight.group, head // sight.group % sight.key_heads
    batch = head // (sight.group * sight.key_heads)

    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    positions = rows + sight.offset
    dims = tl.arange(0, FLAGS.BLOCK_D)
    query_at = head_start(operands.query, batch, key_head, member)
    key_at = head_start(operands.key, batch, key_head, member)
    mask_at, term_at, value_at = query_at, query_at, query_at
    if FLAGS.MASK:
        mask_at = head_start(operands.mask, batch, key_head, member)
    if FLAGS.TERM:
        term_at = head_start(operands.term, batch, key_head, member)
    query = load_rows(query_at, operands.query, block * BLOCK_M, tl.arange(0, BLOCK_M), dims, sight.queries, FLAGS.DIM,
                      True)  # fmt: skip
    if FLAGS.SIGNED:
        query = (query.to(tl.float32) * rule.sign).to(query.dtype)

    top = tl.full([BLOCK_M], float("-inf"), tl.float32)
    lit = tl.zeros([BLOCK_M], tl.int32)
    mass = tl.zeros([BLOCK_M, LANES], tl.float32)
    if FLAGS.FULL:
        top_key = tl.full([BLOCK_M], -1, tl.int32)
        spread = tl.zeros([BLOCK_M, LANES], tl.float32)
        distance = tl.zeros([BLOCK_M, LANES], tl.float32)
    if FLAGS.MIX:
        value_dims = tl.arange(0, BLOCK_V)
        value_at = head_start(value, batch, key_head, member)
        mixed = tl.zeros([BLOCK_M, BLOCK_V], tl.float32)

    for part in tl.static_range(0, 5):
        if (part > 0 or FLAGS.LEFT) and (part < 3 or not FLAGS.CAUSAL):
            begin, end = stretch(block * BLOCK_M, sight, part, FLAGS.LEFT, FLAGS.RIGHT, BLOCK_M,
                                 BLOCK_N)  # fmt: skip
            for start in tl.range(begin, end, BLOCK_N):
                inner = tl.arange(0, BLOCK_N)
                columns = start + inner
                key = load_rows(key_at, operands.key, start, inner, dims, sight.keys, FLAGS.DIM, part % 2 == 0)
                raw = tl.dot(query, tl.trans(key), input_precision=FLAGS.PRECISION)
                raw = raw_score(raw, rule, FLAGS.SOFTCAP, FLAGS.TERM)
                if part % 2 == 0 or FLAGS.MASK or FLAGS.TERM:
                    shown = columns[None, :] < sight.keys
                    if part % 2 == 0:
                        shown = in_band(positions[:, None], columns[None, :], sight, FLAGS.LEFT, FLAGS.RIGHT)
                    raw, shown = add_and_hide(raw, shown, operands, mask_at, term_at, rows, columns, FLAGS, False)
                    if FLAGS.MASK or FLAGS.TERM:
                        lit = lit | tl.max(shown.to(tl.int32), 1)

                block_top = tl.max(raw, 1)
                if FLAGS.FULL:
                    column = top_column(raw, block_top, BLOCK_M, BLOCK_N)
                    top_key = tl.where(block_top > top, start + column, top_key)
                higher = tl.maximum(top, block_top)
                shift = shift_of(higher, rule, FLAGS.TERM)
                fall = at_least(below(top, shift, rule, FLAGS.TERM), FLOOR)
                factor = tl.exp2(fall)
                top = higher
                logs = below(raw, shift[:, None], rule, FLAGS.TERM)
                if part % 2 == 0 or FLAGS.MASK or FLAGS.TERM:
                    logs = at_least(logs, FLOOR)
                exps = tl.exp2(logs)
                gained = lane_sums(exps, BLOCK_M, BLOCK_N)
                if FLAGS.FULL:
                    spread = factor[:, None] * (spread + fall[:, None] * mass)
                    spread += lane_sums(exps * logs, BLOCK_M, BLOCK_N)
                    far_off = lane_distances(exps, gained, positions, start, part, BLOCK_M, BLOCK_N)
                    distance = distance * factor[:, None] + far_off
                mass = mass * factor[:, None] + gained
                if FLAGS.MIX:
                    values = load_rows(value_at, value, start, inner, value_dims, sight.keys, FLAGS.VALUE_DIM,
                                       part % 2 == 0)  # fmt: skip
                    mixed = mixed * factor[:, None]
                    mixed = tl.dot(exps.to(values.dtype), values, mixed, input_precision=FLAGS.PRECISION)

    total, shift = tl.sum(mass, 1), shift_of(top, rule, FLAGS.TERM)
    if FLAGS.FULL:
        spread_sum, distance_sum = tl.sum(spread, 1), tl.sum(distance, 1)
    if FLAGS.SINKS:
        sink = tl.load(operands.sinks.pointer + key_head * operands.sinks.key_head + member * operands.sinks.member)
        shift, fall, sink_log = join_sink(top, sink, rule, FLAGS.TERM)
        factor, sink_exp = tl.exp2(fall), tl.exp2(sink_log)
        if FLAGS.FULL:
            spread_sum = factor * (spread_sum + fall * total) + sink_exp * sink_log
            distance_sum *= factor
        if FLAGS.MIX:
            mixed *= factor[:, None]
        total = total * factor + sink_exp

    if not (FLAGS.MASK or FLAGS.TERM):
        lit = band_shows(positions, sight, FLAGS.LEFT, FLAGS.RIGHT)
    there = rows < sight.queries
    at = head.to(tl.int64) * sight.queries + rows
    if FLAGS.MIX:
        mixed = tl.where(lit[:, None] != 0, mixed / total[:, None], 0.0)
        out_at = output + at[:, None] * FLAGS.VALUE_DIM + value_dims[None, :]
        inside = there[:, None] & (value_dims < FLAGS.VALUE_DIM)[None, :]
        tl.store(out_at, mixed.to(output.dtype.element_ty), mask=inside)

    blank, rest = total == 0.0, tl.log2(total)
    if FLAGS.FULL:
        lse = shift + rest * LN2 if FLAGS.TERM else (shift + rest) * LN2
        tl.store(fields[0] + at, tl.where(blank, NOWHERE, lse), mask=there)
        entropy = (rest - spread_sum / total) * LN2
        store_lit(fields[1] + at, tl.where(entropy < 0.0, 0.0, entropy), lit, there)
        store_lit(fields[2] + at, tl.exp2(below(top, shift, rule, FLAGS.TERM)) / total, lit, there)
        tl.store(fields[3] + at, tl.where(lit != 0, top_key, -1).to(tl.int64), mask=there)
        store_lit(fields[4] + at, distance_sum / total, lit, there)
        first_key = rows * 0
        if FLAGS.FIRST:
            first_at = head_start(first, batch, key_head, member) + rows.to(tl.int64) * first.row
            first_key = tl.load(first_at, mask=there, other=0).to(tl.int32)
        own = picked(query_at, key_at, operands, mask_at, term_at, rows, positions, positions, FLAGS)
        store_lit(fields[5] + at, pick_weight(own, top, shift, total, rule, FLAGS.TERM), lit, there)
        begin = picked(query_at, key_at, operands, mask_at, term_at, rows, positions, first_key, FLAGS)
        store_lit(fields[6] + at, pick_weight(begin, top, shift, total, rule, FLAGS.TERM), lit, there)
    else:
        top_at = shift if FLAGS.TERM else shift * LN2
        tl.store(fields[0] + at, tl.where(blank, NOWHERE, top_at), mask=there)
        tl.store(fields[1] + at, tl.where(blank, 0.0, rest * LN2), mask=there)


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
    return (lowest <= highest).to(tl.int32)


@triton.jit
def pick_weight(raw, top, shift, total, rule, TERM: tl.constexpr):
    """The weight of a key whose score was summed in another order than the block's: never above the top weight."""
    return tl.exp2(below(tl.minimum(raw, top), shift, rule, TERM)) / total


@triton.jit
def store_lit(at, field, lit, there):
    """A row that may look nowhere reads 0."""
    tl.store(at, tl.where(lit != 0, field, 0.0), mask=there)
