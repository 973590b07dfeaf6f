"""A kernel's first use on a device, in a dtype, with its options: it must give what the blockwise pass gives."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import torch
from torch import Tensor

from regard.attention.kernels.launches import columns_received, rows_lse, rows_with_statistics, tile_pooled
from regard.attention.kernels.operands import Side, Traits
from regard.attention.masks import Sight
from regard.attention.scores import LogSum, ScoreRule, Scores
from regard.attention.tiled import tiled


class Kind(NamedTuple):
    """Kernels that are compiled alike; `dim` is that of a head, padded."""

    device: torch.device
    dtype: torch.dtype
    dim: int
    traits: Traits = Traits()


VERDICTS: dict[Kind, bool] = {}
HEADS, GROUP, QUERIES, KEYS = 2, 2, 150, 200  # several blocks both ways, none of them whole at the end
ROUNDINGS = 8  # of the largest number in a field, beyond those of its sums


def trusted(kind: Kind) -> bool:
    """Were the kernels right on this device, in this dtype, at this dim, with these options? Tried once a process."""
    if kind not in VERDICTS:
        if kind.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            return False  # numbers cannot be looked at while a graph is captured: the trial comes later
        wrong = disagreement(kind)
        if wrong:
            distrust(kind, wrong)
        VERDICTS.setdefault(kind, True)
    return VERDICTS[kind]


def distrust(kind: Kind, reason: str) -> None:
    VERDICTS[kind] = False
    warnings.warn(
        f"the attention kernels are not used on {kind.device} for {kind.dtype} and dims up to {kind.dim} with "
        f"{kind.traits}: {reason}. Everything works, by the slower blockwise pass; other versions of torch and triton "
        "may do better",
        RuntimeWarning,
        stacklevel=2,
    )


@torch.no_grad()
def disagreement(kind: Kind) -> str:
    """What the kernels compute otherwise than the blockwise pass, on one small problem of this kind; "" for nothing."""
    dim, dtype = kind.dim, kind.dtype
    scores, value = problem(kind)
    wide = scores.to(torch.float64)  # there is no setting by which torch would round its products to fewer bits
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


def problem(kind: Kind) -> tuple[Scores, Tensor]:
    """Scores with the options of this kind, and values. No row is empty: what is hidden leaves some everywhere."""
    draws, traits = torch.Generator("cpu").manual_seed(0), kind.traits

    def drawn(*shape: int) -> Tensor:
        return torch.randn(shape, generator=draws, device="cpu").to(kind.device)

    query, key, value = (
        drawn(*shape, kind.dim).to(kind.dtype) for shape in ((HEADS, GROUP, QUERIES), (HEADS, KEYS), (HEADS, KEYS))
    )
    rows = {1: 1, 2: QUERIES}
    if not traits.term:
        key[:, 1::2] = key[:, ::2]  # every score occurs twice: the first of equals is the top key
    mask = drawn(1, 1, rows[traits.mask], KEYS) > -1 if traits.mask else None
    terms = (drawn(1, 1, rows[traits.term], KEYS),) if traits.term else ()
    window = KEYS // 4 if traits.left else None, (0 if traits.causal else KEYS // 4) if traits.right else None
    sight = Sight.over(QUERIES, KEYS, KEYS - QUERIES, window, mask)
    scale = -(kind.dim**-0.5) if traits.signed else kind.dim**-0.5
    rule = ScoreRule(scale, 2.0 if traits.softcap else None, sight)
    return Scores(rule, query, key, terms, drawn(HEADS, GROUP) if traits.sinks else None), value


def near(given: Tensor, expected: Tensor, dim: int, dtype: torch.dtype) -> bool:
    """Within the roundings of sums over the dim and the keys, each no larger than the largest number there."""
    bound = (2 * (dim + 1) + KEYS + ROUNDINGS) * torch.finfo(torch.float32).eps + ROUNDINGS * torch.finfo(dtype).eps
    size = max(1.0, expected.abs().max().item())
    return bool(((given.double() - expected.double()).abs() <= bound * size).all())
