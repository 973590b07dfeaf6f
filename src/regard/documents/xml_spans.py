"""XML as elements that know where they stand in the text, so that all around a change stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from regard.documents.passages import Code, Edit, Part, Words, fixed, literal, readable, words
from regard.errors import FileError

XML_NAMES = "http://www.w3.org/XML/1998/namespace"
DECLARED = re.compile(rb"""^\s*<\?xml[^>]*encoding\s*=\s*["']([\w.:-]+)""")
MARKUP = re.compile(r"""<!\[CDATA\[(?P<data>.*?)\]\]>|<!--.*?-->|<\?.*?\?>|<(?:[^>"']|"[^"]*"|'[^']*')*>""", re.DOTALL)
INDENT = re.compile(r"\r?\n[ \t]*\Z")
NAME = re.compile(r"</?([^\s/>]+)")
OPENING, CLOSING = ("bpt", "bx", "sc"), ("ept", "ex", "ec")  # codes that open and close something, each by itself
PARTNER = ("i", "rid", "startRef", "id")  # attributes by which the two know each other


@dataclass
class XmlElement:
    """An element: its name without a namespace, and where its tags and its content lie."""

    name: str
    space: str
    attributes: dict[str, str]
    start: int
    parent: XmlElement | None = field(repr=False)
    inner: int = 0  # where its content begins
    close: int = 0  # where its content ends
    end: int = 0
    children: list[XmlElement] = field(default_factory=list, repr=False)

    @property
    def is_empty_tag(self) -> bool:
        """Whether it is written as one tag."""
        return self.inner == self.end

    def walk(self) -> Iterator[XmlElement]:
        """Itself and all below, in order."""
        yield self
        for child in self.children:
            yield from child.walk()

    def all(self, *names: str) -> list[XmlElement]:
        """Its children of these names."""
        return [child for child in self.children if child.name in names]

    def ancestors(self) -> Iterator[XmlElement]:
        """Itself and all above."""
        element: XmlElement | None = self
        while element is not None:
            yield element
            element = element.parent


def declared_encoding(start: bytes) -> str | None:
    match = DECLARED.match(start)
    return match[1].decode() if match else None


def parse_xml(text: str, path: Path) -> XmlElement:
    """The root of a document. No entities are fetched from elsewhere, and none are declared in it: they may swell."""
    reader = SpanReader(text)
    try:
        reader.parser.Parse(text, True)
    except expat.ExpatError as error:
        raise FileError(f"{path} is not well-formed XML", found=str(error), do="mend it, or export it again") from error
    except ForbiddenEntity as error:
        raise FileError(f"{path} declares entities of its own", found=str(error), do="write them out") from error
    assert reader.root is not None
    return reader.root


class ForbiddenEntity(Exception):
    """An entity that a document declares."""


class SpanReader:
    """Builds elements from what expat reports, which counts bytes of UTF-8 where we count characters."""

    def __init__(self, text: str) -> None:
        self.text, self.data = text, text.encode("utf-8", "surrogatepass")
        self.bytes_before = self.characters_before = 0
        self.root: XmlElement | None = None
        self.current: XmlElement | None = None
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self.on_start
        self.parser.EndElementHandler = self.on_end
        self.parser.EntityDeclHandler = self.on_entity

    def position(self) -> int:
        at = self.parser.CurrentByteIndex
        self.characters_before += len(self.data[self.bytes_before : at].decode("utf-8", "surrogatepass"))
        self.bytes_before = at
        return self.characters_before

    def on_entity(self, name: str, *details: object) -> None:
        raise ForbiddenEntity(name)

    def on_start(self, full_name: str, attributes: dict[str, str]) -> None:
        space, _, name = full_name.rpartition(" ")
        start = self.position()
        element = XmlElement(name, space, attributes, start, self.current)
        match = MARKUP.match(self.text, start)
        assert match is not None
        element.inner = match.end()
        if self.current is not None:
            self.current.children.append(element)
        self.root = self.root or element
        self.current = element

    def on_end(self, full_name: str) -> None:
        element = self.current
        assert element is not None
        if self.text[element.inner - 2] == "/":
            element.close = element.end = element.inner
        else:
            element.close = self.position()
            element.end = self.text.index(">", element.close) + 1
        self.current = element.parent


