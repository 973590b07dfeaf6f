"""A beam search with nothing hidden: at every step all that it thought of, and what it gave up.

It is decoding's own search, step by step on decoding's own state: what comes out is what `translate` says. A forced
token is one beside which nothing else may come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from regard.decoding import Beams, Hypothesis, Limits, Stepper, stepper_for
from regard.decoding.beam import rows_of
from regard.decoding.beam_state import BeamState
from regard.decoding.candidates import best_candidates
from regard.decoding.finite import NEVER, not_finite
from regard.lens.analysis.subject import Subject
from regard.server.refusals import Refusal
from regard.server.studio.look_reading import (
    TOP,
    ModelInput,
    TokenLimits,
    check_tokens,
    decoded,
    likeliest,
    read_logits,
    token_strings,
)
from regard.server.studio.schema import SearchAnswer, SearchCandidate, SearchRequest, SearchStep
from regard.server.studio.work_desk import StopSignal
from regard.tasks import Generator, Translator

SHOWN = 2  # candidates for each beam, at least
STEPS = 256  # of a search that is shown


@dataclass
class Thought:
    """One candidate: the text of its parent, and an id."""

    parent: int | None
    token: int
    logprob: float
    total: float
    score: float
    survives: bool
    finished: bool


@dataclass
class BeamTree:
    """The candidates of every step, numbered in the order they came; `open` are those that go on, by beam."""

    thoughts: list[Thought] = field(default_factory=list)
    steps: list[range] = field(default_factory=list)
    open: list[int | None] = field(default_factory=lambda: [None])

    def path(self, ids: Sequence[int]) -> list[int]:
        """The numbers of the candidates that say these ids, one after the other."""
        known = {(thought.parent, thought.token): number for number, thought in enumerate(self.thoughts)}
        path: list[int] = []
        for token in ids:
            number = known.get((path[-1] if path else None, token))
            if number is None:
                break
            path.append(number)
        return path


@dataclass(frozen=True)
class TreeSearch:
    """How to search, and what is forced at which step."""

    how: Beams
    limits: Limits
    forced: Mapping[int, int]
    stop: StopSignal

    @torch.no_grad()
    def run(self, stepper: Stepper, prompt_BN: Tensor) -> tuple[BeamTree, Hypothesis]:
        """The tree, and the best text of it."""
        tree, state = BeamTree(), BeamState.start(1, self.how, self.limits, prompt_BN.device)
        logits = stepper.advance(prompt_BN)
        for step in range(self.limits.longest):
            self.stop.check()
            logs = self.only_forced(self.limits.log_probabilities(logits, step), step)
            logs_BWV = logs.view(*state.running_BW.shape, logs.shape[-1])
            running = state.running_BW
            parents, ids = state.branch(logs_BWV, step)
            self.note(tree, running, logs_BWV, (parents, ids, state.running_BW), step)
            state.update_closed(self.how.best_divisors(step + 1, self.limits.longest))
            over, stuck = state.over_and_stuck()
            if step == self.limits.longest - 1 or stuck or all(over):
                break
            if step == 0:
                stepper.widen(self.how.width)
            else:
                stepper.follow(rows_of(parents, self.how.width))
            logits = stepper.advance(ids.view(-1, 1))
        if state.stuck():
            raise not_finite(logits, getattr(stepper, "model", None), step)
        return tree, state.results()[0][0]

    def only_forced(self, logs: Tensor, step: int) -> Tensor:
        """With one id at a step, nothing else may come there."""
        if step not in self.forced:
            return logs
        token = self.forced[step]
        only = torch.full_like(logs, NEVER)
        only[:, token] = logs[:, token]
        if not bool((only > NEVER).any()):
            raise Refusal(400, f"The token {token} may not come at step {step}: the model's settings ban it there")
        return only

    def note(
        self, tree: BeamTree, running_BW: Tensor, logs_BWV: Tensor, chosen: tuple[Tensor, Tensor, Tensor], step: int
    ) -> None:
        """What was thought of at this step, and which of it is gone on with."""
        width = self.how.width
        spare = max(1, len(self.limits.end)) * width
        thought_of = best_candidates(running_BW, logs_BWV, max(SHOWN * width, width + spare))
        first, divisor, last = len(tree.thoughts), self.how.divisor(step + 1), step == self.limits.longest - 1
        ending = self.limits.ends(thought_of.ids)[0].tolist()
        rows = zip(
            thought_of.parents[0].tolist(), thought_of.ids[0].tolist(), thought_of.scores[0].tolist(), strict=True
        )
        numbers: dict[tuple[int, int], int] = {}
        for place, (parent, token, total) in enumerate(rows):
            if total == NEVER:
                continue
            ended = ending[place] or last
            logprob = float(logs_BWV[0, parent, token])
            numbers[parent, token] = len(tree.thoughts)
            tree.thoughts.append(
                Thought(tree.open[parent], token, logprob, total, total / divisor, ended and place < width, ended)
            )
        tree.steps.append(range(first, len(tree.thoughts)))
        parents, ids, totals = (one[0].tolist() for one in chosen)
        going = [
            numbers.get((parent, token)) if total > NEVER else None
            for parent, token, total in zip(parents, ids, totals, strict=True)
        ]
        if not last:
            for number in going:
                if number is not None:
                    tree.thoughts[number].survives = True
        tree.open = going


def beam_tree(subject: Subject, asked: SearchRequest, limits: TokenLimits, stop: StopSignal) -> SearchAnswer:
    """The tree of a search for this text, with its words."""
    task: Any = getattr(subject.reader, "task", None)
    if not isinstance(task, (Translator, Generator)):
        raise Refusal(400, "The search of this model cannot be shown: that takes a translator, or a model that goes on")
    (row,) = subject.encoded([asked.text])
    check_tokens("text", len(row), limits)
    how, bounds = settings(task, asked, len(row))
    device = next(task.model.parameters()).device
    forced = forced_tokens(asked, task.model.config, bounds)
    stepper, prompt = stepper_for(task.model, torch.tensor([row], device=device))
    theirs = task.generation
    if isinstance(task, Translator) and theirs is not None and theirs.start is not None:
        prompt = torch.full_like(prompt, theirs.start)
    tree, best = TreeSearch(how, bounds, forced, stop).run(stepper, prompt)
    return answer_of(subject, row, tree, best)


def settings(task: Translator | Generator, asked: SearchRequest, prompt: int) -> tuple[Beams, Limits]:
    """As the task itself would search, with so many beams."""
    if isinstance(task, Translator):
        how, bounds = task.beams(asked.beams, None), task.limits(None)
    else:
        how, bounds = Beams(asked.beams, 0.0, penalty="power"), task.limits(40, prompt)
    longest = min(bounds.longest, STEPS)
    return how, Limits(
        longest, bounds.end, min(bounds.shortest, longest), bounds.banned, bounds.closing, bounds.renormalised
    )


def forced_tokens(asked: SearchRequest, config: Any, limits: Limits) -> dict[int, int]:
    """By step; each must be an id of the model."""
    forced = dict(enumerate(asked.prefix)) | {one.step: one.token_id for one in asked.forced}
    vocabulary = getattr(config, "target_vocabulary", None) or config.vocabulary
    for step, token in forced.items():
        if token >= vocabulary:
            raise Refusal(400, f"There is no token {token}: this model has {vocabulary:,}, counted from 0")
        if step >= limits.longest:
            raise Refusal(400, f"There is no step {step}: a search has at most {limits.longest:,} here")
    return forced


def answer_of(subject: Subject, row: list[int], tree: BeamTree, best: Hypothesis) -> SearchAnswer:
    """With tokens for ids."""
    ids = [*best.ids, *([] if best.end is None else [best.end])]
    path = tree.path(ids)
    known = sorted({thought.token for thought in tree.thoughts})
    names = {number: token_strings(subject, [number])[0] for number in known}
    candidates = [
        SearchCandidate(
            id=number, parent=one.parent, token=names[one.token], token_id=one.token, logprob=one.logprob,
            total=one.total, score=one.score, kept=one.survives, finished=one.finished,
        )
        for number, one in enumerate(tree.thoughts)
    ]  # fmt: skip
    return SearchAnswer(
        source=token_strings(subject, row, source=True),
        steps=[SearchStep(candidates=[candidates[number] for number in numbers]) for numbers in tree.steps],
        best=path[-1] if path else 0, path=path, output=decoded(subject, ids),
        tokens=token_strings(subject, ids), ids=ids, top=alternatives(subject, row, ids),
    )  # fmt: skip


def alternatives(subject: Subject, row: list[int], ids: list[int]) -> list[list[Any]]:
    """The likeliest tokens at each position of the output, by the model alone."""
    if not ids:
        return []
    if subject.pair:
        reader: Any = subject.reader
        logits = read_logits(subject, ModelInput(row, [reader.start, *ids]))
    else:
        logits = read_logits(subject, ModelInput([*row, *ids[:-1]], None))[len(row) - 1 :]
    return [likeliest(subject, one, TOP) for one in logits]
