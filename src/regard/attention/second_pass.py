"""What the second passes (received, tile) start from: the scores as given, and the lse that makes them weights."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.attention.inputs import ScoreOptions, broadcasts, check_device, read_scores
from regard.attention.kernels.choose import by_kernel, serves
from regard.attention.kernels.launches import rows_lse
from regard.attention.scores import LOW, NOWHERE, LogSum, Scores
from regard.attention.statistics import Running
from regard.attention.threads import in_threads
from regard.errors import ShapeError


def read_pass(query: Tensor, key: Tensor, lse: Tensor | None, options: ScoreOptions) -> tuple[Scores, LogSum]:
    """The scores, and the lse of every row, grouped. Half precision stays as it is only where a kernel takes it so."""
    scores = read_scores(query, key, options)
    scores = scores.to(scores.dtype) if serves(scores) else exact_scores(scores)
    if lse is None:
        return scores, lse_of(scores)
    if not isinstance(lse, Tensor) or lse.shape != query.shape[:-1]:
        given = tuple(lse.shape) if isinstance(lse, Tensor) else type(lse).__qualname__
        raise ShapeError(
            "lse must have one number for each row: (batch..., heads, queries)",
            found=f"lse {given}, query {tuple(query.shape)}",
            do="take it from attend(..., see='stats'), or leave it out and it is computed",
        )
    check_device("lse", lse, query)
    top = lse.to(torch.promote_types(scores.dtype, torch.float32)).reshape(scores.query_BJGQD.shape[:-1])
    if bool(((top < LOW) & (top != NOWHERE)).any()):
        return scores, lse_of(scores)
    return scores, LogSum(top, torch.zeros_like(top))


def exact_scores(scores: Scores) -> Scores:
    """In float32 or wider, as the passes in torch need them."""
    return scores.to(torch.promote_types(scores.dtype, torch.float32))


def read_weigh(weigh: Tensor | None, whose: str, query: Tensor, count: int, like_BJGQ: Tensor) -> Tensor | None:
    """A factor for each query, or each key, grouped as the heads are."""
    if weigh is None:
        return None
    shape, plural = (*query.shape[:-2], count), {"query": "queries", "key": "keys"}[whose]
    if not isinstance(weigh, Tensor) or weigh.is_complex() or not broadcasts(weigh.shape, shape):
        given = f"{tuple(weigh.shape)} of {weigh.dtype}" if isinstance(weigh, Tensor) else type(weigh).__qualname__
        raise ShapeError(
            f"weigh must give each {whose} a number: a tensor that broadcasts to (batch..., heads, {plural})",
            found=f"weigh {given}, query {tuple(query.shape)}",
            do=f"give it the shape {shape}, or 1 where it is the same",
        )
    check_device("weigh", weigh, like_BJGQ)
    return weigh.to(like_BJGQ.dtype).expand(*shape).reshape(*like_BJGQ.shape[:-1], count)


def lse_of(scores: Scores) -> LogSum:
    """The log-sum-exp of every row, in one pass."""
    sums = by_kernel(scores, lambda: rows_lse(scores))
    if sums is not None:
        return sums
    scores = exact_scores(scores)

    def sum_rows(rows: slice) -> LogSum:
        running = Running(scores, rows, full=False)
        for columns in scores.column_blocks(rows):
            running.add(columns)
        running.finish()
        return running.lse()

    done = in_threads(sum_rows, scores.row_blocks()[::-1], scores.device, scores.cells)
    return LogSum(*(torch.cat(fields[::-1], -1) for fields in zip(*done, strict=True)))
