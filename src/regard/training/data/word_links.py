"""The links between words that a head is guided by: of a file beside the pairs, or those that the grammar knows.

Where no file is named they are learned from the pairs themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import product
from pathlib import Path

from regard.errors import InputError
from regard.lens.alignment.word_spans import Split, words_of
from regard.text import grammar
from regard.text.bpe import source_of, target_of
from regard.text.corpora import CorpusRow
from regard.text.corpora.corpus import file_digest
from regard.text.corpora.names import groups_of
from regard.text.corpora.opening import lines
from regard.text.scores.alignment_error import Gold, Link, check_links, parse_line
from regard.training.data.learned_links import LinksByRow, learn_links
from regard.training.data.prepared_text import TextCodec
from regard.training.recipe.recipe import Recipe
from regard.training.recipe.source_rows import SourceRows
from regard.training.report.events import Listener


class WordLinks:
    """Links of every source of a recipe that has any. Words are what white space parts; the grammar has its own."""

    def __init__(self, recipe: Recipe, base: Path) -> None:
        self.values, self.base = recipe.data.train, base
        self.files = recipe.data.links or [""] * len(self.values)
        self.unknown = not recipe.data.links and not all(map(grammar.is_grammar, self.values))
        self.learned: LinksByRow = {}

    def check(self) -> None:
        """Before anything is read: as many files of links as sources, or none at all."""
        if len(self.files) != len(self.values):
            raise InputError(
                "data.links names a file for each source of data.train",
                found=f"{len(self.files)} for {len(self.values)}",
                do='write "" for a source without links',
            )
        if not (self.unknown or any(self.files) or any(map(grammar.is_grammar, self.values))):
            raise InputError(
                "a head is guided by links between words, and there are none",
                found=f"data.links = {self.files}",
                do="leave data.links out, and they are learned from the pairs",
            )
        self.fingerprint()

    def learn(self, train: SourceRows, listener: Listener) -> None:
        """From the pairs, where no file is named."""
        if self.unknown:
            self.learned = learn_links(train, listener)

    def fingerprint(self) -> dict[str, str]:
        """The digest of every file of links, by its name."""
        named = [(file, path) for file in self.files if file for path in self.paths(file)]
        return {f"links {file}": file_digest(path) for file, path in named}

    def paths(self, file: str) -> list[Path]:
        return [path for group in groups_of((file,), self.base) for path in group]

    @cached_property
    def known(self) -> list[Sequence[bytes] | Sequence[Gold]]:
        """For each source the links of its rows, by number."""
        return [
            [Gold(one.sure, one.possible) for one in grammar.read_name(value).sentences()]
            if grammar.is_grammar(value)
            else [line for path in self.paths(file) for line in lines(path)]
            if file
            else []
            for value, file in zip(self.values, self.files, strict=True)
        ]

    def of(self, row: CorpusRow, tokenizer: TextCodec) -> list[int]:
        """The links of a row between its tokens, one after the other: target token, source token."""
        if row.source >= len(self.values):
            return []  # made by translation, and nobody has linked it
        split: Split = grammar.words if grammar.is_grammar(self.values[row.source]) else str.split
        gold = self.gold(row, split)
        if not gold.sure:
            return []
        texts = zip((source_of(tokenizer), target_of(tokenizer)), row.texts, strict=False)
        source, target = (words_of(side.spans(text), text, split).owners for side, text in texts)
        pairs = joined(gold.sure, source, target) + unlinked(gold, target, end=len(source) - 1)
        return [token for pair in sorted(pairs) for token in pair]

    def gold(self, row: CorpusRow, split: Split) -> Gold:
        """Between words."""
        known, where = self.known[row.source], f"{self.files[row.source]}, line {row.number + 1}"
        if not known:
            return Gold(frozenset(self.learned.get((row.source, row.number), ())), frozenset())
        if row.number >= len(known):
            raise InputError(
                "there must be a line of links for each pair",
                found=f"{len(known):,} lines in {self.files[row.source]}, a pair in line {row.line:,} of {row.file}",
                do="check that both are of the same texts",
            )
        one = known[row.number]
        gold = parse_line(one.decode("utf-8", errors="replace"), where) if isinstance(one, bytes) else one
        source, target = (len(split(text)) for text in row.texts[:2])
        check_links(gold, source, target, where)
        return gold


def joined(links: Collection[Link], source: Sequence[int], target: Sequence[int]) -> list[tuple[int, int]]:
    """(target token, source token) of linked words, from the number of the word that each token belongs to."""
    tokens: tuple[dict[int, list[int]], dict[int, list[int]]] = ({}, {})
    for side, owners in zip(tokens, (source, target), strict=True):
        for position, owner in enumerate(owners):
            side.setdefault(owner, []).append(position)
    return [(t, s) for i, j in links for s, t in product(tokens[0].get(i, []), tokens[1].get(j, []))]


def unlinked(gold: Gold, target: Sequence[int], end: int) -> list[tuple[int, int]]:
    """The tokens of target words that nothing links, each with the end of the source; a link that is only possible is
    no reason to say that there is none."""
    linked = {j for _, j in gold.sure | gold.possible}
    return [(t, end) for t, owner in enumerate(target) if owner >= 0 and owner not in linked]
