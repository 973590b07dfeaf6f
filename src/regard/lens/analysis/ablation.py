"""Which heads, together, does a model need for one thing and not for another? A search over what to silence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from regard.errors import InputError
from regard.lens.effect import Effect, HeadEffect, without
from regard.lens.model_score import scored, select_heads

SiteHead = tuple[str, int]  # a site and a head
Score = Callable[[Any], float]
ProgressCallback = Callable[[int, int], None]


@dataclass(frozen=True)
class HeadSetTrial:
    """Some heads silenced: what became of the score that should fall, and of what should be spared."""

    heads: tuple[SiteHead, ...]
    score: float
    cost: float


@dataclass(frozen=True)
class HeadSearch:
    """What to lower, what it may cost at most, and how widely to look.

    score  falls as the thing that is looked for breaks
    cost   rises as everything else breaks; sets that raise it by more than `allow` are given up
    most   heads together, at most
    width  sets of each size that are looked into further
    enough larger sets are not tried once the score is as low as this
    """

    score: Score
    cost: Score
    allow: float
    most: int = 4
    width: int = 3
    enough: float = -math.inf


@dataclass(frozen=True)
class HeadSearchResult:
    """What each head's silence did alone, and the best set of each size that was found."""

    alone: Effect
    best: list[HeadSetTrial]


def search(model: Any, how: HeadSearch, on_progress: ProgressCallback | None = None) -> HeadSearchResult:
    """Of the best sets so far, each with one head more, those that lower the score most are gone on with."""
    baseline, sites = scored(model, how.score)
    heads = select_heads(sites, None, None)
    limit = how.cost(model) + how.allow
    alone: list[HeadEffect] = []
    front: list[HeadSetTrial] = [HeadSetTrial((), 0.0, 0.0)]
    best: list[HeadSetTrial] = []
    done, total = 0, len(heads) * (1 + how.width * (how.most - 1))
    for _ in range(how.most):
        sets = dict.fromkeys(larger(trial.heads, head) for trial in front for head in heads if head not in trial.heads)
        candidates: list[HeadSetTrial] = []
        for chosen in sets:
            candidates.append(evaluate_set(model, how, chosen))
            done += 1
            if on_progress is not None:
                on_progress(min(done, total), total)
        alone = alone or [HeadEffect(*one.heads[0], one.score, one.score - baseline) for one in candidates]
        spared = sorted((trial for trial in candidates if trial.cost <= limit), key=lambda trial: trial.score)
        if not spared:
            break
        front = spared[: how.width]
        best.append(front[0])
        if front[0].score <= how.enough:
            break
    if not best:
        raise InputError("no head can be silenced at so small a cost", found=f"{len(heads)} heads", do="allow more")
    return HeadSearchResult(Effect(baseline, alone), best)


def larger(heads: tuple[SiteHead, ...], head: SiteHead) -> tuple[SiteHead, ...]:
    return tuple(sorted((*heads, head)))


def evaluate_set(model: Any, how: HeadSearch, heads: tuple[SiteHead, ...]) -> HeadSetTrial:
    with without(model, heads):
        return HeadSetTrial(heads, how.score(model), how.cost(model))


def random_heads(
    heads: Sequence[SiteHead], but: Sequence[SiteHead], draws: int, seed: int = 0
) -> list[tuple[SiteHead, ...]]:
    """As many other heads as `but` has, drawn at random, some times."""
    others = [head for head in heads if head not in but]
    if len(others) < len(but):
        raise InputError("there are not as many other heads", found=f"{len(others)}, of {len(heads)}")
    rng = Random(seed)
    return [tuple(sorted(rng.sample(others, len(but)))) for _ in range(draws)]
