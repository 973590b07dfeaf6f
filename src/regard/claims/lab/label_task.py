"""Texts to learn a language from, and some of them with labels to learn what they are about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from regard.claims.lab.pair_task import END, START, BytePairIds, Ids, WordIds, lines
from regard.claims.setting import Setting
from regard.text.grammar import Sentence, sentences, words
from regard.text.grammar.lexicon import nouns

BLOCK = 128  # tokens of a row of real text, in which texts follow each other
VOCABULARY = 8_000


class Labelled(NamedTuple):
    """A text from its start to its end, and the number of its label."""

    ids: Ids
    label: int


@dataclass(frozen=True)
class LabelTask:
    """`texts` and `valid` have no labels: they say what follows what. `labels` are names, "train" and "test" apart."""

    texts: tuple[Ids, ...]
    valid: tuple[Ids, ...]
    train: tuple[Labelled, ...]
    test: tuple[Labelled, ...]
    labels: tuple[str, ...]
    known: int  # the size of the vocabulary

    @property
    def mask(self) -> int:
        """The id that stands where a word is to be filled in: one more than all words."""
        return self.known

    @property
    def commonest(self) -> float:
        """How often the most frequent label is right: what who has not read a text can have."""
        counts = [sum(one.label == number for one in self.test) for number in range(len(self.labels))]
        return max(counts) / len(self.test)

    def some(self, count: int, seed: int) -> tuple[Labelled, ...]:
        """So many to learn from, drawn anew for each seed, or all."""
        return tuple(Random(seed).sample(self.train, min(count, len(self.train))))


def label_task(setting: Setting, quick: str) -> LabelTask:
    """Questions to the built-in language in the quick form; sentiment of film reviews, with articles, in the full."""
    if not setting.full:
        return grammar_labels(quick)
    return review_labels(setting.folder("sst2"), setting.folder("wikitext-2"))


KINDS = ("person", "animal", "thing")


@cache
def noun_kinds() -> dict[str, int]:
    """Singular and plural: which of `KINDS`."""
    named = {noun: KINDS.index(noun.kind if noun.kind in KINDS else "thing") for noun in nouns().values()}
    return {form: kind for noun, kind in named.items() for form in (noun.lemma, noun.plural)}


def first_named(sentence: Sentence) -> int | None:
    """Is the first noun a person, an animal or a thing?"""
    return next((noun_kinds()[word] for word in words(sentence.source.lower()) if word in noun_kinds()), None)


def it_means(sentence: Sentence) -> int | None:
    """Does "it" mean the first of two nouns, or the second? Neither where there is no "it"."""
    return next((int(one.antecedent > one.rival) for one in sentence.pronouns), None)


QUESTIONS: dict[str, tuple[tuple[str, ...], Callable[[Sentence], int | None]]] = {
    "first noun": (KINDS, first_named),
    "it": (("the first noun", "the second"), it_means),
}


@cache
def grammar_labels(question: str, count: int = 20_000, tests: int = 1_000) -> LabelTask:
    """The English of the built-in language, each word an id, with the answers to one of `QUESTIONS`."""
    labels, label_of = QUESTIONS[question]
    sets = {name: sentences(name, size) for name, size in (("train", count), ("valid", 300), ("test", tests))}
    ids = WordIds(one.source for one in sets["train"])
    texts = {name: tuple((START, *ids.encode(one.source), END) for one in some) for name, some in sets.items()}
    train, test = (
        tuple(
            Labelled(text, label)
            for text, sentence in zip(texts[name], sets[name], strict=True)
            if (label := label_of(sentence)) is not None
        )
        for name in ("train", "test")
    )
    return LabelTask(texts["train"], texts["valid"], train, test, labels, ids.size)


@cache
def review_labels(reviews: Path, articles: Path) -> LabelTask:
    """SST-2, and to learn the language from WikiText-2 with the reviews' own text, all in lower case.

    What is held out of SST-2 is asked, but for the few texts that are in both.
    """
    rows = {name: list(review_rows(reviews / f"{file}.tsv.xz")) for name, file in (
        ("train", "train"), ("test", "train_heldout"))}  # fmt: skip
    known = {text for text, _ in rows["train"]}
    rows["test"] = [row for row in rows["test"] if row[0] not in known]
    articles_by = {name: article_lines(articles / f"{name}.txt.xz") for name in ("train", "valid")}
    language = [*articles_by["train"], *(text for text, _ in rows["train"])]
    ids = BytePairIds(language, VOCABULARY)
    train, test = (
        tuple(Labelled((START, *ids.encode(text)[: BLOCK - 2], END), label) for text, label in rows[name])
        for name in ("train", "test")
    )
    return LabelTask(
        packed(map(ids.encode, language)), packed(map(ids.encode, articles_by["valid"])), train, test,
        ("negative", "positive"), ids.size,
    )  # fmt: skip


def review_rows(path: Path) -> Iterator[tuple[str, int]]:
    """A text and 0 or 1, after a line that names the columns."""
    for row in lines(path)[1:]:
        text, label = row.rsplit("\t", 1)
        yield text.strip(), int(label)


def article_lines(path: Path) -> list[str]:
    return [line for line in (row.strip().lower() for row in lines(path)) if line]


def packed(texts: Iterable[Sequence[int]], block: int = BLOCK) -> tuple[Ids, ...]:
    """Rows of so many tokens, in which each text has its start and its end; what does not fill the last is left out."""
    stream = [one for text in texts for one in (START, *text, END)]
    return tuple(tuple(stream[first : first + block]) for first in range(0, len(stream) - block + 1, block))
