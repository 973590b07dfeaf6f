"""A whole step of a beam search over buffers that never move, so that a GPU can record it once and replay it.

Reading the newest words, choosing among what may follow, ending and ordering the beams: nothing of it waits for the
host, which looks only every few steps whether all is done. On a CPU the same step runs as it stands; so tests hold
what it means. On a GPU a recording is compared with the step itself before it is used.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from copy import copy
from dataclasses import replace

import torch
from torch import Tensor

from regard.decoding.beam_state import BeamState, results_of
from regard.decoding.beams import Beams
from regard.decoding.cache import KeyValueCache
from regard.decoding.candidates import best_candidates
from regard.decoding.finite import NEVER, not_finite
from regard.decoding.leaving import worth_leaving
from regard.decoding.limits import Hypothesis, Limits
from regard.decoding.static_cache import StaticCache
from regard.decoding.stepper import DecoderStepper, TransformerStepper
from regard.models import Decoder, Transformer

LOOK = 4  # steps between two looks of the host
HALF = 2  # one in so many texts must be done before the others go on alone: each size of a batch is recorded first
FEWEST = 32  # texts that stay together to the end: fewer of them would hardly take less time
ROOM = 32  # steps that buffers have room for at first; then twice as many, and so on
Replay = Callable[[], None]
Record = Callable[["BeamStep"], tuple["BeamStep", Replay]]  # the step that is replayed may be another of the same shape


class BeamStep:
    """One step of the search, after the prompt was read and has branched."""

    def __init__(
        self, stepper: TransformerStepper | DecoderStepper, state: BeamState, parents: Tensor, ids: Tensor
    ) -> None:
        how, limits, device = state.how, state.limits, ids.device
        self.limits, self.memory = limits, getattr(stepper, "memory", None)
        self.model_ref: weakref.ref[Transformer | Decoder] = weakref.ref(stepper.model)  # a recording outlives no model
        self.state, self.parents, self.ids = state, parents.clone(), ids.clone()
        self.source_mask = None if stepper.mask is None else stepper.mask.clone()
        self.cache = StaticCache(stepper.cache, len(ids), how.width, len(state.ids_TBW))
        self.number = torch.ones(1, dtype=torch.long, device=device)  # of the step, from 0: the first has been made
        divisors = [how.divisor(max(length, 1)) for length in range(limits.longest + 2)]
        self.divisors = torch.tensor(divisors, device=device)
        banned, ends, closing = (torch.zeros(state.vocabulary, dtype=torch.bool, device=device) for _ in range(3))
        banned[list(limits.banned)] = True
        ends[list(limits.end)] = True
        closing[[] if limits.closing is None else [limits.closing]] = True
        self.banned, self.ends, self.closing = banned, ends, torch.zeros_like(closing, dtype=torch.float32)
        self.closing.masked_fill_(~closing, NEVER)

    def run(self) -> None:
        """Read the newest ids, branch, and leave everything where the next step finds it."""
        self.cache.follow(self.parents)
        logs_BWV = self.log_probabilities(self.read())
        state = replace(self.state)
        candidates = best_candidates(state.running_BW, logs_BWV, state.how.width + state.spare)
        ending = self.limits.ends(candidates.ids) | (self.number == self.limits.longest - 1)
        state.close(candidates, ending, self.number, self.divisors[self.number + 1])
        state.running_BW, parents, ids = state.best_open(candidates, ending)
        state.update_closed(self.best_divisors())
        for history, newest in ((self.state.parents_TBW, parents), (self.state.ids_TBW, ids)):
            history.index_copy_(0, self.number, newest[None])
        self.parents.copy_(parents)
        self.ids.copy_(ids)
        for old, new in zip(changing(self.state), changing(state), strict=True):
            old.copy_(new)
        self.number.add_(1)
        self.cache.turn()

    def read(self) -> Tensor:
        """Logits (B, W, vocabulary): the beams of a text stand side by side like words."""
        model = self.model_ref()
        if isinstance(model, Transformer):
            assert self.memory is not None
            return model.decode(self.ids, self.memory, self.source_mask, self.cache)
        assert model is not None
        logits: Tensor = model(self.ids, None, self.cache)
        return logits

    def log_probabilities(self, logits: Tensor) -> Tensor:
        """As `Limits` says, at a step whose number only the device knows."""
        logs, limits = logits.float().log_softmax(-1), self.limits
        if limits.banned or limits.shortest > 1:
            forbidden = self.banned | (self.ends & (self.number < limits.shortest - 1))
            logs = logs.masked_fill(forbidden, NEVER)
            logs = torch.where(forbidden.any(), logs.log_softmax(-1), logs) if limits.renormalised else logs
        if limits.closing is None:
            return logs
        return torch.where(self.number == limits.longest - 1, self.closing, logs)

    def best_divisors(self) -> list[Tensor]:
        """Of the lengths at which an open text may do best."""
        if self.state.how.stop != "proven":
            return [self.divisors[self.number + 1]]
        return [self.divisors[self.number + 2], self.divisors[self.limits.longest]]

    def tensors(self) -> list[Tensor]:
        """All that a step changes."""
        history = [self.state.parents_TBW, self.state.ids_TBW]
        source = [] if self.source_mask is None else [self.source_mask]
        return [self.parents, self.ids, self.number, *source, *history, *changing(self.state), *self.cache.tensors()]

    def select(self, texts: Tensor) -> BeamStep:
        """A step that goes on with these texts, in buffers of its own."""
        other = copy(self)
        other.number, other.cache = self.number.clone(), self.cache.select(texts)
        other.state, other.parents, other.ids = self.state.select(texts), self.parents[texts], self.ids[texts]
        other.source_mask = None if self.source_mask is None else self.source_mask[texts]
        return other

    def grown(self) -> BeamStep:
        """The same with room for twice as many steps, or as many as there may be."""
        room = len(self.state.ids_TBW)
        more = min(room, self.limits.longest - room)
        other = self.select(torch.arange(len(self.ids), device=self.ids.device))
        other.cache.grow(more)
        for name in ("ids_TBW", "parents_TBW"):
            history = getattr(other.state, name)
            setattr(other.state, name, torch.cat([history, history.new_zeros(more, *history.shape[1:])]))
        return other


def changing(state: BeamState) -> list[Tensor]:
    return [state.running_BW, state.ended_scores_BW, state.ended_BW, state.closed_B]


@torch.no_grad()
def static_beam(
    stepper: TransformerStepper | DecoderStepper, prompt_BN: Tensor, limits: Limits, how: Beams, record: Record
) -> list[list[Hypothesis]]:
    """What `beam` finds, by recorded steps."""
    state = BeamState.start(len(prompt_BN), how, limits, prompt_BN.device, room=ROOM)
    logits = stepper.advance(prompt_BN)
    parents, ids = state.branch(limits.log_probabilities(logits, 0)[:, None], 0)
    state.update_closed(how.best_divisors(1, limits.longest))
    results: dict[int, list[Hypothesis]] = {}
    numbers, step, length = list(range(len(prompt_BN))), BeamStep(stepper, state, parents, ids), 1
    stepper.cache = KeyValueCache()  # what it held stands in the buffers of the step
    over, stuck = state.over_and_stuck()
    replay: Replay | None = None
    while length < limits.longest and not stuck and not all(over):
        if worth_leaving(over, HALF) and len(over) > FEWEST:
            results |= results_of(step.state, numbers, over)
            rest = [row for row, done in enumerate(over) if not done]
            rest += [over.index(True)] * (len(over) // 2 - len(rest))  # so that sizes are few
            numbers, replay = [numbers[row] for row in rest], None
            step = step.select(torch.tensor(rest, device=ids.device))
        if length == len(step.state.ids_TBW):
            step, replay = step.grown(), None
        if replay is None:
            step, replay = record(step)
        count = min(LOOK, len(step.state.ids_TBW) - length)
        for _ in range(count):
            replay()
        length += count
        over, stuck = step.state.over_and_stuck()
    if step.state.stuck():
        raise not_finite(step.read().flatten(0, 1), stepper.model, length - 1)
    results |= results_of(step.state, numbers, [True] * len(numbers))
    return [results[number] for number in range(len(prompt_BN))]
