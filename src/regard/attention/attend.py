"""The one door: every attention of every model here is a call of `attend`.

It reads the arguments, chooses how to compute (all ways mean the same, and each is tested against `six_steps` in
float64), and gives back what was asked to be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Unpack, overload

import torch
from torch import Tensor

from regard.attention.fused import fits, fused, fused_with_lse
from regard.attention.inputs import ScoreOptions, check_value, read_dropout, read_scores
from regard.attention.kernels.choose import by_kernel
from regard.attention.kernels.launches import rows_output, rows_with_statistics
from regard.attention.masks import Window
from regard.attention.scores import Scores, full_precision
from regard.attention.short import is_short, short
from regard.attention.statistics import Statistics
from regard.attention.steps import Steps, six_steps
from regard.attention.tiled import tiled
from regard.errors import InputError

SMALL = 1 << 22  # up to this many cells the plain steps are the quickest way to what SDPA cannot do
SHOWN = 1 << 27  # beyond this many the steps would need gigabytes for each intermediate


# fmt: off
@overload
def attend(query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = ..., causal: bool = ...,
           window: Window | None = ..., offset: int | None = ..., scale: float | None = ...,
           softcap: float | None = ..., bias: Tensor | None = ..., sinks: Tensor | None = ...,
           dropout: float = ..., see: None = ...) -> Tensor: ...
@overload
def attend(query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = ..., causal: bool = ...,
           window: Window | None = ..., offset: int | None = ..., scale: float | None = ...,
           softcap: float | None = ..., bias: Tensor | None = ..., sinks: Tensor | None = ...,
           dropout: float = ..., see: Literal["stats"]) -> tuple[Tensor, Statistics]: ...
@overload
def attend(query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = ..., causal: bool = ...,
           window: Window | None = ..., offset: int | None = ..., scale: float | None = ...,
           softcap: float | None = ..., bias: Tensor | None = ..., sinks: Tensor | None = ...,
           dropout: float = ..., see: Literal["steps"]) -> tuple[Tensor, Steps]: ...
# fmt: on
def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    window: Window | None = None,
    offset: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    bias: Tensor | None = None,
    sinks: Tensor | None = None,
    dropout: float = 0.0,
    see: Literal["stats", "steps"] | None = None,
) -> Tensor | tuple[Tensor, Statistics] | tuple[Tensor, Steps]:
    """softmax(q.k / sqrt(d)) v, and on request what happened inside.

    query (batch..., heads, queries, dim), key (batch..., key heads, keys, dim), value (batch..., key heads, keys,
    value dim); the key heads may be fewer than the query heads and divide them. The output has the query's dtype.

    mask     booleans (True = may look) or numbers to add; broadcast, aligned right, to (batch..., heads, queries, keys)
    causal   no key after the query's own position
    window   (left, right): at most so many keys to each side of it; None for no bound
    offset   query i stands at position i + offset; by default the last query stands on the last key
    scale    of q.k; by default 1 / sqrt(dim)
    softcap  s -> softcap * tanh(s / softcap), before bias and mask
    bias     added to the scores
    sinks    one logit a head that joins the softmax and carries no value
    dropout  share of weights dropped, in training
    see      None: the output. "stats": (output, Statistics). "steps": (output, Steps), for small inputs

    A row that may look nowhere gives zeros.
    """
    plain = all(option is None for option in (window, offset, scale, softcap, bias, sinks, see))
    if plain and type(dropout) is float and dropout == 0.0 and is_short(query, key, value, mask, causal):
        return short(query, key, value, mask)[0]
    options: ScoreOptions = {
        "mask": mask, "causal": causal, "window": window, "offset": offset,
        "scale": scale, "softcap": softcap, "bias": bias, "sinks": sinks,
    }  # fmt: skip
    scores = read_scores(query, key, options)
    check_value(value, query, key)
    dropout = read_dropout(dropout)
    if see not in (None, "stats", "steps"):
        raise InputError("see must be None, 'stats' or 'steps'", found=f"{see!r}", do="leave it out for the output")
    scores, value = in_one_dtype(scores, value)
    if see == "stats":
        output, *fields = with_statistics(scores, value, dropout)
        return whole(output, query), Statistics(*(field.flatten(-3, -2) for field in fields))
    if see == "steps":
        steps = stepped(*exactly(scores, value), dropout)
        return steps.output.to(query.dtype), steps
    return whole(BACKENDS[choose(scores, dropout)](scores, value, dropout), query)


def attend_with_lse(
    query: Tensor, key: Tensor, value: Tensor, *, dropout: float = 0.0, **options: Unpack[ScoreOptions]
) -> tuple[Tensor, Tensor | None]:
    """The output of `attend`, bit for bit, and the lse (batch..., heads, queries) where computing it gave that too."""
    mask, causal = options.get("mask"), options.get("causal", False)
    plain = all(options[name] is None for name in options if name not in ("mask", "causal"))  # type: ignore[literal-required]
    if plain and type(dropout) is float and dropout == 0.0 and is_short(query, key, value, mask, causal):
        output, short_scores = short(query, key, value, mask)
        return output, short_scores.logsumexp(-1)
    scores = read_scores(query, key, options)
    check_value(value, query, key)
    dropout = read_dropout(dropout)
    scores, value = in_one_dtype(scores, value)
    backend = choose(scores, dropout)
    if backend != "fused":
        return whole(BACKENDS[backend](scores, value, dropout), query), None
    output, lse = fused_with_lse(scores, value, dropout)
    return whole(output, query), None if lse is None else lse.flatten(-3, -2)


def with_statistics(scores: Scores, value: Tensor, dropout: float) -> tuple[Tensor, ...]:
    """The output and the fields of `Statistics`, grouped: by a kernel where one serves, else block by block."""
    fields = None if dropout else by_kernel(scores, lambda: rows_with_statistics(scores, value), value)
    return tiled(*exactly(scores, value), dropout, full=True) if fields is None else fields


def choose(scores: Scores, dropout: float) -> str:
    """The quickest backend that computes exactly this within memory."""
    if fits(scores, dropout):
        return "fused"
    return "steps" if scores.cells <= SMALL else "tiled"


def by_steps(scores: Scores, value: Tensor, dropout: float) -> Tensor:
    scores, value = exactly(scores, value)
    return torch.unflatten(stepped(scores, value, dropout).output, -3, scores.query_BJGQD.shape[-4:-2])


def by_tiles(scores: Scores, value: Tensor, dropout: float) -> Tensor:
    output = None if dropout else by_kernel(scores, lambda: rows_output(scores, value), value)
    return tiled(*exactly(scores, value), dropout, full=False)[0] if output is None else output


BACKENDS: dict[str, Callable[[Scores, Tensor, float], Tensor]] = {"fused": fused, "steps": by_steps, "tiled": by_tiles}


def stepped(scores: Scores, value: Tensor, dropout: float) -> Steps:
    """The plain six steps, refused where they would fill the memory."""
    if scores.cells > SHOWN:
        raise InputError(
            "the steps keep every intermediate, and this is too large for that",
            found=f"{scores.cells:,} cells of queries x keys; at most {SHOWN:,}",
            do="ask for see='stats', and for `tile` to look at parts",
        )
    sight = scores.rule.sight
    everything = slice(0, sight.queries), slice(0, sight.keys)
    bias, visible = scores.added(*everything), scores.visible(*everything)
    with full_precision(scores.device):
        return six_steps(
            scores.query_BJGQD.flatten(-4, -3), scores.key_BJKD, value,
            scale=scores.rule.scale, softcap=scores.rule.softcap,
            bias=None if bias is None else bias.flatten(-4, -3),
            visible=visible.flatten(-4, -3) if visible is not None and visible.ndim > 3 else visible,
            sinks_H=None if scores.sinks_JG is None else scores.sinks_JG.flatten(), dropout=dropout,
        )  # fmt: skip


def in_one_dtype(scores: Scores, value: Tensor) -> tuple[Scores, Tensor]:
    """Query, key and value in the widest dtype among them."""
    wide = torch.promote_types(scores.dtype, value.dtype)
    return scores.to(wide), value.to(wide)


def exactly(scores: Scores, value: Tensor) -> tuple[Scores, Tensor]:
    """Half precision is computed in float32: only SDPA's kernels do better by staying in it."""
    wide = torch.promote_types(value.dtype, torch.float32)
    return scores.to(wide), value.to(wide)


def whole(output_BJGQV: Tensor, query: Tensor) -> Tensor:
    """The heads in one dim again, in the query's dtype."""
    return output_BJGQV.flatten(-4, -3).to(query.dtype)
