"""What an evaluation found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from regard.text.scores import Comparison, LabelScore, LengthRow, Score
from regard.training.evaluate.attention_report import AttentionReport


@dataclass(frozen=True)
class Evaluation:
    """Scores in the order they should be read, and what they rest on.

    scores     shares are percentages, as BLEU is
    task       "translation", "classes", "masked words" or "next words"
    count      how many `unit` were scored, in how many `seconds`
    baseline   what `baselines` are the scores of, in words; by the name of the score
    outputs    what the model said of each text, where it says something
    attention  what heads did, where it is known what they should do and somebody asked (`look_into`)
    """

    task: str
    data: str
    count: int
    unit: str
    seconds: float
    scores: list[Score]
    baseline: str = ""
    baselines: dict[str, float] = field(default_factory=dict)
    words_per_second: float | None = None  # of the source
    by_length: list[LengthRow] = field(default_factory=list)
    labels: list[LabelScore] = field(default_factory=list)
    confusion: dict[tuple[str, str], int] = field(default_factory=dict)  # by true label and label said
    comparison: Comparison | None = None
    notes: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    attention: AttentionReport | None = None

    def __getitem__(self, name: str) -> float:
        """The value of the score of that name."""
        return {score.name: score.value for score in self.scores}[name]

    def to_dict(self) -> dict[str, Any]:
        """All of it but the outputs, as JSON takes it; what a task does not have is left out."""
        fields: dict[str, Any] = {
            "task": self.task,
            "data": self.data,
            self.unit: self.count,
            "seconds": self.seconds,
            "words_per_second": self.words_per_second,
            "scores": {score.name: self.score_dict(score) for score in self.scores},
            "baseline": self.baseline,
            "by_length": [row._asdict() for row in self.by_length],
            "labels": [row._asdict() for row in self.labels],
            "confusion": [{"truth": t, "said": s, "texts": n} for (t, s), n in sorted(self.confusion.items())],
            "comparison": self.comparison._asdict() if self.comparison else None,
            "attention": self.attention.to_dict() if self.attention else None,
            "notes": self.notes,
        }
        return {name: value for name, value in fields.items() if value not in (None, "", [])}

    def score_dict(self, score: Score) -> dict[str, Any]:
        fields: dict[str, Any] = {"value": score.value}
        if score.signature:
            fields["signature"] = score.signature
        if score.name in self.baselines:
            fields["baseline"] = self.baselines[score.name]
        return fields
