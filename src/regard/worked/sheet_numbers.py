"""The numbers of a sheet, and which row belongs to which word: what every way of drawing one draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from regard.attention import Steps
from regard.errors import InputError, UnknownNameError
from regard.worked.reading import STEPS

ORDER = ("x", "positions", "x_p", "w_q", "w_k", "w_v", *STEPS, "w_o", "z")


@dataclass(frozen=True, repr=False)
class SheetNumbers:
    """The six steps of one example: `values` holds what is known of `ORDER`, with several heads a matrix for each."""

    tokens: tuple[str, ...]  # the words looked at
    queries: tuple[str, ...]  # the words that look; nearly always the same
    values: Mapping[str, Tensor]
    steps: Steps | None  # what `attend` computed; None when the example starts later than q, k and v
    scale: float | None  # what scores are multiplied by, the temperature included
    d: float | None = None  # whose root scores are divided by; None where a scale was given
    temperature: float = 1.0
    heads: int = 1
    causal: bool = False
    title: str = ""
    about: str = ""
    made_up: str = ""  # said wherever the sheet is shown, if any of its numbers were made up

    def row(self, query: str | int) -> int:
        """Which row belongs to a word, to its second occurrence as "word:2", or to a number counted from 0.

        A word that stands more than once means its first occurrence.
        """
        if isinstance(query, str) and query in self.queries:
            return self.queries.index(query)
        if isinstance(query, str) and not query.isdecimal():
            return self.occurrence(query)
        if not 0 <= int(query) < len(self.queries):
            raise InputError("there is no such row", found=f"{query}, of {len(self.queries)}", do="rows count from 0")
        return int(query)

    def occurrence(self, query: str) -> int:
        word, colon, number = query.rpartition(":")
        rows = self.rows(word)
        if not colon or not number.isdecimal() or not rows:
            raise UnknownNameError("word", query, self.queries)
        if not 1 <= int(number) <= len(rows):
            raise InputError(
                f"{word!r} does not stand there so often", found=f"{query}; it stands there {len(rows)} times",
                do=f"choose {word}:1 to {word}:{len(rows)}",
            )  # fmt: skip
        return rows[int(number) - 1]

    def rows(self, word: str) -> list[int]:
        """The rows of a word."""
        return [row for row, query in enumerate(self.queries) if query == word]
