"""Pages, Markdown, subtitles, Word and plain text: what is translated in them, and what is not."""

from __future__ import annotations

import io
from pathlib import Path

import docx as python_docx
import pysubs2
import pytest

from regard.documents import Document, open_document
from regard.documents.html import translate_html
from regard.errors import FileError
from tests.unit.documents.samples import HTML, LANGUAGES, MARKDOWN, SRT, TXT, VTT, docx, shouting, with_part


def opened(tmp_path: Path, name: str, data: str | bytes) -> Document:
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return open_document(path, LANGUAGES)


def sources(document: Document) -> list[str]:
    return [segment.source for segment in document.segments()]


def shouted(document: Document) -> str:
    for number, segment in enumerate(document.segments()):
        document.fill(number, shouting(segment.source))
    return document.render().decode()


def test_what_people_read_of_a_page(tmp_path: Path) -> None:
    assert sources(opened(tmp_path, "a.html", HTML)) == [
        "My cat & me",
        "All about the cat",
        "Go home",
        "Home",
        'Click <b>here</b>, Tom & Jerry\xa0! Run <code7/> if 5 &lt; 6 <img src=cat.png alt="A cat"> now',
        "A cat",
        "We use <span2/> daily.",
        "The next line<note1/> ends.",
        "Send",
        'The "name" of it',
        "Unclosed <i>tags",
    ]


def test_a_page_changes_only_there(tmp_path: Path) -> None:
    output = shouted(opened(tmp_path, "a.html", HTML))
    for piece in (
        "<html class='page' lang=\"fr\">",
        "<title>MY CAT &amp; ME</title>",
        'content="ALL ABOUT THE CAT"',
        '<script>if (a < b) alert("no");</script>',
        '<a href="/?a=1&b=2" title="GO HOME">HOME</a>',
        'TOM &amp; JERRY&nbsp;! RUN <code>x &lt; y</code> IF 5 &lt; 6 <img src=cat.png alt="A CAT"> NOW</p>',
        "<pre>do not touch</pre>",
        '<div translate="no">Brand</div>',
        '<span class="notranslate">Acme</span> DAILY.<br>',
        "<!-- note -->",
        'value="SEND"',
        "placeholder='THE &quot;NAME&quot; OF IT'",
        "<li>42</li>",
        "<!-- Machine translation (regard): en to fr -->",
    ):
        assert piece in output


def test_a_page_without_a_language_gets_one_and_a_part_of_one_does_not(tmp_path: Path) -> None:
    assert shouted(opened(tmp_path, "a.html", "<html><p>Cat")).startswith('<html lang="fr"><p>CAT\n<!--')
    assert shouted(opened(tmp_path, "b.html", "<p>Cat</p>\n")).startswith("<p>CAT</p>\n<!--")


