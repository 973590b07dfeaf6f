"""A language in which an adjective and a noun come together often or seldom, and nothing else tells them apart."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from regard.claims.lab.pair_task import PairIds, PairTask, WordIds
from regard.text.grammar import Sentence
from regard.text.grammar.lexicon import Adjective, Noun, adjectives, describing, members, verbs
from regard.text.grammar.nominal import Nominal, noun_phrase
from regard.text.grammar.patterns import ended, written
from regard.text.grammar.phrase import join
from regard.text.grammar.verbal import verb_group

VERBS = ("see", "follow", "chase", "find", "love", "feed", "draw", "wash")  # one word each, in English


@dataclass(frozen=True)
class PairedWords:
    """As many adjectives as nouns. Half of all pairs are common, half are rare; `swapped`: the other half.

    Each adjective is common with half of the nouns, and each noun with half of the adjectives: so every word comes as
    often as every other, whichever half is common.
    """

    size: int
    seed: int
    often: int = 20  # times as often as a rare pair
    swapped: bool = False

    @property
    def nouns(self) -> tuple[Noun, ...]:
        return members("animal")[: self.size]

    @property
    def adjectives(self) -> tuple[Adjective, ...]:
        known = [one for one in describing("animal") if not one.predicative and " " not in one.lemma]
        others = [one for one in adjectives().values() if not one.predicative and one not in known]
        return tuple([*known, *others][: self.size])

    def common(self) -> set[tuple[int, int]]:
        """The numbers of adjective and noun."""
        random, numbers = Random(f"common {self.seed}"), range(self.size)
        ours, theirs = random.sample(numbers, self.size), random.sample(numbers, self.size)
        half = {
            (ours[row], theirs[column])
            for row in numbers
            for column in numbers
            if (row + column) % self.size < self.size // 2
        }
        return {(a, n) for a in numbers for n in numbers} - half if self.swapped else half

    def phrase(self, adjective: int, noun: int) -> Nominal:
        return noun_phrase(self.nouns[noun], "the", (self.adjectives[adjective],))

    def sentence(self, first: tuple[int, int], verb: str, second: tuple[int, int]) -> Sentence:
        """The lazy dog sees the old cat."""
        subject, thing = self.phrase(*first), self.phrase(*second)
        group = verb_group(verbs()[verb], "present", subject.features)
        return written(ended(join(subject.phrase, group, thing.phrase), "plain"), "plain")

    def pairs(self, random: Random) -> tuple[tuple[int, int], tuple[int, int]]:
        """Two pairs, each common or rare as often as the language has them."""
        common = sorted(self.common())
        rare = sorted({(a, n) for a in range(self.size) for n in range(self.size)} - set(common))
        first, second = (
            random.choice(common if random.random() * (self.often + 1) < self.often else rare) for _ in "12"
        )
        return first, second

    def sentences(self, count: int) -> list[Sentence]:
        """To learn from."""
        random = Random(f"paired words {self.seed} {self.swapped}")
        return [
            self.sentence(first, random.choice(VERBS), second)
            for first, second in (self.pairs(random) for _ in range(count))
        ]

    def task(self, count: int) -> PairTask:
        """The vocabulary is that of all pairs, and the same whichever half is common."""
        vocabulary = [
            self.sentence((a, n), VERBS[a % len(VERBS)], (a, n)) for a in range(self.size) for n in range(self.size)
        ]
        source, target = (WordIds(getattr(one, side) for one in vocabulary) for side in ("source", "target"))
        train = tuple(
            PairIds(source.encode(one.source), target.encode(one.target), one) for one in self.sentences(count)
        )
        return PairTask(train, (), (), source, target)
