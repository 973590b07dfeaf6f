"""Where in a model its alignment is to be read: chosen by links made by hand, by a model of the other direction, or by
what the attention says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.errors import InputError
from regard.lens.alignment.links import EVERYWHERE, AttentionReading, Pair, Votes, links
from regard.text.scores.alignment_error import AlignmentScore, Gold, Link, alignment_score

COMPARED = 128  # readings of each of two models that are compared with each other: those that agree with themselves


@dataclass(frozen=True)
class PairVotes:
    """What some readings say of some pairs."""

    readings: list[AttentionReading]
    pairs: list[Pair]
    votes: list[Votes]

    def links(self, reading: AttentionReading) -> list[list[Link]]:
        """For each pair the links (source word, target word) that one reading makes."""
        index = self.readings.index(reading)
        return [links(vote.sources[index].tolist()) for vote in self.votes]


@dataclass(frozen=True)
class ReadingChoice:
    """A reading, and how it was chosen, in words; `score` is the error rate or the agreement that it had."""

    reading: AttentionReading
    how: str
    score: float | None = None
    rate: AlignmentScore | None = None  # where it was chosen by links made by hand


def error_rates(aligned: PairVotes, gold: Sequence[Gold]) -> dict[AttentionReading, AlignmentScore]:
    """The alignment error rate of every reading."""
    return {one: alignment_score(aligned.links(one), gold) for one in aligned.readings}


def choose_by_gold(aligned: PairVotes, gold: Sequence[Gold]) -> ReadingChoice:
    """The reading with the lowest error rate on sentences that were aligned by hand."""
    rates = error_rates(aligned, gold)
    best = first([-rates[one].aer for one in aligned.readings], aligned.readings)
    score = rates[best]
    how = f"lowest error rate on {score.sentences:,} sentences whose links are known: {100 * score.aer:.1f} %"
    return ReadingChoice(best, how, score.aer, score)


def choose_by_itself(aligned: PairVotes) -> ReadingChoice:
    """The reading in which most target words are the best of their own best source word.

    Nothing else is asked for, and nothing else is known: a map that is off by one word everywhere agrees too.
    """
    shares = own_agreement(aligned.votes)
    best = first(shares.tolist(), aligned.readings)
    score = float(shares[aligned.readings.index(best)])
    texts = "1 pair" if len(aligned.votes) == 1 else f"{len(aligned.votes):,} pairs"
    return ReadingChoice(
        best, f"agreement of the map with itself on {texts}: {100 * score:.1f} % of target words", score
    )


def choose_by_reverse(aligned: PairVotes, reverse: PairVotes) -> tuple[ReadingChoice, ReadingChoice]:
    """A reading of each of two models, one for each direction, whose links agree most (F1), on the same pairs."""
    shares = agreement(aligned.votes, reverse.votes)
    for index, one in enumerate(aligned.readings):
        shares[index] = shares[index] if one.site != EVERYWHERE else -1
    for index, one in enumerate(reverse.readings):
        shares[:, index] = shares[:, index] if one.site != EVERYWHERE else -1
    index, other = divmod(int(shares.argmax()), shares.shape[1])
    score = float(shares[index, other])
    how = f"agreement of both directions on {len(aligned.votes):,} pairs: F1 {100 * score:.1f} %"
    return ReadingChoice(aligned.readings[index], how, score), ReadingChoice(reverse.readings[other], how, score)


def first(scores: Sequence[float], readings: Sequence[AttentionReading]) -> AttentionReading:
    """The best that may be chosen; of equals the one that comes first."""
    chosen = [index for index, one in enumerate(readings) if one.site != EVERYWHERE]
    if not chosen:
        raise InputError("there is nothing to choose from", found=f"{len(readings)} readings")
    return readings[max(chosen, key=lambda index: scores[index])]


def own_agreement(votes: Sequence[Votes]) -> Tensor:
    """(readings): the share of target words that are the best of their best source word."""
    if not votes:
        raise InputError("there is nothing to choose by", found="no pairs of texts", do="give some")
    agreed, asked = torch.zeros(len(votes[0].sources)), 0
    for one in votes:
        agreed += mutual(one.sources, one.targets).sum(1)
        asked += one.sources.shape[1]
    return agreed / max(asked, 1)


def mutual(there: Tensor, back: Tensor) -> Tensor:
    """Where going there leads back: (readings, n), or (..., readings, n) when `back` has more readings before."""
    if not back.shape[-1]:
        return torch.zeros_like(there, dtype=torch.bool)
    returned = back.long().gather(-1, there.long().clamp(min=0))
    return (returned == torch.arange(there.shape[-1])) & (there >= 0)


def agreement(votes: Sequence[Votes], reverse: Sequence[Votes]) -> Tensor:
    """(readings, readings of the reverse): F1 of the links of both; 0 for those that are not compared."""
    ours, theirs = foremost(votes), foremost(reverse)
    shared, total = torch.zeros(len(ours), len(theirs)), torch.zeros(len(ours), len(theirs))
    for one, other in zip(votes, reverse, strict=True):
        there, back = one.sources[ours], other.sources[theirs]
        pairs = back.expand(len(ours), -1, -1).transpose(0, 1), there.expand(len(theirs), -1, -1)
        shared += mutual(pairs[1], pairs[0]).sum(-1).T
        total += (there >= 0).sum(1)[:, None] + (back >= 0).sum(1)
    scores = torch.zeros(len(votes[0].sources), len(reverse[0].sources))
    scores[ours[:, None], theirs] = 2 * shared / total.clamp(min=1)
    return scores


def foremost(votes: Sequence[Votes]) -> Tensor:
    """The indices of the readings that agree best with themselves, in order."""
    shares = own_agreement(votes)
    return shares.topk(min(COMPARED, len(shares))).indices.sort().values
