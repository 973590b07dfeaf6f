"""From rows of text to ids on disk, in chunks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from regard.errors import InputError
from regard.text.bpe import target_of
from regard.text.corpora import CorpusReport, CorpusRow
from regard.text.store import StoreWriter
from regard.training.data.prepared_text import TextCodec
from regard.training.data.row_reports import CHUNK
from regard.training.data.word_links import WordLinks
from regard.training.recipe.recipe import Recipe


@dataclass
class RowEncoder:
    """Writes below `store`; `report` gets the rows that are too long in tokens, which are dropped here."""

    recipe: Recipe
    store: Path
    strict: bool
    report: CorpusReport
    links: WordLinks | None = None  # where a head is guided by them

    def encode(
        self, rows: Iterator[CorpusRow], tokenizer: TextCodec, labels: dict[str, int]
    ) -> tuple[dict[str, str], int]:
        """The files of the columns by their names, and how many rows they have."""
        task = self.recipe.task
        sides = (tokenizer, target_of(tokenizer)) if task == "translate" else (tokenizer,)
        names = ("source", "target") if task == "translate" else ("text",)
        size = max(side.size for side in sides)
        sources: list[int] = []
        classes: list[int] = []
        with ExitStack() as open_, (self.store / "texts.jsonl").open("w", encoding="utf-8") as file:
            writers = [open_.enter_context(StoreWriter(self.store, name, size)) for name in names]
            if self.links is not None:
                linked = open_.enter_context(StoreWriter(self.store, "links", self.recipe.data.longest))
            for chunk in chunks(rows):
                columns = [side.encode([self.line(row, n) for row in chunk]) for n, side in enumerate(sides)]
                fit = [n for n, lengths in enumerate(zip(*map(map_len, columns), strict=True)) if self.fits(lengths)]
                self.drop_long(chunk, fit)
                for writer, column in zip(writers, columns, strict=True):
                    writer.add(column[n] for n in fit)
                if self.links is not None:
                    linked.add(self.links.of(chunk[n], tokenizer) for n in fit)
                sources += [chunk[n].source for n in fit]
                classes += [labels[chunk[n].texts[1].strip()] for n in fit] if labels else []
                if self.recipe.training.subword_dropout:
                    file.writelines(json.dumps(chunk[n].texts, ensure_ascii=False) + "\n" for n in fit)
            if self.links is not None:
                writers, names = [*writers, linked], (*names, "links")
            for writer in writers:
                writer.close()
        np.save(self.store / "sources.npy", np.array(sources, np.int16))
        np.save(self.store / "classes.npy", np.array(classes, np.int64))
        return {name: writer.path.name for name, writer in zip(names, writers, strict=True)}, len(sources)

    def line(self, row: CorpusRow, side: int) -> str:
        return row.texts[side] + "\n" if self.recipe.task == "generate" else row.texts[side]

    def fits(self, lengths: Sequence[int]) -> bool:
        return self.recipe.task == "generate" or max(lengths) <= self.recipe.data.longest

    def drop_long(self, chunk: list[CorpusRow], fit: list[int]) -> None:
        if len(fit) == len(chunk):
            return
        reason = f"longer than {self.recipe.data.longest} tokens (data.longest)"
        for n in sorted(set(range(len(chunk))) - set(fit)):
            row = chunk[n]
            example = f"{row.file}:{row.line} {row.texts[0]:.60}"
            if self.strict:
                raise InputError(f"a text is {reason}", found=example, do="raise data.longest, or leave out --strict")
            self.report.dropped[reason] = self.report.dropped.get(reason, 0) + 1
            self.report.examples[reason] = [*self.report.examples.get(reason, []), example][:3]


def chunks(rows: Iterator[CorpusRow]) -> Iterator[list[CorpusRow]]:
    while some := list(islice(rows, CHUNK)):
        yield some


def map_len(rows: list[list[int]]) -> list[int]:
    return [len(row) for row in rows]
