"""What was found of a translator's attention, as `evaluate` reports it."""

from __future__ import annotations

from typing import Any, NamedTuple

from regard.lens.alignment.choice import ReadingChoice
from regard.lens.alignment.decision import ScoredReading
from regard.training.evaluate.antecedents import CHANCE, Antecedents


class AttentionReport(NamedTuple):
    """Where alignments are read and how good they are, and which heads look at what "it" stands for."""

    choice: ReadingChoice
    lines: list[ScoredReading]
    antecedents: Antecedents

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it; shares are percentages."""
        heads = [{**one._asdict(), "share": 100 * one.share} for one in self.antecedents.heads]
        return {
            "reading": str(self.choice.reading),
            "chosen_by": self.choice.how,
            "alignment": [{"name": one.name, "reading": str(one.reading), **one.rate._asdict()} for one in self.lines],
            "antecedents": {"pronouns": self.antecedents.pronouns, "chance": 100 * CHANCE, "heads": heads},
        }
