"""Translation memories (TMX): units that lack a language get it, with the name of the tool that made it."""

from __future__ import annotations

from collections.abc import Iterator

from regard.documents.passages import Edit, Passage, Slice, escaped, passage
from regard.documents.segments import TOOL, Languages
from regard.documents.text_document import DocumentUnit, TextDocument
from regard.documents.xml_spans import (
    XML_NAMES,
    XmlElement,
    declared_encoding,
    indent_of,
    inline_parts,
    parse_xml,
    same_language,
    set_attribute,
)
from regard.errors import FileError, InputError

CODES = frozenset(["bpt", "ept", "it", "ph", "ut", "sub"])
ANY = "*all*"
ORIGIN = '<prop type="x-origin">machine translation</prop>'


class TranslationMemory(TextDocument):
    """Sentences in several languages, of which one may be missing."""

    bilingual = True
    errors = "xmlcharrefreplace"
    declared_encoding = staticmethod(declared_encoding)

    def read_units(self) -> list[DocumentUnit]:
        self.root = parse_xml(self.file.text, self.path)
        if self.root.name != "tmx":
            raise FileError(f"{self.path} is no TMX", found=f"<{self.root.name}>", do="export it as TMX")
        self.pair = self.languages or self.guess_languages()
        self.memory_units: list[XmlElement] = []
        units = []
        for number, element in enumerate((one for one in self.root.walk() if one.name == "tu"), 1):
            unit = self.unit_of(element, element.attributes.get("tuid") or str(number))
            if unit is not None:
                self.memory_units.append(element)
                units.append(unit)
        return units

    def guess_languages(self) -> Languages:
        """That of the header, and the one other that the file has."""
        header = next((one for one in self.root.walk() if one.name == "header"), None)
        source = header.attributes.get("srclang", ANY) if header else ANY
        codes = list(dict.fromkeys(language_of(one) for one in self.root.walk() if one.name == "tuv"))
        if source == ANY and codes:
            source = codes[0]
        others = [code for code in codes if not same_language(code, source)]
        if len({code.lower() for code in others}) != 1:
            raise InputError(
                f"{self.path} does not say into which language it is translated",
                found=f"languages {', '.join(codes) or 'none'}",
                do="take a model that knows its languages, or name them",
            )
        return Languages(source, others[0])

    def variant(self, element: XmlElement, language: str) -> XmlElement | None:
        return next((one for one in element.all("tuv") if same_language(language_of(one), language)), None)

    def unit_of(self, element: XmlElement, name: str) -> DocumentUnit | None:
        source = self.variant(element, self.pair.source)
        segment = next(iter(source.all("seg")), None) if source else None
        core = passage(inline_parts(self.file.text, segment, CODES), escaped) if segment else None
        if core is None:
            return None
        target = self.variant(element, self.pair.target)
        return DocumentUnit(core, f"unit {name}", self.text_of(target))

    def text_of(self, variant: XmlElement | None) -> str | None:
        texts = [
            "".join(part[0] for part in inline_parts(self.file.text, one, CODES)).strip()
            for one in (variant.all("seg") if variant else [])
        ]
        return (texts[0] or None) if texts else None

    def edits(self) -> list[Edit]:
        return [
            edit
            for number, translated in self.filled().items()
            for edit in self.edits_of(self.memory_units[number], self.units[number].passage, translated)
        ]

    def edits_of(self, element: XmlElement, core: Passage, translated: str) -> Iterator[Edit]:
        """A new variant behind the others, or the text of one that is empty."""
        text = self.file.text
        source, target = self.variant(element, self.pair.source), self.variant(element, self.pair.target)
        assert source is not None
        segment = source.all("seg")[0]

        def content(raw: Slice) -> str:
            before, behind = text[segment.inner : core.start], text[core.end : segment.close]
            return f"<seg>{before}{core.write(translated, raw)}{behind}</seg>"

        if target is not None:
            place = next(iter(target.all("seg")), None)
            start, end = (place.start, place.end) if place else (target.close, target.close)
            yield Edit(start, end, lambda raw: ORIGIN + content(raw))
            yield set_attribute(text, target, "creationtool", TOOL)
            return
        last = element.all("tuv")[-1]
        key = "xml:lang" if f"{XML_NAMES} lang" in source.attributes else "lang"
        opening = f'<tuv {key}="{self.pair.target}" creationtool="{TOOL}" creationid="MT">'
        outer, inner = indent_of(text, source), indent_of(text, segment)
        yield Edit(
            last.end,
            last.end,
            lambda raw: f"{outer}{opening}{inner}{ORIGIN}{inner}{content(raw)}{outer if inner else ''}</tuv>",
        )


def language_of(variant: XmlElement) -> str:
    return variant.attributes.get(f"{XML_NAMES} lang") or variant.attributes.get("lang") or ""
