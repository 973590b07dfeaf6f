"""Opening files of any compression as bytes, and reading lines that end at a line feed and nowhere else."""

from __future__ import annotations

import gzip
import importlib
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from regard.errors import FileError
from regard.text.corpora.encoding import UTF_8, Recoded, is_wide, wide_likeness

BUFFER = 1 << 18
LONGEST_LINE = 1 << 26  # bytes; to find that a file has no line feeds, it is not read whole
BOM = b"\xef\xbb\xbf"
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)


def library(name: str, purpose: str) -> Any:
    """An optional library, or an error that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise FileError(
            f"{purpose} needs the library {package}", found=str(error), do='pip install "regard[corpora]"'
        ) from error


@contextmanager
def open_bytes(path: Path, encoding: str = UTF_8) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed, and as UTF-8 where a line feed would be more than one of them.

    What goes wrong while they are read becomes a FileError.
    """
    try:
        with path.open("rb") as raw:
            plain = decompressed(raw, path)
            whole = Recoded(plain, encoding) if is_wide(encoding) else plain
            with io.BufferedReader(whole, BUFFER) as file:
                yield file
    except BROKEN as error:
        other = "" if encoding == UTF_8 else ", or give another --encoding (none is UTF-8)"
        raise FileError(
            f"{path} cannot be read", found=str(error) or type(error).__name__, do=f"fetch or write it again{other}"
        ) from error


def decompressed(raw: IO[bytes], path: Path) -> io.RawIOBase:
    """A stream of the bytes that were compressed, by the file's suffix."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return cast(io.RawIOBase, gzip.GzipFile(fileobj=raw))
    if suffix == ".xz":
        return cast(io.RawIOBase, lzma.LZMAFile(raw))
    if suffix == ".zst":
        return Zstandard(raw, library("zstandard", f"reading {path.name}"))
    return cast(io.RawIOBase, raw)


class Zstandard(io.RawIOBase):
    """Zstandard frames, one after the other. The library's own reader takes a file cut short for a whole one."""

    FEED = 1 << 9  # compressed bytes at a time: what they unpack to is held in memory

    def __init__(self, raw: IO[bytes], zstandard: Any) -> None:
        self.raw, self.error = raw, zstandard.ZstdError
        self.unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 31)  # as `zstd --long=31` may have asked
        self.frame: Any = None
        self.ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.ready and self.advance():
            pass
        count = min(len(buffer), len(self.ready))
        buffer[:count], self.ready = self.ready[:count], self.ready[count:]
        return count

    def advance(self) -> bool:
        """Unpack a little more; False at the end."""
        data = self.frame.unused_data if self.frame and self.frame.eof else b""
        data = data or self.raw.read(self.FEED)
        if not data:
            if self.frame and not self.frame.eof:
                raise EOFError("the file ends in the middle of a zstandard frame")
            return False
        if self.frame is None or self.frame.eof:
            self.frame = self.unpacker.decompressobj()
        try:
            self.ready = memoryview(self.frame.decompress(data))
        except self.error as error:
            raise OSError(str(error)) from error
        return True


def lines(path: Path, encoding: str = UTF_8) -> Iterator[bytes]:
    """The lines of a file without their ends; a byte order mark at the start is no part of the first."""
    with open_bytes(path, encoding) as file:
        line = file.readline(LONGEST_LINE)
        if encoding == UTF_8 and (wide := wide_likeness(line)):
            raise FileError(
                f"{path} is not UTF-8",
                found=f"this looks like {wide.words}",
                do=f'--encoding {wide.name} reads it (in a recipe: encoding = "{wide.name}")',
            )
        if line:
            yield ended(line, path).removeprefix(BOM)
        while line := file.readline(LONGEST_LINE):
            yield ended(line, path)


def ended(line: bytes, path: Path) -> bytes:
    """A line without its end; a line without end is refused."""
    if len(line) == LONGEST_LINE and line[-1:] != b"\n":
        raise FileError(
            f"{path} has a line of more than {LONGEST_LINE >> 20} MiB",
            found=repr(line[:40]),
            do="see whether it is text, and write one sentence or paragraph a line",
        )
    return line.removesuffix(b"\n").removesuffix(b"\r")


def count_lines(path: Path, encoding: str = UTF_8) -> int:
    """How many lines there are; text after the last line feed is one too."""
    count, last = 0, b"\n"
    with open_bytes(path, encoding) as file:
        while chunk := file.read(BUFFER):
            count += chunk.count(b"\n")
            last = chunk[-1:]
    return count + (last != b"\n")
