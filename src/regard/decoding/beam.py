"""Beam search: several texts at once, the best by score over a penalty for length."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.decoding.beam_state import BeamState, results_of
from regard.decoding.beams import Beams
from regard.decoding.finite import not_finite
from regard.decoding.leaving import worth_leaving
from regard.decoding.limits import Hypothesis, Limits
from regard.decoding.stepper import Stepper


@torch.no_grad()
def beam(stepper: Stepper, prompt_BN: Tensor, limits: Limits, how: Beams) -> list[list[Hypothesis]]:
    """The best `how.width` texts of each row, best first."""
    state = BeamState.start(len(prompt_BN), how, limits, prompt_BN.device)
    results: dict[int, list[Hypothesis]] = {}
    numbers = list(range(len(prompt_BN)))  # of the texts that are still there
    logits = stepper.advance(prompt_BN)
    for step in range(limits.longest):
        logs = limits.log_probabilities(logits, step)
        parents, ids = state.branch(logs.view(*state.running_BW.shape, logs.shape[-1]), step)
        state.update_closed(how.best_divisors(step + 1, limits.longest))
        over, stuck = state.over_and_stuck()
        if step == limits.longest - 1 or stuck or all(over):
            break
        if step == 0:
            stepper.widen(how.width)  # all beams come from the prompt
        else:
            stepper.follow(rows_of(parents, how.width))
        if not stepper.followed and worth_leaving(over):
            results |= results_of(state, numbers, over)
            rest = torch.tensor([number for number, done in enumerate(over) if not done], device=ids.device)
            stepper.select(rest)
            state, ids, numbers = state.select(rest), ids[rest], [numbers[row] for row in rest.tolist()]
        logits = stepper.advance(ids.view(-1, 1))
    if state.stuck():
        raise not_finite(logits, getattr(stepper, "model", None), step)
    results |= results_of(state, numbers, [True] * len(numbers))
    return [results[number] for number in range(len(prompt_BN))]


def rows_of(parents_BW: Tensor, width: int) -> Tensor:
    """The rows of the batch that these beams, counted within each text, stand in."""
    first = torch.arange(0, len(parents_BW) * width, width, device=parents_BW.device)
    return (parents_BW + first[:, None]).flatten()
