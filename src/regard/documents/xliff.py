"""XLIFF 1.2 and 2: targets are filled in beside their sources, and say that a machine made them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from regard.documents.passages import Edit, Passage, Slice, escaped, passage
from regard.documents.text_document import DocumentUnit, TextDocument
from regard.documents.xml_spans import (
    XmlElement,
    declared_encoding,
    indent_of,
    inline_parts,
    parse_xml,
    same_language,
    set_attribute,
    sibling_name,
)
from regard.errors import FileError, InputError

CODES = frozenset(
    ["bpt", "ept", "it", "ph", "ut", "x", "bx", "ex", "sub", "sc", "ec", "cp"]
)  # what they hold is no text of this language
UNTRANSLATED = frozenset(("new", "needs-translation", "initial"))
MACHINE = {"state": "needs-review-translation", "state-qualifier": "mt-suggestion"}  # 1.2, on the target
SEGMENT = {"state": "translated", "subState": "regard:mt-suggestion"}  # 2, on the segment
LANGUAGES = {1: ("file", "source-language", "target-language"), 2: ("xliff", "srcLang", "trgLang")}
ATTRIBUTE = re.compile(r"""\s([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


class Xliff(TextDocument):
    """What localisation programs exchange."""

    bilingual = True
    errors = "xmlcharrefreplace"
    declared_encoding = staticmethod(declared_encoding)

    def read_units(self) -> list[DocumentUnit]:
        self.root = parse_xml(self.file.text, self.path)
        if self.root.name != "xliff":
            raise FileError(f"{self.path} is no XLIFF", found=f"<{self.root.name}>", do="export it as XLIFF")
        self.version = 1 if self.root.attributes.get("version", "1.2").startswith("1") else 2
        self.check_languages()
        self.pairs: list[XmlElement] = []
        units = []
        for holder in self.holders():
            unit = self.unit_of(holder)
            if unit is not None:
                self.pairs.append(holder)
                units.append(unit)
        return units

    def check_languages(self) -> None:
        """A file for another pair of languages is not filled in."""
        where, *names = LANGUAGES[self.version]
        for element in self.root.walk():
            if element.name != where or self.languages is None:
                continue
            for name, language in zip(names, self.languages, strict=True):
                code = element.attributes.get(name)
                if code and not same_language(code, language):
                    raise InputError(
                        f"{self.path} is for other languages than the model",
                        found=f'{name}="{code}"; the model translates {" to ".join(self.languages)}',
                        do="take a model for these languages",
                    )

    def holders(self) -> Iterator[XmlElement]:
        """The elements that hold a source and its target."""
        name = "trans-unit" if self.version == 1 else "segment"
        for element in self.root.walk():
            if element.name == name and element.all("source"):
                yield element

    def unit_of(self, holder: XmlElement) -> DocumentUnit | None:
        text = self.file.text
        source = holder.all("source")[0]
        core = passage(inline_parts(text, source, CODES), escaped)
        if core is None:
            return None
        target = next(iter(holder.all("target")), None)
        place = next((f"unit {one.attributes['id']}" for one in holder.ancestors() if "id" in one.attributes), "")
        return DocumentUnit(core, place, self.translation(holder, source, target), not is_locked(holder))

    def translation(self, holder: XmlElement, source: XmlElement, target: XmlElement | None) -> str | None:
        """What stands in the target, unless it only waits for a translation."""
        if target is None:
            return None
        translation, original = (
            "".join(part[0] for part in inline_parts(self.file.text, one, CODES)).strip() for one in (target, source)
        )
        state = target.attributes.get("state") or holder.attributes.get("state") or ""
        return None if not translation or (translation == original and state in UNTRANSLATED) else translation

    def edits(self) -> list[Edit]:
        return [
            edit
            for number, translated in self.filled().items()
            for edit in self.edits_of(self.pairs[number], self.units[number].passage, translated)
        ]

    def edits_of(self, holder: XmlElement, core: Passage, translated: str) -> Iterator[Edit]:
        text = self.file.text
        source = holder.all("source")[0]
        name = sibling_name(text, source, "target")
        target = next(iter(holder.all("target")), None)
        attributes = {} if target is None else dict(target_attributes(text, target))
        attributes |= MACHINE if self.version == 1 else {}
        written = "".join(f' {key}="{value}"' for key, value in attributes.items())

        def content(raw: Slice) -> str:
            """The translation between the codes that stand around all of the source's words."""
            before, behind = text[source.inner : core.start], text[core.end : source.close]
            return f"<{name}{written}>{before}{core.write(translated, raw)}{behind}</{name}>"

        if target is not None:
            yield Edit(target.start, target.end, content)
        else:
            last = [*holder.all("source"), *holder.all("seg-source")][-1]
            indent = indent_of(text, source)
            yield Edit(last.end, last.end, lambda raw: indent + content(raw))
        if self.version == 2:
            for key, value in SEGMENT.items():
                yield set_attribute(text, holder, key, value)

    def marks(self) -> list[Edit]:
        """The target language, where it is not said yet: a file with targets must say it."""
        where, _, name = LANGUAGES[self.version]
        if self.languages is None:
            return []
        missing = [one for one in self.root.walk() if one.name == where and name not in one.attributes]
        return [set_attribute(self.file.text, element, name, self.languages.target) for element in missing]


def target_attributes(text: str, target: XmlElement) -> Iterator[tuple[str, str]]:
    """Those that stay, as they are written."""
    for match in ATTRIBUTE.finditer(text, target.start, target.inner):
        if match[1] not in MACHINE:
            yield match[1], (match[2] if match[2] is not None else match[3]).replace('"', "&quot;")


def is_locked(holder: XmlElement) -> bool:
    """Whether it, or something around it, is not to be translated, or was approved."""
    wish = next((one.attributes["translate"] for one in holder.ancestors() if "translate" in one.attributes), "yes")
    return wish == "no" or holder.attributes.get("approved") == "yes"
