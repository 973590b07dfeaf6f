"""Which reading a translator's alignment takes, and what others would give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from regard.lens.alignment.bitext import Bitext
from regard.lens.alignment.choice import (
    PairVotes,
    ReadingChoice,
    choose_by_gold,
    choose_by_itself,
    choose_by_reverse,
    error_rates,
)
from regard.lens.alignment.links import EVERYWHERE, AttentionReading, all_readings, candidates
from regard.lens.alignment.pairs import ProgressCallback, align_pairs, cross_sites
from regard.tasks import Translator
from regard.text.scores.alignment_error import AlignmentScore

ENOUGH = 500  # pairs to choose on


class Fixed(NamedTuple):
    """What is told of where to read; None: to be chosen."""

    site: str | None = None
    heads: tuple[int, ...] | None = None
    row: str | None = None


CHOSEN = Fixed()


class ScoredReading(NamedTuple):
    """A way to align, the reading it comes to, and how far it is from the links made by hand."""

    name: str
    reading: AttentionReading
    rate: AlignmentScore


def decide(
    translator: Translator, texts: Bitext, fixed: Fixed = CHOSEN, on_progress: ProgressCallback | None = None
) -> ReadingChoice:
    """By the gold links of the texts; where they have none, by how well each map agrees with itself on them."""
    readings = candidates(cross_sites(translator.model), *fixed)
    if len(readings) == 1:
        return ReadingChoice(readings[0], "as asked")
    return choose(align(translator, texts.first(ENOUGH), readings, on_progress), texts)


def decide_both(
    translator: Translator,
    reverse: Translator,
    texts: Bitext,
    fixed: Fixed = CHOSEN,
    on_progress: ProgressCallback | None = None,
) -> tuple[ReadingChoice, ReadingChoice]:
    """For two models, of either direction: by gold links each, else the two readings that agree most."""
    if texts.gold:
        return decide(translator, texts, fixed, on_progress), decide(reverse, texts.swapped(), on_progress=on_progress)
    some = texts.first(ENOUGH)
    ours = align(translator, some, candidates(cross_sites(translator.model), *fixed), on_progress)
    theirs = align(reverse, some.swapped(), candidates(cross_sites(reverse.model)), on_progress)
    return choose_by_reverse(ours, theirs)


def choose(aligned: PairVotes, texts: Bitext) -> ReadingChoice:
    return choose_by_gold(aligned, texts.gold[: len(aligned.votes)]) if texts.gold else choose_by_itself(aligned)


def align(
    translator: Translator,
    texts: Bitext,
    readings: Sequence[AttentionReading] | None = None,
    on_progress: ProgressCallback | None = None,
) -> PairVotes:
    """What the readings (all, by default) say of the pairs."""
    return align_pairs(translator, texts.sources, texts.targets, readings, words=texts.words, on_progress=on_progress)


def comparison(
    chosen: AttentionReading,
    rates: Mapping[AttentionReading, AlignmentScore],
    tuned: Mapping[AttentionReading, AlignmentScore] | None = None,
) -> list[ScoredReading]:
    """The chosen reading beside the best of other kinds, each picked by rates on other texts, where there are such."""
    where, tuned = (", picked here", rates) if tuned is None else ("", tuned)
    kinds = {
        "best head": [one for one in tuned if len(one.heads) == 1],
        "best Shift-Att": [one for one in tuned if not one.heads and one.row == "input" and one.site != EVERYWHERE],
        "mean of all heads": [one for one in tuned if one.site == EVERYWHERE],
    }
    best = {name: min(some, key=lambda one: tuned[one].aer) for name, some in kinds.items()}
    lines = [ScoredReading(f"{name}{where}", one, rates[one]) for name, one in best.items()]
    return [ScoredReading("chosen", chosen, rates[chosen]), *lines]


def compare(
    translator: Translator,
    texts: Bitext,
    choice: ReadingChoice,
    tuned: Mapping[AttentionReading, AlignmentScore] | None = None,
    on_progress: ProgressCallback | None = None,
) -> list[ScoredReading]:
    """The chosen reading of texts with gold links, and others: picked by their rates elsewhere, if there are such."""
    readings = list(dict.fromkeys([choice.reading, *all_readings(cross_sites(translator.model))]))
    return comparison(choice.reading, error_rates(align(translator, texts, readings, on_progress), texts.gold), tuned)
