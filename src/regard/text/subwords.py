"""Subword regularisation (BPE-dropout): the same text in other pieces each epoch, so that a model learns from them all.

Each distinct word is cut in several ways once, by the tokenizer's own merges with some of them left out at random; an
epoch then only chooses among the ways. So it costs little, and an epoch is always the same for the same seed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from regard.errors import InputError
from regard.text.store import Array, Store, ranges, starts_of
from regard.text.tokenizer import Tokenizer

WAYS = 8  # in which each word is cut


@dataclass(frozen=True)
class Merges:
    """What a trained BPE joins, and in which order."""

    ranks: dict[tuple[str, str], int]
    numbers: dict[str, int]

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Merges:
        model = json.loads(tokenizer.engine.to_str())["model"]
        if model["type"] != "BPE":
            raise InputError(
                "subword_dropout needs a tokenizer that merges bytes", found=tokenizer.kind, do="subword_dropout = 0"
            )
        pairs = (tuple(merge) if isinstance(merge, list) else tuple(merge.split(" ")) for merge in model["merges"])
        return cls({pair: rank for rank, pair in enumerate(pairs)}, model["vocab"])

    def cut(self, word: str, dropout: float, rng: random.Random) -> list[int]:
        """The pieces of a word, when each possible merge is passed over with a certain probability."""
        pieces = list(word)
        while len(pieces) > 1:
            open_ = [
                (rank, place)
                for place, pair in enumerate(pairwise(pieces))
                if (rank := self.ranks.get(pair)) is not None and (not dropout or rng.random() >= dropout)
            ]
            if not open_:
                break
            _, place = min(open_)
            pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]
        return [self.numbers[piece] for piece in pieces]


class Sampled:
    """Texts as words, each of which can be cut in several ways; `epoch` gives one choice for all of them."""

    def __init__(self, texts: Sequence[str], tokenizer: Tokenizer, dropout: float, seed: int) -> None:
        merges, rng = Merges.of(tokenizer), random.Random(seed)
        words: dict[str, int] = {}
        rows = [[words.setdefault(word, len(words)) for word in split(text, tokenizer)] for text in texts]
        end = len(words)  # stands behind every text
        self.words = Store.of([*row, end] for row in rows)
        ends = tokenizer.encode([""])[0]
        ways = [merges.cut(word, dropout, rng) for word in words for _ in range(WAYS)]
        self.ways = Store.of([*ways, *([ends] * WAYS)])
        self.seed = seed

    @property
    def longest(self) -> int:
        """The most ids that any text can have in any epoch."""
        most = self.ways.lengths.reshape(-1, WAYS).max(1)
        return int(per_row(most[self.words.ids], self.words).max(initial=0))

    def epoch(self, number: int) -> Store:
        """All texts, cut as this epoch has it."""
        draws = np.random.default_rng((self.seed, number)).integers(0, WAYS, len(self.words.ids))
        chosen = self.words.ids * WAYS + draws
        lengths = self.ways.lengths[chosen]
        ids = self.ways.ids[ranges(self.ways.starts[chosen], lengths)]
        return Store(ids, starts_of(per_row(lengths, self.words)))


def per_row(lengths: Array, words: Store) -> Array:
    """How many ids each text has, from how many each of its words has."""
    total = starts_of(lengths)
    counts: Array = total[words.starts[1:]] - total[words.starts[:-1]]
    return counts


def split(text: str, tokenizer: Tokenizer) -> list[str]:
    """The words that the tokenizer never joins."""
    if tokenizer.engine.normalizer is not None:
        text = tokenizer.engine.normalizer.normalize_str(text)
    return [word for word, _ in tokenizer.engine.pre_tokenizer.pre_tokenize_str(text)]
