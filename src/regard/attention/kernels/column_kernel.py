"""The attention that some keys of one head received: column sums of the weights, in one walk over the queries.

The block of scores lies on its side, keys down and queries across, so that each thread adds up what it has by itself.
"""

from __future__ import annotations

import triton
import triton.language as tl

from regard.attention.kernels.score_blocks import (
    LANES,
    add_and_hide,
    head_of,
    head_start,
    in_band,
    load_rows,
    load_shift,
    raw_score,
    starts_of,
    weight_logs,
)


@triton.jit
def row_span(first, sight, PART: tl.constexpr, FLAGS: tl.constexpr):
    """From which query to which one part goes: 0 and 2 are cut by the band, 1 sees all of the block's keys."""
    BLOCK_M: tl.constexpr = FLAGS.BLOCK_M
    last = tl.minimum(first + FLAGS.BLOCK_N, sight.keys) - 1
    begin, end = first * 0, first * 0 + sight.queries
    whole, cut = begin, end
    if FLAGS.RIGHT:
        begin = tl.minimum(tl.maximum(first - sight.right - sight.offset, 0), end) // BLOCK_M * BLOCK_M
        whole = (tl.maximum(last - sight.right - sight.offset, 0) + BLOCK_M - 1) // BLOCK_M * BLOCK_M
    if FLAGS.LEFT:
        end = tl.maximum(tl.minimum(end, last + sight.left - sight.offset + 1), begin)
        cut = tl.maximum(first + sight.left - sight.offset + 1, 0) // BLOCK_M * BLOCK_M
    whole = tl.minimum(tl.maximum(whole, begin), end)
    cut = tl.minimum(tl.maximum(cut, whole), end)
    if PART == 0:
        span = begin, whole
    elif PART == 1:
        span = whole, cut
    else:
        span = cut, end
    return span


@triton.jit
def column_pass(operands, sums, weigh, output, FLAGS: tl.constexpr):
    """One block of keys of one head. `sums`: the lse of every row, and of some that only fill the last block."""
    BLOCK_M: tl.constexpr = FLAGS.BLOCK_M
    BLOCK_N: tl.constexpr = FLAGS.BLOCK_N
    sight, rule = operands.sight, operands.rule
    blocks = (sight.keys + BLOCK_N - 1) // BLOCK_N
    program = tl.program_id(0)
    first = program % blocks * BLOCK_N
    head, batch, key_head, member = head_of(program // blocks, sight)

    inner, outer = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N)
    dims = tl.arange(0, FLAGS.BLOCK_D)
    columns = first + outer
    starts = starts_of(operands, batch, key_head, member, FLAGS)
    weigh_at = starts[0]
    if FLAGS.WEIGH:
        weigh_at = head_start(weigh, batch, key_head, member)
    key = load_rows(starts[1], operands.key, first, outer, dims, sight.keys, FLAGS.DIM, True)
    if FLAGS.SIGNED:
        key = (key.to(tl.float32) * rule.sign).to(key.dtype)
    sums_at = head.to(tl.int64) * sums.length

    total = tl.zeros([BLOCK_N, LANES], tl.float32)
    for part in tl.static_range(0, 3):
        if part == 1 or (part == 0 and FLAGS.RIGHT) or (part == 2 and FLAGS.LEFT):
            begin, end = row_span(first, sight, part, FLAGS)
            for start in tl.range(begin, end, BLOCK_M):
                rows = start + inner
                there = rows < sight.queries
                query = load_rows(starts[0], operands.query, start, inner, dims, sight.queries, FLAGS.DIM, True)
                raw = raw_score(tl.dot(key, tl.trans(query), input_precision=FLAGS.PRECISION), rule, FLAGS.SOFTCAP,
                                FLAGS.TERM)  # fmt: skip
                if part != 1 or FLAGS.MASK or FLAGS.TERM:
                    shown = (columns < sight.keys)[:, None]
                    if part != 1:
                        positions = (rows + sight.offset)[None, :]
                        shown = in_band(positions, columns[:, None], sight, FLAGS.LEFT, FLAGS.RIGHT)
                    raw = add_and_hide(raw, shown, operands, starts, rows, columns, FLAGS, True)
                top, rest = load_shift(sums, sums_at + rows[None, :], there[None, :], FLAGS.TERM, False)
                weights = tl.exp2(weight_logs(raw, top, rest, rule, FLAGS.TERM))
                if FLAGS.WEIGH:
                    at = weigh_at + rows.to(tl.int64) * weigh.row
                    weights *= tl.load(at, mask=there, other=0.0)[None, :]
                total += tl.sum(tl.reshape(weights, (BLOCK_N, BLOCK_M // LANES, LANES)), 1)
    at = output + head.to(tl.int64) * sight.keys + columns
    tl.store(at, tl.sum(total, 1), mask=columns < sight.keys)
