"""Pairs of texts to align, line by line as a file has them, and the links that people made for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from regard.errors import InputError, UnknownNameError
from regard.lens.alignment.word_spans import Split
from regard.text import grammar
from regard.text.corpora import Source
from regard.text.corpora.formats import read
from regard.text.corpora.names import groups_of
from regard.text.corpora.opening import lines
from regard.text.corpora.rows import ReadOptions
from regard.text.corpora.undecoded import Undecoded
from regard.text.scores.alignment_error import Gold, check_links, parse_pharaoh

SPLITS: dict[str, Split] = {"space": str.split, "grammar": grammar.words}
Texts = tuple[str, str]


@dataclass(frozen=True)
class Bitext:
    """Pairs, how their texts are split into words, and their gold links where there are any."""

    name: str
    sources: list[str]
    targets: list[str]
    words: Split = str.split
    gold: list[Gold] = field(default_factory=list)

    def part(self, first: int, last: int) -> Bitext:
        """Some of the pairs."""
        some = slice(first, last)
        return replace(self, sources=self.sources[some], targets=self.targets[some], gold=self.gold[some])

    def first(self, count: int) -> Bitext:
        """No more than so many pairs."""
        return self.part(0, count)

    def without_gold(self) -> Bitext:
        """The texts alone: what is to be scored must not be chosen by."""
        return replace(self, gold=[])

    def swapped(self) -> Bitext:
        """The target as the source."""
        return Bitext(self.name, self.targets, self.sources, self.words, [one.swapped() for one in self.gold])


def read_bitext(
    files: Sequence[str] | Source,
    gold: str | None = None,
    words: str | None = None,
    limit: int | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> Bitext:
    """One file of pairs of any format, two aligned ones, or grammar:NAME:COUNT:SEED, whose links are known.

    Every row counts, so that line n of what is made of them belongs to line n here; `words` is a name of SPLITS. `note`
    is called with what people should know, such as which columns are read.
    """
    if words is not None and words not in SPLITS:
        raise UnknownNameError("way to split words", words, SPLITS)
    source = files if isinstance(files, Source) else Source.parse(list(files))
    if any(map(grammar.is_grammar, source.files)):
        bitext = grammar_bitext(source.files, limit)
        bitext = bitext if words in (None, "grammar") else replace(bitext, words=SPLITS[words], gold=[])
    else:
        bitext = as_bitext(" and ".join(source.files), islice(rows(source, note), limit), words)
    return bitext if gold is None else with_gold(bitext, gold)


def as_bitext(name: str, pairs: Iterable[Texts], words: str | None = None) -> Bitext:
    """Pairs that are at hand."""
    texts = list(pairs)
    return Bitext(name, [one for one, _ in texts], [one for _, one in texts], SPLITS[words or "space"])


def grammar_bitext(files: Sequence[str], limit: int | None = None) -> Bitext:
    """A set of the built-in grammar, or as many sentences of it, by such a seed, as "grammar:test:100:7" says."""
    sentences = grammar.read_name(files).sentences(limit)
    return Bitext(
        files[0], [one.source for one in sentences], [one.target for one in sentences], grammar.words,
        [Gold(one.sure, one.possible) for one in sentences],
    )  # fmt: skip


def rows(source: Source, note: Callable[[str], None]) -> Iterator[Texts]:
    """Every row of the files; one that cannot be read is an error, since leaving it out would shift the rest."""
    if source.columns is not None and len(source.columns) != 2:
        raise InputError("a pair has two columns", found=f"{len(source.columns)}", do="such as --columns 0,1")
    options = ReadOptions(2, source.columns, None, source.encoding, note)
    for group in groups_of(source.files, Path()):
        for row in read(group, Path(), options):
            if row.problem:
                Undecoded(group, source.encoding).refuse_one(row)
                raise InputError(
                    f"{row.file}:{row.line}: {row.problem}",
                    found=" | ".join(row.texts)[:80],
                    do="mend the row: every line must give a pair, the source before the target",
                )
            yield row.texts[0], row.texts[1]


def tabbed(given: Iterable[str]) -> Iterator[Texts]:
    """Pairs from lines of "source<TAB>target"; an empty line is an empty pair."""
    for number, line in enumerate(given, 1):
        source, *target = line.split("\t")
        if len(target) > 1 or (source and not target):
            raise InputError(
                f"line {number} is no pair",
                found=f"{line[:60]!r}",
                do="write the source, a tab, and the target (cut -f 1,2 leaves two columns of more)",
            )
        yield source, "".join(target)


def with_gold(texts: Bitext, name: str) -> Bitext:
    """The same pairs with the links of a file, which must fit them."""
    paths = [path for group in groups_of((name,), Path()) for path in group]
    written = [line.decode("utf-8", errors="replace") for path in paths for line in lines(path)]
    gold = parse_pharaoh(written[: len(texts.sources)], name)
    if len(written) < len(texts.sources):
        raise InputError(
            "there must be a line of links for each pair",
            found=f"{len(written):,} lines in {name}, {len(texts.sources):,} pairs in {texts.name}",
            do="check that both are of the same texts",
        )
    for number, (source, target, one) in enumerate(zip(texts.sources, texts.targets, gold, strict=True), 1):
        check_links(one, len(texts.words(source)), len(texts.words(target)), f"{name}, line {number}")
    return replace(texts, gold=gold)
