"""A small, real document of every format, and translators good and bad."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from functools import cache

from docx import Document as NewWordDocument

from regard.documents import SegmentTranslation
from regard.documents.guard import PROTECTED

LANGUAGES = ("en", "fr")

PO = """\
# French translation of a small program.
msgid ""
msgstr ""
"Project-Id-Version: cat 1.0\\n"
"Language: fr\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\\n"

#: src/main.c:12
msgid "Open the file"
msgstr ""

#. shown in the menu
#: src/main.c:14
#, c-format
msgctxt "menu"
msgid "Hello %s, \\"%d\\" of the messages are new.\\n"
msgstr ""

msgid "one cat"
msgid_plural "%d cats"
msgstr[0] ""
msgstr[1] ""

#, fuzzy
msgid "Close"
msgstr "Fermer"

msgid ""
"The first line\\n"
"and the second line"
msgstr ""

#~ msgid "Old"
#~ msgstr "Vieux"
"""

XLIFF_1 = """\
<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file original="app.js" source-language="en-US" datatype='plaintext'>
    <body>
      <trans-unit id="1"><source>Hello <g id="1">world</g><x id="2"/> &amp; <ph id="3">{0}</ph>!</source></trans-unit>
      <trans-unit id="2">
        <source xml:lang="en"><g id="1">Open the file</g></source>
        <target state="new" xml:lang='fr'></target>
        <note>Tom &amp; Jerry&#160;</note>
      </trans-unit>
      <trans-unit id="3" translate="no"><source>Acme</source></trans-unit>
      <trans-unit id="4"><source>Done</source><target state="final">Fini</target></trans-unit>
      <!-- a comment -->
      <trans-unit id="5">
        <source>The <bpt id="1">&lt;b></bpt>cat<ept id="1">&lt;/b></ept> of <mrk mtype="protected">Bob</mrk></source>
      </trans-unit>
      <trans-unit id="6"><source>1234</source></trans-unit>
    </body>
  </file>
</xliff>
"""

XLIFF_2 = """\
<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en">
 <file id="f1">
  <unit id="u1">
   <originalData><data id="d1">&lt;br/></data></originalData>
   <segment id="s1">
    <source>Click <pc id="1">here</pc><ph id="2" dataRef="d1"/>or there</source>
   </segment>
   <segment state="final"><source>Done</source><target>Fini</target></segment>
   <ignorable><source> </source></ignorable>
  </unit>
  <unit id="u2" translate="no"><segment><source>Acme</source></segment></unit>
 </file>
</xliff>
"""

TMX = """\
<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
<header srclang="en" adminlang="en" creationtool="other" creationtoolversion="1" segtype="sentence" o-tmf="x"
  datatype="plaintext"/>
<body>
  <tu tuid="a">
    <tuv xml:lang="en-GB">
      <seg>The <bpt i="1">{\\b</bpt>cat<ept i="1">}</ept> sleeps.</seg>
    </tuv>
  </tu>
  <tu><tuv xml:lang="en"><seg>Cat</seg></tuv><tuv xml:lang="fr"><seg>Chat</seg></tuv></tu>
  <tu tuid="c"><tuv xml:lang="EN"><seg>The dog</seg></tuv><tuv xml:lang="fr-FR"><seg></seg></tuv></tu>
  <tu tuid="d"><tuv xml:lang="de"><seg>Hund</seg></tuv></tu>
</body>
</tmx>
"""

SRT = """\
1
00:00:01,000 --> 00:00:02,500
{\\an8}<i>The cat is on the chair,
and the dog is in the garden</i>

2
00:00:03,000 --> 00:00:04,000
- Are you there?
- Yes, and he is not.

3
00:00:05,000 --> 00:00:06,000
42
"""

VTT = """\
WEBVTT - a film
Kind: captions
Language: en

STYLE
::cue { color: red }

NOTE a comment
that stays

intro
00:01.000 --> 00:02.000 align:start position:10%
<v Anna>Tom &amp; Jerry are <00:01.500>here, and they are staying for a rather long time

00:03.000 --> 00:04.000
<c.loud>Stop!</c>
"""

HTML = """\
<!DOCTYPE html>
<html class='page' lang="en">
<head>
<meta charset="utf-8"><title>My cat &amp; me</title>
<meta name="description" content="All about the cat">
<style>p { color: red }</style><script>if (a < b) alert("no");</script>
</head>
<body>
<nav><ul><li><a href="/?a=1&b=2" title="Go home">Home</a></li><li>42</li></ul></nav>
<p class=x>Click <b>here</b>,
   Tom &amp; Jerry&nbsp;! Run <code>x &lt; y</code> if 5 &lt; 6 <img src=cat.png alt="A cat"> now</p>
