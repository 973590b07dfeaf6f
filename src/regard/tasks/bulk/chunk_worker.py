"""Who translates chunks: loads a model once, then writes the translation of any chunk that it is given."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch

from regard.errors import FileError, InputError, RegardError
from regard.interop.folders import locate
from regard.tasks.bulk.job_folder import Chunk, JobFolder, Translated, chunks_of
from regard.tasks.bulk.manifest import Manifest, model_digest
from regard.tasks.glossary import Glossary
from regard.tasks.long_texts import TooLongError
from regard.tasks.model_folder import load
from regard.tasks.pipeline import Best, search_lines
from regard.tasks.translator import SearchOptions, Translator

TRIES = 3  # workers that a chunk may cost before it is taken for the reason
WriteLine = Callable[[str, Best], str]  # a line of the output, from the line read and its translations


class ChunkResult(NamedTuple):
    """A chunk is done, or cannot be: then `error` says in three sentences what is wrong, found, and to do."""

    number: int
    lines: int
    error: tuple[str, str, str] | None = None


@dataclass(frozen=True)
class WorkerOptions:
    """What a worker needs to know beside the job; a folder of a model is named from the root."""

    job: JobFolder
    model: str
    write_line: WriteLine
    device: str = "auto"
    batch: int | None = None
    threads: int | None = None  # of the CPU; None: as they are


class ChunkWorker:
    """Called with the number of a chunk it translates it. The model is loaded with the first."""

    def __init__(self, options: WorkerOptions) -> None:
        self.options = options
        self.task: Translator | None = None
        self.chunks: list[Chunk] = []
        self.manifest: Manifest | None = None

    def __call__(self, number: int) -> ChunkResult:
        try:
            count = self.translate(number)
        except RegardError as error:
            return ChunkResult(number, 0, (error.wrong, error.found, error.do))
        return ChunkResult(number, count)

    def translate(self, number: int) -> int:
        job, manifest = self.options.job, self.open_job()
        chunk = self.chunks[number]
        if job.target(chunk) is not None:  # whoever wrote it was killed before it could say so
            return chunk.size
        file = manifest.documents[chunk.document].file
        source = job.source(chunk)
        if job.note_try(chunk) >= TRIES:  # loading counts too: it may be what a worker dies of
            lines = f"lines {chunk.first + 1:,} to {chunk.first + chunk.size:,}"
            raise InputError(
                f"every worker that was to translate {file}, {lines}, died",
                found=f"{TRIES} of them; they may lack memory",
                do="fewer --workers or a smaller --batch need less; the same command goes on",
            )
        try:
            results = self.search(source, manifest)
        except TooLongError as error:
            line = chunk.first + error.number
            raise TooLongError(line, error.tokens, error.longest, error.text, what=f"in {file}, line") from None
        written = [self.options.write_line(line, best) for line, best in zip(source, results, strict=True)]
        cut = sum(any(one.cut for one in best) for best in results)
        job.write(chunk, Translated(written, cut, f"{socket.gethostname()}:{os.getpid()}"))
        return chunk.size

    def search(self, lines: list[str], manifest: Manifest) -> Sequence[Best]:
        options = cast(SearchOptions, manifest.search)
        glossary = None if manifest.glossary is None else Glossary(manifest.glossary)
        return search_lines(self.load_model(manifest), lines, options, pipeline=manifest.pipeline, glossary=glossary)

    def open_job(self) -> Manifest:
        if self.manifest is None:
            entry = self.options.job.manifest()
            if entry is None:
                raise FileError(
                    f"{self.options.job.path} is not to be seen from {socket.gethostname()}",
                    do="--out must lie in a folder that all machines see under the same name",
                )
            self.manifest = entry[0]
            self.chunks = chunks_of(self.manifest)
        return self.manifest

    def load_model(self, manifest: Manifest) -> Translator:
        """The model of the job, and no other of that name."""
        if self.task is not None:
            return self.task
        if self.options.threads is not None:
            torch.set_num_threads(self.options.threads)
        if model_digest(locate(self.options.model)) != manifest.model_sha256:
            raise InputError(
                f"{self.options.model} on {socket.gethostname()} is another model than where the job was begun",
                do="put the same files there, or name a folder that all machines see",
            )
        task = load(self.options.model, self.options.device)
        if not isinstance(task, Translator):
            kind = type(task).__name__
            raise InputError(f"{self.options.model} does not translate", found=kind, do="give an encoder-decoder")
        task.batch = self.options.batch
        task.compute_in(manifest.dtype)
        self.task = task
        return task
