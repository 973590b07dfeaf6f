"""Markdown: paragraphs, headings, items and cells are translated, everything else stays character by character."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from regard.documents.markdown_inline import InlineWalker, NotFollowed
from regard.documents.optional import library
from regard.documents.passages import ENTITY, Edit, Passage, Slice, fixed, passage
from regard.documents.segments import mark, says_translated
from regard.documents.text_document import DocumentUnit, TextDocument

LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
FRONT = re.compile(
    r"\ufeff?(---|\+\+\+)[ \t]*(?:\r\n|\r|\n)(?:.*?(?:\r\n|\r|\n))??\1[ \t]*(?:\r\n|\r|\n|\Z)", re.DOTALL
)
# What makes a line something else than a paragraph.
BLOCK = re.compile(r"#{1,6}(?=\s|$)|[-+*](?=\s|$)|\d{1,9}(?=[.)](?:\s|$))|>|~~~|```|[-=_*]{2,}$")
# What means something inside a line, unless it stands alone, or a low line inside a word.
SIGNS = r"`|\*(?!(?<=\s\*)\s)|_(?!(?<=\w_)\w|(?<=\s_)\s)|\](?=[(\[:])"
UNUSUAL = "[]~"  # what means something only together with others, so that it may stay where the source has it
PIPE = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class MarkdownPassage(Passage):
    """A line or a cell. Signs of a translation that its source does not have are no markup."""

    plain: str = ""  # signs that stand in the source as they are
    in_table: bool = False

    def write(self, target: str, raw: Slice) -> str:
        text = Passage.write(replace(self, escape=self.written), target, raw)
        match = BLOCK.match(text)
        if match is None or self.in_table or target.startswith("<"):  # with a code, which stands there already
            return text
        digits = match.end() if match[0].isdigit() else 0
        return f"{text[:digits]}\\{text[digits:]}"

    def written(self, text: str) -> str:
        plain = ENTITY.sub(lambda match: html.unescape(match[0]), text)
        plain = re.sub(r"\\(?=[!-/:-@\[-`{-~]|$)|&(?=#?\w+;)|<(?=[A-Za-z/!?])", r"\\\g<0>", plain)
        unusual = "".join(re.escape(sign) for sign in UNUSUAL if sign not in self.plain)
        plain = re.sub(f"{SIGNS}|[{unusual}]" if unusual else SIGNS, r"\\\g<0>", plain)
        return plain.replace("|", r"\|") if self.in_table else plain


class Markdown(TextDocument):
    """CommonMark with tables and strikethrough. Once translated it says so in a comment at its end."""

    def read_units(self) -> list[DocumentUnit]:
        text = self.file.text
        module = library("markdown_it", self.path)
        self.parser = module.MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
        self.lines = list(LINE.finditer(text))
        front = FRONT.match(text)
        shown = re.sub(r"[^\r\n]", "", text[: front.end()]) + text[front.end() :] if front else text
        self.environment: dict[str, Any] = {}
        open_ = not says_translated(text, self.languages)
        return [
            DocumentUnit(one, self.place(one.start), translatable=open_)
            for one in self.passages(self.parser.parse(shown, self.environment))
        ]

    def passages(self, tokens: list[Any]) -> Iterator[Passage]:
        cell_at, table_line = 0, -1
        for before, token in pairwise(tokens):
            if token.type != "inline" or not token.content or not token.map:
                continue
            in_table = before.type in ("th_open", "td_open")
            if in_table:
                cell_at = cell_at if table_line == token.map[0] else 0
                table_line = token.map[0]
                positions, cell_at = self.cell_positions(token, cell_at)
            else:
                positions = self.positions(token)
            yield from self.inline_passages(token, positions, in_table)

    def inline_passages(self, token: Any, positions: list[int] | None, in_table: bool) -> Iterator[Passage]:
        if positions is None:
            return
        walker = InlineWalker(self.parser, token.content, positions, self.environment.get("references", {}))
        try:
            walker.walk(token.children or [])
        except (NotFollowed, ValueError):
            return
        ours = [
            MarkdownPassage(one.parts, one.start, one.end, str, walker.plain_signs(), in_table)
            for run in [*walker.runs, *walker.alternatives]
            if (one := passage(run)) is not None
        ]
        yield from sorted(ours, key=lambda one: (one.start, -one.end))

    def positions(self, token: Any) -> list[int] | None:
        """Where each character of a paragraph stands in the file, whose lines may begin with other signs."""
        positions: list[int] = []
        for number, line in enumerate(token.content.split("\n")):
            source = self.lines[token.map[0] + number]
            bare = line.strip(" \t")
            column = source[1].rstrip(" \t").removesuffix(bare)
            at = len(column) if len(column) < len(source[1].rstrip(" \t")) or not bare else source[1].find(bare)
            if at < 0:
                return None
            before = len(line) - len(line.lstrip(" \t"))
            start = source.start(1) + at
            positions += [start] * before + list(range(start, start + len(line) - before + 1))
        return positions

    def cell_positions(self, token: Any, at: int) -> tuple[list[int] | None, int]:
        """The same for a cell, in which a bar has a stroke before it; and where the next cell may begin."""
        line = self.lines[token.map[0]]
        raw = token.content.replace("|", r"\|")
        column = line[1].find(raw, at)
        if column < 0:
            return None, at
        positions = [
            line.start(1) + column + place
            for place, sign in enumerate(raw)
            if not (sign == "\\" and raw[place : place + 2] == r"\|")
        ]
        bar = PIPE.search(line[1], column + len(raw))
        return positions, bar.end() if bar else len(line[1])

    def marks(self) -> list[Edit]:
        end, text = self.file.line_end, self.file.text
        gap = end if text.endswith(("\n", "\r")) else end * 2
        return [fixed(len(text), len(text), f"{gap}<!-- {mark(self.languages)} -->{end}")]
