"""A translation to be read over: source and translation side by side, as one page without a network."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import NamedTuple

TAG = re.compile(r"(<[^<>]*>|\{[^{}]*\}|%(?:\(\w+\)|\d+\$)?[sdif])")
SURE, DOUBTFUL = 0.25, 0.5  # doubt below the first is not worth a look, above the second it is


class ReviewRow(NamedTuple):
    """A segment as a reader sees it."""

    place: str
    source: str
    target: str | None
    doubt: float | None = None  # None: nobody translated it just now
    notes: tuple[str, ...] = ()
    words: tuple[Sequence[str], Sequence[str]] = ((), ())  # of either side, as links count them
    links: Sequence[tuple[int, int]] = ()  # source word, target word


def review_page(title: str, rows: Sequence[ReviewRow], languages: tuple[str, str] | None = None) -> str:
    """A whole HTML document. Without a script it is a table in the order of the file; with one it can be sorted."""
    home = files("regard.drawing")
    style, script = (home.joinpath(f"review_page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    assert "</script" not in script, "the script would end its own element"
    body = "\n".join(table_row(number, row, languages) for number, row in enumerate(rows, 1))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}: review</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"{heading(title, rows, languages)}\n{TOOLS}\n"
        f"<table>\n<thead>{HEADINGS}</thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"
        f"<script>\n{script}</script>\n</body>\n</html>\n"
    )


TOOLS = (
    '<div class="tools" role="toolbar" aria-label="View" hidden>\n'
    '<div class="choice"><button type="button" data-sort="number" aria-pressed="true">In order</button>'
    '<button type="button" data-sort="doubt" aria-pressed="false">Most doubtful first</button></div>\n'
    '<label><input type="checkbox" id="only"> only what is new</label>\n'
    '<label class="find">Find <input type="search" id="find"></label>\n'
    '<p class="keys"><kbd>↑</kbd> <kbd>↓</kbd> to move, <kbd>Enter</kbd> for the alignment,'
    " <kbd>d</kbd> to sort by doubt</p>\n</div>"
)
HEADINGS = (
    '<tr><th scope="col">Place</th><th scope="col">Source</th><th scope="col">Translation</th>'
    '<th scope="col">Doubt</th></tr>'
)


def heading(title: str, rows: Sequence[ReviewRow], languages: tuple[str, str] | None) -> str:
    new = [row.doubt for row in rows if row.doubt is not None]
    doubtful = sum(doubt >= DOUBTFUL for doubt in new)
    way = f"{escape(languages[0])} → {escape(languages[1])} · " if languages else ""
    return (
        f"<header>\n<h1>{escape(title)}</h1>\n<p>{way}{len(new):,} of {len(rows):,} segments by machine"
        f" · {doubtful:,} of them doubtful</p>\n</header>"
    )


def table_row(number: int, row: ReviewRow, languages: tuple[str, str] | None) -> str:
    source_code, target_code = (f' lang="{escape(code)}"' for code in languages) if languages else ("", "")
    kind = "old" if row.doubt is None else level(row.doubt)
    data = f' data-number="{number}" data-doubt="{-1 if row.doubt is None else row.doubt:.4f}"'
    if row.links:
        words = escape(json.dumps([list(side) for side in row.words], ensure_ascii=False))
        links = " ".join(f"{source}-{target}" for source, target in row.links)
        data += f' data-words="{words}" data-links="{links}"'
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in row.notes)
    return (
        f'<tr class="{kind}" tabindex="{0 if number == 1 else -1}"{data}>'
        f'<th scope="row">{escape(row.place or str(number))}</th>'
        f'<td{source_code} dir="auto">{marked_up(row.source)}</td>'
        f'<td{target_code} dir="auto">{marked_up(row.target or "")}{notes}</td>'
        f"<td>{meter(row.doubt)}</td></tr>"
    )


def level(doubt: float) -> str:
    return "sure" if doubt < SURE else "fair" if doubt < DOUBTFUL else "doubtful"


def meter(doubt: float | None) -> str:
    """As a bar and a number; words where a machine did nothing."""
    if doubt is None:
        return '<span class="as-it-was">as it was</span>'
    share = min(max(doubt, 0.0), 1.0)
    return f'<span class="meter"><i style="width:{share:.0%}"></i></span><b>{share:.2f}</b>'


def marked_up(text: str) -> str:
    """Text with its tags and placeholders set apart."""
    pieces = TAG.split(text)
    return "".join(
        f"<code>{escape(piece)}</code>" if place % 2 else escape(piece) for place, piece in enumerate(pieces)
    )
