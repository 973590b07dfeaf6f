"""What was kept, what was dropped, and why."""

from __future__ import annotations

import unicodedata
from dataclasses import asdict, dataclass, field
from typing import Any

from regard.text.corpora.rows import RawRow

EXAMPLES = 3
WIDTH = 60
REPAIRED = "control characters"


@dataclass
class CorpusReport:
    """The account of one reading: `usable` and all of `dropped` together are the rows of the files."""

    usable: int = 0
    dropped: dict[str, int] = field(default_factory=dict)  # reason -> rows
    examples: dict[str, list[str]] = field(default_factory=dict)  # reason -> a few "file:line text"
    notes: list[str] = field(default_factory=list)
    repaired: int = 0  # kept rows in which control characters became spaces; examples under "control characters"

    def drop(self, row: RawRow, reason: str) -> None:
        """Count a row that is left out."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        self.show(row, reason)

    def repair(self, row: RawRow) -> None:
        """Count a row that is kept with spaces for its control characters."""
        self.repaired += 1
        self.show(row, REPAIRED)

    def note(self, text: str) -> None:
        """Keep what people should know, once."""
        if text not in self.notes:
            self.notes.append(text)

    def join(self, more: CorpusReport) -> None:
        """Take the account of another reading in."""
        self.usable += more.usable
        self.repaired += more.repaired
        for reason, count in more.dropped.items():
            self.dropped[reason] = self.dropped.get(reason, 0) + count
        for reason, examples in more.examples.items():
            self.examples[reason] = [*self.examples.get(reason, []), *examples][:EXAMPLES]
        for text in more.notes:
            self.note(text)

    def show(self, row: RawRow, reason: str) -> None:
        """Keep a row as an example, if there are not enough."""
        examples = self.examples.setdefault(reason, [])
        if len(examples) < EXAMPLES:
            examples.append(f"{row.file}:{row.line} {excerpt(row.texts)}".rstrip())

    def lines(self) -> list[str]:
        """The account as lines for people."""
        lines = [f"{self.usable:,} {plural(self.usable)} kept"]
        if self.repaired:
            lines.append(f"{self.repaired:,} of them repaired: {REPAIRED} became spaces")
            lines.extend(f"    {example}" for example in self.examples[REPAIRED])
        for reason, count in sorted(self.dropped.items(), key=lambda item: (-item[1], item[0])):
            lines.append(f"{count:,} {plural(count)} dropped: {reason}")
            lines.extend(f"    {example}" for example in self.examples[reason])
        return lines + [f"note: {note}" for note in self.notes]

    def to_dict(self) -> dict[str, Any]:
        """The account as plain values, for a log."""
        account = asdict(self)
        return {"kept": account.pop("usable"), **account}


def plural(count: int) -> str:
    """Row or rows."""
    return "row" if count == 1 else "rows"


def excerpt(texts: tuple[str, ...], width: int = WIDTH) -> str:
    """The beginning of a row, with what cannot be seen made visible."""
    whole = " | ".join(text[: width + 1] for text in texts[:3])
    return visible(whole[:width]) + ("…" if len(whole) > width else "")


def visible(text: str) -> str:
    """A text with control characters, separators of lines and unassigned characters written as escapes."""
    return "".join(
        mark.encode("unicode_escape").decode("ascii")
        if unicodedata.category(mark) in ("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp")
        else mark
        for mark in text
    )
