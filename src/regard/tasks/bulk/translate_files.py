"""`translate_files`: from large files to their translations, and after any end on from where it stood."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from regard.errors import FileError, InputError, UnknownNameError
from regard.interop.folders import where
from regard.tasks.bulk.chunk_worker import ChunkResult, ChunkWorker, WorkerOptions, WriteLine
from regard.tasks.bulk.job_folder import JobFolder, chunks_of
from regard.tasks.bulk.manifest import Manifest, chunk_size, model_digest, output_paths, survey
from regard.tasks.glossary import Glossary
from regard.tasks.pipeline import Best
from regard.tasks.translator import DTYPES, SearchOptions


class BulkProgress(NamedTuple):
    """How far a job is. `lines` and `chunks` count what earlier runs did too.

    The speed is that of the lines `here`, which came after the first chunk: with this one models are loaded.
    """

    chunks: int
    all_chunks: int
    lines: int
    all_lines: int
    here: int
    seconds: float

    @property
    def lines_per_second(self) -> float:
        return self.here / max(self.seconds, 1e-9)

    @property
    def left(self) -> float | None:
        """Seconds, at the speed so far; None until there is one."""
        return (self.all_lines - self.lines) / self.lines_per_second if self.here else None


class BulkOutcome(NamedTuple):
    """What was written, of how many lines, how many of them by earlier runs, and how many translations were cut."""

    outputs: tuple[str, ...]
    lines: int
    before: int
    cut: int = 0
    finished_before: bool = False


OnProgress = Callable[[BulkProgress], None]
Engine = Callable[[WorkerOptions, Sequence[int]], Iterator[ChunkResult]]


def first_text(source: str, best: Best) -> str:
    """The best translation on one line."""
    return " ".join(best[0].text.split())


def translate_here(options: WorkerOptions, numbers: Sequence[int]) -> Iterator[ChunkResult]:
    """Chunk after chunk in this process."""
    yield from map(ChunkWorker(options), numbers)


@dataclass(frozen=True)
class BulkRequest:
    """What to translate and how. `label` stands for `write_line` in the manifest: another way of writing has another.

    `chunk` is how many lines are kept together, by default by how many there are. `anew` throws away what an earlier
    run left, and writes over an output that is there. `pipeline`: texts as people type them, not the bare model.
    """

    model: str
    files: Sequence[Path]
    out: Path
    search: SearchOptions = field(default_factory=SearchOptions)
    write_line: WriteLine = first_text
    label: str = "text"
    device: str = "auto"
    dtype: str = DTYPES[0]
    batch: int | None = None
    chunk: int | None = None
    anew: bool = False
    pipeline: bool = False
    glossary: Glossary | None = None


def translate_files(
    request: BulkRequest, engine: Engine = translate_here, on_progress: OnProgress = lambda progress: None
) -> BulkOutcome:
    """Translate each file to a file of as many lines, in order. The same call again goes on where the last one stopped.

    Finished chunks are kept beside the output until all are there. If an input, the model or an option is another than
    when they were made, nothing is done and the difference is named.
    """
    place = where(request.model)
    model = str(place.folder.resolve()) if place.kind == "folder" else request.model
    manifest = manifest_for(request, place.folder)
    job = JobFolder.beside(request.out)
    lines = sum(document.lines for document in manifest.documents)
    outputs = tuple(map(str, output_paths(request.files, request.out)))
    with job.locked():
        if settle(job, manifest, request.anew):
            return BulkOutcome(outputs, lines, lines, finished_before=True)
        chunks = chunks_of(manifest)
        missing = [chunk.number for chunk in chunks if job.target(chunk) is None]
        before = lines - sum(chunks[number].size for number in missing)
        job.forget_tries()
        options = WorkerOptions(job, model, request.write_line, request.device, request.batch)
        if missing:
            follow(engine(options, missing), BulkProgress(len(chunks) - len(missing), len(chunks), before, lines, 0, 0),
                   on_progress)  # fmt: skip
        return BulkOutcome(outputs, lines, before, job.join(manifest))


def manifest_for(request: BulkRequest, folder: Path) -> Manifest:
    for file in request.files:
        if not file.is_file():
            kind = "a folder" if file.is_dir() else "no such file"
            raise FileError(f"{file} cannot be read", found=kind, do="give files of one text a line")
    if request.dtype not in DTYPES:  # before anything is read: that may take long
        raise UnknownNameError("dtype", request.dtype, DTYPES)
    outputs = output_paths(request.files, request.out)
    documents = tuple(survey(file, output) for file, output in zip(request.files, outputs, strict=True))
    chunk = request.chunk or chunk_size(sum(document.lines for document in documents))
    search = {name: value for name, value in request.search.items() if value is not None}
    terms = None if request.glossary is None else request.glossary.terms
    return Manifest(
        documents,
        request.model,
        model_digest(folder),
        search,
        request.label,
        chunk,
        request.dtype,
        request.pipeline,
        terms,
    )


def settle(job: JobFolder, manifest: Manifest, anew: bool) -> bool:
    """Make the folder ready for this job; True if there is nothing left to do."""
    entry = None if anew else job.manifest()
    if entry is None:
        taken = [document.output for document in manifest.documents if Path(document.output).exists()]
        if taken and not anew:
            raise InputError(f"{taken[0]} is there already", do="choose another --out, or --anew to write over it")
        job.set_up(manifest)
        return False
    before, finished = entry
    changes = manifest.changes(before)
    if changes and not at_stake(job, manifest, finished):
        job.set_up(manifest)
        return False
    if changes:
        raise InputError(
            f"{job.path} was begun with something else",
            found="; ".join(changes),
            do="--anew begins anew, another --out keeps both",
        )
    if finished and all(Path(document.output).is_file() for document in manifest.documents):
        return True
    if finished:  # somebody took the output away
        job.set_up(manifest)
    return False


def at_stake(job: JobFolder, manifest: Manifest, finished: bool) -> bool:
    """Would another job take anything away? Not beside a finished one, nor after an option that was refused."""
    if finished:
        return any(Path(document.output).exists() for document in manifest.documents)
    return any(job.targets.glob("*"))


def follow(results: Iterator[ChunkResult], progress: BulkProgress, on_progress: OnProgress) -> None:
    """Count the chunks as they come; the first that cannot be translated ends it."""
    begun: float | None = None
    on_progress(progress)
    for result in results:
        if result.error is not None:
            raise InputError(result.error[0], found=result.error[1], do=result.error[2])
        progress = progress._replace(chunks=progress.chunks + 1, lines=progress.lines + result.lines)
        if begun is None:
            begun = time.monotonic()
        else:
            progress = progress._replace(here=progress.here + result.lines, seconds=time.monotonic() - begun)
        on_progress(progress)
