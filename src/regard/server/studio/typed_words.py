"""Words that a person types behind what a translator wrote, as the ids that the model would write them with."""

from __future__ import annotations

from collections.abc import Sequence

from regard.lens.analysis.subject import Subject
from regard.server.refusals import Refusal
from regard.server.studio.look_reading import (
    TokenLimits,
    check_tokens,
    decoded,
    ends_of,
    target_vocabulary,
    task_of,
    token_strings,
)
from regard.server.studio.schema import TypedAnswer, TypedRequest


def typed_words(subject: Subject, asked: TypedRequest, limits: TokenLimits) -> TypedAnswer:
    """All ids from the first on: cut as the model's tokenizer cuts the whole, so that no odd pieces are forced."""
    if task_of(subject) != "translate":
        raise Refusal(400, "Words can be put into what a translator writes, and this model is none")
    if not asked.words.strip():
        raise Refusal(400, "There is nothing to put there: please give at least one word")
    there = asked.prefix if asked.instead is None else [*asked.prefix, asked.instead]
    if max(there, default=0) >= (vocabulary := target_vocabulary(subject)):
        raise Refusal(400, f"There is no token {max(there)}: this model has {vocabulary:,}, counted from 0")
    before, after = decoded(subject, asked.prefix), decoded(subject, there)
    (row,) = subject.forced([before + gap(before, after.removeprefix(before), asked.words) + asked.words.rstrip()])
    ends = ends_of(subject)
    ids = [number for number in row[1:] if number not in ends]
    check_tokens("translation", len(ids), limits)
    unchanged = common(asked.prefix, ids)
    return TypedAnswer(ids=ids, unchanged=unchanged, tokens=token_strings(subject, ids[unchanged:]))


def gap(before: str, instead: str, words: str) -> str:
    """A space, unless a piece inside of a word is put otherwise, or the words bring their own or need none."""
    inside = instead[:1].isalnum()
    return "" if not before or inside or not words[:1].isalnum() else " "


def common(left: Sequence[int], right: Sequence[int]) -> int:
    """How many ids two rows begin with alike."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(left), len(right)))
