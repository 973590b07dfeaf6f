"""Training as it goes, on standard error: a live bar on a terminal, plain lines elsewhere, only warnings when quiet."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from regard.cli.lines import plain
from regard.training.report.events import (
    Event,
    Finished,
    Note,
    Planned,
    Preparing,
    Sample,
    Saved,
    Started,
    Stepped,
    Validated,
)
from regard.training.report.run_log import duration, score_name, score_words

EVERY = 10.0  # seconds between two lines about steps, at least
SHARE = 0.05  # of all steps, after which there is a line in any case
REFRESHED = 8  # times a second, however often something happens
SAMPLES = 2  # translations shown at each validation
LONG = 600.0  # seconds, after which it is said how to have something sooner
BAR = range(10, 41)  # how wide the bar may be; where there is less room it is left out


class TrainingProgress:
    """A listener for `regard.training.train`, for the length of a with block. `source` is a text it has seen.

    `quick` is a command that would not take long, for those who did not know that this one does.
    """

    def __init__(self, quiet: bool = False, console: Console | None = None, quick: str = "") -> None:
        shown = Console(stderr=True) if console is None else console
        watched = shown.is_terminal and not shown.is_dumb_terminal
        self.view: Lines = Warnings(shown) if quiet else Display(shown) if watched else Lines(shown)
        self.view.quick = quick
        self.source = ""

    def __enter__(self) -> Self:
        self.view.start()
        return self

    def __call__(self, event: Event) -> None:
        if isinstance(event, Validated) and event.samples:
            self.source = event.samples[0].source
        self.view(event)

    def __exit__(self, *error: object) -> None:
        self.view.stop()


class Lines:
    """One line after another. Each kind of event has a method of its name; what has none is passed over."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self.console, self.clock = console, clock
        self.at: Stepped | None = None  # the newest
        self.printed, self.printed_step, self.what = -EVERY, 0, ""
        self.quick = ""

    def start(self) -> None:
        """Before the first event."""

    def stop(self) -> None:
        """After the last."""

    def __call__(self, event: Event) -> None:
        method: Callable[[Any], None] | None = getattr(self, event.kind, None)
        if method is not None:
            method(event)

    def say(self, text: str | Text, style: str = "") -> None:
        line = Text(text) if isinstance(text, str) else text
        self.console.print(line, style=style, soft_wrap=not self.console.is_terminal, highlight=False)

    def note(self, event: Note) -> None:
        """Its lines stay lines; whatever else is in them is harmless."""
        text = "\n".join(map(plain, event.text.split("\n")))
        self.say(f"warning: {text}" if event.warning else text, "yellow" if event.warning else "dim")

    def preparing(self, event: Preparing) -> None:
        now = self.clock()
        if event.what != self.what or now - self.printed >= EVERY:
            self.what, self.printed = event.what, now
            self.say(" ".join(filter(None, (event.what, amount(event)))))

    def started(self, event: Started) -> None:
        if not event.step:
            self.say("\n".join(f"  {line}".rstrip() for line in event.recipe.strip().split("\n")), "dim")
        done = f"{event.step:,} of {event.steps:,} steps done" if event.step else f"{event.steps:,} steps"
        self.say(f"{event.parameters:,} parameters on {event.device}, {done}")
        self.printed, self.printed_step = self.clock(), event.step

    def plan(self, event: Planned) -> None:
        self.say(plan_words(event))
        if event.minutes is None and event.seconds > LONG and self.quick:
            self.say(f"what ten minutes can do: {self.quick}")

    def step(self, event: Stepped) -> None:
        self.at = event
        now = self.clock()
        if now - self.printed >= EVERY or event.step - self.printed_step >= SHARE * event.steps:
            self.printed, self.printed_step = now, event.step
            self.say("  ".join(step_words(event)))

    def valid(self, event: Validated) -> None:
        seconds = self.at.seconds if self.at else None
        self.say(valid_words(event, seconds), "bold" if event.best else "")

    def finished(self, event: Finished) -> None:
        why = f" ({event.why})" if event.why else ""
        self.say(f"finished: {event.step:,} steps in {duration(event.seconds)}{why}")


class Warnings(Lines):
    """Nothing but warnings."""

    def __call__(self, event: Event) -> None:
        if isinstance(event, Note) and event.warning:
            self.note(event)


