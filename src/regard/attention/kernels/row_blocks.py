"""One block of rows against one block of keys: where to walk, the top of each row, and sums over columns.

Sums are kept as eight partial ones a row (`LANES`): a matrix product leaves every eighth column of a row in one thread,
which adds them up without talking to others.
"""

from __future__ import annotations

import triton
import triton.language as tl

from regard.attention.kernels.score_blocks import LANES


@triton.jit
def stretch(first_row, sight, STRETCH: tl.constexpr, FLAGS: tl.constexpr):
    """From which key to which one stretch of `row_kernel` goes, in whole blocks of keys."""
    BLOCK_N: tl.constexpr = FLAGS.BLOCK_N
    low = first_row + sight.offset  # the first row's own position, and the last row's
    high = tl.minimum(first_row + FLAGS.BLOCK_M, sight.queries) - 1 + sight.offset
    begin = low * 0
    end = begin + sight.keys
    if FLAGS.RIGHT:
        end = tl.maximum(tl.minimum(end, high + sight.right + 1), 0)
    end = (end + BLOCK_N - 1) // BLOCK_N * BLOCK_N
    whole = sight.keys // BLOCK_N * BLOCK_N
    uncut = begin
    if FLAGS.LEFT:
        begin = tl.minimum(tl.maximum(low - sight.left, 0) // BLOCK_N * BLOCK_N, end)
        uncut = (tl.maximum(high - sight.left, 0) + BLOCK_N - 1) // BLOCK_N * BLOCK_N
    near = tl.minimum(tl.minimum(tl.maximum(low + 1, 0) // BLOCK_N * BLOCK_N, whole), end)
    near = tl.maximum(near, begin)
    uncut = tl.minimum(tl.maximum(uncut, begin), near)
    behind = tl.minimum(tl.maximum((tl.maximum(high, 0) + BLOCK_N - 1) // BLOCK_N * BLOCK_N, near), end)
    cut = whole
    if FLAGS.RIGHT:
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