<pre>do not touch</pre>
<div translate="no">Brand</div>
<p>We use <span class="notranslate">Acme</span> daily.<br>The next line<!-- note --> ends.</p>
<form><input type=submit value=Send><input placeholder='The "name" of it'></form>
<P>Unclosed <i>tags
</body>
</html>
"""

MARKDOWN = """\
---
title: The page
---
# The title **of** it #

The *first* [link](/a_b "t") and `code`, a snake_case, 2 * 3 and \\*no\\*
wrapped line\x20\x20
after a break &amp; ![a cat](cat.png) [guide] and [these words][guide] <b>bold</b>

> A quote[^1]
> goes on <https://example.org>

| Name | Two \\| three |
|------|------|
| the **cat** | `x` |

- [ ] a task
  goes on
  1. nested ~~gone~~
- ***both***

```python
print("no")
```

    indented code

<div>kept html</div>

[guide]: https://example.org "Title"
[^1]: The text of the note.

Underlined
==========
"""

TXT = """\
The Title

    Once upon a time there was a cat who lived in a house by
    the sea, and who slept all day long on a chair near to
    the window. It was happy.

- the first
- the second

Bye.
"""


@cache
def docx() -> bytes:
    """A letter with formatting, a link, a table, a header, a footer and a field."""
    document = NewWordDocument()
    document.add_heading("The Cat", 1)
    paragraph = document.add_paragraph("The cat ")
    paragraph.add_run("sleeps").bold = True
    paragraph.add_run(" on ")
    paragraph.add_run("the ")  # runs that look alike are one
    paragraph.add_run("chair").italic = True
    paragraph.add_run(".\tThe end & <more>")
    table = document.add_table(2, 2)
    table.cell(0, 0).text, table.cell(1, 1).text = "A cell", "42"
    section = document.sections[0]
    section.header.paragraphs[0].text, section.footer.paragraphs[0].text = "The header", "Page"
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def with_part(package: bytes, name: str, change: Callable[[str], str]) -> bytes:
    """A package with one of its parts changed."""
    output = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(package)) as read, zipfile.ZipFile(output, "w") as written:
        for info in read.infolist():
            data = read.read(info)
            written.writestr(info, change(data.decode()).encode() if info.filename == name else data)
    return output.getvalue()


def samples() -> dict[str, bytes]:
    """A file of each format, by its name."""
    texts = {
        "a.po": PO, "one.xliff": XLIFF_1, "two.xlf": XLIFF_2, "a.tmx": TMX, "a.srt": SRT, "a.vtt": VTT, "a.html": HTML,
        "a.md": MARKDOWN, "a.txt": TXT,
    }  # fmt: skip
    windows = {f"windows-{name}": text.replace("\n", "\r\n") for name, text in texts.items()}
    return {name: text.encode() for name, text in (texts | windows).items()} | {"a.docx": docx()}


BILINGUAL = ("a.po", "one.xliff", "two.xlf", "a.tmx")


def shouting(text: str) -> str:
    """Upper case outside of codes: a translator that keeps what it must."""
    pieces = PROTECTED.split(text)
    codes = [*PROTECTED.findall(text), ""]
    return "".join(piece.upper() + code for piece, code in zip(pieces, codes, strict=True))


def answer(change: Callable[[str], str]) -> Callable[[list[str]], list[SegmentTranslation]]:
    """A translator that does the same to every text."""
    return lambda texts: [SegmentTranslation(change(text), 0.5) for text in texts]


HOSTILE: dict[str, Callable[[str], str]] = {
    "drops all": lambda text: "",
    "doubles all": lambda text: f"{text} {text}",
    "reverses": lambda text: text[::-1],
    "reverses words": lambda text: " ".join(text.split()[::-1]),
    "upper-cases": str.upper,
    "drops codes": lambda text: PROTECTED.sub("", text).upper(),
    "adds codes": lambda text: f"{text} <b>%s</b> {{new}} &lt;",
    "adds lines": lambda text: text.replace(" ", "\n\n"),
    "marks": lambda text: "# > *- `|[]_<&" + text.swapcase(),
}
