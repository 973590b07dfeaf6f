"""From files to ids, once: checks, a validation set, a tokenizer, and stores that a resumed run opens again."""

from __future__ import annotations

import json
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import FileError, InputError
from regard.models.checkpoint import replace_file
from regard.text.bpe import END, START, Paired, read_tokenizer, target_of, train_tokenizer
from regard.text.corpora import Checks, CorpusReport, CorpusRow, digest, looks_swapped
from regard.text.store import Array, Store, StoreWriter
from regard.text.tokenizer import Tokenizer
from regard.training.data.sources import SPAN, SourceRows, text_hash
from regard.training.loop.state import sync
from regard.training.recipe.recipe import Recipe
from regard.training.report.events import Listener, Note, Preparing

CHUNK = 2000  # rows encoded at once
SAMPLE = 1000  # rows compared to find swapped sides
Codec = Tokenizer | Paired
UNREADABLE = (OSError, EOFError, ValueError, KeyError, FileError)  # what opening raises where not all is there


@dataclass(frozen=True)
class PreparedText:
    """Text as ids. Columns: source and target, or text; `valid` and, where pieces are drawn anew, `texts` are words."""

    tokenizer: Codec
    columns: dict[str, Store]
    valid: list[tuple[str, ...]]
    sources: Array
    weights: tuple[float, ...]
    labels: tuple[str, ...] = ()
    classes: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    texts: list[tuple[str, ...]] = field(default_factory=list)


def checks_for(recipe: Recipe, strict: bool) -> Checks:
    """What is looked for in the rows of a task."""
    data = recipe.data
    if recipe.task in ("generate", "mask"):
        return Checks(fields=1, longest=0, strict=strict, blank_lines=recipe.task == "generate")
    labelled = recipe.task == "classify"
    return Checks(labelled=labelled, strict=strict, swapped=data.swapped, languages=data.languages)


