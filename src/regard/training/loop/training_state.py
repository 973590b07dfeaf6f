"""The tensors of a run that a checkpoint holds: weights, their average, the optimizer's memory, random numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.models.checkpoint import Model, own_tensors
from regard.training.optim.optimizer import moments, restore_moments
from regard.training.optim.updates import Update
from regard.training.optim.workers import Workers

RNG = ("chance/cpu", "chance/cuda")  # what a checkpoint calls the first process's random numbers


@dataclass(frozen=True)
class TrainingState:
    """Gathers them, and puts them back where they were."""

    model: Model
    update: Update
    workers: Workers

    def tensors(self) -> dict[str, Tensor]:
        """By the names that a checkpoint gives them."""
        tensors = {f"model/{name}": tensor for name, tensor in own_tensors(self.model).items()}
        tensors |= {f"optimizer/{name}": tensor for name, tensor in moments(self.update.optimizer, self.model).items()}
        if self.update.average is not None:
            tensors |= {f"average/{name}": tensor for name, tensor in self.update.average.tensors().items()}
        return tensors | self.rng_state()

    def restore(self, tensors: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for name, weight in own_tensors(self.model).items():
                weight.copy_(tensors[f"model/{name}"])
        restore_moments(self.update.optimizer, self.model, below(tensors, "optimizer/"))
        if self.update.average is not None:
            self.update.average.restore(below(tensors, "average/"))
        self.restore_rng(tensors)

    def rng_state(self) -> dict[str, Tensor]:
        """Of this process; those of the others stand beside the first's in a checkpoint, under their ranks."""
        on_gpu = next(self.model.parameters()).is_cuda
        states = [torch.get_rng_state(), *([torch.cuda.get_rng_state()] if on_gpu else [])]
        end = "" if self.workers.first else f"/{self.workers.rank}"
        return {f"{name}{end}": state for name, state in zip(RNG, states, strict=False)}

    def restore_rng(self, tensors: dict[str, Tensor]) -> None:
        """Each process goes on with its own dropout; one that the checkpoint does not know gets some of its own."""
        own = self.rng_state()
        if not own.keys() & tensors.keys():
            torch.manual_seed(seed_of([tensors[name] for name in RNG if name in tensors], self.workers.rank))
        for name in own.keys() & tensors.keys():
            (torch.cuda.set_rng_state if "/cuda" in name else torch.set_rng_state)(tensors[name])


def seed_of(states: Sequence[Tensor], rank: int) -> int:
    """A process's own seed, from where the first process's random numbers stand."""
    stand = b"".join(bytes(state.tolist()) for state in states)
    return int.from_bytes(hashlib.blake2b(stand + rank.to_bytes(4), digest_size=7).digest())


def processes_of(tensors: dict[str, Tensor]) -> int:
    """How many processes have their random numbers in a checkpoint."""
    return sum(name == RNG[0] or name.startswith(f"{RNG[0]}/") for name in tensors)


def below(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
