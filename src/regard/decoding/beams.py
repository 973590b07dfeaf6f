"""How wide a beam search looks, how length counts and when it stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regard.errors import InputError, UnknownNameError

PENALTIES = ("paper", "power")
MAX_ALPHA = 5.0  # beyond, length alone would decide, and its power leaves what float32 can hold
MAX_WIDTH = 500  # beams, each of which is a text to follow
STOPS = ("likely", "proven", "full")


@dataclass(frozen=True)
class Beams:
    """How wide to search, how length counts and when to stop.

    penalty  "paper": ((5 + length) / 6)^alpha; "power": length^alpha, as Hugging Face divides
    stop     "likely": when no open text would win at its present length, as transformers stops; "proven": when none can
             still win, which takes up to three times as long; "full": as soon as there are as many ended texts as beams
    """

    width: int = 4
    alpha: float = 0.6
    penalty: Literal["paper", "power"] = "paper"
    stop: Literal["likely", "proven", "full"] = "likely"

    def __post_init__(self) -> None:
        """Refuse what is no beam search."""
        if not abs(self.alpha) <= MAX_ALPHA:  # also of what is not a number
            raise InputError(
                f"alpha must lie between -{MAX_ALPHA:g} and {MAX_ALPHA:g}",
                found=f"{self.alpha:g}",
                do="0.6 is the paper's",
            )
        if not isinstance(self.width, int) or not 1 <= self.width <= MAX_WIDTH:
            raise InputError(
                f"a beam search needs at least one beam, and at most {MAX_WIDTH}",
                found=f"{self.width:,}" if isinstance(self.width, int) else f"{self.width!r}",
                do="4 is usual; more than 10 seldom help",
            )
        for name, known in (("penalty", PENALTIES), ("stop", STOPS)):
            if getattr(self, name) not in known:
                raise UnknownNameError(name, str(getattr(self, name)), known)

    def divisor(self, length: int) -> float:
        """What a text of so many ids, its end included, has its score divided by."""
        return float(((5 + length) / 6) ** self.alpha if self.penalty == "paper" else length**self.alpha)

    def best_divisors(self, length: int, longest: int) -> list[float]:
        """Of the lengths at which an open text may do best. Its sum only falls, so only its divisor can help it."""
        return [self.divisor(n) for n in ((length + 1, longest) if self.stop == "proven" else (length,))]
