"""Greedy search: always the likeliest next id."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.decoding.limits import Hypothesis, Limits
from regard.decoding.sampling import pick_in_turn
from regard.decoding.stepper import Stepper


@torch.no_grad()
def greedy(stepper: Stepper, prompt_BN: Tensor, limits: Limits) -> list[Hypothesis]:
    """One text for each row; its score is the sum of its log probabilities."""
    return pick_in_turn(stepper, prompt_BN, limits, lambda logs, _: logs.argmax(-1))
