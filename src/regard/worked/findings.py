"""What checking finds: every wrong number, and how many were checked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from regard.worked.judging import Cell
from regard.worked.reading import Example


@dataclass(frozen=True)
class Mistake:
    """One wrong number. `column` is None when only its row is known (weights that do not sum to 1)."""

    step: str
    row: int
    column: int | None
    written: float
    correct: float
    text: str  # the number as it was written
    carried_into: tuple[Cell, ...] = ()  # later numbers that are off because of this one
    instead: tuple[tuple[Cell, float], ...] = ()  # numbers that could be the wrong one just as well


@dataclass(frozen=True)
class Findings:
    """Empty `mistakes` means that every number checked is right."""

    example: Example
    mistakes: tuple[Mistake, ...]
    checked: int
    carried: int
    unchecked: tuple[Cell, ...]  # stated, but nothing given leads to them

    @property
    def ok(self) -> bool:
        return not self.mistakes

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        mistakes = []
        for mistake in self.mistakes:
            entry = asdict(mistake)
            entry["carried_into"] = [cell._asdict() for cell in mistake.carried_into]
            entry["carried_on"] = bool(mistake.carried_into)
            entry["instead"] = [{**cell._asdict(), "correct": value} for cell, value in mistake.instead]
            mistakes.append(entry)
        unchecked = [cell._asdict() for cell in self.unchecked]
        return {"mistakes": mistakes, "checked": self.checked, "carried": self.carried, "unchecked": unchecked}
