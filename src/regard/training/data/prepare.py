"""From files to ids, once: checks, a validation set, a tokenizer, and stores that a resumed run opens again."""

from __future__ import annotations

import json
import shutil
from itertools import islice
from pathlib import Path
from typing import Any

from regard.errors import FileError, InputError
from regard.models.checkpoint import replace_file
from regard.text.corpora import Checks, CorpusReport, Source, looks_swapped
from regard.training.data.durable import sync
from regard.training.data.encode_rows import RowEncoder
from regard.training.data.learn_tokenizer import learn_tokenizer
from regard.training.data.prepared_text import PreparedText, TextCodec, TextRow, open_prepared, write_lines
from regard.training.data.row_reports import report_drops, with_progress
from regard.training.data.single_words import word_sources, write_words
from regard.training.data.synthetic_pairs import SyntheticSource, as_sources, read_synthetic
from regard.training.data.validation_rows import hold_back
from regard.training.data.word_links import WordLinks
from regard.training.recipe.recipe import Recipe
from regard.training.recipe.source_rows import SourceRows, weights_of
from regard.training.recipe.stage_recipe import stages_of
from regard.training.report.events import Listener, Note

SAMPLE = 1000  # rows compared to find swapped sides
ASIDE = 2000  # rows of a file that are left to score on: the first of those kept aside
UNREADABLE = (OSError, EOFError, ValueError, KeyError, FileError)  # what opening raises where not all is there


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
        aside = recipe.data.aside if recipe.task == "translate" else 0.0
        self.train = SourceRows(recipe.data.train, base, checks, aside=aside)
        self.valid = SourceRows(recipe.data.valid, base, checks) if recipe.data.valid else None
        self.tests = SourceRows(list(recipe.data.test.values()), base, checks)
        back = recipe.back_translation
        self.monolingual = [SourceRows(back.data, base, Checks(fields=1))] if back is not None and back.data else []
        self.synthetic: list[SyntheticSource] | None = None if stages_of(recipe) else []
        self.links = WordLinks(recipe, base) if recipe.training.guided_alignment else None
        self.report = CorpusReport()

    def check(self) -> list[str]:
        """Everything that can be seen before anything is read in full; gives back what people should know."""
        if self.links is not None:
            self.links.check()
        sets = [self.train, *([] if self.valid is None else [self.valid]), self.tests, *self.monolingual]
        return [note for rows in sets for note in rows.check()]

    def fingerprint(self) -> dict[str, str]:
        more = [rows.fingerprint() for rows in (self.valid, self.links, *self.monolingual) if rows is not None]
        return self.train.fingerprint() | {name: digest for one in more for name, digest in one.items()}

    def run(self, tokenizer: TextCodec | None) -> PreparedText:
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

    def open(self) -> PreparedText:
        more = weights_of([*self.synthetic_sources(), *word_sources(self.store, self.recipe)])
        return open_prepared(self.folder, self.recipe, (*weights_of(self.recipe.data.train), *more))

    def whole(self) -> bool:
        """Whether an earlier start has prepared all of it."""
        try:
            self.open()
        except UNREADABLE:
            return False
        return True

    def split(self) -> list[TextRow]:
        """The rows to validate with; from now on `train` gives all others."""
        return hold_back(self.recipe, self.train, self.valid, self.listener)

    def synthetic_sources(self) -> list[dict[str, Any]]:
        """Pairs that stages have made before."""
        if self.synthetic is None:
            self.synthetic = read_synthetic(self.folder)
        if self.synthetic is None:
            raise FileError(f"{self.folder} has no synthetic pairs", do="the same command makes them")
        return as_sources(self.folder, self.synthetic)

    def write(self, tokenizer: TextCodec | None) -> None:
        self.write_aside()
        valid = self.split()
        words = write_words(self.store, self.recipe, self.train, self.scored(valid), self.listener)
        if self.links is not None:
            self.links.learn(self.train, self.listener)
        self.train.extend([*self.synthetic_sources(), *words])
        self.check_sides(valid)
        self.train.slots = self.recipe.data.slots if self.recipe.task == "translate" else 0.0
        write_lines(self.store / "valid.jsonl", valid)
        if tokenizer is None:
            tokenizer = learn_tokenizer(self.recipe, self.train, self.listener)
        tokenizer.save(self.folder / "tokenizer.json")
        labels = self.labels(valid)
        files = self.encode(tokenizer, labels)
        self.listener(Note(f"{self.report.usable:,} rows to train on, {len(valid):,} to validate"))
        report_drops("training", self.report, self.listener)
        sizes = {"rows": self.report.usable, "valid": len(valid)}
        meta = {"files": files, **sizes, "labels": list(labels), "report": self.report.to_dict()}
        text = json.dumps(meta, ensure_ascii=False)
        for path in self.store.iterdir():  # meta.json says that they are whole
            sync(path)
        replace_file(self.store / "meta.json", lambda path: path.write_text(text, encoding="utf-8"))

    def scored(self, valid: list[TextRow]) -> list[str]:
        """The texts that translations are asked of, while training and in the end."""
        return [row[0] for row in (*valid, *(row.texts for row in self.tests))]

    def write_aside(self) -> None:
        """A file for each source of what is never trained on, where a recipe keeps something aside."""
        if not self.train.aside:
            return
        place = self.folder / "aside"
        place.mkdir(exist_ok=True)
        for index, source in enumerate(self.train.sources):
            rows = [row.texts[:2] for row in islice(self.train.rows_aside(index), ASIDE)]
            lines = ("\t".join(" ".join(text.split()) for text in texts) + "\n" for texts in rows)
            name = source.replace(":", "-") if isinstance(source, str) else source_name(source)
            (place / f"{index}-{name}.tsv").write_text("".join(lines), encoding="utf-8")

    def check_sides(self, valid: list[TextRow]) -> None:
        if self.recipe.task != "translate" or not self.recipe.data.swapped:
            return
        train = [row.texts for row in islice(iter(self.train), SAMPLE)]
        if looks_swapped([row[:2] for row in valid[:SAMPLE]], [row[:2] for row in train]):  # type: ignore[misc]
            raise InputError(
                "the sides of the training and validation sets look swapped",
                found=f"train begins {train[0]!r:.80}, validation {valid[0]!r:.80}",
                do="swap one of them, or set data.swapped = false if they are right",
            )

    def labels(self, valid: list[TextRow]) -> dict[str, int]:
        """The number of each label there is, of a classifier."""
        if self.recipe.task != "classify":
            return {}
        every = {row.texts[1].strip() for row in self.train} | {row[1].strip() for row in valid}
        return {label: n for n, label in enumerate(sorted(every))}

    def encode(self, tokenizer: TextCodec, labels: dict[str, int]) -> dict[str, str]:
        """Ids to disk; what reading dropped and repaired is reported with what was too long."""
        encoder = RowEncoder(self.recipe, self.store, self.strict, self.report, self.links)
        files, usable = encoder.encode(with_progress(self.train, "encoding", self.listener), tokenizer, labels)
        self.report.join(self.train.report)
        self.report.usable = usable
        if not usable:
            raise InputError("no text is left to train on", found="; ".join(self.report.lines()), do="see the reasons")
        return files


def source_name(source: Source) -> str:
    """What to call a source: its folder, where there is one, since every folder may have a "train.en"."""
    path = Path(source.files[0])
    return path.parent.name or path.name.split(".")[0]
