"""A result, or many, as a page that stands alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from regard.claims.draw.plot_svg import plot_svg
from regard.claims.draw.result_view import seeds_words
from regard.claims.draw.words import cell_words, undecided_words
from regard.claims.measurement import Measurement, ResultTable


def result_page(facts: dict[str, Any], measurement: Measurement) -> str:
    body = f"<h1>“{escape(facts['statement'])}”</h1>{result_part(facts, measurement)}"
    return document(f"{facts['name']}: {facts['verdict']}", body)


def results_page(results: Sequence[tuple[dict[str, Any], Measurement]], failed: Mapping[str, str]) -> str:
    """Many claims on one page: a table of all verdicts, those that could not be tried among them, then each claim."""
    rows = "".join(
        f'<tr><td><a href="#{facts["name"]}">{escape(facts["name"])}</a></td><td>{escape(facts["statement"])}</td>'
        f'<td class="{verdict_class(facts)}">{escape(facts["verdict"])}</td></tr>'
        for facts, _ in results
    )
    rows += "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(error)}</td><td>could not be tried</td></tr>"
        for name, error in failed.items()
    )
    parts = "".join(
        f'<article id="{facts["name"]}"><h1>“{escape(facts["statement"])}”</h1>{result_part(facts, one)}</article>'
        for facts, one in results
    )
    table = f'<table class="verdicts"><tbody>{rows}</tbody></table>'
    return document("Claims, tried", f"<h1>Claims, tried</h1><section>{table}</section>{parts}")


def document(title: str, body: str) -> str:
    style = files("regard.claims.draw").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body><main>{body}</main></body></html>\n"
    )


def verdict_class(facts: dict[str, Any]) -> str:
    return f"verdict {facts['verdict'].replace(' ', '-')}"


def result_part(facts: dict[str, Any], measurement: Measurement) -> str:
    """Everything but the sentence itself."""
    remarks = "".join(f"<li>{escape(remark)}</li>" for remark in facts["remarks"])
    return "".join(
        [
            f'<p class="{verdict_class(facts)}">{escape(facts["verdict"])}</p>',
            f"<p>{undecided_words(facts['undecided'])}</p>" if facts["undecided"] else "",
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
