"""The worked examples as the page shows them, and the check of a learner's own numbers."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.errors import InputError
from regard.server.refusals import Refusal
from regard.server.studio.schema import (
    CheckAnswer,
    CheckFinding,
    CheckRequest,
    ExampleMistake,
    StatedNumber,
    WorkedExample,
)
from regard.server.studio.work_desk import StopSignal
from regard.worked import check, steps
from regard.worked.checking import Report, check_example
from regard.worked.examples import load, names
from regard.worked.findings import Mistake
from regard.worked.judging import Cell, Claims, WrittenCell
from regard.worked.reading import INPUTS, STEPS, Example, parse, read_example
from regard.worked.report_terminal import mistake_view

SECONDS = 10  # that a check may take
NUMBERS = 4096  # of an example that is checked


@cache
def worked_examples() -> list[WorkedExample]:
    """All that come with the package."""
    return [worked_example(name) for name in names()]


def worked_example(name: str) -> WorkedExample:
    """One of them: the right numbers, those of the notes, and where they slipped."""
    sheet, example = steps(example=name), load(name)
    matrices = {step: plain(sheet.values[step].tolist()) for step in (*INPUTS, *STEPS) if step in sheet.values}
    toml = files("regard.worked").joinpath("examples", f"{name}.toml").read_text(encoding="utf-8")
    return WorkedExample(
        name=name, title=sheet.title, note=sheet.about, tokens=list(sheet.tokens), queries=list(sheet.queries),
        heads=sheet.heads, causal=sheet.causal, temperature=sheet.temperature, scale=sheet.scale,
        stated=list(stated_numbers(example)), mistakes=mistakes_of(example), toml=toml, **matrices,
    )  # fmt: skip


def stated_numbers(example: Example) -> Iterator[StatedNumber]:
    for statement in example.stated:
        for (row, column), one in statement.cells.items():
            yield StatedNumber(step=statement.step, row=row, column=column, written=one.text, value=one.value)


def mistakes_of(example: Example) -> list[ExampleMistake]:
    if not example.stated:
        return []
    report = check(example)
    return [
        ExampleMistake(written=mistake.text, **finding(report, mistake).model_dump()) for mistake in report.mistakes
    ]


def finding(report: Report, mistake: Mistake) -> CheckFinding:
    return CheckFinding(
        step=mistake.step, row=mistake.row, column=mistake.column, given=mistake.written, expected=mistake.correct,
        carried_on=bool(mistake.carried_into), sentence=sentence(report, mistake),
    )  # fmt: skip


def sentence(report: Report, mistake: Mistake) -> str:
    """As `regard check` says it, on one line."""
    return " ".join(mistake_view(report, mistake).plain.replace("✗", "").split())


def plain(value: Any) -> Any:
    """JSON knows no infinity: a masked score is null."""
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class TimedClaims(Claims):
    """Claims that are explained in some seconds, or not at all: numbers that all contradict each other take long."""

    stop: StopSignal
    end: float  # by the clock

    def correct_values(self, assumed: Mapping[Cell, float]) -> dict[str, Tensor]:
        self.check_time()
        return super().correct_values(assumed)

    def table(self, claims: Iterable[WrittenCell], correct: Mapping[str, Tensor]) -> dict[str, Tensor]:
        self.check_time()
        return super().table(claims, correct)

    def check_time(self) -> None:
        self.stop.check()
        if time.monotonic() > self.end:
            sentence = f"What is wrong here could not be told within {SECONDS} seconds"
            raise Refusal(413, f"{sentence}: please check fewer numbers at once, or give the inputs too")


def checked(asked: CheckRequest, stop: StopSignal) -> CheckAnswer:
    """Every wrong number of a learner's sheet, once."""
    example = example_of(asked)
    count = sum(matrix.numel() for matrix in example.matrices.values()) + sum(len(one.cells) for one in example.stated)
    if count > NUMBERS:
        raise Refusal(413, f"That are {count:,} numbers, where at most {NUMBERS:,} are checked at once")
    end = time.monotonic() + SECONDS
    report = check_example(example, lambda derivation, stated: TimedClaims(derivation, stated, stop, end))
    findings = [finding(report, mistake) for mistake in report.mistakes]
    return CheckAnswer(findings=findings, right=report.ok, checked=report.checked, unchecked=len(report.unchecked))


def example_of(asked: CheckRequest) -> Example:
    if (asked.toml is None) == (asked.tokens is None):
        raise InputError("one of toml and tokens must be given", found="both" if asked.toml is not None else "neither")
    if asked.toml is not None:
        return read_example(parse(asked.toml, Path("example.toml")), "example")
    data: dict[str, Any] = {"tokens": asked.tokens, **inputs_of(asked), "stated": list(statements(asked))}
    if asked.scale is not None:
        data["scale"] = asked.scale
    if asked.causal:
        data["causal"] = True
    return read_example(data, "example")


def inputs_of(asked: CheckRequest) -> Mapping[str, Any]:
    given = asked.inputs or {}
    for name in given:
        if name not in (*INPUTS, "q", "k", "v"):
            raise InputError(f"{name[:40]!r} is no input", do=f"known: {', '.join((*INPUTS, 'q', 'k', 'v'))}")
    return given


def statements(asked: CheckRequest) -> Iterator[dict[str, Any]]:
    """Cell by cell, so that a learner may leave some open."""
    for step, rows in (asked.stated or {}).items():
        for row, line in enumerate(rows):
            for column, value in enumerate(line):
                if value is not None:
                    yield {"step": step, "row": row, "column": column, "values": value}