def test_a_page_in_the_target_language_is_left_alone(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.html", '<html lang="fr-CA"><p>Le chat</p></html>')
    assert not any(segment.is_open for segment in document.segments())


def test_a_page_in_an_old_encoding_stays_in_it(tmp_path: Path) -> None:
    text = '<html><meta charset="iso-8859-1"><p>the café</p></html>'
    document = opened(tmp_path, "a.html", text.encode("latin-1"))
    document.fill(0, "l'œuf du café")
    assert b"l'&#339;uf du caf\xe9" in document.render()
    untold = opened(tmp_path, "b.html", b"<p>the \x93caf\xe9\x94</p>")
    assert sources(untold) == ["the “café”"]


def test_html_in_html_out_for_a_server() -> None:
    page = '<p>The <b>cat</b> &amp; <i translate="no">Bob</i></p><p lang=en>42</p>'
    assert translate_html(page, lambda texts: [shouting(text) for text in texts]) == page.replace(
        "The <b>cat", "THE <b>CAT"
    )
    assert translate_html(page, lambda texts: [""] * len(texts)) == page
    assert translate_html("", lambda texts: []) == ""
    broken = translate_html(page, lambda texts: [text.replace("<b>", "") for text in texts])
    assert broken == page


def test_what_is_translated_of_markdown(tmp_path: Path) -> None:
    assert sources(opened(tmp_path, "a.md", MARKDOWN)) == [
        "The title <strong1>of</strong1> it",
        "The <em1>first</em1> <link2>link</link2> and <code3/>, a snake_case, 2 * 3 and *no* wrapped line",
        "after a break &amp; <img4/> <link5>guide</link5> and <link6>these words</link6> <b>bold</b>",
        "a cat",
        "A quote<note1/> goes on",
        "Name",
        "Two | three",
        "the <strong1>cat</strong1>",
        "a task goes on",
        "nested <s1>gone</s1>",
        "both",
        "The text of the note.",
        "Underlined",
    ]


def test_markdown_changes_only_there(tmp_path: Path) -> None:
    output = shouted(opened(tmp_path, "a.md", MARKDOWN))
    for piece in (
        "---\ntitle: The page\n---\n# THE TITLE **OF** IT #\n",
        '[LINK](/a_b "t") AND `code`, A SNAKE_CASE, 2 * 3 AND \\*NO\\*',
        "WRAPPED LINE  \nAFTER",
        "![A CAT](cat.png) [GUIDE][guide] AND [THESE WORDS][guide] <b>BOLD</b>",
        "> A QUOTE[^1] GOES ON <https://example.org>",
        "| NAME | TWO \\| THREE |\n|------|------|\n| THE **CAT** | `x` |",
        "- [ ] A TASK GOES ON\n  1. NESTED ~~GONE~~\n- ***BOTH***",
        '```python\nprint("no")\n```',
        "<div>kept html</div>",
        "[guide]: https://example.org",
        "[^1]: THE TEXT OF THE NOTE.",
        "UNDERLINED\n==========\n",
        "\n<!-- Machine translation (regard): en to fr -->\n",
    ):
        assert piece in output


@pytest.mark.parametrize(
    ("target", "written"),
    [
        ("1. un", "1\\. un"),
        ("# un", "\\# un"),
        ("- un", "\\- un"),
        ("> un", "\\> un"),
        ("a *b* `c` <d e", "a \\*b\\* \\`c\\` \\<d e"),
    ],
)
def test_a_translation_does_not_become_markup(tmp_path: Path, target: str, written: str) -> None:
    document = opened(tmp_path, "a.md", "one\n")
    document.fill(0, target)
    assert document.render().decode().startswith(f"{written}\n")


def test_cues_keep_their_times_and_have_at_most_two_lines(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.srt", SRT)
    assert sources(document) == [
        "The cat is on the chair, and the dog is in the garden",
        "Are you there?",
        "Yes, and he is not.",
    ]
    document.fill(0, "Le chat est assis sur la chaise de la cuisine, et le chien court dans le grand jardin du voisin")
    document.fill(1, "Court")
    lines = document.render().decode().split("\n")
    assert lines[2:5] == [
        "{\\an8}<i>Le chat est assis sur la chaise de la cuisine,",
        "et le chien court dans le grand jardin du voisin</i>",
        "",
    ]
    assert lines[7:9] == ["- Court", "- Yes, and he is not."]
    document.fill(0, "Le chat dort")
    assert document.render().decode().split("\n")[2] == "{\\an8}<i>Le chat dort</i>"
    before, after = (pysubs2.SSAFile.from_string(text) for text in (SRT, document.render().decode()))
    assert [(one.start, one.end) for one in before] == [(one.start, one.end) for one in after]


def test_each_who_speaks_in_a_cue_keeps_his_lines(tmp_path: Path) -> None:
    text = "1\n00:00:01,000 --> 00:00:03,000\n- I was looking\n  for you.\n- Why?\n"
    document = opened(tmp_path, "a.srt", text)
    assert sources(document) == ["I was looking for you.", "Why?"]
    document.fill(0, "Je te cherchais.")
    document.fill(1, "Pourquoi ?")
    assert document.render().decode() == "1\n00:00:01,000 --> 00:00:03,000\n- Je te cherchais.\n- Pourquoi ?\n"


def test_webvtt_keeps_its_notes_styles_and_settings(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.vtt", VTT)
    assert sources(document) == [
        "Tom & Jerry are <00:01.500>here, and they are staying for a rather long time",
        "Stop!",
    ]
    document.fill(0, "Tom & Jerry sont <00:01.500>ici, et ils restent un bon moment <3")
    output = document.render().decode()
    for piece in (
        "Language: fr\n\nNOTE Machine translation (regard): en to fr\n\nSTYLE\n::cue { color: red }\n",
        "NOTE a comment\nthat",
        "intro\n00:01.000 --> 00:02.000 align:start position:10%\n<v Anna>Tom &amp; Jerry",
        "\n<c.loud>Stop!</c>\n",
        "&lt;3",
    ):
        assert piece in output


def test_subtitles_in_an_old_encoding(tmp_path: Path) -> None:
    text = SRT.replace("The cat", "Zoé’s café")
    document = opened(tmp_path, "a.srt", text.encode("cp1252"))
    assert document.segments()[0].source.startswith("Zoé’s café")
    document.fill(0, "Le café de Zoé")
    assert "Le café de Zoé".encode("cp1252") in document.render()


def test_wrapped_paragraphs_are_wrapped_again_and_lines_stay_lines(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.txt", TXT)
    assert len(sources(document)) == 5
    assert sources(document)[1].startswith("Once upon a time there was a cat who lived in a house by the sea, and")
    output = shouted(document)
    assert output == TXT.upper()
    document.fill(1, "mot " * 30 + "fin")
    lines = document.render().decode().split("\n")[2:6]
    assert lines[-1] == ""
    assert all(line.startswith("    mot") and len(line) <= 60 for line in lines[:-1])


def test_runs_keep_their_looks_wherever_words_go(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.docx", docx())
    assert sources(document) == [
        "The Cat",
        "The cat <r2>sleeps</r2> on the <r5>chair</r5>.<x7/>The end & &lt;more&gt;",
        "A cell",
        "The header",
        "Page",
    ]
    document.fill(1, "Sur la <r5>chaise</r5> le chat <r2>dort</r2>.<x7/>Fin & &lt;plus&gt;")
    document.fill(3, "L'en-tête")
    document.save(tmp_path / "b.docx")
    word = python_docx.Document(str(tmp_path / "b.docx"))
    assert [(run.text, run.bold, run.italic) for run in word.paragraphs[1].runs] == [
        ("Sur la ", None, None),
        ("chaise", None, True),
        (" le chat ", None, None),
        ("dort", True, None),
        (".", None, None),
        ("\t", None, None),
        ("Fin & <plus>", None, None),
    ]
    assert word.paragraphs[0].style is not None
    assert word.paragraphs[0].style.name == "Heading 1"
    assert word.sections[0].header.paragraphs[0].text == "L'en-tête"
    assert word.tables[0].cell(0, 0).text == "A cell"
    assert "Machine translation (regard): en to fr" in word.core_properties.comments


def test_links_fields_and_bookmarks_of_word(tmp_path: Path) -> None:
    body = (
        '<w:p><w:bookmarkStart w:id="0" w:name="x"/><w:r><w:t xml:space="preserve">See </w:t></w:r>'
        '<w:hyperlink r:id="rId9">'
        '<w:r><w:rPr><w:u w:val="single"/><w:lang w:val="en-US"/></w:rPr><w:t>the </w:t></w:r>'
        '<w:proofErr w:type="spellStart"/>'
        '<w:r><w:rPr><w:u w:val="single"/></w:rPr><w:t>site</w:t></w:r></w:hyperlink><w:bookmarkEnd w:id="0"/>'
        '<w:r><w:t xml:space="preserve"> on page </w:t></w:r><w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        '<w:r><w:instrText> PAGE </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>'
        "<w:r><w:t>7</w:t></w:r>"
        '<w:r><w:fldChar w:fldCharType="end"/></w:r><w:r><w:t>, please.</w:t></w:r></w:p>'
    )
    package = with_part(docx(), "word/document.xml", lambda text: text.replace("<w:body>", f"<w:body>{body}"))
    document = opened(tmp_path, "a.docx", package)
    first = sources(document)[0]
    assert first == "See <a2>the site</a2> on page <x5/>, please."
    document.fill(0, "Page <x5/>, voir <a2>le site</a2>.")
    document.save(tmp_path / "b.docx")
    paragraph = python_docx.Document(str(tmp_path / "b.docx")).paragraphs[0]
    assert paragraph.text == "Page 7, voir le site."
    assert [link.text for link in paragraph.hyperlinks] == ["le site"]
    xml = paragraph._p.xml
    assert xml.index('fldCharType="begin"') < xml.index("instrText") < xml.index('fldCharType="end"')
    assert (xml.count("bookmarkStart"), xml.count("bookmarkEnd")) == (1, 1)


def test_no_package_is_no_word_document(tmp_path: Path) -> None:
    import zipfile

    with pytest.raises(FileError, match="no Word document"):
        opened(tmp_path, "a.docx", b"text")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as package:
        package.writestr("a.txt", "a")
    with pytest.raises(FileError, match="no Word document"):
        opened(tmp_path, "b.docx", stream.getvalue())
