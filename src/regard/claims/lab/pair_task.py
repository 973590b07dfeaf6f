"""Sentence pairs as ids: of words in the built-in language, of byte pairs in real text."""

from __future__ import annotations

import lzma
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import torch
from torch import Tensor

from regard.claims.setting import Setting
from regard.text.bpe import train_tokenizer
from regard.text.grammar import Sentence, sentences, words
from regard.text.tokenizer import Tokenizer, padded

PAD, START, END, UNKNOWN = range(4)
LONGEST = 100  # tokens of a side, in real text
Ids = tuple[int, ...]


class WordIds:
    """A vocabulary of whole lower-case words, the most frequent first."""

    def __init__(self, texts: Iterable[str], most: int = 100_000) -> None:
        counted = Counter(word for text in texts for word in words(text.lower()))
        self.known = [word for word, _ in sorted(counted.items(), key=lambda one: (-one[1], one[0]))][:most]
        self.numbers = {word: number for number, word in enumerate(self.known, UNKNOWN + 1)}
        self.size = UNKNOWN + 1 + len(self.known)

    def encode(self, text: str) -> Ids:
        return tuple(self.numbers.get(word, UNKNOWN) for word in words(text.lower()))

    def decode(self, ids: Sequence[int]) -> str:
        """WordIds with spaces between: the same form for outputs and references, so that scores can compare them."""
        return " ".join(self.known[number - UNKNOWN - 1] if number > UNKNOWN else "?" for number in ids)


class BytePairIds:
    """A vocabulary of byte pairs, for real text."""

    def __init__(self, texts: Iterable[str], most: int) -> None:
        self.tokenizer: Tokenizer = train_tokenizer(texts, most, around=("$A",))
        self.size = self.tokenizer.size

    def encode(self, text: str) -> Ids:
        return tuple(self.tokenizer.encode([text])[0])

    def decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(ids)


@dataclass(frozen=True)
class PairIds:
    """A source and a target as ids, neither with start or end, and what is known of the sentence, if it is."""

    source: Ids
    target: Ids
    sentence: Sentence | None = None


@dataclass(frozen=True)
class PairTask:
    """What a translator learns from, is stopped by, and is asked."""

    train: tuple[PairIds, ...]
    valid: tuple[PairIds, ...]
    test: tuple[PairIds, ...]
    source: WordIds | BytePairIds
    target: WordIds | BytePairIds

    def pair(self, source: str, target: str, sentence: Sentence | None = None) -> PairIds:
        """Any other pair, in this task's ids."""
        return PairIds(self.source.encode(source), self.target.encode(target), sentence)


def pair_task(setting: Setting, count: int = 20_000, seed: int = 0, corpus: str = "multi30k") -> PairTask:
    """The built-in language in the quick form; in the full form a corpus of `--data`, with 8,000 byte pairs."""
    return real_pairs(setting.folder(corpus), corpus) if setting.full else grammar_pairs(count, seed)


@cache
def grammar_pairs(count: int, seed: int = 0) -> PairTask:
    """The built-in language, each word an id."""
    sets = {name: sentences(name, size, seed) for name, size in (("train", count), ("valid", 300), ("test", 500))}
    source, target = (
        WordIds(text for one in sets["train"] for text in [getattr(one, side)]) for side in ("source", "target")
    )
    train, valid, test = (
        tuple(PairIds(source.encode(one.source), target.encode(one.target), one) for one in sets[name])
        for name in ("train", "valid", "test")
    )
    return PairTask(train, valid, test, source, target)


@cache
def real_pairs(folder: Path, corpus: str, vocabulary: int = 8_000) -> PairTask:
    """Multi30k or Tatoeba, English to French, with a joint vocabulary. Of Tatoeba a thousandth is kept aside."""
    sets = multi30k(folder) if corpus == "multi30k" else tatoeba(folder)
    joint = BytePairIds((text for pair in sets["train"] for text in pair), vocabulary)
    encoded = {
        name: tuple(
            pair for pair in (PairIds(joint.encode(source), joint.encode(target)) for source, target in rows)
            if 0 < len(pair.source) <= LONGEST and 0 < len(pair.target) <= LONGEST
        )
        for name, rows in sets.items()
    }  # fmt: skip
    return PairTask(encoded["train"], encoded["valid"], encoded["test"], joint, joint)


def multi30k(folder: Path) -> dict[str, list[tuple[str, str]]]:
    names = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
    return {
        name: list(zip(lines(folder / f"{file}.en.xz"), lines(folder / f"{file}.fr.xz"), strict=True))
        for name, file in names.items()
    }


def tatoeba(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """All pairs of a source go to the same set, drawn by a fixed seed."""
    rows = [tuple(row.split("\t")[:2]) for row in lines(folder / "pairs.tsv.xz")]
    sources = sorted({row[0] for row in rows})
    Random("tatoeba").shuffle(sources)
    valid, test = set(sources[:1_000]), set(sources[1_000:2_000])
    homes: dict[str, list[tuple[str, str]]] = {"train": [], "valid": [], "test": []}
    for source, target in rows:
        homes["valid" if source in valid else "test" if source in test else "train"].append((source, target))
    return homes


def lines(path: Path) -> list[str]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return file.read().rstrip("\n").split("\n")


@dataclass(frozen=True)
class PairBatch:
    """Pairs side by side: what the decoder reads is its labels one step later, after a start."""

    source: Tensor
    target: Tensor
    labels: Tensor

    def to(self, device: str) -> PairBatch:
        return PairBatch(self.source.to(device), self.target.to(device), self.labels.to(device))


def batch_of(pairs: Sequence[PairIds]) -> PairBatch:
    return PairBatch(
        padded([pair.source for pair in pairs], PAD).ids,
        padded([(START, *pair.target) for pair in pairs], PAD).ids,
        padded([(*pair.target, END) for pair in pairs], PAD).ids,
    )


def batches(pairs: Sequence[PairIds], size: int, seed: int) -> Iterator[PairBatch]:
    """Endless, in another order each time round; pairs of like length stand together, so that little is padding."""
    rng = Random(seed)
    while True:
        order = rng.sample(range(len(pairs)), len(pairs))
        pools = [order[first : first + 32 * size] for first in range(0, len(order), 32 * size)]
        groups = [
            chosen[first : first + size]
            for pool in pools
            for chosen in [sorted(pool, key=lambda place: (len(pairs[place].source), len(pairs[place].target)))]
            for first in range(0, len(chosen), size)
        ]
        rng.shuffle(groups)
        for group in groups:
            yield batch_of([pairs[place] for place in group])


def in_batches(pairs: Sequence[PairIds], size: int) -> Iterator[PairBatch]:
    """Each once, in order, to be scored."""
    for first in range(0, len(pairs), size):
        yield batch_of(pairs[first : first + size])


def word_count(batch: PairBatch) -> int:
    return int((batch.labels != PAD).sum())


def shuffled(pairs: Sequence[PairIds], seed: int) -> tuple[PairIds, ...]:
    """The same pairs with the words of each source in another order."""
    rng = torch.Generator().manual_seed(seed)
    return tuple(
        PairIds(
            tuple(pair.source[place] for place in torch.randperm(len(pair.source), generator=rng)),
            pair.target,
            pair.sentence,
        )
        for pair in pairs
    )
