"""The forward pass of some rows of one head: their output and their statistics, in one walk over the keys.

The sums are those of `statistics.py`, in base 2. The walk has five stretches:

    0  cut by the window's left edge     1  before the rows' own positions     2  around them
    3  behind them                       4  cut by the right edge, or by the end of the keys

Only 0, 2 and 4 look at the band, and only they measure each cell's distance on its own.
"""

from __future__ import annotations

import triton
import triton.language as tl

from regard.attention.kernels.row_blocks import lane_distances, lane_sums, stretch, top_column
from regard.attention.kernels.row_results import (
    band_shows,
    join_sink,
    pick_weight,
    picked,
    store_lit,
    write_lse,
    write_sums,
)
from regard.attention.kernels.score_blocks import (
    FLOOR,
    LANES,
    add_and_hide,
    at_least,
    below,
    head_of,
    head_start,
    in_band,
    load_rows,
    raw_score,
    shift_of,
    starts_of,
)


@triton.jit
def row_pass(operands, value, first, output, fields, FLAGS: tl.constexpr):
    """One block of rows of one head. `fields`: where lse (as top and rest) or all of `Statistics` goes. `first`: the
    first key that masks show to each row, -1 where a row sees nothing; without masks the band alone says so.
    """
    BLOCK_M: tl.constexpr = FLAGS.BLOCK_M
    BLOCK_N: tl.constexpr = FLAGS.BLOCK_N
    BLOCK_V: tl.constexpr = FLAGS.BLOCK_V
    sight, rule = operands.sight, operands.rule
    blocks = (sight.queries + BLOCK_M - 1) // BLOCK_M
    program = tl.program_id(0)
    block = blocks - 1 - program % blocks  # under causality the last rows have most to do: they begin
    head, batch, key_head, member = head_of(program // blocks, sight)
    starts = starts_of(operands, batch, key_head, member, FLAGS)

    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    positions = rows + sight.offset
    inner, dims, value_dims = tl.arange(0, BLOCK_N), tl.arange(0, FLAGS.BLOCK_D), tl.arange(0, BLOCK_V)
    query = load_rows(starts[0], operands.query, block * BLOCK_M, tl.arange(0, BLOCK_M), dims, sight.queries, FLAGS.DIM,
                      True)  # fmt: skip
    if FLAGS.SIGNED:
        query = (query.to(tl.float32) * rule.sign).to(query.dtype)

    top, top_key = tl.full([BLOCK_M], float("-inf"), tl.float32), tl.full([BLOCK_M], -1, tl.int32)
    mass, spread, distance = (tl.zeros([BLOCK_M, LANES], tl.float32), tl.zeros([BLOCK_M, LANES], tl.float32),
                              tl.zeros([BLOCK_M, LANES], tl.float32))  # fmt: skip
    mixed = tl.zeros([BLOCK_M, BLOCK_V], tl.float32)
    value_at = starts[0]
    if FLAGS.MIX:
        value_at = head_start(value, batch, key_head, member)

    for part in tl.static_range(0, 5):
        if (part > 0 or FLAGS.LEFT) and (part < 3 or not FLAGS.CAUSAL):
            begin, end = stretch(block * BLOCK_M, sight, part, FLAGS)
            for start in tl.range(begin, end, BLOCK_N):
                columns = start + inner
                key = load_rows(starts[1], operands.key, start, inner, dims, sight.keys, FLAGS.DIM, part % 2 == 0)
                raw = tl.dot(query, tl.trans(key), input_precision=FLAGS.PRECISION)
                raw = raw_score(raw, rule, FLAGS.SOFTCAP, FLAGS.TERM)
                if part % 2 == 0 or FLAGS.MASK or FLAGS.TERM:
                    shown = columns[None, :] < sight.keys
                    if part % 2 == 0:
                        shown = in_band(positions[:, None], columns[None, :], sight, FLAGS.LEFT, FLAGS.RIGHT)
                    raw = add_and_hide(raw, shown, operands, starts, rows, columns, FLAGS, False)

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
    spread_sum, distance_sum = tl.sum(spread, 1), tl.sum(distance, 1)
    if FLAGS.SINKS:
        sink = tl.load(operands.sinks.pointer + key_head * operands.sinks.key_head + member * operands.sinks.member)
        shift, fall, sink_log = join_sink(top, sink, rule, FLAGS.TERM)
        factor, sink_exp = tl.exp2(fall), tl.exp2(sink_log)
        spread_sum = factor * (spread_sum + fall * total) + sink_exp * sink_log
        distance_sum *= factor
        mixed *= factor[:, None]
        total = total * factor + sink_exp

    there = rows < sight.queries
    if FLAGS.FIRST:
        first_at = head_start(first, batch, key_head, member) + rows.to(tl.int64) * first.row
        first_key = tl.load(first_at, mask=there, other=-1).to(tl.int32)
        lit = first_key >= 0
    else:
        first_key = rows * 0
        lit = band_shows(positions, sight, FLAGS.LEFT, FLAGS.RIGHT)
    at = head.to(tl.int64) * sight.queries + rows
    if FLAGS.MIX:
        mixed = tl.where(lit[:, None], mixed * (1.0 / total)[:, None], 0.0)
        inside = there[:, None] & (value_dims < FLAGS.VALUE_DIM)[None, :]
        at_cells = output + at[:, None] * FLAGS.VALUE_DIM + value_dims[None, :]
        tl.store(at_cells, mixed.to(output.dtype.element_ty), mask=inside)
    if FLAGS.FULL:
        write_sums(fields, at, there, lit, top, top_key, shift, total, spread_sum, distance_sum, rule, FLAGS.TERM)
        own = picked(starts, operands, rows, positions, FLAGS)
        store_lit(fields[5] + at, pick_weight(own, top, shift, total, rule, FLAGS.TERM), lit, there)
        begun = picked(starts, operands, rows, first_key, FLAGS)
        store_lit(fields[6] + at, pick_weight(begun, top, shift, total, rule, FLAGS.TERM), lit, there)
    else:
        write_lse(fields, at, there, top, shift, total, FLAGS.TERM)
