"""Tokens as they stand beside a map: visible, harmless, and short."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from regard.text.characters import characters

REPLACEMENT = "\ufffd"  # stands for what cannot be shown
BLANKS = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍"}
TURNING = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # would turn what follows


def label(token: str | int) -> str:
    """A token without the spaces around it; one of nothing but space shows which."""
    text = unicodedata.normalize("NFC", str(token))  # an accent stays with its letter when names are cut
    shown = text.strip() or "".join(BLANKS.get(mark, "␣") for mark in text) or "∅"
    if all(unicodedata.category(mark) == "Cf" for mark in shown):  # by itself it cannot be seen
        return "".join(f"⟨{ord(mark):04X}⟩" for mark in shown)
    return "".join(mark for mark in map(harmless, shown) if mark) or "∅"


def harmless(mark: str) -> str:
    """What a terminal or an XML reader would obey, or refuse, is marked or left out."""
    if mark in TURNING:
        return ""
    if mark in BLANKS:
        return BLANKS[mark] if mark != " " else " "
    odd = unicodedata.category(mark) in ("Cc", "Cs", "Zl", "Zp") or mark in "\ufffe\uffff"
    return REPLACEMENT if odd else mark


def cut(text: str, most: int) -> str:
    """At most so many characters, the last an ellipsis where some are missing."""
    parts = list(characters(text))
    return text if len(parts) <= most else "".join(parts[: max(most - 1, 0)]) + "…"


def grouped(labels: Sequence[str], size: int, first: int) -> list[str]:
    """One name for every `size` tokens: the first with its position; `first` is that of the first of all."""
    if size == 1:
        return list(labels)
    return [f"{first + place} {labels[place]}…" for place in range(0, len(labels), size)]
