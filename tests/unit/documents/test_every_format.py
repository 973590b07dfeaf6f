"""What holds for every format: structure is kept, a second run changes nothing, nothing is half written."""

from __future__ import annotations

import codecs
import io
import re
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import polib
import pysubs2
import pytest
from lxml import etree
from markdown_it import MarkdownIt

from regard.documents import Document, SegmentTranslation, open_document, translate_guarded
from regard.errors import FileError, InputError, RegardError, UnknownNameError
from tests.unit.documents.samples import BILINGUAL, HOSTILE, LANGUAGES, answer, samples, shouting

SAMPLES = samples()
TEXT = ("text", "softbreak")
MARKED = [name for name in SAMPLES if not name.endswith((".srt", ".txt"))]  # the others cannot say what they are


@pytest.fixture(params=SAMPLES)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / str(request.param)
    path.write_bytes(SAMPLES[path.name])
    return path


def fill(document: Document, change: str | None = None) -> int:
    """Fill in what is open by a hostile translator, or by one that shouts; how many segments were."""
    translate = answer(HOSTILE[change] if change else shouting)
    segments = document.segments()
    numbers = [number for number, segment in enumerate(segments) if segment.is_open]
    for number, guarded in zip(
        numbers, translate_guarded([segments[number].source for number in numbers], translate), strict=True
    ):
        if guarded.text is not None:
            document.fill(number, guarded.text)
    return len(numbers)


def skeleton(name: str, data: bytes) -> object:
    """All of a document but its words, as other programs read it."""
    kind = name.rpartition(".")[2]
    if kind == "docx":
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            root = etree.fromstring(package.read("word/document.xml"))
            names = [etree.QName(one).localname for one in root.iter() if isinstance(one.tag, str)]
            return package.namelist(), [one for one in names if one in ("p", "tbl", "tr", "tc", "tab", "sectPr")]
    text = data.decode().replace("\r\n", "\n")
    if kind in ("xliff", "xlf", "tmx"):
        root = etree.fromstring(data)
        new = {"target"} if kind != "tmx" else {"tuv", "seg", "prop"}
        tags = [etree.QName(one).localname for one in root.iter() if isinstance(one.tag, str)]
        return [one for one in tags if one not in new | {"bpt", "ept", "g", "x", "ph", "pc", "mrk"}]
    if kind == "po":
        return [(one.msgid, one.msgid_plural, one.msgctxt, one.occurrences, one.obsolete) for one in polib.pofile(text)]
    if kind in ("srt", "vtt"):
        return [(one.start, one.end) for one in pysubs2.SSAFile.from_string(text)]
    if kind == "html":
        reader = Tags()
        reader.feed(text)
        return sorted(map(str, reader.tags))  # a translation may move an inline tag
    if kind == "md":
        tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(re.sub(r"<!-- Mach.*-->", "", text))
        inline = [sorted(one.type for one in token.children or [] if one.type not in TEXT) for token in tokens]
        return (
            [token.type for token in tokens],
            inline,
            [token.content for token in tokens if token.type in ("fence", "code_block", "html_block")],
        )
    return [bool(line.strip()) for line in text.split("\n\n")]


