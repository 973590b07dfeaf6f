"""A kernel's first use on a device and in a dtype: it must give what the blockwise pass gives, or it is not used."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from regard.attention.kernels.launches import columns_received, rows_lse, rows_with_statistics, tile_pooled
from regard.attention.kernels.operands import Side
from regard.attention.masks import Sight
from regard.attention.scores import LogSum, ScoreRule, Scores
from regard.attention.tiled import tiled

Kind = tuple[torch.device, torch.dtype, int]  # the last: the dim of a head, padded

VERDICTS: dict[Kind, bool] = {}
HEADS, GROUP, QUERIES, KEYS = 2, 2, 150, 200  # several blocks both ways, none of them whole at the end
ROUNDINGS = 8  # of the largest number in a field, beyond those of its sums


def trusted(kind: Kind) -> bool:
    """Were the kernels right on this device, in this dtype, at this dim? Tried once a process."""
    if kind not in VERDICTS:
        if kind[0].type == "cuda" and torch.cuda.is_current_stream_capturing():
            return False  # numbers cannot be looked at while a graph is captured: the trial comes later
        wrong = disagreement(*kind)
        if wrong:
            distrust(kind, wrong)
        VERDICTS.setdefault(kind, True)
    return VERDICTS[kind]


def distrust(kind: Kind, reason: str) -> None:
    VERDICTS[kind] = False
    warnings.warn(
        f"the attention kernels are not used on {kind[0]} for {kind[1]} and dims up to {kind[2]}: {reason}. Everything "
        "works, by the slower blockwise pass; other versions of torch and triton may do better",
        RuntimeWarning,
        stacklevel=2,
    )


@torch.no_grad()
def disagreement(device: torch.device, dtype: torch.dtype, dim: int) -> str:
    """What the kernels compute otherwise than the blockwise pass, on one small causal problem; "" for nothing."""
    draws = torch.Generator("cpu").manual_seed(0)
    shapes = (HEADS, GROUP, QUERIES, dim), (HEADS, KEYS, dim), (HEADS, KEYS, dim)
    query, key, value = (torch.randn(shape, generator=draws, device="cpu").to(device, dtype) for shape in shapes)
    key[:, 1::2] = key[:, ::2]  # every score occurs twice: the first of equals is the top key
    rule = ScoreRule(dim**-0.5, None, Sight.over(QUERIES, KEYS, KEYS - QUERIES, (None, 0)))
    # In float64: there is no setting by which torch would round its products to fewer bits.
    scores, wide = Scores(rule, query, key), Scores(rule, query.double(), key.double())
    expected, given = tiled(wide, value.double(), full=True), rows_with_statistics(scores, value)
    names = "output", "lse", "entropy", "top_weight", "top_key", "distance", "self_weight", "first_weight"
    pairs = dict(zip(names, zip(given, expected, strict=True), strict=True))

    exact = LogSum(expected[1], torch.zeros_like(expected[1]))
    sums = LogSum(*(part.float() for part in exact))
    weights = wide.weights(slice(0, QUERIES), slice(0, KEYS), exact)
    halves = Side(0, QUERIES, QUERIES // 2, 2), Side(0, KEYS, KEYS // 4, 4)
    pooled = weights.unflatten(-1, (4, -1)).unflatten(-3, (2, -1)).sum((-3, -1))
    pairs["logsumexp"] = rows_lse(scores).total, expected[1]
    pairs["received"] = columns_received(scores, sums, None), weights.sum(-2)
    pairs["tile"] = tile_pooled(scores, sums, *halves, "mass", None), pooled
    wrong = [name for name, pair in pairs.items() if not near(*pair, dim, dtype if name == "output" else torch.float32)]
    return f"{', '.join(wrong)} not as expected" if wrong else ""


def near(given: Tensor, expected: Tensor, dim: int, dtype: torch.dtype) -> bool:
    """Within the roundings of sums over the dim and the keys, each no larger than the largest number there."""
    bound = (2 * (dim + 1) + KEYS + ROUNDINGS) * torch.finfo(torch.float32).eps + ROUNDINGS * torch.finfo(dtype).eps
    size = max(1.0, expected.abs().max().item())
    return bool(((given.double() - expected.double()).abs() <= bound * size).all())
