"""Text of every kind, written anew from its own segments, says the same to whoever reads it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import cast

import polib
import pysubs2
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from markdown_it import MarkdownIt

from regard.documents.html import HtmlDocument, translate_html
from regard.documents.html_tokens import tokenize
from regard.documents.markdown import Markdown
from regard.documents.passages import Edit, escaped, readable, with_edits
from regard.documents.plain_text import PlainText
from regard.documents.po import Catalogue
from regard.documents.segments import Languages
from regard.documents.subtitles import Subtitles, WebVtt
from regard.documents.text_document import TextDocument
from regard.documents.text_file import TextFile
from regard.documents.xliff import Xliff
from tests.unit.documents.samples import shouting

LANGUAGES = Languages("en", "fr")
quick = settings(max_examples=60, deadline=None)
words = st.sampled_from(["cat", "The", "été", "a b", "5", "%s", "{name}", "snake_case", "x.", "日本", "Ω"])
letters = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Co"]), max_size=12)
TAGS = [
    "<b>",
    "</b>",
    "<i class='x > y'>",
    "</i>",
    "<br>",
    "<p>",
    "</p>",
    "<div>",
    "</div>",
    "<code>",
    "</code>",
    "<img alt='cat'>",
]
SIGNS = [
    "*",
    "**",
    "_",
    "`",
    "[",
    "]",
    "(",
    ")",
    "(/u)",
    "!",
    "<",
    ">",
    "&",
    "&amp;",
    "\\",
    "~~",
    "|",
    "#",
    "- ",
    "1. ",
    "> ",
    "<b>",
]
ODD = ["<", ">", "&", "&lt;", "&nbsp;", "&bogus;", "<!-- c -->", "<?pi?>", "<![CDATA[x]]>", '"', "'", "\t"]


def soup(*extra: str) -> st.SearchStrategy[str]:
    """Words and marks in any order, on several lines."""
    return st.lists(words | letters | st.sampled_from([" ", "\n", *extra]), max_size=20).map("".join)


def anew(document: TextDocument, change: bool = False) -> str:
    """The document with every passage written anew, from its own text or shouted."""
    units = document.units
    targets = [shouting(unit.passage.source) if change else unit.passage.source for unit in units]
    edits = [
        Edit(unit.passage.start, unit.passage.end, partial(unit.passage.write, target))
        for unit, target in zip(units, targets, strict=True)
    ]
    return with_edits(document.file.text, edits)


def sources(document: TextDocument) -> list[str]:
    return [unit.passage.source for unit in document.units]


def page(text: str) -> HtmlDocument:
    return HtmlDocument(Path("a.html"), LANGUAGES, TextFile(text))


@quick
@given(soup(*TAGS, *ODD))
def test_pages(text: str) -> None:
    tokens = tokenize(text)
    assert "".join(text[token.start : token.end] for token in tokens) == text
    assert translate_html(text, lambda texts: texts) == text
    document = page(text)
    again = page(anew(document))
    assert sources(again) == sources(document)
    tags = [(token.kind, token.name) for token in tokens if token.kind != "text"]
    assert [(token.kind, token.name) for token in tokenize(anew(document, change=True)) if token.kind != "text"] == tags


@quick
@given(soup(*SIGNS))
def test_markdown(text: str) -> None:
    document = Markdown(Path("a.md"), LANGUAGES, TextFile(text))
    assert with_edits(text, []) == text
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    assert parser.render(anew(document)).split() == parser.render(text).split()


@quick
@given(soup("- ", "  ", "\t"))
def test_plain_text(text: str) -> None:
    document = PlainText(Path("a.txt"), LANGUAGES, TextFile(text))
    assert anew(document).split() == text.split()
    assert [bool(line.strip()) for line in anew(document).split("\n\n")] == [
        bool(line.strip()) for line in text.split("\n\n")
    ]


@quick
@given(st.lists(soup("<i>", "</i>", "{\\an8}", "- ").map(lambda text: " ".join(text.split())), min_size=1, max_size=4))
def test_subtitles(texts: list[str]) -> None:
    cues = [f"{number}\n00:00:0{number},000 --> 00:00:0{number},500\n{text}\n\n" for number, text in enumerate(texts)]
    for kind, text in ((Subtitles, "".join(cues)), (WebVtt, "WEBVTT\n\n" + "".join(cues).replace(",", "."))):
        document = kind(Path("a.srt"), LANGUAGES, TextFile(text))
        output = anew(document)
        timings = [line for line in text.split("\n") if "-->" in line]
        assert [line for line in output.split("\n") if "-->" in line] == timings
        if kind is Subtitles:
            assert output.split() == text.split()
            assert len(pysubs2.SSAFile.from_string(output, format_="srt")) == len(texts)


@quick
@given(letters, letters)
def test_text_in_xml(text: str, other: str) -> None:
    raw = escaped(text.replace("<", "&lt;").replace("&", "&amp;"))
    assert escaped(readable(raw)) == raw
    source_xml = f'<source>cat {raw}<g id="1">{raw}</g></source>'
    xml = f'<xliff version="1.2"><file><trans-unit id="1">{source_xml}</trans-unit></file></xliff>'
    document = Xliff(Path("a.xlf"), None, TextFile(xml))
    document.fill(0, document.segments()[0].source)
    root = etree.fromstring(document.render())
    (source,), (target,) = root.iter("source"), root.iter("target")
    assert cast(str, etree.tostring(target, encoding="unicode", method="text")) == etree.tostring(
        source, encoding="unicode", method="text"
    )


@quick
@given(st.lists(letters.filter(str.strip), min_size=1, max_size=4, unique=True), soup('"', "\\", "\\n", "\n"))
def test_catalogues(messages: list[str], target: str) -> None:
    catalogue = polib.POFile()
    catalogue.metadata = {"Content-Type": "text/plain; charset=UTF-8"}
    catalogue.extend(polib.POEntry(msgid=message) for message in messages)
    document = Catalogue(Path("a.po"), LANGUAGES, TextFile(str(catalogue)))
    for number, segment in enumerate(document.segments()):
        assert segment.source == messages[number]
        document.fill(number, f"x{target}x")
    entries = polib.pofile(document.render().decode())
    assert [entry.msgid for entry in entries] == messages
    assert {entry.msgstr for entry in entries} == {f"x{target}x"}