class Tags(HTMLParser):
    """The tags of a page, and what no translator may touch."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[object] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kept = [(name, value) for name, value in attrs if name in ("href", "src", "class", "type", "charset")]
        self.tags.append((tag, kept))

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(tag)


def test_a_document_filled_with_its_own_text_is_the_same_document(path: Path) -> None:
    document = open_document(path, LANGUAGES)
    assert document.segments()
    if not document.bilingual:
        for number, segment in enumerate(document.segments()):
            document.fill(number, segment.source)
    document.save(path.with_name("out"))
    assert path.with_name("out").read_bytes() == SAMPLES[path.name]


def test_structure_stays_and_text_changes(path: Path) -> None:
    document = open_document(path, LANGUAGES)
    assert fill(document)
    data = document.render()
    assert data != SAMPLES[path.name]
    assert skeleton(path.name, data) == skeleton(path.name, SAMPLES[path.name])
    assert document.render() == data  # asking twice changes nothing
    if b"\r\n" in data and path.suffix != ".docx":
        assert data.count(b"\n") == data.count(b"\r\n")


@pytest.mark.parametrize("how", HOSTILE)
def test_no_translator_can_break_a_document(path: Path, how: str) -> None:
    document = open_document(path, LANGUAGES)
    fill(document, how)
    assert skeleton(path.name, document.render()) == skeleton(path.name, SAMPLES[path.name])


@pytest.mark.parametrize("name", MARKED)
def test_a_second_run_over_the_output_changes_nothing(name: str, tmp_path: Path) -> None:
    path = save(tmp_path / name, SAMPLES[name])
    document = open_document(path, LANGUAGES)
    fill(document)
    output = path.with_name(f"output{path.suffix}")
    document.save(output)
    again = open_document(output, LANGUAGES)
    assert fill(again) == 0
    assert again.render() == output.read_bytes()


def test_a_translator_that_raises_leaves_no_file(path: Path) -> None:
    def translate(texts: list[str]) -> list[SegmentTranslation]:
        raise InputError("no")

    document = open_document(path, LANGUAGES)
    with pytest.raises(InputError):
        translate_guarded([segment.source for segment in document.segments()], translate)
    assert sorted(path.parent.iterdir()) == [path]


def test_the_file_that_is_read_is_never_written(path: Path) -> None:
    document = open_document(path, LANGUAGES)
    fill(document)
    with pytest.raises(FileError, match="never written over"):
        document.save(path)
    link = path.with_name("link")
    link.symlink_to(path)
    with pytest.raises(FileError, match="never written over"):
        document.save(link)
    assert path.read_bytes() == SAMPLES[path.name]


def test_a_write_that_fails_leaves_what_was_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = path.with_name("output")
    output.write_bytes(b"before")
    document = open_document(path, LANGUAGES)
    fill(document)

    def refuse(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(FileError, match="disk full"):
        document.save(output)
    assert output.read_bytes() == b"before"
    assert sorted(path.parent.iterdir()) == sorted([path, output])


@pytest.mark.parametrize("name", [name for name in SAMPLES if not name.endswith(".docx")])
@pytest.mark.parametrize("bom", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE])
def test_encodings_are_kept(name: str, bom: bytes, tmp_path: Path) -> None:
    encoding = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le"}[bom]
    data = bom + SAMPLES[name].decode().encode(encoding)
    path = tmp_path / name
    path.write_bytes(data)
    document = open_document(path, LANGUAGES)
    assert document.render() == data
    assert fill(document)
    output = document.render()
    assert output.startswith(bom)
    plain = open_document(save(tmp_path / f"plain{path.suffix}", SAMPLES[name]), LANGUAGES)
    fill(plain)
    assert output[len(bom) :].decode(encoding) == plain.render().decode()


def save(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", SAMPLES)
def test_garbage_is_refused_in_words_or_read_as_it_is(name: str, tmp_path: Path) -> None:
    whole = SAMPLES[name]
    for number, data in enumerate((b"", b"\x00\x01\x02\xff\xfe", whole[: len(whole) // 2], whole[::-1])):
        path = save(tmp_path / f"{number}{Path(name).suffix}", data)
        try:
            document = open_document(path, LANGUAGES)
            fill(document)
            document.render()
        except RegardError:
            pass


def test_an_unknown_kind_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"\.docx, \.htm"):
        open_document(tmp_path / "a.pdf")
    with pytest.raises(FileError, match="cannot be read"):
        open_document(tmp_path / "nowhere.md")


def test_only_what_is_translatable_can_be_filled_in(tmp_path: Path) -> None:
    document = open_document(save(tmp_path / "a.xliff", SAMPLES["one.xliff"]), LANGUAGES)
    locked = [number for number, segment in enumerate(document.segments()) if not segment.translatable]
    for number in (*locked, 99, -1):
        with pytest.raises(InputError, match="cannot be filled in"):
            document.fill(number, "x")
    assert [open_document(save(tmp_path / name, SAMPLES[name]), LANGUAGES).bilingual for name in BILINGUAL] == [
        True
    ] * 4
