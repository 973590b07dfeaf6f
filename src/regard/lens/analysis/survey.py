"""What each head does over many texts: read a few at a time, and forgotten as soon as they are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from regard.errors import InputError
from regard.lens.analysis.subject import LongError, Subject
from regard.lens.head_kinds import Heads, Tally

BATCH = 8  # texts read side by side
CHARACTERS = 4096  # of them together, unless one alone has more


@dataclass(frozen=True)
class SurveyText:
    """One text, and what the decoder shall read where that is given; `number` counts from 1."""

    number: int
    text: str
    target: str | None = None


@dataclass
class Survey:
    """The table of heads, how many texts it is made from, and the lines that were too long for the model."""

    heads: Heads
    texts: int = 0
    too_long: list[int] = field(default_factory=list)


def survey(
    subject: Subject, lines: Sequence[SurveyText], on_progress: Callable[[int, int], None] | None = None
) -> Survey:
    """The table of heads over all lines, in the memory that the longest few need; `on_progress` hears (done, total)."""
    tally, result, done = Tally(), Survey(Heads([])), 0
    for some in batches(lines):
        if part := readable(subject, some, result):
            targets = [line.target for line in part if line.target is not None]
            tally.add(subject.see([line.text for line in part], targets or None, greedy=True).last)
            result.texts += len(part)
        done += len(some)
        if on_progress is not None:
            on_progress(done, len(lines))
    if result.too_long and not result.texts:
        many = len(result.too_long)
        raise InputError(
            "no text is short enough for this model", found=f"{many} too long", do="give shorter ones, one a line"
        )
    if not result.texts:
        raise InputError("there is no text to look at", found=f"{len(lines)} lines", do="give at least one text a line")
    result.heads = tally.table()
    return result


def readable(subject: Subject, some: Sequence[SurveyText], result: Survey) -> list[SurveyText]:
    """Those that are not too long for the model; the others are noted."""
    fitting = []
    for line in some:
        try:
            subject.check(line.text, line.target)
            fitting.append(line)
        except LongError:
            result.too_long.append(line.number)
    return fitting


def batches(lines: Sequence[SurveyText]) -> Iterator[list[SurveyText]]:
    """Some lines at a time, with targets or without."""
    some: list[SurveyText] = []
    for line in lines:
        longest = max((len(one.text) for one in [*some, line]), default=0)
        kinds = {one.target is None for one in [*some, line]}
        if some and (len(some) == BATCH or longest * (len(some) + 1) > CHARACTERS or len(kinds) > 1):
            yield some
            some = []
        some.append(line)
    if some:
        yield some


def read_lines(lines: Iterator[str], *, pair: bool) -> list[SurveyText]:
    """Texts one a line; for an encoder-decoder a tab may stand between source and target. Empty lines are left out."""
    rows = []
    for number, line in enumerate(lines, 1):
        text, _, target = line.partition("\t") if pair else (line, "", "")
        if text.strip():
            rows.append(SurveyText(number, text, target.strip() or None))
    return rows
