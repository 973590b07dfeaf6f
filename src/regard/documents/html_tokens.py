"""HTML as tokens that lie side by side: nothing between them, nothing lost."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import NamedTuple


class HtmlToken(NamedTuple):
    """A tag, a text or something else, and where it stands."""

    kind: str  # open, close, text, comment, other
    start: int
    end: int
    name: str = ""
    attributes: dict[str, str] = {}  # noqa: RUF012  never changed


def tokenize(text: str) -> list[HtmlToken]:
    """The tokens of a page, as browsers see them; what is no proper markup is text."""
    parser = TokenParser(text)
    parser.feed(text)
    parser.close()
    begun = [HtmlToken("other", 0, 0), *parser.tokens]  # nothing, unless what comes first is no token
    ends = [*(token.start for token in parser.tokens), len(text)]
    return joined([token._replace(end=end) for token, end in zip(begun, ends, strict=True) if end > token.start])


def joined(tokens: list[HtmlToken]) -> list[HtmlToken]:
    """Text and entities that follow each other as one text."""
    result: list[HtmlToken] = []
    for token in tokens:
        if token.kind == "text" and result and result[-1].kind == "text":
            result[-1] = result[-1]._replace(end=token.end)
        else:
            result.append(token)
    return result


class TokenParser(HTMLParser):
    """Notes where each token begins; it ends where the next one does."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.tokens: list[HtmlToken] = []
        self.lines = [0]
        for line in text.split("\n"):
            self.lines.append(self.lines[-1] + len(line) + 1)

    def note(self, kind: str, name: str = "", attributes: list[tuple[str, str | None]] | None = None) -> None:
        line, column = self.getpos()
        start = self.lines[line - 1] + column
        values = {key: value or "" for key, value in reversed(attributes or [])}
        self.tokens.append(HtmlToken(kind, start, start, name, values))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.note("open", tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.note("empty", tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        self.note("close", tag)

    def handle_data(self, data: str) -> None:
        self.note("text")

    def handle_entityref(self, name: str) -> None:
        self.note("text")

    def handle_charref(self, name: str) -> None:
        self.note("text")

    def handle_comment(self, data: str) -> None:
        self.note("comment")

    def handle_decl(self, decl: str) -> None:
        self.note("other")

    def handle_pi(self, data: str) -> None:
        self.note("other")

    def unknown_decl(self, data: str) -> None:
        self.note("other")
