"""The folder of a bulk translation: its manifest, the lines of each chunk, and its translation once done.

A file stands under its name only when all of it is on disk, and a chunk has one name: so it is there once or not at
all, whoever wrote it and how often. The manifest is written when all sources are, and says with `finished` that all is.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

from regard.errors import FileError, InputError
from regard.models.checkpoint import replace_file
from regard.tasks.bulk.manifest import Manifest
from regard.tasks.folder_lock import grab, open_lock, owner_words, read_owner, release, same_file, write_owner
from regard.text.corpora.opening import lines


class Chunk(NamedTuple):
    """Some lines of a document, one after the other; `first` counts from 0."""

    number: int
    document: int
    first: int
    size: int


class Translated(NamedTuple):
    """The lines of a chunk's translation, how many of them were cut, and who wrote them."""

    lines: list[str]
    cut: int
    worker: str


def chunks_of(manifest: Manifest) -> list[Chunk]:
    """All chunks, in the order of their lines."""
    chunks: list[Chunk] = []
    for number, document in enumerate(manifest.documents):
        for first in range(0, document.lines, manifest.chunk):
            chunks.append(Chunk(len(chunks), number, first, min(manifest.chunk, document.lines - first)))
    return chunks


class JobFolder:
    """Beside the output, called like it with .chunks behind."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sources, self.targets, self.tries = path / "sources", path / "targets", path / "tries"

    @classmethod
    def beside(cls, out: Path) -> JobFolder:
        place = out.resolve() if out.name in ("", "..") else out.absolute()  # "." has no name to be called like
        return cls(place.parent / f"{place.name}.chunks")

    def manifest(self) -> tuple[Manifest, bool] | None:
        """What the folder is for and whether that is finished; None where it is new, or was not set up to its end."""
        path = self.path / "manifest.json"
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            finished = bool(data.pop("finished"))
            return Manifest.from_dict(data), finished
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise FileError(f"cannot read {path}", found=str(error), do="--anew begins anew") from error

    def write_manifest(self, manifest: Manifest, finished: bool = False) -> None:
        write_json(self.path / "manifest.json", {**manifest.to_dict(), "finished": finished})

    def set_up(self, manifest: Manifest) -> None:
        """Write the lines of each chunk to a file of their own: a worker needs to see nothing but this folder."""
        self.clear()
        for folder in (self.sources, self.targets):
            folder.mkdir(parents=True)
        rest = iter(chunks_of(manifest))
        for document in manifest.documents:
            source = lines(Path(document.file))
            for chunk in islice(rest, -(-document.lines // manifest.chunk)):
                data = b"".join(line + b"\n" for line in islice(source, chunk.size))
                (self.sources / f"{chunk.number:08}.txt").write_bytes(data)
        self.write_manifest(manifest)

    def clear(self) -> None:
        """Everything but the lock."""
        (self.path / "manifest.json").unlink(missing_ok=True)
        for folder in (self.sources, self.targets, self.tries):
            shutil.rmtree(folder, ignore_errors=True)

    def forget_tries(self) -> None:
        shutil.rmtree(self.tries, ignore_errors=True)
        self.tries.mkdir()
        self.targets.mkdir(exist_ok=True)  # somebody may have cleared it to have all of it again

    def source(self, chunk: Chunk) -> list[str]:
        path = self.sources / f"{chunk.number:08}.txt"
        try:
            source = path.read_bytes().split(b"\n")[:-1]
        except OSError as error:
            advice = "--out must lie in a folder that all machines see under the same name"
            raise FileError(f"cannot read {path}", found=str(error), do=advice) from error
        if len(source) != chunk.size:
            raise FileError(f"{path} is damaged", found=f"{len(source)} lines of {chunk.size}", do="--anew begins anew")
        return [line.decode("utf-8", errors="replace") for line in source]

    def note_try(self, chunk: Chunk) -> int:
        """Write down that it is tried, before anything can go wrong, and say how often it was before."""
        with (self.tries / f"{chunk.number:08}").open("ab") as file:
            before = file.tell()
            file.write(b".")
        return before

    def write(self, chunk: Chunk, translated: Translated) -> None:
        assert len(translated.lines) == chunk.size
        write_json(self.targets / f"{chunk.number:08}.json", translated._asdict())

    def target(self, chunk: Chunk) -> Translated | None:
        """The translation of a chunk, if it is there and whole."""
        try:
            data = json.loads((self.targets / f"{chunk.number:08}.json").read_text(encoding="utf-8"))
            translated = Translated(**data)
        except (OSError, ValueError, TypeError):
            return None
        return translated if len(translated.lines) == chunk.size else None

    def join(self, manifest: Manifest) -> int:
        """Write the outputs, each in one move, and keep of the rest only the manifest; gives how many were cut."""
        cut = 0
        for number, document in enumerate(manifest.documents):
            chunks = [chunk for chunk in chunks_of(manifest) if chunk.document == number]
            output = Path(document.output)
            output.parent.mkdir(parents=True, exist_ok=True)

            def write(path: Path, chunks: Sequence[Chunk] = chunks) -> None:
                nonlocal cut
                with path.open("wb") as file:
                    cut += sum(self.append(file, chunk) for chunk in chunks)

            replace_file(output, write)
        self.write_manifest(manifest, finished=True)
        for folder in (self.sources, self.targets, self.tries):
            shutil.rmtree(folder, ignore_errors=True)
        return cut

    def append(self, file: IO[bytes], chunk: Chunk) -> int:
        translated = self.target(chunk)
        if translated is None:
            raise FileError(
                f"chunk {chunk.number} is gone from {self.targets}",
                found=f"no translation of its {chunk.size} lines",
                do="the same command translates it again",
            )
        file.write("".join(f"{line}\n" for line in translated.lines).encode())
        return translated.cut

    @contextmanager
    def locked(self) -> Iterator[None]:
        """For the length of a with block nobody else works on the job; who does already is named."""
        path = self.path / "lock"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            handle = open_lock(path)
        except OSError as error:
            raise FileError(f"cannot write {path}", found=str(error), do="choose another --out") from error
        held = False
        try:
            try:
                held = grab(handle) and same_file(handle, path)
            except OSError:  # a file system without locks: whoever shares the folder must know
                held = True
            if not held:
                raise InputError(
                    f"somebody else translates into {self.path}",
                    found=owner_words(read_owner(handle)),
                    do="wait for it, stop it, or choose another --out",
                )
            write_owner(handle)
            yield
        finally:
            release(handle, path, held)
            with suppress(OSError):  # a job that was refused leaves nothing; of any other, files are in it
                self.path.rmdir()


def write_json(path: Path, data: dict[str, Any]) -> None:
    text = json.dumps(data, ensure_ascii=False)
    replace_file(path, lambda beside: beside.write_text(text, encoding="utf-8"))
