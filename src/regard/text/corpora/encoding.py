"""Text that is not UTF-8: what it looks like by its bytes, and how it is read once somebody says what it is."""

from __future__ import annotations

import codecs
import io
import re
from encodings.aliases import aliases
from typing import IO, Any, NamedTuple

from regard.errors import InputError, nearest

BUFFER = 1 << 16
UTF_8 = "utf-8"
COMMON = (
    "utf-8",
    "utf-16",
    "cp1252",
    "latin-1",
    "mac-roman",
    "cp850",
    "cp1250",
    "cp1251",
    "koi8-r",
    "shift_jis",
    "gb18030",
)
MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}  # longest first
HIGH = re.compile(rb"[\x80-\xff]+")
LONG_RUNS = 2.0  # bytes above 127 in a row, on average: letters of an alphabet of its own, not accents among others
CAPITAL = 0.3  # what an accented capital counts, beside a small letter
ENOUGH = 0.8  # of what is not ASCII must be letters that texts in that encoding have

ACCENTED = "àâäáãåæçèéêëìíîïñòóôõöøùúûüýÿœßşÀÂÄÁÃÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝŒ" + "’‘“”«»–—…°€£§©®¿¡ºª\xa0"
CENTRAL = "ąćęłńóśźżáčďéěíňřšťúůýžőűöüäôľĺŕăâîșțĄĆĘŁŃÓŚŹŻČŘŠŽÁÉÍ" + "’„”“–—…«»§\xa0"
RUSSIAN = "абвгдежзийклмнопрстуфхцчшщъыьэюяё"


class Likeness(NamedTuple):
    """An encoding that some bytes may be in: its name for people, and Python's for it."""

    words: str
    name: str


# Which letters each would give; of two that explain the bytes as well, the first.
WESTERN = (
    (Likeness("Latin-1 (Windows-1252)", "cp1252"), ACCENTED),
    (Likeness("Mac Roman", "mac-roman"), ACCENTED),
    (Likeness("DOS (code page 850)", "cp850"), ACCENTED),
    (Likeness("Windows-1250", "cp1250"), CENTRAL),
)
CYRILLIC = ((Likeness("Windows-1251", "cp1251"), RUSSIAN), (Likeness("KOI8-R", "koi8-r"), RUSSIAN))


def known_encoding(name: str) -> str:
    """Python's name of an encoding, if there is one that texts are written in; else the nearest is offered."""
    try:
        "a".encode(name)  # refuses what Python can also look up, but is no encoding of text
        return codecs.lookup(name).name
    except (LookupError, ValueError, TypeError) as error:
        guess = nearest(str(name), [*COMMON, *sorted({*aliases, *aliases.values()})])
        raise InputError(
            f"there is no encoding {name!r}",
            do=f"{f'did you mean {guess!r}? ' if guess else ''}usual ones: {', '.join(COMMON)}",
        ) from error


def is_wide(name: str) -> bool:
    """Whether a line feed is more than one byte, so that lines cannot be cut before they are decoded."""
    return len("\n\n".encode(name)) - len("\n".encode(name)) > 1  # a mark at the beginning is no part of it


class Recoded(io.RawIOBase):
    """A stream in a wide encoding, as UTF-8. What is no text there is no UTF-8 here, so that its row is found."""

    def __init__(self, raw: IO[bytes] | io.RawIOBase, encoding: str) -> None:
        self.raw, self.encoding, self.ready, self.ended = raw, encoding, b"", False
        self.decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.ready and not self.ended:
            data = self.raw.read(BUFFER) or b""
            self.ended = not data
            try:
                text = self.decoder.decode(data, self.ended)
            except UnicodeError as error:
                raise OSError(f"not {self.encoding}: {error}") from error
            self.ready = text.encode(UTF_8, "surrogatepass")
        count = min(len(buffer), len(self.ready))
        buffer[:count], self.ready = self.ready[:count], self.ready[count:]
        return count


def wide_likeness(start: bytes) -> Likeness | None:
    """UTF-16 or UTF-32 by the mark they may begin with, or by every other byte being nothing."""
    for mark, name in MARKS.items():
        if start.startswith(mark):
            return Likeness(name.upper(), name)
    even, odd = start[0:200:2], start[1:200:2]
    for none, some, name in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if len(none) >= 4 and none.count(0) > 0.8 * len(none) and not some.count(0):
            return Likeness(name.upper(), name)
    return None


def likeness(lines: list[bytes]) -> Likeness | None:
    """What lines that are not UTF-8 look like; None if nothing explains them well, or they are UTF-8."""
    bad = b"\n".join(line for line in lines if not is_utf_8(line))
    runs = HIGH.findall(bad)
    if not runs:
        return None
    candidates = CYRILLIC if sum(map(len, runs)) / len(runs) > LONG_RUNS else WESTERN
    high = b"".join(runs)
    best = max(candidates, key=lambda one: plausible(high.decode(one[0].name, "replace"), one[1]))  # first of equals
    share = expected(high.decode(best[0].name, "replace"), best[1])
    return best[0] if share >= ENOUGH else None


def is_utf_8(data: bytes) -> bool:
    try:
        data.decode(UTF_8)
    except UnicodeDecodeError:
        return False
    return True


def expected(text: str, letters: str) -> float:
    """How much of a text that is not ASCII is letters that one would expect."""
    return sum(mark in letters for mark in text) / len(text)


def plausible(text: str, letters: str) -> float:
    """The same with capitals counting little: in the wrong encoding small letters often become capitals."""
    return sum((CAPITAL if mark.isupper() else 1.0) for mark in text if mark in letters) / len(text)
