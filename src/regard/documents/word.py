"""Word (DOCX): the text of paragraphs changes, in the body, tables, notes, headers and footers; all else is copied."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

from regard.documents.passages import fixed, with_edits
from regard.documents.segments import Document, Languages, Segment, mark, read_whole, says_translated
from regard.documents.text_document import DocumentUnit, TextDocument
from regard.documents.text_file import decode
from regard.documents.word_runs import paragraph_passage
from regard.documents.xml_spans import declared_encoding, parse_xml
from regard.errors import FileError

WORDS = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"
KINDS = ("document.main", "footnotes", "endnotes", "header", "footer")  # parts with text, in the order they are read
CORE, STYLES, TYPES = "docProps/core.xml", "word/styles.xml", "[Content_Types].xml"
LARGEST = 1 << 28  # bytes of a part: what is larger is no letter, and may be made to fill the memory


class WordPart(TextDocument):
    """One XML file of the package."""

    errors = "xmlcharrefreplace"
    declared_encoding = staticmethod(declared_encoding)

    def read_units(self) -> list[DocumentUnit]:
        text = self.file.text
        root = parse_xml(text, self.path)
        passages = (
            paragraph_passage(text, one) for one in root.walk() if one.name == "p" and one.space in (WORDS, STRICT)
        )
        return [DocumentUnit(one, self.path.name) for one in passages if one is not None]


class WordDocument(Document):
    """A package of parts. Once translated its properties say so."""

    def __init__(self, path: Path, languages: Languages | None = None) -> None:
        super().__init__(path, languages)
        self.data = read_whole(path)
        self.parts = {name: self.part(name) for name in self.part_names()}
        here = not says_translated(self.text_of(CORE) or "", languages)
        self.owners = [(part, number) for part in self.parts.values() for number in range(len(part.units))]
        self.read = [
            Segment(part.read[number].source, None, here, f"{part.path.stem}, paragraph {number + 1}")
            for part, number in self.owners
        ]

    def package(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(io.BytesIO(self.data))
        except zipfile.BadZipFile as error:
            raise FileError(f"{self.path} is no Word document", found=str(error), do="save it as .docx") from error

    def read_part(self, name: str) -> bytes | None:
        with self.package() as package:
            if name not in package.namelist():
                return None
            try:
                if package.getinfo(name).file_size > LARGEST:
                    raise FileError(f"{self.path} is too large", found=f"{name} is over {LARGEST:,} bytes")
                return package.read(name)
            except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, EOFError) as error:
                raise FileError(
                    f"{self.path} cannot be read", found=str(error), do="open it in Word and save it again"
                ) from error

    def text_of(self, name: str) -> str | None:
        data = self.read_part(name)
        return None if data is None else decode(data, Path(name), declared_encoding).text

    def part_names(self) -> list[str]:
        """The parts with text, by what the package says they are."""
        types = self.text_of(TYPES)
        if types is None:
            raise FileError(f"{self.path} is no Word document", found="a package without types", do="save it as .docx")
        kinds: dict[str, list[str]] = {kind: [] for kind in KINDS}
        for element in parse_xml(types, self.path).children:
            match = re.search(r"wordprocessingml\.([\w.]+)\+xml$", element.attributes.get("ContentType", ""))
            if match and match[1] in kinds:
                kinds[match[1]].append(element.attributes.get("PartName", "").lstrip("/"))
        return [name for names in kinds.values() for name in names]

    def part(self, name: str) -> WordPart:
        data = self.read_part(name)
        if data is None:
            raise FileError(f"{self.path} lacks a part", found=name, do="open it in Word and save it again")
        return WordPart(Path(name), self.languages, decode(data, Path(name), declared_encoding))

    def read_segments(self) -> list[Segment]:
        return self.read

    def render(self) -> bytes:
        """The package with the parts that changed, in the same order and with the same dates."""
        for part in self.parts.values():
            part.targets = {}
        for number, target in self.targets.items():
            part, own = self.owners[number]
            part.targets[own] = target
        changed = {name: part.render() for name, part in self.parts.items() if part.filled()}
        if not changed:
            return self.data
        changed |= self.marked()
        output = io.BytesIO()
        with self.package() as package, zipfile.ZipFile(output, "w") as written:
            for info in package.infolist():
                data = changed.get(info.filename)
                written.writestr(info, package.read(info) if data is None else data, info.compress_type)
        return output.getvalue()

    def marked(self) -> dict[str, bytes]:
        """The properties that say what was done, and the language in which Word checks the spelling."""
        changed: dict[str, bytes] = {}
        core, styles = self.text_of(CORE), self.text_of(STYLES)
        if core is not None:
            changed[CORE] = with_description(core, mark(self.languages)).encode()
        if styles is not None and self.languages is not None:
            pattern = r"(<w:rPrDefault>.*?<w:lang\b[^>]*?w:val=\")[^\"]*"
            language = self.languages.target
            changed[STYLES] = re.sub(pattern, rf"\g<1>{language}", styles, count=1, flags=re.DOTALL).encode()
        return changed


def with_description(core: str, words: str) -> str:
    """The properties of a document with one more sentence in its description."""
    root = parse_xml(core, Path(CORE))
    element = next((one for one in root.children if one.name == "description" and one.space == DUBLIN_CORE), None)
    before = core[element.inner : element.close] if element else ""
    full = f"{before}; {words}" if before.strip() else words
    new = f'<dc:description xmlns:dc="{DUBLIN_CORE}">{full}</dc:description>'
    start, end = (element.start, element.end) if element else (root.close, root.close)
    return with_edits(core, [fixed(start, end, new)])
