"""Training events as a person meets them: a live bar, plain lines, or only warnings."""

from __future__ import annotations

import io
import math
import re
import time
from typing import Any

import pytest
from rich.console import Console

from regard.cli.progress import Display, Lines, TrainingProgress
from regard.training.report.events import (
    Event,
    Finished,
    Note,
    Preparing,
    Sample,
    Saved,
    Started,
    Stepped,
    Validated,
)

RECIPE = 'name = "x"\n\n[data]\nlongest = 128\n'
SAMPLES = [Sample(f"source {n} [b]", f"reference {n}", f"output\x1b[31m {n}") for n in range(5)]


def stepped(step: int, steps: int = 1000, **changes: Any) -> Stepped:
    numbers = {"loss": 2.5, "rate": 1e-3, "tokens_per_second": 12345.6, "seconds": 60.0, "left": 125.0, **changes}
    return Stepped(step, steps, 0, **numbers)


def validated(step: int = 500, best: bool = True, **changes: float) -> Validated:
    scores = {"loss": 1.25, "perplexity": 3.5, "bleu": 31.256, **changes}
    return Validated(step, 1.0, scores, best, SAMPLES)


ALL: list[Event] = [
    Preparing("reading", 0), Preparing("reading", 500), Preparing("encoding", 10, 500), Note("500 rows"),
    Note("3 dropped\n  [2] too long\x07", warning=True), Started(0, 1000, 4321, "cpu", RECIPE), stepped(1), stepped(2),
    validated(), Saved(500), stepped(501), Preparing("scoring test", 3, 10),
    Finished(1000, 3723.0, "m", {"valid": {"bleu": 1.0}}, "all steps done"),
]  # fmt: skip


class Clock:
    """Time that passes when told."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def terminal(width: int = 100) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None, legacy_windows=False)


def pipe() -> Console:
    return Console(file=io.StringIO(), force_terminal=False, width=80)


def text(console: Console) -> str:
    """What was written, without the codes that move the cursor."""
    written: str = console.file.getvalue()  # type: ignore[attr-defined]
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)


def test_plain_lines() -> None:
    console = pipe()
    with TrainingProgress(console=console) as progress:
        for event in ALL:
            progress(event)
    assert progress.source == "source 0 [b]"
    assert text(console).split("\n") == [
        "reading", "encoding 10 of 500", "500 rows", "warning: 3 dropped", "  [2] too long ", '  name = "x"', "",
        "  [data]", "  longest = 128", "4,321 parameters on cpu, 1,000 steps",
        "valid 500  1:00  loss 1.250  BLEU 31.26  ★ best so far",
        "step 501/1,000  loss 2.500  2:05 left  12,346 tokens/s", "scoring test 3 of 10",
        "finished: 1,000 steps in 1:02:03 (all steps done)", "",
    ]  # fmt: skip


def test_a_run_that_goes_on_does_not_show_its_recipe_again() -> None:
    console = pipe()
    with TrainingProgress(console=console) as progress:
        progress(Started(400, 1000, 4321, "cpu", RECIPE))
    assert text(console) == "4,321 parameters on cpu, 400 of 1,000 steps done\n"


def test_steps_are_told_every_ten_seconds_or_every_twentieth_of_the_way() -> None:
    clock, console = Clock(), pipe()
    lines = Lines(console, clock)
    lines(Started(0, 1000, 1, "cpu", ""))
    before = text(console)
    for step in range(1, 101):
        lines(stepped(step))
    assert re.findall(r"step (\d+)/", text(console)[len(before) :]) == ["50", "100"]
    for step in range(101, 140):
        clock.now += 1.0
        lines(stepped(step))
    assert re.findall(r"step (\d+)/", text(console)[len(before) :]) == ["50", "100", "110", "120", "130"]
    for done in range(100):
        clock.now += 0.5
        lines(Preparing("scoring", done, 100))
    assert text(console).count("scoring") == 5


def test_lines_are_not_wrapped() -> None:
    console = pipe()
    Lines(console)(Note("word " * 100))
    assert text(console).count("\n") == 1


def test_quiet_is_but_for_warnings() -> None:
    for console in (pipe(), terminal()):
        with TrainingProgress(quiet=True, console=console) as progress:
            for event in ALL:
                progress(event)
        assert text(console) == "warning: 3 dropped\n  [2] too long \n"
        assert progress.source


def test_a_terminal_has_everything_above_the_bar() -> None:
    console = terminal()
    with TrainingProgress(console=console) as progress:
        assert isinstance(progress.view, Display)
        for event in ALL:
            progress(event)
    shown = text(console)
    for words in (
        "500 rows", "warning: 3 dropped", "[2] too long", "longest = 128", "4,321 parameters on cpu", "BLEU 31.26",
        "★ best so far", "source 0 [b]", "→ output [31m 1", "= reference 1", "finished: 1,000 steps in 1:02:03",
    ):  # fmt: skip
        assert words in shown
    assert "source 2" not in shown  # a few are enough
    assert "\x1b[31m" not in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 200])
def test_the_bar_fits_and_says_the_most_important_first(width: int) -> None:
    display = Display(terminal(width))

    def drawn() -> str:
        console = terminal(width)
        console.print(display.bar())
        lines = text(console).rstrip("\n").split("\n")
        assert len(lines) == 1
        assert len(lines[0]) <= width
        return lines[0].rstrip()

    assert drawn() == ""
    display.preparing(Preparing("reading", 1500))
    assert drawn().startswith("reading")
    display.preparing(Preparing("encoding", 10, 20))
    assert ("10 of 20" in drawn()) == (width > 20)
    display.step(stepped(501))
    assert drawn().startswith("step 501/1,000")
    assert ("loss 2.500" in drawn()) == (width >= 40)
    assert ("2:05 left" in drawn()) == (width >= 60)
    assert ("tokens/s" in drawn()) == (width >= 80)
    display.saved(Saved(500))
    assert ("saved at 500" in drawn()) == (width >= 100)
    assert ("━" in drawn()) == (width >= 40)
    display.step(stepped(3, left=math.inf, loss=math.nan))
    drawn()


def test_many_steps_cost_little() -> None:
    console = terminal()
    with TrainingProgress(console=console) as progress:
        event = stepped(5)
        start = time.perf_counter()
        for _ in range(20_000):
            progress(event)
        spent = time.perf_counter() - start
    assert spent < 1.0  # 50 microseconds a step, on a machine that is busy with other things
    assert len(text(console)) < 20_000


def test_scores_of_other_tasks() -> None:
    console = pipe()
    lines = Lines(console)
    lines(Validated(5, 1.0, {"loss": 1.0, "perplexity": 2.718}, False))
    lines(Validated(6, 1.0, {"loss": math.nan, "accuracy": 87.5}, False))
    assert text(console) == "valid 5  loss 1.000  perplexity 2.72\nvalid 6  loss ·  accuracy 87.5 %\n"


def test_an_error_puts_the_terminal_back() -> None:
    console = terminal()
    with pytest.raises(AttributeError), TrainingProgress(console=console) as progress:
        progress(None)  # type: ignore[arg-type]
    assert console.file.getvalue().count("\x1b[?25h") == 1  # type: ignore[attr-defined]
