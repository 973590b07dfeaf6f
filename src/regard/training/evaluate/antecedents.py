"""Antecedent attention: does a head look more at the noun that "it" stands for than at the other noun?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torch import Tensor

from regard.lens.alignment.links import Pair, gathered
from regard.lens.alignment.pairs import SIDE_BY_SIDE, EncodedPair, encode_pair, forced
from regard.lens.recording.forward import ForwardCall
from regard.models import seams
from regard.tasks import Translator
from regard.text.grammar import Pronoun, Sentence, words
from regard.training.evaluate.batching import ProgressCallback, batched, ignore_progress

PRONOUNS = 300  # sentences with an "it" that are asked, at most
CHANCE = 0.5
ROWS = {"it": 'row of "it" in the source', "output": "row that writes il or elle", "input": "row that reads il or elle"}


class HeadShare(NamedTuple):
    """How often one head gives the antecedent more weight than the rival noun, in a row of ROWS."""

    row: str
    site: str
    head: int
    share: float


class Antecedents(NamedTuple):
    """All heads that can be asked, and of how many pronouns they were."""

    heads: list[HeadShare]
    pronouns: int


def antecedent_attention(
    translator: Translator,
    sentences: Sequence[Sentence],
    on_progress: ProgressCallback = ignore_progress,
    most: int = PRONOUNS,
) -> Antecedents:
    """For every head that reads the source: encoder heads in the row of "it", cross-attention in those of il or elle.

    The target is the reference, read by the decoder; no more than `most` sentences are asked.
    """
    chosen = [one for one in sentences if one.pronouns][:most]
    sites = [site for site in seams(translator.model) if "encoder" in site or "cross" in site]
    more: Counter[tuple[str, str, int]] = Counter()
    heads: list[tuple[str, str, int]] = []
    for some in batched(chosen, translator.batch or SIDE_BY_SIDE, on_progress):
        rows = [encode_pair(translator, one.source, one.target, words) for one in some]
        call = forced(translator, rows, sites)
        heads = [
            (kind, site, head) for site in call.sites for kind in kinds(call, site) for head in call.map(site).heads
        ]
        for number, (row, sentence) in enumerate(zip(rows, some, strict=True)):
            for pronoun in sentence.pronouns:
                more.update(looks(call, number, row, pronoun))
    count = sum(len(one.pronouns) for one in chosen)
    return Antecedents([HeadShare(*head, more[head] / count) for head in heads], count)


def kinds(call: ForwardCall, site: str) -> tuple[str, ...]:
    """Which rows of a site can be asked."""
    return ("output", "input") if call.crosses(site) else ("it",)


def looks(call: ForwardCall, number: int, row: EncodedPair, pronoun: Pronoun) -> Iterator[tuple[str, str, int]]:
    """The heads that look more at the antecedent of one pronoun of one text."""
    for site in call.sites:
        weights_HQK = call.tile(site, None, batch=number)
        for kind in kinds(call, site):
            weights_HS = row_of(weights_HQK, row.pair, kind, pronoun)
            more = (weights_HS[:, pronoun.antecedent] > weights_HS[:, pronoun.rival]).tolist()
            yield from ((kind, site, head) for head, is_more in zip(call.map(site).heads, more, strict=True) if is_more)


def row_of(weights_HQK: Tensor, pair: Pair, kind: str, pronoun: Pronoun) -> Tensor:
    """(heads, source words): where the row of a pronoun looks."""
    if kind == "it":
        return gathered(weights_HQK, Pair(pair.source, pair.source), "input")[:, pronoun.source]
    return gathered(weights_HQK, pair, "input" if kind == "input" else "output")[:, pronoun.target]
