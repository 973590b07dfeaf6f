"""Which layers of a fine-tuned model learn when, and how fast: from the top down (Howard and Ruder, 2018, "ULMFiT").

What lies on top is new to the task, and what lies below holds what all tasks need. A layer that is frozen has a rate of
0: so weights stand still bit for bit in every engine, recorded updates among them, while its moments are already those
of its gradients when it begins. It spares no time: the gradients of all layers are there.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from regard.training.recipe.recipe import Training

Group = dict[str, Any]
BOTTOM = {"embedding", "embedding_norm", "segments", "source", "target"}  # what makes vectors of words


def by_level(groups: list[Group], model: nn.Module, how: Training, rate: float | Tensor) -> list[Group]:
    """The optimizer's groups, each parted by the levels of the model, where its layers are not to learn alike.

    A rate that a recorded step reads is a tensor, of which every level then has its own.
    """
    if not (how.unfreeze or how.layer_decay < 1):
        return groups
    levels = levels_of(model)
    return [
        {**group, "params": chosen, "level": level, "lr": rate.clone() if isinstance(rate, Tensor) else rate}
        for group in groups
        for level in sorted(set(levels.values()))
        if (chosen := [weight for weight in group["params"] if levels[id(weight)] == level])
    ]


def levels_of(model: nn.Module) -> dict[int, int]:
    """How far every weight, by its id, lies below the top: 0 what is above all layers, then a number for each layer.

    Stacks that stand side by side, encoder and decoder, are counted from their own tops. Words come last. Where nothing
    is above the layers, since words are the output too, the topmost layers are 0: something learns from the first step.
    """
    stacks = [part for part in model.modules() if isinstance(part, nn.ModuleList)]
    lowest = max((len(stack) for stack in stacks), default=0) + 1
    levels = {
        id(weight): len(stack) - number
        for stack in stacks
        for number, layer in enumerate(stack)
        for weight in layer.parameters()
    }
    for name, weight in model.named_parameters():
        levels.setdefault(id(weight), lowest if BOTTOM & set(name.split(".")) else 0)
    top = min(levels.values(), default=0)
    return {weight: level - top for weight, level in levels.items()}


def share_at(step: float, level: int, lowest: int, how: Training) -> float:
    """How much of the schedule's rate a level has at a step: none while it is frozen, then less the lower it is."""
    frozen = level > 0 and step < how.unfreeze * how.steps * level / lowest
    share: float = 0.0 if frozen else how.layer_decay**level
    return share
