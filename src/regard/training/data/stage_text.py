"""What the stages of a run may see, written down: its training pairs, and the texts that a stage translates.

Whatever the run is validated or scored on, and whatever it keeps aside, is left out here, before any model sees it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from regard.models.checkpoint import replace_file
from regard.text.corpora import Checks, digest
from regard.training.data.durable import sync
from regard.training.data.prepare import Preparation
from regard.training.data.row_reports import with_progress
from regard.training.data.synthetic_pairs import text_lines
from regard.training.recipe.recipe import Recipe
from regard.training.recipe.source_rows import SPAN, SourceRows, chosen, number_of
from regard.training.recipe.stage_recipe import SIDES, VALID, Stage
from regard.training.report.events import Listener

META = "pairs.json"


@dataclass(frozen=True)
class StageText:
    """The pairs of a run below `folder`: NUMBER.source and NUMBER.target of each source, and those to validate with."""

    recipe: Recipe
    base: Path
    folder: Path
    listener: Listener

    def write(self) -> list[int]:
        """The pairs, once; gives how many there are of each source."""
        if (self.folder / META).is_file():
            counts: list[int] = json.loads((self.folder / META).read_text(encoding="utf-8"))
            return counts
        self.folder.mkdir(parents=True, exist_ok=True)
        preparation = Preparation(self.recipe, self.base, self.folder, False, self.listener)
        valid = preparation.split()
        self.write_rows(VALID, ((row[0], row[1]) for row in valid))
        counts = [0] * len(self.recipe.data.train)
        with ExitStack() as open_:
            files = [
                [open_.enter_context(open_lines(self.folder / f"{n}.{side}")) for side in SIDES]
                for n in range(len(counts))
            ]
            for row in with_progress(preparation.train, "reading for the stages", self.listener):
                counts[row.source] += 1
                put(files[row.source], row.texts)
        for path in self.folder.iterdir():
            sync(path)
        replace_file(self.folder / META, lambda path: path.write_text(json.dumps(counts), encoding="utf-8"))
        return counts

    def write_rows(self, name: str, rows: Iterable[tuple[str, str]]) -> None:
        with ExitStack() as open_:
            files = [open_.enter_context(open_lines(self.folder / f"{name}.{side}")) for side in SIDES]
            for row in rows:
                put(files, row)

    def inputs(self, stage: Stage, place: Path) -> list[Path]:
        """For each source of the stage the texts to translate, each once, and what they are in the other language.

        The latter only where translations are compared with it.
        """
        place.mkdir(parents=True, exist_ok=True)
        unwanted = self.unwanted(stage)
        files: list[Path] = []
        for number, rows in enumerate(self.rows(stage)):
            path, digests = place / f"{number}.txt", set[bytes]()
            with ExitStack() as open_:
                sides = [open_.enter_context(open_lines(one)) for one in (path, reference_file(path))]
                for row in rows:
                    name = digest(row[0])
                    if name not in digests and name not in unwanted and self.wanted(stage, row[0]):
                        digests.add(name)
                        put(sides, row)
            files.append(path)
        return files

    def wanted(self, stage: Stage, text: str) -> bool:
        """Not kept aside, and among the share that is translated: by the text, so always the same ones."""
        spread = number_of(f"{stage.name} {text}")  # not by the hash that chose what is held back
        return not chosen(text, self.recipe.data.aside) and spread < int(SPAN * stage.table.share)

    def rows(self, stage: Stage) -> Iterator[Iterable[tuple[str, str]]]:
        """For each source the texts on the side that is translated, and on the other where it is known."""
        data = stage.table.data if stage.name == "back_translation" else []  # type: ignore[union-attr]
        if data:
            for one in data:
                yield ((row.texts[0], "") for row in SourceRows([one], self.base, Checks(fields=1)))
            return
        other = SIDES[stage.inputs == SIDES[0]]
        for number in range(len(self.recipe.data.train)):
            sides = (text_lines(self.folder / f"{number}.{side}") for side in (stage.inputs, other))
            yield zip(*sides, strict=True)

    def unwanted(self, stage: Stage) -> Collection[bytes]:
        """The digests of all that the run is validated and scored on, on the side that is translated."""
        side = SIDES.index(stage.inputs)
        valid = {digest(text) for text in text_lines(self.folder / f"{VALID}.{stage.inputs}")}
        tests = SourceRows(list(self.recipe.data.test.values()), self.base, Checks(swapped=False))
        return valid | {digest(row.texts[side]) for row in tests}


def open_lines(path: Path) -> IO[str]:
    """To write."""
    return path.open("w", encoding="utf-8", newline="\n")


def reference_file(path: Path) -> Path:
    return path.with_suffix(".reference")


def put(files: Iterable[IO[str]], texts: Iterable[str]) -> None:
    """Each text on a line of its own file."""
    for file, text in zip(files, texts, strict=False):
        file.write(" ".join(text.split()) + "\n")
