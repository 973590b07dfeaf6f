"""Which parts of a page people read: text between two blocks, and some attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from regard.documents.guard import VOID
from regard.documents.html_tokens import HtmlToken
from regard.documents.passages import Code, Part, Passage, for_html, passage, readable, words

INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "ins",
        "kbd",
        "label",
        "mark",
        "nobr",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
UNTOUCHED = frozenset(["code", "kbd", "math", "pre", "samp", "script", "style", "svg", "textarea", "tt", "var"])
ATTRIBUTES = frozenset(("alt", "aria-label", "placeholder", "title"))
BUTTONS = frozenset(("button", "reset", "submit"))
DESCRIPTIONS = frozenset(["description", "og:title", "og:description", "twitter:title", "twitter:description"])
ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'=<>`]+))?""")


class PassageFinder:
    """Goes over the tokens of a page once."""

    def __init__(self, text: str, tokens: list[HtmlToken]) -> None:
        self.text, self.tokens = text, tokens
        self.run: list[Part] = []  # what has come since the last block began or ended
        self.passages: list[Passage] = []

    def find(self) -> list[Passage]:
        """In the order in which they begin."""
        place = 0
        while place < len(self.tokens):
            last = untouched_until(self.tokens, place)
            if last is None:
                self.take(self.tokens[place])
                place += 1
            else:
                self.keep(self.tokens[place], self.tokens[last].end)
                place = last + 1
        self.close()
        return sorted(self.passages, key=lambda one: (one.start, -one.end))

    def take(self, token: HtmlToken) -> None:
        text = self.text[token.start : token.end]
        if token.kind in ("open", "empty"):
            self.passages += attribute_passages(self.text, token)
        if token.kind == "text":
            self.run += words(text, token.start, flowing_text)
        elif token.kind == "comment":
            self.keep(token, token.end)
        elif token.name in INLINE:
            self.run.append(Code(on_one_line(text), token.start, token.end))
        else:
            self.close()

    def keep(self, token: HtmlToken, end: int) -> None:
        """Something that is not translated: in a line of text it is one code, elsewhere the end of a block."""
        if token.kind == "comment" or token.name in INLINE:
            self.run.append(Code(f"<{token.name or 'note'}{len(self.run)}/>", token.start, end))
        else:
            self.close()

    def close(self) -> None:
        """A block begins or ends here."""
        one = passage(self.run, for_html)
        self.passages += [] if one is None else [one]
        self.run = []


def untouched_until(tokens: list[HtmlToken], place: int) -> int | None:
    """The place of the tag that closes this one, if nothing between the two is to be translated."""
    token = tokens[place]
    if token.kind != "open" or token.name in VOID or not is_untouched(token):
        return None
    depth = 0
    for number in range(place, len(tokens)):
        if tokens[number].name == token.name:
            depth += {"open": 1, "close": -1}.get(tokens[number].kind, 0)
        if depth == 0:
            return number
    return None


def is_untouched(token: HtmlToken) -> bool:
    wish = token.attributes.get("translate", "").lower()
    if wish in ("no", "yes"):
        return wish == "no"
    return token.name in UNTOUCHED or "notranslate" in token.attributes.get("class", "").split()


def flowing_text(raw: str) -> str:
    """White space as browsers show it."""
    return re.sub(r"[ \t\r\n\f]+", " ", readable(raw))


def on_one_line(tag: str) -> str:
    """A tag as it stands in a segment: what would end it too early, in a quoted value, is escaped."""
    inner = " ".join(tag[1:-1].split())
    return "<" + inner.replace("<", "&lt;").replace(">", "&gt;") + ">"


def attribute_spans(text: str, tag: HtmlToken) -> Iterator[tuple[str, int, int]]:
    """The name of each attribute that has a value, and where this stands, with its quotes."""
    for match in ATTRIBUTE.finditer(text, tag.start + 1 + len(tag.name), tag.end - 1):
        if match[2]:
            yield match[1].lower(), match.start(2), match.end(2)


def attribute_passages(text: str, tag: HtmlToken) -> Iterator[Passage]:
    if tag.attributes.get("translate", "").lower() == "no":
        return
    for name, start, end in attribute_spans(text, tag):
        if not is_read(name, tag):
            continue
        quoted = text[start] in "\"'"
        one = passage(words(text[start + quoted : end - quoted], start + quoted, flowing_text))
        if one is not None:
            yield Passage(one.parts, one.start, one.end, in_quotes if quoted else quoting)


def is_read(name: str, tag: HtmlToken) -> bool:
    """Whether people read an attribute."""
    values = tag.attributes
    if name == "value":
        return tag.name == "input" and values.get("type", "").lower() in BUTTONS
    if name == "content":
        kind = values.get("name") or values.get("property") or ""
        return tag.name == "meta" and kind.lower() in DESCRIPTIONS
    return name in ATTRIBUTES or (name == "label" and tag.name in ("optgroup", "option", "track"))


def in_quotes(text: str) -> str:
    return for_html(text).replace('"', "&quot;").replace("'", "&#39;")


def quoting(text: str) -> str:
    return f'"{in_quotes(text)}"'
