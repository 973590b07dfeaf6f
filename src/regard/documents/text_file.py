"""Text and the bytes it came from: encoding, byte order mark and line ends are kept."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from regard.errors import FileError
from regard.text.corpora.encoding import likeness

UTF_8 = "utf-8"
MARKS = (  # longest first
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
Declared = Callable[[bytes], str | None]  # which encoding a file says it is in


class TextFile(NamedTuple):
    """The text of a file, and how it was written."""

    text: str
    encoding: str = UTF_8
    bom: bytes = b""

    @property
    def line_end(self) -> str:
        """That of the first line."""
        at = self.text.find("\n")
        if at < 0:
            return "\r" if "\r" in self.text else "\n"
        return "\r\n" if self.text[at - 1 : at] == "\r" else "\n"

    def encode(self, text: str, errors: str = "strict") -> bytes:
        """Another text in the same way; as UTF-8 where it has letters that the encoding lacks."""
        try:
            return self.bom + text.encode(self.encoding, errors)
        except UnicodeEncodeError:
            return text.encode(UTF_8)


def decode(data: bytes, path: Path, declared: Declared = lambda data: None, default: str = UTF_8) -> TextFile:
    """The text of these bytes: by their mark, as the file says, as UTF-8, or by what they look like."""
    for bom, encoding in MARKS:
        if data.startswith(bom):
            return TextFile(decoded(data[len(bom) :], encoding, path), encoding, bom)
    named = declared(data[:4096])
    if named is not None and known(named):
        return TextFile(decoded(data, named, path), named)
    try:
        return TextFile(data.decode(UTF_8))
    except UnicodeDecodeError:
        guess = default if default != UTF_8 else getattr(likeness(data.splitlines()), "name", None)
        if guess is None:
            raise FileError(
                f"{path} is not text", found="neither UTF-8 nor an encoding that can be told", do="save it as UTF-8"
            ) from None
        return TextFile(decoded(data, guess, path), guess)


def decoded(data: bytes, encoding: str, path: Path) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not {encoding}, as it says", found=str(error), do="save it as UTF-8") from error


def known(encoding: str) -> bool:
    try:
        return "a".encode(encoding).decode(encoding) == "a"
    except (LookupError, ValueError, TypeError, AttributeError):
        return False
