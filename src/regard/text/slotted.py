"""A text with slots where its spans stand, as a model that knows slots reads it, and the way back."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from regard.text.protect import Span
from regard.text.slots import SLOT, SLOTS


@dataclass(frozen=True)
class Slotted:
    """`source` is what a model reads; each of `spans` stands in it as the slot of its number."""

    source: str
    spans: tuple[Span, ...]
    glued: tuple[tuple[bool, bool], ...]  # whether a word touches it, in front and behind; the model sees a space there

    @classmethod
    def of(cls, text: str, spans: Sequence[Span]) -> Self:
        """At most as many spans as there are slots."""
        parts, glued, at = [], [], 0
        for slot, span in zip(SLOTS, spans, strict=False):
            touched = text[span.start - 1 : span.start].isalnum(), text[span.stop : span.stop + 1].isalnum()
            parts += [text[at : span.start], " " * touched[0], slot, " " * touched[1]]
            glued.append(touched)
            at = span.stop
        return cls("".join([*parts, text[at:]]), tuple(spans), tuple(glued))

    def restore(self, output: str, change: Callable[[str], str] = str) -> str | None:
        """The output with its slots filled, all else changed as said; None if a slot was lost, doubled or made up."""
        if sorted(SLOT.findall(output)) != list(SLOTS[: len(self.spans)]):
            return None
        pieces = re.split(f"({SLOT.pattern})", output)
        texts = [change(piece) for piece in pieces[::2]]
        for number, slot in enumerate(pieces[1::2]):
            front, behind = self.glued[SLOTS.index(slot)]
            texts[number] = beside(texts[number], front, at_end=True)
            texts[number + 1] = beside(texts[number + 1], behind, at_end=False)
        fills = [self.spans[SLOTS.index(slot)] for slot in pieces[1::2]]
        whole = [texts[0]]
        for span, text in zip(fills, texts[1:], strict=True):
            whole += [filled(span, not "".join(whole).strip(" \"'«“(")), text]
        return "".join(whole)


def beside(text: str, glued: bool, *, at_end: bool) -> str:
    """What stands beside a slot: without a space where it was glued, with one where a model has glued a word to it."""
    if glued:
        return text.rstrip(" ") if at_end else text.lstrip(" ")
    edge = text[-1:] if at_end else text[:1]
    if not edge.isalnum():
        return text
    return f"{text} " if at_end else f" {text}"


def filled(span: Span, first: bool) -> str:
    """What stands in for a span; a term has a capital at the start of a sentence."""
    return span.fill[:1].upper() + span.fill[1:] if first and span.kind == "term" else span.fill
