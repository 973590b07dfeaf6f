"""What a bulk translation is of: its inputs, model and options, each known again by what is in it.

A job that was interrupted goes on only if all of this is as it was: else one file would hold the work of two.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import InputError
from regard.tasks.text_ids import check_lengths
from regard.tasks.translator import DTYPES
from regard.text.corpora.opening import lines
from regard.version import __version__

FORMAT = 1  # raised when a folder of today could not be gone on with by yesterday's code
CHUNK = range(100, 2_001)  # lines of a chunk: few where there are few, so that many workers have something to do
CHUNKS = 1_000  # about so many where that is possible
COMPRESSED = (".gz", ".xz", ".zst")


class JobDocument(NamedTuple):
    """A file to translate: where it is, where its translation goes, how many lines it has, and their hash."""

    file: str
    output: str
    lines: int
    sha256: str


class Manifest(NamedTuple):
    """All that decides what a job gives. How many workers, where and on what device they work is not among it."""

    documents: tuple[JobDocument, ...]
    model: str
    model_sha256: str
    search: dict[str, Any]  # options of `Translator.search` that were given
    output: str  # how a line is written
    chunk: int  # lines of a chunk
    dtype: str = DTYPES[0]  # in which numbers is computed
    engine: str = "torch"  # by what
    pipeline: bool = False  # or the bare model
    glossary: dict[str, str] | None = None
    version: str = __version__
    format: int = FORMAT

    def to_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "documents": [document._asdict() for document in self.documents]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Manifest:
        documents = tuple(JobDocument(**document) for document in data["documents"])
        return cls(**{**data, "documents": documents})

    def changes(self, before: Manifest) -> list[str]:
        """What is no longer as it was, in words."""
        changed = [f"its {name}: {old}, now {new}" for name, old, new in self.compared(before) if old != new]
        if len(self.documents) != len(before.documents):
            return [*changed, f"its inputs: {len(before.documents)}, now {len(self.documents)}"]
        for new, old in zip(self.documents, before.documents, strict=True):
            if new.sha256 != old.sha256:
                changed.append(f"{new.file}: {old.lines:,} lines before, now {new.lines:,}, and not the same")
            if new.output != old.output:
                changed.append(f"where {new.file} goes: {old.output}, now {new.output}")
        return changed

    def compared(self, before: Manifest) -> list[tuple[str, Any, Any]]:
        """Names with what was and what is."""
        options = [
            (name, before.search.get(name, "as the model has it"), self.search.get(name, "as the model has it"))
            for name in sorted({*before.search, *self.search})
        ]
        other = "" if self.model != before.model else " (other files under the same name)"
        model = (before.model, self.model + (other if self.model_sha256 != before.model_sha256 else ""))
        if self.model_sha256 == before.model_sha256:  # the same model under another name
            model = ("", "")
        return [
            ("model", *model), *options, ("output", before.output, self.output),
            ("lines a chunk", before.chunk, self.chunk), ("dtype", before.dtype, self.dtype),
            ("engine", before.engine, self.engine), ("pipeline", before.pipeline, self.pipeline),
            ("glossary", before.glossary, self.glossary),
            ("version of regard", before.version, self.version),
        ]  # fmt: skip


def survey(path: Path, output: Path) -> JobDocument:
    """Read a file through once; a line that nobody would wait for is refused before anything is translated."""
    digest, count = hashlib.sha256(), 0
    for count, line in enumerate(lines(path), 1):
        digest.update(line + b"\n")
        check_lengths([line.decode("utf-8", errors="replace")], what=f"in {path}, line", first=count)
    return JobDocument(str(path), str(output.absolute()), count, digest.hexdigest())


def chunk_size(count: int) -> int:
    """Lines of a chunk, by how many there are in all: the same for the same input, whoever translates it."""
    return min(max(count // CHUNKS, CHUNK[0]), CHUNK[-1])


def output_paths(files: Sequence[Path], out: Path) -> list[Path]:
    """Where each translation goes: one file to `out`, several, or one where `out` is a folder, into it."""
    if len(files) == 1 and not out.is_dir():
        outputs = [out]
    else:
        if out.exists() and not out.is_dir():
            raise InputError(f"{out} is a file, and several inputs need a folder", do="choose another --out")
        outputs = [out / (file.stem if file.suffix.lower() in COMPRESSED else file.name) for file in files]
    inputs = {file.resolve(): file for file in files}
    for place, output in enumerate(outputs):
        if output in outputs[:place]:
            names = [str(file) for file, other in zip(files, outputs, strict=True) if other == output]
            raise InputError(
                f"two inputs would both become {output}", found=" and ".join(names), do="translate them one by one"
            )
        if output.resolve() in inputs:
            raise InputError(f"{output} would be written over itself", do="choose another --out")
    return outputs
