"""How well does a translator do on what people type? 300 lines for English to French, about 100 the other way.

    python -m benchmarks.typed MODEL [--wrong]

A line is right if it is one of the answers written down for it, but for spaces, the form of apostrophes and quotes, and
the case of its first letter. Every span that must be kept must be there as often as in the source, and nothing may be
said again and again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from regard.interop.folders import locate
from regard.tasks import Translator, load
from regard.tasks.long_texts import recipe_of
from regard.tasks.pipeline import TranslatedText, TranslationPipeline
from regard.text.protect import find_spans
from regard.text.repetition import repeats

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "unit" / "tasks" / "data"
# The least share of lines that each model that ships has right; a test holds it.
RIGHT_AT_LEAST = {"grammar": 0.13, "en-fr": 0.8, "fr-en": 0.78}
PLAIN = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "\u202f": " ", "œ": "oe", "Œ": "OE"})


class TypedLine(NamedTuple):
    """A line as people type it, what kind it is, and the answers that are right."""

    source: str
    kind: str
    answers: tuple[str, ...]


class TypedScore(NamedTuple):
    """Of so many lines, how many are right by kind, keep their spans, and go round in circles; and the wrong ones."""

    lines: Counter[str]
    right: Counter[str]
    keeping: int
    repeating: int
    wrong: list[tuple[TypedLine, str]]

    @property
    def share_right(self) -> float:
        return self.right.total() / self.lines.total()


def read_lines(direction: str) -> list[TypedLine]:
    """The lines for "en-fr" or "fr-en"."""
    rows = (FOLDER / f"typed_lines.{direction}.tsv").read_text(encoding="utf-8").splitlines()
    return [
        TypedLine(source, kind, tuple(answers.split("|")))
        for source, kind, answers in (row.split("\t") for row in rows)
    ]


def normalised(text: str) -> str:
    """Without what typesetters differ in."""
    text = " ".join(text.translate(PLAIN).split())
    text = re.sub(r" (?=[!?:;»%])|(?<=«) ", "", text)
    return text[:1].lower() + text[1:]


def is_right(line: TypedLine, translation: str) -> bool:
    return normalised(translation) in map(normalised, line.answers)


def keeps(source: str, translation: str) -> bool:
    """Whether every span is there as often as in the source."""
    return all(translation.count(span.fill) == source.count(span.fill) for span in find_spans(source))


def score(lines: Sequence[TypedLine], translations: Sequence[str]) -> TypedScore:
    pairs = list(zip(lines, translations, strict=True))
    right = Counter(line.kind for line, text in pairs if is_right(line, text))
    wrong = [(line, text) for line, text in pairs if not is_right(line, text)]
    keeping = sum(keeps(line.source, text) for line, text in pairs)
    repeating = sum(repeats(text, line.source) or not text.strip() for line, text in pairs)
    return TypedScore(Counter(line.kind for line in lines), right, keeping, repeating, wrong)


def translated(translator: Translator, lines: Sequence[TypedLine]) -> list[TranslatedText]:
    return TranslationPipeline(translator).translate([line.source for line in lines])


def main(model: str, wrong: bool = typer.Option(False, "--wrong", help="Show the lines that are not right.")) -> None:
    task = load(model)
    assert isinstance(task, Translator), f"{model} does not translate"
    languages = recipe_of(locate(model)).get("data", {}).get("languages", ["en", "fr"])
    lines = read_lines("-".join(languages))
    result = score(lines, [answer.text for answer in translated(task, lines)])
    table = Table(title=f"{model}: {result.right.total()} of {len(lines)} lines right ({result.share_right:.1%})")
    table.add_column("kind")
    table.add_column("right", justify="right")
    for kind, count in result.lines.items():
        table.add_row(kind, f"{result.right[kind]} of {count}")
    Console(width=120).print(table)
    print(f"spans kept in {result.keeping} of {len(lines)} lines, {result.repeating} empty or said again and again")
    for line, text in result.wrong if wrong else []:
        print(f"{line.kind}: {line.source} -> {text}")


if __name__ == "__main__":
    typer.run(main)
