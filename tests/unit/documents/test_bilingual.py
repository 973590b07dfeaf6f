"""PO, XLIFF and TMX: what is open is filled in beside its source, and says that a machine made it."""

from __future__ import annotations

from pathlib import Path

import polib
import pytest
from lxml import etree

from regard.documents import Document, open_document
from regard.errors import FileError, InputError
from tests.unit.documents.samples import LANGUAGES, PO, TMX, XLIFF_1, XLIFF_2

LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def opened(tmp_path: Path, name: str, data: str | bytes, languages: tuple[str, str] | None = LANGUAGES) -> Document:
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return open_document(path, languages)


def filled(document: Document, **targets: str) -> bytes:
    """With the translation of each source by its first word, else upper case."""
    for number, segment in enumerate(document.segments()):
        if segment.is_open:
            document.fill(number, targets.get(segment.source.split()[0], segment.source.upper()))
    return document.render()


def test_po_entries_are_filled_in_and_fuzzy(tmp_path: Path) -> None:
    output = filled(opened(tmp_path, "a.po", PO), Open="Ouvrir le « fichier »", Hello='Bonjour %s, "%d"\n')
    entries = {entry.msgid: entry for entry in polib.pofile(output.decode())}
    assert entries["Open the file"].msgstr == "Ouvrir le « fichier »"
    hello = entries['Hello %s, "%d" of the messages are new.\n']
    assert hello.msgstr == 'Bonjour %s, "%d"\n'
    assert (hello.flags, hello.tcomment, hello.msgctxt) == (
        ["fuzzy", "c-format"],
        "Machine translation (regard)",
        "menu",
    )
    assert hello.comment == "shown in the menu"
    assert entries["one cat"].msgstr_plural == {0: "ONE CAT", 1: "%D CATS"}
    assert entries["Close"].msgstr == "Fermer"
    assert entries["Close"].tcomment == ""


