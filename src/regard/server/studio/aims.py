"""What a model says, as ids whose probabilities can be asked for again, under any change of its heads."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.lens.analysis.subject import Subject
from regard.lens.intervene import intervene
from regard.server.refusals import Refusal
from regard.server.studio.look_reading import (
    ModelInput,
    class_labels,
    classes,
    continued,
    decoded,
    likeliest,
    masks_of,
    read_logits,
    task_of,
    token_strings,
)
from regard.server.studio.schema import (
    EffectAnswer,
    HeadChange,
    HeadEffectRow,
    HeadEffectsAnswer,
    KeptToken,
    Prediction,
    TokenProbability,
)
from regard.server.studio.work_desk import StopSignal


@dataclass(frozen=True)
class Aim:
    """Ids, at which rows of the logits each is said, and the inputs that these logits come from."""

    inputs: ModelInput
    positions: list[int]
    ids: list[int]
    tokens: list[str]
    output: str

    def logs(self, subject: Subject) -> Tensor:
        """The log probability of each id."""
        logits = read_logits(subject, self.inputs)
        return logits[self.positions].log_softmax(-1)[range(len(self.ids)), self.ids]


def aim_of(subject: Subject, given: ModelInput) -> Aim:
    """What the model says of this input: its translation, its continuation, its words for masks, or its class."""
    task = task_of(subject)
    if task == "translate":
        return translation(subject, given)
    if task == "generate":
        new = continued(subject, given.source)
        whole = ModelInput([*given.source, *new[:-1]], None)
        positions = [len(given.source) - 1 + place for place in range(len(new))]
        return Aim(whole, positions, new, token_strings(subject, new), decoded(subject, new))
    logits = read_logits(subject, given)
    if task == "classify":
        best = int(logits[0].argmax())
        label = class_labels(subject, logits.shape[-1])[best]
        return Aim(given, [0], [best], [label], label)
    if task == "mask":
        positions = masks_of(subject, given.source) or list(range(len(given.source)))
        ids = logits[positions].argmax(-1).tolist()
        tokens = token_strings(subject, ids)
        return Aim(given, positions, ids, tokens, " ".join(tokens))
    raise Refusal(400, "This model says nothing that a change of a head could change")


def translation(subject: Subject, given: ModelInput) -> Aim:
    assert given.target is not None
    ids = given.target[1:]
    return Aim(given, list(range(len(ids))), ids, token_strings(subject, ids), decoded(subject, ids))


def prediction(subject: Subject, aim: Aim) -> Prediction:
    """What is said, with the probability of each token."""
    return Prediction(
        output=aim.output, tokens=aim.tokens, probabilities=aim.logs(subject).exp().tolist(),
        next=following(subject, aim.inputs, aim.positions),
    )  # fmt: skip


def following(subject: Subject, inputs: ModelInput, positions: Sequence[int]) -> list[TokenProbability] | None:
    """What is likeliest at the first of these positions; nothing where a translator says a whole text."""
    if task_of(subject) == "translate" or not positions:
        return None
    logits = read_logits(subject, inputs)
    if task_of(subject) == "classify":
        return classes(subject, logits[0])
    return likeliest(subject, logits[positions[0]])


def changes(asked: Sequence[HeadChange]) -> dict[str, list[Any]]:
    """As `regard.intervene` takes them."""
    groups: dict[str, list[Any]] = {}
    for one in asked:
        where = (one.site, one.head)
        if one.kind == "sharpen":
            if one.factor is None:
                raise Refusal(400, "To sharpen a head needs a factor, such as 4.0")
            change: tuple[Any, ...] = (*where, one.row, one.factor)
        elif one.kind == "pin":
            if one.column is None:
                raise Refusal(400, "To pin a head needs the column that it is to look at")
            change = (*where, one.row, one.column)
        else:
            change = where if one.kind == "silence" else (*where, one.row, one.column)
        groups.setdefault(one.kind, []).append(change)
    return groups


def changed(subject: Subject, asked: Sequence[HeadChange]) -> AbstractContextManager[None]:
    """The model with these changes, for the length of a with block."""
    groups: Any = changes(asked)
    return intervene(subject.reader.model, **groups) if groups else nullcontext()


def before_and_after(
    subject: Subject, given: ModelInput, asked: Sequence[HeadChange], stop: StopSignal
) -> EffectAnswer:
    """What the model says with its heads as they are, and as they are changed."""
    before = aim_of(subject, said_anew(subject, given))
    first = prediction(subject, before)
    stop.check()
    with changed(subject, asked):
        logs = before.logs(subject)
    stop.check()
    with changed(subject, asked):
        second = prediction(subject, aim_of(subject, said_anew(subject, given)))
    rows = [
        KeptToken(position=place, token=token, before=old, after=new)
        for place, (token, old, new) in enumerate(
            zip(before.tokens, first.probabilities, logs.exp().tolist(), strict=True)
        )
    ]
    return EffectAnswer(before=first, after=second, kept=rows)


@torch.no_grad()
def said_anew(subject: Subject, given: ModelInput) -> ModelInput:
    """The same source, with what the model itself says of it now."""
    if given.target is None:
        return given
    (target,) = subject.reader.say([given.source])
    return ModelInput(given.source, target)


def head_effects(
    subject: Subject, given: ModelInput, heads: Sequence[tuple[str, int]], stop: StopSignal
) -> HeadEffectsAnswer:
    """What each head's silence does to the mean log probability of what is said."""
    aim = aim_of(subject, given)
    if not aim.ids:
        raise Refusal(400, "The model says nothing of this text")
    before = aim.logs(subject)
    rows = []
    for site, head in heads:
        stop.check()
        with intervene(subject.reader.model, silence=(site, head)):
            change = aim.logs(subject) - before
        effect = float(change.mean())
        rows.append(HeadEffectRow(site=site, head=head, effect=effect, by_token=change.tolist()))
    return HeadEffectsAnswer(baseline=float(before.mean()), tokens=aim.tokens, rows=rows)
