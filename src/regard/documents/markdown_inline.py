"""The inside of a Markdown paragraph as text and codes: markdown-it says what each mark means, we where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from regard.documents.html_passages import on_one_line
from regard.documents.passages import Code, Part, Words, literal, words

BREAK = re.compile(r"[ \t]*\\?\n[ \t]*")
NOTE = re.compile(r"\[\^[^\]\s]+\]:?|^\[[ xX]\](?= )")  # footnotes and tasks, which CommonMark takes for text
SPACE = re.compile(r"[ \t\n]*")


class NotFollowed(Exception):
    """A mark is not where it should be: better to leave a paragraph as it is than to break it."""


class InlineWalker:
    """Goes along the source of a paragraph, token by token."""

    def __init__(self, parser: Any, content: str, positions: list[int], references: dict[str, Any]) -> None:
        self.parser, self.content, self.positions, self.references = parser, content, positions, references
        self.at = 0
        self.count = 0
        self.open: list[str] = []  # names of the tags that are not closed yet
        self.plain: set[str] = set()  # signs that stand in the text as they are
        self.stroked: set[str] = set()  # and those that have a stroke before them, or would be markup
        self.runs: list[list[Part]] = [[]]  # parts between two line breaks that are meant
        self.alternatives: list[list[Part]] = []  # texts of images

    def walk(self, tokens: list[Any]) -> None:
        """Fill `runs` and `alternatives`."""
        rest = iter(tokens)
        for token in rest:
            kind = token.type
            if kind in ("text", "text_special"):
                self.text(token)
            elif kind in ("softbreak", "hardbreak"):
                self.line_break(kind)
            elif kind == "code_inline":
                self.code(f"<code{self.number()}/>", self.code_end(token.markup))
            elif kind == "html_inline":
                self.html(token.content)
            elif kind == "image":
                self.image(token)
            elif token.markup == "autolink":
                self.code(f"<link{self.number()}/>", self.content.index(">", self.at) + 1)
                while next(rest).type != "link_close":
                    pass
            else:
                self.tag(token)
        if self.at != len(self.content):
            raise NotFollowed

    def plain_signs(self) -> str:
        """Signs that need no stroke in a translation either."""
        return "".join(sorted(self.plain - self.stroked))

    def number(self) -> int:
        self.count += 1
        return self.count

    def need(self, raw: str) -> int:
        """Where `raw` ends, which must stand here."""
        if not self.content.startswith(raw, self.at):
            raise NotFollowed
        return self.at + len(raw)

    def span(self, end: int) -> tuple[int, int]:
        """Up to here, as positions in the file; what comes next begins here."""
        if end <= self.at or end > len(self.content):
            raise NotFollowed
        start, self.at = self.at, end
        return self.positions[start], self.positions[end - 1] + 1

    def code(self, token: str, end: int, written: str | None = None) -> None:
        self.runs[-1].append(Code(token, *self.span(end), written))

    def text(self, token: Any) -> None:
        if token.type == "text_special":
            self.stroked.add(token.content)
            text = "&amp;" if token.content == "&" else literal(token.content)  # what follows may make it an entity
            self.runs[-1].append(Words(text, *self.span(self.need(token.markup))))
            return
        end = self.need(token.content)
        self.plain |= set(token.content)
        for piece, is_note in notes_in(token.content):
            if is_note:
                self.code(f"<note{self.number()}/>", self.at + len(piece))
            else:
                self.runs[-1] += [self.placed(part) for part in words(piece, self.at, literal)]
                self.span(self.at + len(piece))
        assert self.at == end

    def placed(self, part: Part) -> Part:
        """A part of the paragraph as a part of the file, where a sign may have a stroke before it."""
        return part._replace(start=self.positions[part.start], end=self.positions[part.end - 1] + 1)

    def line_break(self, kind: str) -> None:
        match = BREAK.match(self.content, self.at)
        if match is None:
            raise NotFollowed
        place = self.span(match.end())
        if kind == "hardbreak":
            self.runs.append([])
        else:
            self.runs[-1].append(Words(" ", *place))

    def code_end(self, ticks: str) -> int:
        match = re.compile(f"(?<!`){ticks}(?!`)").search(self.content, self.need(ticks))
        if match is None:
            raise NotFollowed
        return match.end()

    def html(self, raw: str) -> None:
        is_tag = not raw.startswith(("<!", "<?"))
        self.code(on_one_line(raw) if is_tag else f"<note{self.number()}/>", self.need(raw))

    def tag(self, token: Any) -> None:
        """Emphasis, or a link with words."""
        kind, _, side = token.type.rpartition("_")
        if side == "open":
            name = f"{kind}{self.number()}"
            self.code(f"<{name}>", self.need("[" if kind == "link" else token.markup))
            self.open.append(name)
        elif side == "close" and self.open:
            name = self.open.pop()
            end, written = self.link_end() if kind == "link" else (self.need(token.markup), None)
            self.code(f"</{name}>", end, written)
        else:
            raise NotFollowed

    def link_end(self) -> tuple[int, str | None]:
        """Where a link ends. One named by its own words gets that name behind them, as the words will change."""
        label_end = self.at
        end, full = self.target_end(self.need("]"))
        if full:
            return end, None
        return end, f"][{self.content[self.label_start(label_end) : label_end]}]"

    def label_start(self, end: int) -> int:
        depth = 0
        for at in range(end - 1, -1, -1):
            depth += {"]": 1, "[": -1}.get(self.content[at], 0)
            if depth < 0:
                return at + 1
        raise NotFollowed

    def target_end(self, at: int) -> tuple[int, bool]:
        """Where what follows the words of a link ends, and whether it says by itself where the link goes."""
        inline = self.inline_target(at)
        if inline is not None:
            return inline, True
        if self.content.startswith("[", at):
            end = self.content.find("]", at)
            label = self.content[at + 1 : end]
            if end > 0 and not label.strip():
                return end + 1, False
            if end > 0 and normalized(label) in self.references:
                return end + 1, True
        return at, False

    def inline_target(self, at: int) -> int | None:
        """Where `(address "title")` ends, if that is what stands here."""
        text, helpers = self.content, self.parser.helpers
        if not text.startswith("(", at):
            return None
        at = skip(text, at + 1)
        if text.startswith(")", at):
            return at + 1
        address = helpers.parseLinkDestination(text, at, len(text))
        if not address.ok:
            return None
        at = skip(text, address.pos)
        title = helpers.parseLinkTitle(text, at, len(text))
        if title.ok and at > address.pos:
            at = skip(text, title.pos)
        return at + 1 if text.startswith(")", at) else None

    def image(self, token: Any) -> None:
        start = self.need("![")
        end, full = self.target_end(start + len(token.content) + 1)
        if self.content[start : start + len(token.content) + 1] != token.content + "]":
            raise NotFollowed
        if full and token.content and all(child.type == "text" for child in token.children or ()):
            place = self.positions[start], self.positions[start + len(token.content) - 1] + 1
            self.alternatives.append([Words(literal(token.content), *place)])
        self.code(f"<img{self.number()}/>", end)


def skip(text: str, at: int) -> int:
    match = SPACE.match(text, at)
    return match.end() if match else at


def normalized(label: str) -> str:
    from markdown_it.common.utils import normalizeReference

    return str(normalizeReference(label))


def notes_in(text: str) -> Iterator[tuple[str, bool]]:
    """The text cut at footnotes and tasks, and which pieces these are."""
    at = 0
    for match in NOTE.finditer(text):
        if match.start() > at:
            yield text[at : match.start()], False
        yield match[0], True
        at = match.end()
    if at < len(text):
        yield text[at:], False