def test_only_lines_of_what_was_filled_in_change(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.po", PO)
    document.fill(0, "Ouvrir le fichier")
    before, after = PO.split("\n"), document.render().decode().split("\n")
    assert [line for line in after if line not in before] == [
        "# Machine translation (regard)", 'msgstr "Ouvrir le fichier"'
    ]  # fmt: skip
    assert after.count("#, fuzzy") == before.count("#, fuzzy") + 1
    assert len(after) == len(before) + 2


def test_an_entry_that_begins_with_its_flags_says_who_made_it(tmp_path: Path) -> None:
    for flags, expected in [("c-format", ["fuzzy", "c-format"]), ("fuzzy", ["fuzzy"])]:
        text = f'msgid ""\nmsgstr "Language: fr\\n"\n\n#, {flags}\nmsgid "Open %s"\nmsgstr ""\n'
        (entry,) = polib.pofile(filled(opened(tmp_path, "a.po", text)).decode())
        assert (entry.tcomment, entry.flags, entry.msgstr) == ("Machine translation (regard)", expected, "OPEN %S")


@pytest.mark.parametrize(
    ("header", "forms"),
    [
        ("nplurals=1; plural=0;", {0: "%D CATS"}),
        ("nplurals=3; plural=(n%10);", {0: "ONE CAT", 1: "%D CATS", 2: "%D CATS"}),
    ],
)
def test_plural_forms_are_as_many_as_the_header_says(tmp_path: Path, header: str, forms: dict[int, str]) -> None:
    text = PO.replace("nplurals=2; plural=(n > 1);", header)
    document = opened(tmp_path, "a.po", text)
    output = filled(document)
    (entry,) = [one for one in polib.pofile(output.decode()) if one.msgid_plural]
    assert entry.msgstr_plural == forms
    again = opened(tmp_path, "b.po", output)
    assert not any(segment.is_open for segment in again.segments())


def test_a_plural_of_which_a_form_is_there_keeps_it(tmp_path: Path) -> None:
    output = filled(opened(tmp_path, "a.po", PO.replace('msgstr[0] ""', 'msgstr[0] "un chat"')))
    (entry,) = [one for one in polib.pofile(output.decode()) if one.msgid_plural]
    assert entry.msgstr_plural == {0: "un chat", 1: "%D CATS"}


def test_a_catalogue_whose_encoding_lacks_a_letter_becomes_utf_8_and_says_so(tmp_path: Path) -> None:
    latin = PO.replace("charset=UTF-8", "charset=ISO-8859-1").replace("small program", "été").encode("latin-1")
    document = opened(tmp_path, "a.po", latin)
    document.fill(0, "déjà")
    assert document.render() == document.render().decode("latin-1").encode("latin-1")
    assert b"ISO-8859-1" in document.render()
    document.fill(0, "œuf")
    output = document.render().decode("utf-8")
    assert "charset=UTF-8" in output
    assert "œuf" in output
    assert "été" in output


def test_no_catalogue(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no gettext catalogue"):
        opened(tmp_path, "a.po", 'msgid "a"\nnonsense\n')


def test_a_missing_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polib", None)
    with pytest.raises(FileError, match=r'pip install "regard\[documents\]"'):
        opened(tmp_path, "a.po", PO)


def test_xliff_1_targets(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.xlf", XLIFF_1)
    assert [segment.source for segment in document.segments()] == [
        'Hello <g id="1">world</g><x id="2"/> & <ph9/>!', "Open the file", "Acme", "Done", "The <bpt1>cat</bpt1> of",
    ]  # fmt: skip
    output = filled(document, Hello='<ph9/> & <x id="2"/> <g id="1">monde</g> <', The="Le <bpt1>chat</bpt1> de")
    root = etree.fromstring(output)
    units = {unit.get("id"): unit for unit in root.iter("{*}trans-unit")}
    first = units["1"].find("{*}target")
    assert dict(first.attrib) == {"state": "needs-review-translation", "state-qualifier": "mt-suggestion"}
    assert etree.tostring(first, encoding="unicode", method="text", with_tail=False) == "{0} &  monde <"
    assert [etree.QName(one).localname for one in first] == ["ph", "x", "g"]
    second = units["2"].find("{*}target")
    assert second[0].text == "OPEN THE FILE"  # inside the tag that stands around all of it
    assert second.get(LANG) == "fr"
    assert units["3"].find("{*}target") is None
    assert units["4"].find("{*}target").text == "Fini"
    fifth = units["5"].find("{*}target")
    assert [etree.QName(one).localname for one in fifth] == ["bpt", "ept", "mrk"]
    assert fifth[2].text == "Bob"
    assert root.find("{*}file").get("target-language") == "fr"
    for line in XLIFF_1.splitlines():
        if "note" in line or "comment" in line or 'unit id="3"' in line or 'unit id="4"' in line:
            assert line in output.decode()


def test_xliff_2_targets(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.xlf", XLIFF_2)
    root = etree.fromstring(filled(document, Click='<ph2/> cliquez <pc id="1">ici</pc> ou là'))
    segment = next(root.iter("{*}segment"))
    assert (segment.get("state"), segment.get("subState")) == ("translated", "regard:mt-suggestion")
    assert root.get("trgLang") == "fr"
    assert [one.find("{*}target") is not None for one in root.iter("{*}segment")] == [True, True, False]


@pytest.mark.parametrize("name", ["srcLang", "trgLang"])
def test_a_file_for_other_languages_is_refused(tmp_path: Path, name: str) -> None:
    text = XLIFF_2.replace(' srcLang="en"', f' {name}="de-AT"')
    with pytest.raises(InputError, match="other languages"):
        opened(tmp_path, "a.xlf", text)


def test_tmx_units_get_the_language_that_they_lack(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.tmx", TMX)
    output = filled(document, The="Le <bpt1>chat</bpt1> dort.")
    root = etree.fromstring(output)
    units = list(root.iter("tu"))
    new = units[0].findall("tuv")[1]
    assert (new.get(LANG), new.get("creationtool")) == ("fr", "regard")
    assert new.find("prop").text == "machine translation"
    assert etree.tostring(new.find("seg"), encoding="unicode", with_tail=False) == (
        '<seg>Le <bpt i="1">{\\b</bpt>chat<ept i="1">}</ept> dort.</seg>'
    )
    assert [len(unit.findall("tuv")) for unit in units] == [2, 2, 2, 1]
    assert units[2].findall("tuv")[1].find("seg").text == "Le <bpt1>chat</bpt1> dort."  # no codes of this unit
    assert output.decode().startswith(TMX[:120])


@pytest.mark.parametrize(("content", "source"), [
    ('The <bpt i="1">{\\b</bpt>red<ept i="1">}</ept> car', "The <bpt1>red</bpt1> car"),
    ('<bpt i="2">(</bpt>Red<ept i="2">)</ept> car', "<bpt1>Red</bpt1> car"),
    ('A <bpt i="1">(</bpt>b <bpt i="2">[</bpt>c<ept i="2">]</ept><ept i="1">)</ept> d',
     "A <bpt1>b <bpt2>c</bpt2></bpt1> d"),
    ('A <ept i="1">)</ept>b<bpt i="1">(</bpt> c', "A <ept2/>b<bpt4/> c"),
    ('A <bpt i="1">(</bpt>b<ept i="3">)</ept> c', "A <bpt2/>b<ept4/> c"),
])  # fmt: skip
def test_codes_that_open_and_close_are_tags(tmp_path: Path, content: str, source: str) -> None:
    unit = f'<tu><tuv xml:lang="en"><seg>{content}</seg></tuv></tu>'
    text = f'<tmx version="1.4"><header srclang="en"/><body>{unit}</body></tmx>'
    document = opened(tmp_path, "a.tmx", text)
    assert [segment.source for segment in document.segments()] == [source]
    document.fill(0, source)
    assert document.render().decode().count(content) == 2


def test_codes_of_xliff_that_open_and_close_are_tags(tmp_path: Path) -> None:
    first = XLIFF_1.partition("<body>")[0] + (
        '<body><trans-unit id="1"><source>The <bx id="5" rid="1"/>red<ex id="6" rid="1"/> car</source></trans-unit>'
        "</body></file></xliff>"
    )
    second = XLIFF_2.partition("<unit")[0] + (
        '<unit id="1"><segment><source>The <sc id="1"/>red<ec startRef="1"/> car</source></segment></unit>'
        "</file></xliff>"
    )
    for text, name in [(first, "bx1"), (second, "sc1")]:
        document = opened(tmp_path, f"{name}.xlf", text)
        assert [segment.source for segment in document.segments()] == [f"The <{name}>red</{name}> car"]


def test_tmx_says_its_languages_or_asks(tmp_path: Path) -> None:
    two = TMX.replace('<tu tuid="d"><tuv xml:lang="de"><seg>Hund</seg></tuv></tu>', "").replace("fr-FR", "fr")
    document = opened(tmp_path, "a.tmx", two, languages=None)
    assert [segment.is_open for segment in document.segments()] == [True, False, True]
    with pytest.raises(InputError, match="into which language"):
        opened(tmp_path, "b.tmx", TMX, languages=None)


@pytest.mark.parametrize("name", ["a.xlf", "a.tmx"])
def test_xml_is_read_safely(tmp_path: Path, name: str) -> None:
    swelling = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><xliff version="1.2">&b;</xliff>'
    outside = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><xliff version="1.2">&a;</xliff>'
    for text in (swelling, outside):
        with pytest.raises(FileError, match="entities of its own"):
            opened(tmp_path, name, text)
    with pytest.raises(FileError, match="not well-formed"):
        opened(tmp_path, name, "<xliff>")
    with pytest.raises(FileError, match="is no"):
        opened(tmp_path, name, "<html/>")
