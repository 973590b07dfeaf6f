"""TMX, the exchange format of translation memories, a unit at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from regard.errors import FileError, InputError
from regard.text.corpora.columns import spelled
from regard.text.corpora.opening import open_bytes
from regard.text.corpora.rows import COLUMNS, RawRow, ReadOptions

LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
CODES = frozenset(("bpt", "ept", "it", "ph", "ut"))  # these hold another program's markup, not text
NO_LANGUAGE = "a language is missing"


def read_tmx(path: Path, file: str, options: ReadOptions) -> Iterator[RawRow]:
    """Each unit's segments in the wanted languages; what was read is let go of at once."""
    languages: list[str] | None = None
    for number, unit in enumerate(units(path), 1):
        segments = segments_of(unit)
        if languages is None and segments:
            languages = chosen_languages(list(segments), options, file)
        texts = [matching(segments, language) for language in languages or ()]
        if not texts or None in texts:
            yield RawRow(tuple(segments.values()), file, number, NO_LANGUAGE if segments else COLUMNS)
        else:
            yield RawRow(tuple(text or "" for text in texts), file, number)


def units(path: Path) -> Iterator[ElementTree.Element]:
    """The `tu` elements one by one. Expat fetches no external entities and stops ones that swell."""
    try:
        with open_bytes(path) as file:
            body: ElementTree.Element | None = None
            for event, element in ElementTree.iterparse(file, events=("start", "end")):
                name = tag(element)
                if event == "start" and name == "body":
                    body = element
                elif event == "end" and name == "tu":
                    yield element
                    if body is not None:
                        body.clear()
    except ElementTree.ParseError as error:
        raise FileError(f"{path} is not well-formed TMX", found=str(error), do="mend it, or export it again") from error


def tag(element: ElementTree.Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def code_of(language: str) -> str:
    """A language as it is compared: `en_GB` and `EN-gb` are the same."""
    return language.strip().lower().replace("_", "-")


def segments_of(unit: ElementTree.Element) -> dict[str, str]:
    """The text of a unit in each of its languages; the first where a language is given twice."""
    segments: dict[str, str] = {}
    for variant in unit:
        if tag(variant) == "tuv":
            language = variant.get(LANGUAGE) or variant.get("lang") or ""
            for child in variant:
                if tag(child) == "seg":
                    segments.setdefault(code_of(language), text_of(child))
    return segments


def text_of(element: ElementTree.Element) -> str:
    """The text of a segment, without the codes in it."""
    parts = [element.text or ""]
    for child in element:
        if tag(child) not in CODES:
            parts.append(text_of(child))
        parts.append(child.tail or "")
    return "".join(parts)


def chosen_languages(codes: list[str], options: ReadOptions, file: str) -> list[str]:
    """The languages to read: those asked for, or those of the first unit."""
    asked = options.columns or (options.languages if options.fields == 2 else None)
    if asked:
        return [codes[name] if isinstance(name, int) and name < len(codes) else code_of(str(name)) for name in asked]
    if len(codes) != options.fields:
        raise InputError(
            f"{file} does not say which {'two languages' if options.fields == 2 else 'language'} to read",
            found=f"languages {', '.join(codes)}",
            do=f"name them, for example {spelled(codes[: options.fields])}",
        )
    options.note(f"{file}: reads {' and '.join(codes)}")
    return codes


def matching(segments: dict[str, str], language: str) -> str | None:
    """The segment in a language; `en` is also found as `en-GB`."""
    if language in segments:
        return segments[language]
    return next((text for code, text in segments.items() if code.startswith(f"{language}-")), None)
