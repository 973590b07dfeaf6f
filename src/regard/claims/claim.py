"""What a claim is: what is said, what would be seen if it were true, a measurement, and a rule written before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from regard.claims.estimates import Estimate, Loosely
from regard.claims.measurement import Measurement
from regard.claims.setting import Setting

Verdict = Literal["holds", "holds in part", "does not hold"]
VERDICTS: tuple[Verdict, ...] = ("holds", "holds in part", "does not hold")
Numbers = Mapping[str, Estimate]
Condition = Callable[[Numbers], bool]


@dataclass(frozen=True)
class VerdictRule:
    """Turns numbers and their intervals into a verdict. What neither holds nor fails by it holds in part.

    The words are what people read; they say the same as the two conditions.
    """

    holds_if: str
    fails_if: str
    holds: Condition
    fails: Condition

    @property
    def words(self) -> str:
        return f"It holds if {self.holds_if}; it does not if {self.fails_if}; otherwise it holds in part."

    def verdict(self, numbers: Numbers) -> Verdict:
        holds, fails = self.holds(numbers), self.fails(numbers)
        assert not (holds and fails), "a rule that says yes and no"
        return "holds" if holds else "does not hold" if fails else "holds in part"

    def undecided(self, numbers: Numbers) -> tuple[Verdict, ...]:
        """Of what holds in part, the verdicts that more runs may still give: the intervals reach over its bounds.

        None where it is surely so in one part and surely not in another.
        """
        if self.verdict(numbers) != "holds in part":
            return ()
        loose = {name: Loosely(one.value, one.low, one.high) for name, one in numbers.items()}
        possible: tuple[Verdict, ...] = ("holds",) if self.holds(loose) else ()
        return (*possible, "does not hold") if self.fails(loose) else possible


@dataclass(frozen=True)
class Claim:
    """A sentence of the lectures, in our words, and how it is tried.

    statement   what is claimed
    if_true     what would be seen if it were so
    if_false    and if it were not
    control     what it is compared with, so that nothing else explains the numbers
    measure     the experiment: a setting (quick or full, seeds, data) gives numbers, tables and a plot
    rule        the verdict, from the numbers alone
    seeds       how many runs the quick form makes; 1 where nothing is drawn
    full_seeds  the full form
    data        which folders of real text the full form reads in `--data`
    tried       what else was tried, and what came of it
    """

    name: str
    statement: str
    if_true: str
    if_false: str
    control: str
    measure: Callable[[Setting], Measurement]
    rule: VerdictRule
    seeds: int = 3
    full_seeds: int = 5
    data: tuple[str, ...] = ()
    tried: tuple[str, ...] = field(default=())
