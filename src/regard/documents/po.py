"""Gettext catalogues (PO): only the lines of what is filled in change, and it is marked as fuzzy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from regard.documents.optional import library
from regard.documents.passages import Edit, Passage, Words, fixed
from regard.documents.segments import MADE_BY
from regard.documents.text_document import DocumentUnit, TextDocument
from regard.errors import FileError

CHARSET = re.compile(rb"charset=([\w.:-]+)")
PLURALS = re.compile(r"nplurals\s*=\s*(\d+)")
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")  # polib ends lines at more signs, which LINE_ENDS hides from it
TRANSLATION = re.compile(r"msgstr(?:\[(\d+)\])?\s")
LINE_ENDS = {ord(sign): "\x01" for sign in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"}
WIDE = 76  # letters of a line between its quotes
MOST_FORMS = 9
Targets = dict[tuple[int, ...], str | None]  # of a message, by the forms that each fills


class Message(NamedTuple):
    """An entry of the catalogue, the lines it stands on, and the numbers of the forms that each segment fills."""

    entry: Any
    first: int
    last: int
    forms: tuple[tuple[int, ...], ...]  # of each of its segments; () for the one form of a message without plural


class Catalogue(TextDocument):
    """What programs say. A plural is a segment of its own, and gives all forms but the first."""

    bilingual = True

    @staticmethod
    def declared_encoding(start: bytes) -> str | None:
        match = CHARSET.search(start)
        return match[1].decode() if match and match[1] != b"CHARSET" else None

    def read_units(self) -> list[DocumentUnit]:
        self.lines = LINE.findall(self.file.text)
        catalogue = parsed(self.file.text, self.path)
        match = PLURALS.search(catalogue.metadata.get("Plural-Forms", ""))
        self.plurals = min(int(match[1]), MOST_FORMS) if match else None
        self.messages = list(self.read_messages(catalogue))
        return [unit for message in self.messages for unit in self.units_of(message)]

    def read_messages(self, catalogue: Any) -> Iterator[Message]:
        starts = [entry.linenum - 1 for entry in catalogue] + [len(self.lines)]
        for number, entry in enumerate(catalogue):
            if not entry.obsolete:
                count = self.plurals or len(entry.msgstr_plural) or 2
                several = ((0,), tuple(range(1, count))) if count > 1 else ((0,),)
                yield Message(entry, starts[number], starts[number + 1], several if entry.msgid_plural else ((),))

    def units_of(self, message: Message) -> Iterator[DocumentUnit]:
        entry = message.entry
        for forms in message.forms:
            source = entry.msgid_plural if forms and (forms[0] > 0 or len(message.forms) == 1) else entry.msgid
            there = [entry.msgstr_plural.get(form, "") for form in forms] if forms else [entry.msgstr]
            target = there[0] if all(there) else None
            yield DocumentUnit(Passage([Words(source, 0, 0)], 0, 0), f"line {entry.linenum}", target)

    def render(self) -> bytes:
        """In its own encoding; as UTF-8, and saying so, where that lacks a letter."""
        text = self.rendered()
        try:
            return self.file.bom + text.encode(self.file.encoding)
        except UnicodeEncodeError:
            return CHARSET.sub(b"charset=UTF-8", text.encode(), count=1)

    def edits(self) -> list[Edit]:
        """The lines of translations, and above each message that it is not to be trusted."""
        filled, edits, number = self.filled(), [], 0
        offsets = [0]
        for line in self.lines:
            offsets.append(offsets[-1] + len(line))
        for message in self.messages:
            mine = {forms: filled.get(number + place) for place, forms in enumerate(message.forms)}
            number += len(message.forms)
            if any(target is not None for target in mine.values()):
                edits += [
                    fixed(offsets[first], offsets[last], "".join(f"{line}{self.file.line_end}" for line in lines))
                    for first, last, lines in self.changes(message, mine)
                ]
        return edits

    def changes(
        self, message: Message, mine: dict[tuple[int, ...], str | None]
    ) -> Iterator[tuple[int, int, list[str]]]:
        """Which lines become which."""
        lines = self.lines[message.first : message.last]
        first = [f"# {MADE_BY}"]
        flags = next((place for place, line in enumerate(lines) if line.startswith("#,")), None)
        if flags != 0 or "fuzzy" in message.entry.flags:
            yield message.first, message.first, first
            first = []
        if flags is None:
            plain = next(place for place, line in enumerate(lines) if not line.startswith("#") or line.startswith("#|"))
            yield message.first + plain, message.first + plain, ["#, fuzzy"]
        elif "fuzzy" not in message.entry.flags:
            here = message.first + flags
            yield here, here + 1, [*first, "#, fuzzy," + lines[flags][2:].rstrip()]
        begin = next(place for place, line in enumerate(lines) if TRANSLATION.match(line))
        end = begin + 1
        while end < len(lines) and (lines[end].lstrip().startswith('"') or TRANSLATION.match(lines[end])):
            end += 1
        yield message.first + begin, message.first + end, list(self.translations(message.entry, mine))

    def translations(self, entry: Any, mine: Targets) -> Iterator[str]:
        """What was there, and what was filled in."""
        for forms, target in mine.items():
            if not forms:
                yield from written("msgstr", like(entry.msgid, target or entry.msgstr))
            for form in forms:
                there = entry.msgstr_plural.get(form, "")
                yield from written(f"msgstr[{form}]", there or like(entry.msgid, target or ""))


def parsed(text: str, path: Path) -> Any:
    polib = library("polib", path)
    try:
        return polib.pofile(text.translate(LINE_ENDS) or "\n", encoding="utf-8")
    except Exception as error:  # polib raises whatever it stumbles over
        raise FileError(
            f"{path} is no gettext catalogue", found=str(error), do="mend it, or export it again"
        ) from error


def like(source: str, target: str) -> str:
    """A translation begins and ends with a line end where its source does, as gettext asks."""
    if not target:
        return target
    before, behind = "\n" * source.startswith("\n"), "\n" * source.endswith("\n")
    return before + target.strip("\n") + behind


def written(keyword: str, text: str) -> Iterator[str]:
    """A string as gettext's own tools set it: on one line if it fits, else below an empty one."""
    lines = [piece for line in re.findall(r"[^\n]*\n|[^\n]+", text) for piece in wrapped(quoted(line))]
    if len(lines) <= 1 and len(keyword) + len("".join(lines)) < WIDE:
        yield f'{keyword} "{"".join(lines)}"'
        return
    yield f'{keyword} ""'
    yield from (f'"{line}"' for line in lines)


def quoted(text: str) -> str:
    signs = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t", "\r": r"\r"}
    return "".join(signs.get(letter, letter) for letter in text)


def wrapped(text: str) -> Iterator[str]:
    """Cut behind spaces."""
    line = ""
    for word in re.findall(r"[^ ]*(?: +|$)", text):
        if line and len(line) + len(word.rstrip()) > WIDE:
            yield line
            line = ""
        line += word
    if line:
        yield line
