"""Which heads, together, does a model need for one thing and not for another? A search over what to silence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from regard.errors import InputError
from regard.lens.effect import Effect, HeadEffect, scored, without

Place = tuple[str, int]  # a site and a head
Score = Callable[[Any], float]
ProgressCallback = Callable[[int, int], None]


@dataclass(frozen=True)
class Trial:
    """Some heads silenced: what became of the score that should fall, and of what should be spared."""

    heads: tuple[Place, ...]
    score: float
    cost: float


@dataclass(frozen=True)
class Search:
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
class Searched:
    """What each head's silence did alone, and the best set of each size that was found."""

    alone: Effect
    best: list[Trial]


def search(model: Any, how: Search, on_progress: ProgressCallback | None = None) -> Searched:
    """Of the best sets so far, each with one head more, those that lower the score most are gone on with."""
    baseline, sites = scored(model, how.score)
    heads = [(site, head) for site, size in sites.items() for head in range(size)]
    limit = how.cost(model) + how.allow
    alone: list[HeadEffect] = []
    front: list[Trial] = [Trial((), 0.0, 0.0)]
    best: list[Trial] = []
    done, total = 0, len(heads) * (1 + how.width * (how.most - 1))
    for _ in range(how.most):
        sets = dict.fromkeys(larger(trial.heads, head) for trial in front for head in heads if head not in trial.heads)
        candidates: list[Trial] = []
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
    return Searched(Effect(baseline, alone), best)


def larger(heads: tuple[Place, ...], head: Place) -> tuple[Place, ...]:
    return tuple(sorted((*heads, head)))


def evaluate_set(model: Any, how: Search, heads: tuple[Place, ...]) -> Trial:
    with without(model, heads):
        return Trial(heads, how.score(model), how.cost(model))


def random_heads(heads: Sequence[Place], but: Sequence[Place], draws: int, seed: int = 0) -> list[tuple[Place, ...]]:
    """As many other heads as `but` has, drawn at random, some times."""
    others = [head for head in heads if head not in but]
    if len(others) < len(but):
        raise InputError("there are not as many other heads", found=f"{len(others)}, of {len(heads)}")
    rng = Random(seed)
    return [tuple(sorted(rng.sample(others, len(but)))) for _ in range(draws)]
