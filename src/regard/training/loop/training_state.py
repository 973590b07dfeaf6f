"""The tensors of a run that a checkpoint holds: weights, their average, the optimizer's memory, random numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.models.checkpoint import Model, own_tensors
from regard.training.optim.optimizer import Anchor, averaged_weights, moments, restore_moments
from regard.training.optim.shards import is_sharded, sharded_like, whole
from regard.training.optim.updates import Update
from regard.training.optim.workers import Workers

RNG = ("chance/cpu", "chance/cuda")  # what a checkpoint calls the first process's random numbers


@dataclass(frozen=True)
class TrainingState:
    """Gathers them, and puts them back where they were.

    Where weights are sharded, every process takes part in gathering them, and the first one has a model to hold them.
    """

    model: Model
    update: Update
    workers: Workers
    gathered: Model | None = None
    anchor: Anchor | None = None  # of the first process

    @property
    def whole_model(self) -> Model:
        """What the first process scores and writes."""
        return self.model if self.gathered is None else self.gathered

    def tensors(self) -> dict[str, Tensor]:
        """By the names that a checkpoint gives them, the same in every layout."""
        tensors = {f"model/{name}": tensor for name, tensor in own_tensors(self.model).items()}
        tensors |= {f"optimizer/{name}": tensor for name, tensor in moments(self.update.optimizer, self.model).items()}
        if self.update.average is not None:
            tensors |= {f"average/{name}": tensor for name, tensor in self.update.average.tensors().items()}
        return {name: whole(tensor, self.workers.first) for name, tensor in tensors.items()} | self.rng_state()

    def restore(self, tensors: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for name, weight in own_tensors(self.model).items():
                weight.copy_(sharded_like(tensors[f"model/{name}"], weight))
        restore_moments(self.update.optimizer, self.model, below(tensors, "optimizer/"))
        if self.update.average is not None:
            self.update.average.restore(below(tensors, "average/"))
        self.restore_rng(tensors)

    @contextmanager
    def evaluated(self) -> Iterator[None]:
        """For the length of a with block, `whole_model` has the weights to score: the average, where one is kept.

        Those of a fine-tuned model go back to its start by the share of its anchor.
        """
        average = self.update.average
        live = own_tensors(self.model)
        if any(map(is_sharded, live.values())):
            self.collect(live if average is None else average.tensors())
            with self.anchored():
                yield
            if self.gathered is not None:
                self.gathered.cpu()  # a device has better use for the room
        else:
            with averaged_weights(average if self.workers.first else None), self.anchored():
                yield

    def anchored(self) -> AbstractContextManager[None]:
        """For the length of a with block, `whole_model` has gone back to its start by the share of its anchor."""
        return nullcontext() if self.anchor is None else self.anchor.applied()

    @torch.no_grad()
    def collect(self, shards: dict[str, Tensor]) -> None:
        """Gather sharded weights, one after the other, in the first process's model."""
        wanted = {} if self.gathered is None else own_tensors(self.gathered)
        for name, shard in shards.items():
            full = whole(shard, self.workers.first)
            if name in wanted:
                wanted[name].copy_(full)
        if self.gathered is not None:
            self.gathered.to(next(self.model.parameters()).device)

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
