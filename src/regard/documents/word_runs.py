"""A paragraph of Word as one segment: its text, and tags where the formatting of its runs changes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from regard.documents.passages import Code, Part, Passage, Slice, Words, escaped, passage, readable, words
from regard.documents.xml_spans import NAME, XmlElement

CONTAINERS = frozenset(("hyperlink", "ins", "smartTag"))  # runs inside them belong to the line
DROPPED = frozenset(("proofErr", "lastRenderedPageBreak"))  # what Word writes for itself, and writes again
BEGINNINGS = re.compile(r".*(?:Start|Begin)$")  # of bookmarks and comments
MARKERS = re.compile(r"(?:bookmark|commentRange|perm|move(?:From|To)Range|customXml\w+Range)\w*(?:Start|End)$")
PROOFING = re.compile(r"<(?:\w+:)?(?:lang|noProof)\b[^>]*/>")


class RunFormat(NamedTuple):
    """How a run looks, and what it stands in."""

    properties: str = ""  # its rPr, as written
    container: tuple[str, str] = ("", "")  # the tags around it, such as those of a link
    name: str = "r"


PLAIN = RunFormat()


class Atom(NamedTuple):
    """A piece of a paragraph: text of one format, or something else that stays whole."""

    format: RunFormat
    start: int
    end: int
    text: str | None = None  # as written in the file
    run: tuple[str, str] = ("", "")  # what to write around a child of a run that stands alone


@dataclass(frozen=True)
class WordPassage(Passage):
    """All of a paragraph behind its properties; what stands around the words is written with them."""

    prefix: str = "w:"  # of its names
    base: RunFormat = PLAIN
    formats: dict[str, RunFormat] = field(default_factory=dict)  # by the name of their tag
    atoms: dict[int, Atom] = field(default_factory=dict)  # things that stay whole, by where they begin
    before: Sequence[Part] = ()
    behind: Sequence[Part] = ()
    opening: str = ""  # beginnings and ends of bookmarks, which have no place in a sentence
    closing: str = ""

    def write(self, target: str, raw: Slice) -> str:
        before, behind = (
            [part.text if isinstance(part, Words) else part for part in side] for side in (self.before, self.behind)
        )
        output: list[tuple[tuple[str, str], str]] = []
        current, text = self.base, ""

        def flush() -> None:
            nonlocal text
            if text:
                output.append((current.container, self.run(current, escaped(text))))
            text = ""

        for piece in [*before, *self.pieces(target), *behind]:
            if isinstance(piece, str):
                text += piece
                continue
            flush()
            if piece.start in self.atoms and piece.token.endswith("/>"):
                atom = self.atoms[piece.start]
                output.append((atom.format.container, raw(atom.start, atom.end).join(atom.run)))
            else:
                name = piece.token.strip("</>")
                current = self.base if piece.token.startswith("</") else self.formats[name]
        flush()
        return self.opening + in_containers(output) + self.closing

    def run(self, look: RunFormat, text: str) -> str:
        prefix = self.prefix
        space = ' xml:space="preserve"'
        return f"<{prefix}r>{look.properties}<{prefix}t{space}>{text}</{prefix}t></{prefix}r>"


def in_containers(output: list[tuple[tuple[str, str], str]]) -> str:
    """Runs that follow each other in one link stand in it together."""
    result, current = "", ("", "")
    for container, run in output:
        if container != current:
            result += current[1] + container[0]
            current = container
        result += run
    return result + current[1]


def paragraph_passage(text: str, paragraph: XmlElement) -> WordPassage | None:
    """What is to be translated in a paragraph, if there is anything."""
    children = [child for child in paragraph.children if child.name != "pPr"]
    match = NAME.match(text, paragraph.start)
    assert match is not None
    prefix = match[1].removesuffix("p")
    atoms = list(atoms_of(text, children, ("", ""), prefix, "r"))
    letters: Counter[RunFormat] = Counter()
    for atom in atoms:
        letters[atom.format] += len(atom.text or "")
    if not letters:
        return None
    base = letters.most_common(1)[0][0]
    parts, formats = tagged(atoms, base)
    core = passage(parts, escaped)
    if core is None:
        return None
    first, last = parts.index(core.parts[0]), len(parts) - parts[::-1].index(core.parts[-1])
    markers = [child for child in children if MARKERS.match(child.name)]
    opening, closing = (
        "".join(text[one.start : one.end] for one in markers if bool(BEGINNINGS.match(one.name)) is starts)
        for starts in (True, False)
    )
    return WordPassage(
        core.parts, children[0].start, children[-1].end, escaped, prefix, base, formats,
        {atom.start: atom for atom in atoms if atom.text is None}, parts[:first], parts[last:], opening, closing,
    )  # fmt: skip


def tagged(atoms: list[Atom], base: RunFormat) -> tuple[list[Part], dict[str, RunFormat]]:
    """The paragraph as text with tags around what does not look like most of it."""
    parts: list[Part] = []
    formats: dict[str, RunFormat] = {}
    open_name: str | None = None
    current = base
    for number, atom in enumerate(atoms, 1):
        if atom.text is None or atom.format != current:
            if open_name:
                parts.append(Code(f"</{open_name}>", atom.start, atom.start))
            open_name, current = None, base
        if atom.text is None:
            parts.append(Code(f"<x{number}/>", atom.start, atom.end))
            continue
        if atom.format != current:
            open_name, current = f"{atom.format.name}{number}", atom.format
            formats[open_name] = atom.format
            parts.append(Code(f"<{open_name}>", atom.start, atom.start))
        parts += words(atom.text, atom.start, readable)
    if open_name:
        parts.append(Code(f"</{open_name}>", atoms[-1].end, atoms[-1].end))
    return parts, formats


def atoms_of(
    text: str, children: Sequence[XmlElement], container: tuple[str, str], prefix: str, name: str
) -> Iterator[Atom]:
    """The pieces of a line in order; a field, from its begin to its end, is one piece."""
    place = 0
    while place < len(children):
        child = children[place]
        last = field_end(children, place)
        if last > place:
            yield Atom(RunFormat(container=container), child.start, children[last].end)
            place = last
        elif child.name == "r":
            yield from atoms_of_run(text, child, container, prefix, name)
        elif child.name in CONTAINERS:
            tags = text[child.start : child.inner], text[child.close : child.end]
            inner = "a" if child.name == "hyperlink" else name
            around = container[0] + tags[0], tags[1] + container[1]
            yield from atoms_of(text, child.children, around, prefix, inner)
        elif child.name not in DROPPED and not MARKERS.match(child.name):
            yield Atom(RunFormat(container=container), child.start, child.end)
        place += 1


def field_end(children: Sequence[XmlElement], place: int) -> int:
    """Where the field ends that begins here; the same place if none does, or it ends in another paragraph."""
    depth = 0
    for number in range(place, len(children)):
        kinds = [kind for one in children[number].walk() if one.name == "fldChar" for kind in field_kinds(one)]
        depth += kinds.count("begin") - kinds.count("end")
        if depth <= 0:
            return number if kinds else place
    return place


def field_kinds(element: XmlElement) -> list[str]:
    return [value for key, value in element.attributes.items() if key.endswith("fldCharType")]


def atoms_of_run(text: str, run: XmlElement, container: tuple[str, str], prefix: str, name: str) -> Iterator[Atom]:
    properties = "".join(text[one.start : one.end] for one in run.all("rPr"))
    properties = PROOFING.sub("", properties)
    if re.fullmatch(rf"<{prefix}rPr(?:/>|>\s*</{prefix}rPr>)", properties):
        properties = ""
    look = RunFormat(properties, container, name)
    for child in run.children:
        if child.name == "t":
            yield Atom(look, child.inner, child.close, text[child.inner : child.close])
        elif child.name != "rPr" and child.name not in DROPPED:
            yield Atom(look, child.start, child.end, None, (f"<{prefix}r>{properties}", f"</{prefix}r>"))
