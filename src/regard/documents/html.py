"""HTML, block by block: inline tags stand inside the segments, all that is no text stays byte for byte."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from regard.documents.guard import SegmentTranslation, translate_guarded
from regard.documents.html_passages import PassageFinder, attribute_spans
from regard.documents.html_tokens import HtmlToken, tokenize
from regard.documents.passages import Edit, fixed, with_edits
from regard.documents.segments import mark, says_translated
from regard.documents.text_document import DocumentUnit, TextDocument
from regard.documents.text_file import TextFile

CHARSET = re.compile(rb"""<meta[^>]*charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)


class HtmlDocument(TextDocument):
    """A page, or a part of one. Once translated it says so in a comment at its end."""

    errors = "xmlcharrefreplace"
    default_encoding = "cp1252"  # what browsers take where nothing is said

    @staticmethod
    def declared_encoding(start: bytes) -> str | None:
        match = CHARSET.search(start)
        return match[1].decode() if match else None

    def read_units(self) -> list[DocumentUnit]:
        text = self.file.text
        self.tokens = tokenize(text)
        open_ = not says_translated(text, self.languages) and not self.in_target_language()
        return [
            DocumentUnit(one, self.place(one.start), translatable=open_)
            for one in PassageFinder(text, self.tokens).find()
        ]

    def html_tag(self) -> HtmlToken | None:
        return next((token for token in self.tokens if token.kind == "open" and token.name == "html"), None)

    def in_target_language(self) -> bool:
        tag = self.html_tag()
        if tag is None or self.languages is None:
            return False
        return tag.attributes.get("lang", "").lower().split("-")[0] == self.languages.target.lower().split("-")[0]

    def marks(self) -> list[Edit]:
        text, line_end = self.file.text, self.file.line_end
        note = f"{'' if text.endswith(line_end) else line_end}<!-- {mark(self.languages)} -->{line_end}"
        tag = self.html_tag()
        language = language_edits(text, tag, self.languages.target) if tag and self.languages else []
        return [*language, fixed(len(text), len(text), note)]


def translate_html(html: str, translate: Callable[[list[str]], Sequence[str]]) -> str:
    """The page in another language: its texts go through `translate`, tags come out as they went in."""
    page = HtmlDocument(Path("page.html"), file=TextFile(html))

    def answers(texts: list[str]) -> list[SegmentTranslation]:
        return [SegmentTranslation(text) for text in translate(texts)]

    for number, guarded in enumerate(translate_guarded([unit.passage.source for unit in page.units], answers)):
        if guarded.text is not None:
            page.targets[number] = guarded.text
    return with_edits(html, page.edits())


def language_edits(text: str, tag: HtmlToken, language: str) -> list[Edit]:
    """The language in the page's first tag: in place of the one that stands there, or added."""
    spans = [(start, end) for name, start, end in attribute_spans(text, tag) if name in ("lang", "xml:lang")]
    if spans:
        return [fixed(start, end, f'"{language}"') for start, end in spans]
    at = tag.start + len("<html")
    return [fixed(at, at, f' lang="{language}"')]
