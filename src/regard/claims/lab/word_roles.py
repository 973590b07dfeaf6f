"""Which word belongs to which in a sentence, and how much of a head's weight from the one goes to the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from random import Random

import torch
from torch import Tensor

from regard.claims.lab.inner_steps import steps_of
from regard.claims.lab.shipped_reading import encoded, shipped
from regard.text.grammar import Sentence, words
from regard.text.grammar.lexicon import adjectives, nouns

ROLES = ("previous", "adjective", "pronoun")
Link = tuple[int, int]  # the word that looks, and the word that it looks at


@dataclass(frozen=True)
class RoleSentence:
    """A sentence as words, and for each role which word belongs to which."""

    words: tuple[str, ...]
    links: dict[str, tuple[Link, ...]]

    @classmethod
    def of(cls, source: str, sentence: Sentence | None = None) -> RoleSentence:
        """What "it" stands for is known of sentences of the built-in language alone."""
        known = words(source)
        described = [
            (place, place + 1)
            for place, (one, other) in enumerate(pairwise(known))
            if one.lower() in adjectives() and other.lower() in noun_forms()
        ]
        pronouns = () if sentence is None else sentence.pronouns
        positions = [place for place, word in enumerate(known) if any(map(str.isalnum, word))]
        return cls(
            known,
            {
                "previous": tuple((place, place - 1) for place in positions if place - 1 in positions),
                "next": tuple((place, place + 1) for place in positions if place + 1 in positions),
                "adjective": tuple(described),
                "pronoun": tuple((one.source, one.antecedent) for one in pronouns),
            },
        )

    def shuffled(self, seed: str) -> RoleSentence:
        """The same words in another order, the last mark still the last; the same words belong to each other."""
        order = Random(seed).sample(range(len(self.words) - 1), len(self.words) - 1)
        place = {old: new for new, old in enumerate([*order, len(self.words) - 1])}
        links = {role: tuple((place[one], place[two]) for one, two in some) for role, some in self.links.items()}
        return RoleSentence((*(self.words[old] for old in order), self.words[-1]), links)


@cache
def noun_forms() -> frozenset[str]:
    return frozenset(form for noun in nouns().values() for form in (noun.lemma, noun.plural))


@torch.no_grad()
def word_weights(name: str, known: Sequence[str], device: str = "cpu") -> dict[str, Tensor]:
    """(H, W, W) at each site of a shipped encoder: from a word, the mean of its rows, to all ids of another."""
    translator = shipped(name, device)
    source, read, owners = encoded(translator, " ".join(known), device)
    assert read == tuple(known), "words split as they were"
    members = (owners[None] == torch.arange(len(read), device=device)[:, None]).double()  # (W, N)
    with steps_of(translator.model) as calls:
        translator.model.encode(source)  # type: ignore[operator]
    rows = members / members.sum(-1, keepdim=True).clamp(min=1)
    return {site: rows @ steps.weights[0].double() @ members.mT for site, (steps,) in calls.items()}


def role_weights(
    name: str, sentence: RoleSentence, role: str, device: str = "cpu"
) -> dict[tuple[str, int], list[float]]:
    """Of every head of the encoder, the weight of each link of a role."""
    links = sentence.links[role]
    return {
        (site, head): [float(one[row, column]) for row, column in links]
        for site, weights in word_weights(name, sentence.words, device).items()
        for head, one in enumerate(weights)
    }
