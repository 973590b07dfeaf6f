"""A result as a page that stands alone, and as the part of a page that the book puts between its own."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import Any

from regard.claims.draw.plot_svg import plot_svg
from regard.claims.draw.result_view import seeds_words
from regard.claims.draw.words import cell_words
from regard.claims.measurement import Measurement, ResultTable


def result_page(facts: dict[str, Any], measurement: Measurement) -> str:
    style = files("regard.claims.draw").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(facts['name'])}: {escape(facts['verdict'])}</title><style>{style}</style></head>"
        f"<body><main><h1>“{escape(facts['statement'])}”</h1>{result_part(facts, measurement)}</main></body></html>\n"
    )


def result_part(facts: dict[str, Any], measurement: Measurement) -> str:
    """Everything but the sentence itself."""
    kind = facts["verdict"].replace(" ", "-")
    remarks = "".join(f"<li>{escape(remark)}</li>" for remark in facts["remarks"])
    return "".join(
        [
            f'<p class="verdict {kind}">{escape(facts["verdict"])}</p>',
            '<dl class="about">',
            *(
                f"<dt>{name}</dt><dd>{escape(text)}</dd>"
                for name, text in (
                    ("If it were so", facts["if_true"]),
                    ("If not", facts["if_false"]),
                    ("Control", facts["control"]),
                    ("Rule, written before the result", facts["rule"]),
                    ("Seeds", seeds_words(facts)),
                )
            ),
            f"</dl><figure>{plot_svg(measurement.plot)}</figure>",
            *map(table_part, measurement.tables),
            f'<ul class="remarks">{remarks}</ul>' if remarks else "",
        ]
    )


def table_part(table: ResultTable) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell_words(cell))}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    body = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<section><h2>{escape(table.title)}</h2>{body}</section>"