class Preparation:
    """One corpus on its way to ids."""

    def __init__(self, recipe: Recipe, base: Path, folder: Path, strict: bool, listener: Listener) -> None:
        self.recipe, self.folder, self.listener, self.strict = recipe, folder, listener, strict
        self.store = folder / "prepared"
        checks = checks_for(recipe, strict)
        self.train = SourceRows(recipe.data.train, base, checks)
        self.valid = SourceRows(recipe.data.valid, base, checks) if recipe.data.valid else None
        self.tests = SourceRows(list(recipe.data.test.values()), base, checks)
        self.report = CorpusReport()

    def check(self) -> list[str]:
        """Everything that can be seen before anything is read in full; gives back what people should know."""
        sets = [self.train, *([] if self.valid is None else [self.valid]), self.tests]
        return [note for rows in sets for note in rows.check()]

    def fingerprint(self) -> dict[str, str]:
        return self.train.fingerprint() | ({} if self.valid is None else self.valid.fingerprint())

    def run(self, tokenizer: Codec | None) -> PreparedText:
        """Prepare, or open what an earlier start prepared, if it is all there."""
        try:
            return self.open()
        except UNREADABLE:
            shutil.rmtree(self.store, ignore_errors=True)
        try:
            self.store.mkdir(parents=True)
            self.write(tokenizer)
        except OSError as error:
            raise FileError(f"cannot write {self.store}", found=str(error), do="make room") from error
        return self.open()

    def reopen(self) -> PreparedText:
        """What another process has prepared, which is not this one's to mend."""
        try:
            return self.open()
        except UNREADABLE as error:
            raise FileError(
                f"cannot open {self.store}",
                found=str(error) or type(error).__name__,
                do="give --out a folder that every process can read, then the same command again",
            ) from error

    # Writing

    def write(self, tokenizer: Codec | None) -> None:
        valid = self.hold_back()
        translated = self.recipe.task == "translate" and self.recipe.data.swapped
        if translated and not same_way(valid, self.sample()):
            raise InputError(
                "the sides of the training and validation sets look swapped",
                found=f"train begins {self.sample()[0]!r:.80}, validation {valid[0]!r:.80}",
                do="swap one of them, or set data.swapped = false if they are right",
            )
        write_lines(self.store / "valid.jsonl", valid)
        labels: dict[str, int] = {}
        if tokenizer is None:
            tokenizer = self.learn_tokenizer()
        tokenizer.save(self.folder / "tokenizer.json")
        if self.recipe.task == "classify":
            every = {row.texts[1].strip() for row in self.train} | {row[1].strip() for row in valid}
            labels = {label: n for n, label in enumerate(sorted(every))}
        meta = self.encode(tokenizer, labels)
        self.tell_report(len(valid))
        sizes = {"rows": self.report.usable, "valid": len(valid)}
        text = json.dumps(
            {**meta, **sizes, "labels": list(labels), "report": self.report.to_dict()}, ensure_ascii=False
        )
        for path in self.store.iterdir():  # meta.json says that they are whole
            sync(path)
        replace_file(self.store / "meta.json", lambda path: path.write_text(text, encoding="utf-8"))

    def hold_back(self) -> list[tuple[str, ...]]:
        """The validation rows: those of a set of its own, else a share of the training rows, which then lacks them."""
        if self.valid is not None:
            rows = [row.texts for row in self.progress(self.valid, "reading the validation set")]
            self.tell_drops("validation", self.valid.report)
        else:
            rows = self.split_off()
        if not rows:
            raise InputError("the validation set is empty", do="name one with data.valid, or give more text")
        if self.recipe.task in ("translate", "classify"):
            self.train.unwanted = frozenset(digest(row[0]) for row in rows) if self.valid is not None else ()
        return rows

    def split_off(self) -> list[tuple[str, ...]]:
        """Texts by their hash, at least one and never all; of a running text its end, from a line with words on."""
        count, least, most = 0, SPAN, 0
        worded: deque[int] = deque(maxlen=self.recipe.data.held)
        for row in self.progress(self.train, "counting"):
            least, most = min(least, text_hash(row)), max(most, text_hash(row))
            worded += [count] if row.texts[0] else []
            count += 1
        wanted = min(self.recipe.data.held, max(count // 10, 1), len(worded))
        if self.recipe.task == "generate":
            first = worded[-wanted] if wanted else count
            self.train.wanted = lambda number, row: number >= first
            rest: Callable[[int, CorpusRow], bool] = lambda number, row: number < first  # noqa: E731
        else:
            limit = min(max(SPAN * wanted // count, least + 1), most)
            self.train.wanted = lambda number, row: text_hash(row) < limit
            rest = lambda number, row: text_hash(row) >= limit  # noqa: E731
        rows = [row.texts for row in self.train]
        self.train.wanted = rest
        return rows

    def sample(self) -> list[tuple[str, ...]]:
        return [row.texts for row in islice(iter(self.train), SAMPLE)]

    def learn_tokenizer(self) -> Codec:
        """From the training rows alone."""
        how, task = self.recipe.tokenizer, self.recipe.task
        self.listener(Note(f"training a tokenizer of at most {how.vocabulary:,} tokens"))
        if task == "translate" and not how.joint:
            first, second = (
                train_tokenizer((row.texts[side] for row in self.progress(self.train, "reading")), how.vocabulary)
                for side in (0, 1)
            )
            return Paired(first, second)
        around = {"translate": ("$A", END), "generate": ("$A",)}.get(task, (START, "$A", END))
        sides = 2 if task == "translate" else 1
        texts = (text for row in self.progress(self.train, "reading") for text in row.texts[:sides])
        return train_tokenizer(
            (text + "\n" for text in texts) if task == "generate" else texts,
            how.vocabulary, around=around, mask=task == "mask",
        )  # fmt: skip

    def encode(self, tokenizer: Codec, labels: dict[str, int]) -> dict[str, Any]:
        """Ids to disk, in chunks; pairs that are too long in tokens are dropped here, and counted."""
        task = self.recipe.task
        sides = (tokenizer, target_of(tokenizer)) if task == "translate" else (tokenizer,)
        names = ("source", "target") if task == "translate" else ("text",)
        size = max(side.size for side in sides)
        sources: list[int] = []
        classes: list[int] = []
        with ExitStack() as open_, (self.store / "texts.jsonl").open("w", encoding="utf-8") as file:
            writers = [open_.enter_context(StoreWriter(self.store, name, size)) for name in names]
            for chunk in chunks(self.progress(self.train, "encoding")):
                columns = [side.encode([self.line(row, n) for row in chunk]) for n, side in enumerate(sides)]
                fit = [n for n, lengths in enumerate(zip(*map(map_len, columns), strict=True)) if self.fits(lengths)]
                self.drop_long(chunk, fit)
                for writer, column in zip(writers, columns, strict=True):
                    writer.add(column[n] for n in fit)
                sources += [chunk[n].source for n in fit]
                classes += [labels[chunk[n].texts[1].strip()] for n in fit] if labels else []
                if self.recipe.training.subword_dropout:
                    file.writelines(json.dumps(chunk[n].texts, ensure_ascii=False) + "\n" for n in fit)
            stores = [writer.close() for writer in writers]
        np.save(self.store / "sources.npy", np.array(sources, np.int16))
        np.save(self.store / "classes.npy", np.array(classes, np.int64))
        self.take_report(len(sources))
        if not len(stores[0]):
            raise InputError("no text is left to train on", found="; ".join(self.report.lines()), do="see the reasons")
        return {"files": {name: writer.path.name for name, writer in zip(names, writers, strict=True)}}

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

    def take_report(self, usable: int) -> None:
        """Join what reading dropped and repaired with what was too long."""
        self.report.join(self.train.report)
        self.report.usable = usable

    def tell_report(self, valid: int) -> None:
        self.listener(Note(f"{self.report.usable:,} rows to train on, {valid:,} to validate"))
        self.tell_drops("training", self.report)

    def tell_drops(self, name: str, report: CorpusReport) -> None:
        unfit = bool(report.dropped or report.repaired)
        if unfit or report.notes:
            self.listener(Note("\n".join([f"{name} set:", *report.lines()]), warning=unfit))

    def progress(self, rows: SourceRows, what: str) -> Iterator[CorpusRow]:
        """The rows, telling how many there were from time to time."""
        for number, row in enumerate(rows):
            if number % CHUNK == 0:
                self.listener(Preparing(what, number))
            yield row
        self.listener(Preparing(what, rows.report.usable, rows.report.usable))

    # Opening

    def open(self) -> PreparedText:
        meta = json.loads((self.store / "meta.json").read_text(encoding="utf-8"))
        prepared = PreparedText(
            tokenizer=read_tokenizer(self.folder, masked=self.recipe.task == "mask"),
            columns={name: Store.open(self.store / file) for name, file in meta["files"].items()},
            valid=read_lines(self.store / "valid.jsonl"),
            sources=np.load(self.store / "sources.npy").astype(np.int64),
            weights=self.train.weights,
            labels=tuple(meta["labels"]),
            classes=np.load(self.store / "classes.npy"),
            texts=read_lines(self.store / "texts.jsonl"),
        )
        sizes = {len(prepared.sources), *map(len, prepared.columns.values())}
        sizes |= {len(prepared.classes)} if self.recipe.task == "classify" else set()
        sizes |= {len(prepared.texts)} if self.recipe.training.subword_dropout else set()
        if sizes != {meta["rows"]} or len(prepared.valid) != meta["valid"]:
            raise FileError(
                f"{self.store} is not whole", found=f"{sorted(sizes)} rows, {len(prepared.valid)} to validate"
            )
        return prepared


def same_way(valid: list[tuple[str, ...]], train: list[tuple[str, ...]]) -> bool:
    return not looks_swapped([row[:2] for row in valid[:SAMPLE]], [row[:2] for row in train])  # type: ignore[misc]


def chunks(rows: Iterator[CorpusRow]) -> Iterator[list[CorpusRow]]:
    while some := list(islice(rows, CHUNK)):
        yield some


def map_len(rows: list[list[int]]) -> list[int]:
    return [len(row) for row in rows]


def write_lines(path: Path, rows: list[tuple[str, ...]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def read_lines(path: Path) -> list[tuple[str, ...]]:
    with path.open(encoding="utf-8", newline="\n") as file:
        return [tuple(json.loads(line)) for line in file]
