"""A rectangle of the map of one head, pooled: each program takes a few cells down and walks across.

Sides of cells are padded to a power of two inside the kernel, by queries and keys that are not there, so that a block
holds whole cells and pooling them is a reshape. A cell larger than a block is merged into its number block by block.
"""

from __future__ import annotations

import triton
import triton.language as tl

from regard.attention.kernels.score_blocks import (
    add_and_hide,
    at_least,
    head_of,
    head_start,
    in_band,
    load_shift,
    raw_score,
    starts_of,
    weight_logs,
)


@triton.jit
def spread_positions(first, piece, side, SIZE: tl.constexpr, CELL: tl.constexpr):
    """The positions of a block: `SIZE // CELL` cells from `first` on, of each of them the `piece`-th so many, and
    whether they belong to it.
    """
    index = tl.arange(0, SIZE)
    within = piece * CELL + index % CELL
    return first + index // CELL * side.cell + within, within < side.cell


@triton.jit
def pool_cells(weights, FLAGS: tl.constexpr):
    down: tl.constexpr = FLAGS.BLOCK_M // FLAGS.CELL_M
    across: tl.constexpr = FLAGS.BLOCK_N // FLAGS.CELL_N
    boxes = tl.reshape(weights, (FLAGS.BLOCK_M, across, FLAGS.CELL_N))
    pooled = tl.sum(tl.reshape(tl.sum(boxes, 2), (down, FLAGS.CELL_M, across)), 1)
    if FLAGS.LARGEST:  # tl.max loses NaN, which the sum has found
        largest = tl.max(tl.reshape(tl.max(boxes, 2), (down, FLAGS.CELL_M, across)), 1)
        pooled = at_least(largest + 0.0 * pooled, 0.0)
    return pooled


@triton.jit
def visible_steps(begin, end, first, last, side, pieces, sight, FLAGS: tl.constexpr):
    """Of the steps across, those that the band may show to rows at positions from `first` to `last`."""
    width = FLAGS.BLOCK_N // FLAGS.CELL_N * side.cell
    if FLAGS.LEFT:
        begin = tl.maximum(begin, tl.maximum(first - sight.left - side.start, 0) // width * pieces)
    if FLAGS.RIGHT:
        end = tl.minimum(end, (tl.maximum(last + sight.right - side.start + 1, 0) + width - 1) // width * pieces)
    return begin, end


@triton.jit
def load_spread(start, strided, positions, there, dims, DIM: tl.constexpr):
    at = start + positions.to(tl.int64)[:, None] * strided.row + dims[None, :] * strided.column
    return tl.load(at, mask=there[:, None] & (dims < DIM)[None, :], other=0.0)


@triton.jit
def tile_pass(operands, sums, weigh, output, down, across, FLAGS: tl.constexpr):
    """Some cells down of one head, and `across.span` blocks across. What the band hides stays as it was: 0."""
    BLOCK_M: tl.constexpr = FLAGS.BLOCK_M
    BLOCK_N: tl.constexpr = FLAGS.BLOCK_N
    HIGH: tl.constexpr = BLOCK_M // FLAGS.CELL_M
    WIDE: tl.constexpr = BLOCK_N // FLAGS.CELL_N
    sight, rule = operands.sight, operands.rule
    row_blocks, column_blocks = (down.bins + HIGH - 1) // HIGH, (across.bins + WIDE - 1) // WIDE
    spans = (column_blocks + across.span - 1) // across.span
    program = tl.program_id(0)
    place = program % (row_blocks * spans)
    high, wide = place // spans * HIGH, place % spans * across.span
    head, batch, key_head, member = head_of(program // (row_blocks * spans), sight)

    dims = tl.arange(0, FLAGS.BLOCK_D)
    starts = starts_of(operands, batch, key_head, member, FLAGS)
    weigh_at = starts[0]
    if FLAGS.WEIGH:
        weigh_at = head_start(weigh, batch, key_head, member)
    sums_at = head.to(tl.int64) * sums.length
    bins_down = high + tl.arange(0, HIGH)
    output += (head.to(tl.int64) * down.bins + bins_down.to(tl.int64))[:, None] * across.bins

    for row_piece in tl.range(0, (down.cell + FLAGS.CELL_M - 1) // FLAGS.CELL_M):
        rows, there = spread_positions(down.start + high * down.cell, row_piece, down, BLOCK_M, FLAGS.CELL_M)
        there = there & (rows < down.stop)
        query = load_spread(starts[0], operands.query, rows, there, dims, FLAGS.DIM)
        if FLAGS.SIGNED:
            query = (query.to(tl.float32) * rule.sign).to(query.dtype)
        top, rest = load_shift(sums, sums_at + rows[:, None], there[:, None], FLAGS.TERM, True)
        positions = rows + sight.offset
        pieces = (across.cell + FLAGS.CELL_N - 1) // FLAGS.CELL_N
        begin, end = wide * pieces, tl.minimum(wide + across.span, column_blocks) * pieces
        first = down.start + high * down.cell + row_piece * FLAGS.CELL_M + sight.offset
        last = first + (HIGH - 1) * down.cell + FLAGS.CELL_M - 1
        begin, end = visible_steps(begin, end, first, last, across, pieces, sight, FLAGS)
        for step in tl.range(begin, end):
            left = step // pieces * WIDE
            columns, inside = spread_positions(across.start + left * across.cell, step % pieces, across, BLOCK_N,
                                               FLAGS.CELL_N)  # fmt: skip
            inside = inside & (columns < across.stop)
            key = load_spread(starts[1], operands.key, columns, inside, dims, FLAGS.DIM)
            raw = raw_score(tl.dot(query, tl.trans(key), input_precision=FLAGS.PRECISION), rule, FLAGS.SOFTCAP,
                            FLAGS.TERM)  # fmt: skip
            shown = inside[None, :] & in_band(positions[:, None], columns[None, :], sight, FLAGS.LEFT, FLAGS.RIGHT)
            raw = add_and_hide(raw, shown, operands, starts, rows, columns, FLAGS, False)
            weights = tl.exp2(weight_logs(raw, top, rest, rule, FLAGS.TERM))
            if FLAGS.WEIGH:
                at = weigh_at + columns.to(tl.int64) * weigh.column
                weights *= tl.load(at, mask=inside, other=0.0)[None, :]
            pooled = pool_cells(weights, FLAGS)
            bins_across = left + tl.arange(0, WIDE)
            at = output + bins_across[None, :]
            written = (bins_down < down.bins)[:, None] & (bins_across < across.bins)[None, :]
            if FLAGS.MERGE:
                before = tl.load(at, mask=written, other=0.0)
                pooled = at_least(before, pooled) if FLAGS.LARGEST else before + pooled
            tl.store(at, pooled, mask=written)
            if FLAGS.MERGE:
                tl.debug_barrier()  # the next block may read what another thread has written
