"""How a model learned, from the rows of its log.jsonl: curves as one SVG, and a page around them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from importlib.resources import files
from typing import Any

from regard.training.report.curve_panels import NARROW, WIDE, drawing
from regard.training.report.run_log import Row, RunLog, duration, number, read_run, score_name, score_words, scores

SAMPLE = (("source", "source"), ("output", "model"), ("reference", "reference"))


def curves_svg(rows: Iterable[Row]) -> str:
    """Training and validation loss, the scores and the learning rate over the steps, light and dark, without script."""
    return drawing(read_run(rows), WIDE)


def curves_html(rows: Iterable[Row], title: str, recipe: str = "") -> str:
    """The curves with the numbers and texts that belong to them: one page without script or network."""
    run = read_run(rows)
    style = files("regard.training.report").joinpath("curves.css").read_text(encoding="utf-8")
    last_recipe = str(run.starts[-1].get("recipe") or "") if run.starts else ""
    parts = [
        final_html(run),
        figure_html(run),
        samples_html(run),
        validations_html(run),
        recipe_html(recipe or last_recipe),
    ]
    body = "\n".join(part for part in parts if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}: how it learned</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f'<header><h1>{escape(title)}</h1><p class="soft">{escape(" · ".join(facts(run)))}</p></header>\n'
        f"{body}\n</main>\n</body>\n</html>\n"
    )


def facts(run: RunLog) -> Iterator[str]:
    """The run in a line: how far, how long, how large, where."""
    start: Row = run.starts[-1] if run.starts else {}
    done, steps = run.last_step(), number(start.get("steps"))
    yield f"{done:,.0f} of {steps:,.0f} steps" if steps > done else f"{done:,.0f} steps"
    if math.isfinite(run.seconds()):
        yield duration(run.seconds())
    if math.isfinite(number(start.get("parameters"))):
        yield f"{number(start.get('parameters')):,.0f} parameters"
    if start.get("device"):
        yield str(start["device"])
    broken = sum(not math.isfinite(loss) for _, loss in run.curve("loss"))
    if broken:
        yield f"the loss is not a number in {broken:,} of {len(run.steps):,} rows"
    why = run.finished.get("why") if run.finished else ""
    yield str(why or "finished") if run.finished else "not finished"


def figure_html(run: RunLog) -> str:
    """Drawn twice, for wide and for narrow screens: the letters keep their size."""
    wide, narrow = drawing(run, WIDE), drawing(run, NARROW)
    return f'<figure><div class="wide">{wide}</div><div class="narrow">{narrow}</div></figure>'


def final_html(run: RunLog) -> str:
    """The last scores, of each set of texts."""
    final = run.finished.get("scores") if run.finished else None
    sets = {str(name): part for name, part in (final or {}).items() if isinstance(part, Mapping)}
    if not sets:
        return ""
    names = list(dict.fromkeys(name for part in sets.values() for name in part))
    lines = [
        (name, [score_words(one, part[one]) if one in part else "" for one in names]) for name, part in sets.items()
    ]
    return section("Scores", table("", [score_name(one) for one in names], lines))


def validations_html(run: RunLog) -> str:
    """Every validation, the latest first."""
    names = run.score_names()
    if not names:
        return ""
    best = run.best()
    lines = []
    for row in reversed(run.validations):
        cells = [score_words(name, scores(row)[name]) if name in scores(row) else "" for name in names]
        step = number(row["step"])
        lines.append((f"{step:,.0f}", [duration(run.seconds_at(step)), *cells, "best" if step == best else ""]))
    columns = ["time", *map(score_name, names), ""]
    return section("Validation", f'<div class="tall">{table("step", columns, lines)}</div>')


def table(corner: str, columns: list[str], lines: list[tuple[str, list[str]]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in (corner, *columns))
    rows = []
    for name, cells in lines:
        kind = ' class="best"' if cells[-1] == "best" else ""
        rows.append(
            f'<tr{kind}><th scope="row">{escape(name)}</th>{"".join(f"<td>{escape(c)}</td>" for c in cells)}</tr>'
        )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def samples_html(run: RunLog) -> str:
    """What the model made of a few texts the last time it was asked."""
    row: Row = next((row for row in reversed(run.validations) if row.get("samples")), {})
    items = [sample_html(sample) for sample in row.get("samples", []) if isinstance(sample, Mapping)]
    if not items:
        return ""
    return section(f"Samples at step {number(row['step']):,.0f}", "".join(items))


def sample_html(sample: Mapping[str, Any]) -> str:
    shown = {**sample, "output": sample.get("output") or "(nothing)"}
    lines = [
        f'<dt>{name}</dt><dd class="{key}">{escape(str(shown[key]))}</dd>' for key, name in SAMPLE if shown.get(key)
    ]
    return f"<dl>{''.join(lines)}</dl>"


def recipe_html(recipe: str) -> str:
    if not recipe.strip():
        return ""
    return f"<section><details><summary>Recipe</summary><pre>{escape(recipe.strip())}</pre></details></section>"


def section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>"