class Display(Lines):
    """Lines above a bar that stands still. An event only leaves its numbers; the bar is drawn a few times a second."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(console, clock)
        self.prepared: Preparing | None = None
        self.saved_step = 0  # the step of the newest checkpoint
        self.live = Live(
            get_renderable=self.bar, console=console, refresh_per_second=REFRESHED, transient=True,
            redirect_stdout=False,
        )  # fmt: skip

    def start(self) -> None:
        self.live.start()

    def stop(self) -> None:
        self.live.stop()

    def preparing(self, event: Preparing) -> None:
        self.prepared = event

    def started(self, event: Started) -> None:
        self.prepared = None
        super().started(event)

    def step(self, event: Stepped) -> None:
        self.at, self.prepared = event, None

    def saved(self, event: Saved) -> None:
        self.saved_step = event.step

    def valid(self, event: Validated) -> None:
        super().valid(event)
        for sample in event.samples[:SAMPLES]:
            self.console.print(sample_view(sample))

    def bar(self) -> RenderableType:
        """What is going on at the moment."""
        if self.prepared is not None:
            words = [self.prepared.what, *filter(None, [amount(self.prepared)])]
            return self.row(words, self.prepared.done, self.prepared.total)
        if self.at is None:
            return Text("")
        words = step_words(self.at)
        if self.saved_step:
            words.append(f"saved at {self.saved_step:,}")
        return self.row(words, self.at.step, self.at.steps)

    def row(self, words: list[str], done: int, total: int | None) -> RenderableType:
        """Words around a bar. In a narrow place the later words give way to the bar, and the bar to the first two."""
        room = self.console.width - 1
        while len(words) > 2 and spaced(words) + BAR[0] > room:
            words = words[:-1]
        words = words if spaced(words) <= room else words[:1]
        wide = min(room - spaced(words), BAR[-1])
        table = Table.grid(padding=(0, 2))
        cells: list[RenderableType] = [Text(words[0], no_wrap=True, overflow="ellipsis")]
        if wide >= BAR[0]:
            cells.append(ProgressBar(total=total, completed=done, width=wide, pulse=total is None))
        table.add_row(*cells, *(Text(word, style="dim", no_wrap=True) for word in words[1:]))
        return table


def spaced(words: list[str]) -> int:
    """How much room they take, each with two spaces after it."""
    return sum(len(word) + 2 for word in words)


def step_words(at: Stepped) -> list[str]:
    """Where training stands, the most important first."""
    speed = f"{at.tokens_per_second:,.0f} tokens/s"
    return [f"step {at.step:,}/{at.steps:,}", f"loss {at.loss:.3f}", f"{duration(at.left)} left", speed]


def plan_words(event: Planned) -> str:
    """What is going to happen and how long it takes."""
    steps = f"{event.steps:,} steps of {event.tokens:,.0f} tokens at {event.step_seconds:.2g} s each, as measured here"
    every = duration(event.validate_every * event.step_seconds)
    if event.minutes is None:
        return f"expected: {duration(event.seconds)} for {steps}; a validation every {every}"
    whole = f"{event.minutes:g} minute{'' if event.minutes == 1 else 's'}"
    return f"plan for {whole}: {event.model}; {steps}; warm-up {event.warmup:,}; a validation every {every}"


def valid_words(event: Validated, seconds: float | None) -> str:
    """The scores of a validation. Perplexity says the same as the loss, so it makes room for BLEU."""
    names = [name for name in event.scores if name != "perplexity" or "bleu" not in event.scores]
    words = [f"valid {event.step:,}", *([] if seconds is None else [duration(seconds)])]
    words += [f"{score_name(name)} {score_words(name, event.scores[name])}{width(event, name)}" for name in names]
    return "  ".join([*words, *(["★ best so far"] if event.best else [])])


def width(event: Validated, name: str) -> str:
    """By how much a score may be off, where that is known."""
    return f" ± {event.intervals[name]:.1f}" if event.intervals.get(name) else ""


def sample_view(sample: Sample) -> RenderableType:
    """What was asked, what the model said, what it should have said: a line each."""
    lines = ((" ", sample.source, "dim"), ("→", sample.output, ""), ("=", sample.reference, "dim"))
    shown = [Text(f"{mark} {plain(text)}", style=style) for mark, text, style in lines if text or mark == "→"]
    return Padding(Text("\n").join(shown), (0, 0, 0, 2))


def amount(event: Preparing) -> str:
    """29,000; 1,000 of 29,000; nothing while there is nothing."""
    if event.total is not None:
        return f"{event.done:,} of {event.total:,}"
    return f"{event.done:,}" if event.done else ""