def set_attribute(text: str, element: XmlElement, name: str, value: str) -> Edit:
    """Another value for an attribute, or the attribute behind the others."""
    tag = text[element.start : element.inner]
    match = re.search(rf"""\s{re.escape(name)}\s*=\s*("[^"]*"|'[^']*')""", tag)
    if match:
        return fixed(element.start + match.start(1), element.start + match.end(1), f'"{value}"')
    at = element.start + len(tag.removesuffix(">").removesuffix("/").rstrip())
    return fixed(at, at, f' {name}="{value}"')


def sibling_name(text: str, element: XmlElement, name: str) -> str:
    """A name with the prefix that an element has in the text, if it has one."""
    match = NAME.match(text, element.start)
    prefix = match[1].rpartition(":")[0] if match else ""
    return f"{prefix}:{name}" if prefix else name


def indent_of(text: str, element: XmlElement) -> str:
    """The line end and the white space before an element; nothing if something else stands before it on its line."""
    match = INDENT.search(text, text.rfind("\n", 0, element.start) - 1 if "\n" in text else 0, element.start)
    return match[0] if match else ""


def same_language(one: str, other: str) -> bool:
    """Whether two codes name one language: en, en-GB and EN_us do."""
    return re.split("[-_]", one.strip().lower())[0] == re.split("[-_]", other.strip().lower())[0]


def inline_parts(text: str, element: XmlElement, codes: frozenset[str]) -> list[Part]:
    """The content of an element as text and tags; elements named in `codes`, or not to be translated, are one code."""
    parts: list[Part] = []
    whole = {child.start: child for child in element.walk() if child is not element and is_kept(child, codes)}
    pairs = paired_tokens(list(whole.values()))
    at = element.inner
    while at < element.close:
        match = MARKUP.search(text, at, element.close)
        begin = match.start() if match else element.close
        parts += words(text[at:begin], at, readable) if begin > at else []
        if match is None:
            break
        at = whole[begin].end if begin in whole else match.end()
        if match["data"] is not None:
            parts.append(Words(literal(match["data"]), begin, at))
        else:
            token = pairs.get(begin) or token_for(text[begin:at], whole.get(begin), len(parts))
            parts.append(Code(token, begin, at))
    return parts


def is_kept(element: XmlElement, codes: frozenset[str]) -> bool:
    wish = element.attributes.get("translate") or element.attributes.get("mtype")
    return element.name in codes or wish in ("no", "protected")


def paired_tokens(codes: list[XmlElement]) -> dict[int, str]:
    """Codes that open something and those that close it, by where they begin: as tags, since that is what they are."""
    elements = [one for one in codes if one.name in (*OPENING, *CLOSING)]
    openings = {partner_of(one): number for number, one in enumerate(elements) if one.name in OPENING}
    tokens: dict[int, str] = {}
    for one in elements:
        number = openings.pop(partner_of(one), None) if one.name in CLOSING else None
        if number is not None and elements[number].start < one.start:
            name = f"{elements[number].name}{number + 1}"
            tokens |= {elements[number].start: f"<{name}>", one.start: f"</{name}>"}
    return tokens


def partner_of(code: XmlElement) -> tuple[int, str]:
    """What the two codes of a pair have in common."""
    kind = (OPENING if code.name in OPENING else CLOSING).index(code.name)
    return kind, next((code.attributes[name] for name in PARTNER if name in code.attributes), "")


def token_for(raw: str, element: XmlElement | None, number: int) -> str:
    """How markup stands in a segment: a short code for what stays whole, else the tag as it is."""
    if element is not None and not (element.is_empty_tag and len(raw) < 40):
        return f"<{element.name}{number}/>"
    if raw.startswith(("<!", "<?")):
        return f"<note{number}/>"
    inner = " ".join(raw[1:-1].split())
    return "<" + inner.replace("<", "&lt;").replace(">", "&gt;") + ">"
