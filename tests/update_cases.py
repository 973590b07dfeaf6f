"""Batches of every task for models of every family, and steps that go wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.text.batches import Budget, Spec
from regard.text.store import Store
from regard.training.data.task_batches import (
    IGNORE_INDEX,
    EpochSampler,
    LabelledLoader,
    MaskedLoader,
    PairLoader,
    TaskBatch,
)
from regard.training.optim.gradients import Gradients
from regard.training.optim.loss import objective_for
from regard.training.recipe.recipe import read_recipe
from tests.bounds import small_apart

CPU = torch.device("cpu")


TASKS = {
    "transformer post": "translate", "transformer separate": "translate", "recurrent": "translate",
    "recurrent attention": "translate", "decoder": "generate", "encoder mask": "mask", "encoder class": "classify",
}  # fmt: skip


def objective(task: str, **training: Any) -> Any:
    return objective_for(read_recipe({"task": task, "data": {"train": "x"}, "training": training}))


def batch_for(name: str, seed: int = 0, fixed: bool = False, linked: bool = False) -> TaskBatch:
    """Seven rows of different lengths, laid out as training does; `fixed`: padded to more rows and more places.

    `linked`: with links between tokens, which guide a head.
    """
    rng = np.random.default_rng(seed)

    def store() -> Store:
        return Store.of([[*rng.integers(3, 19, n), 2] for n in (3, 5, 1, 6, 2, 4, 5)])

    sampler = EpochSampler(Budget(64), seed)
    spec = Spec(np.arange(7), 10 if fixed else 7, (11, 12) if fixed else None)
    task = TASKS[name]
    if task == "translate":
        source, target = store(), store()
        links = Store.of([token_links(rng, row) for row in zip(source.lengths, target.lengths, strict=True)])
        loader: Any = PairLoader(sampler, source, target, 0, 1, links if linked else None)
        loader.epoch(0)
        return loader.build(spec)
    if task == "classify":
        return LabelledLoader(sampler, store(), np.arange(7) % 3, 0).build(spec)
    if task == "mask":
        return MaskedLoader(sampler, store(), 0, 18, 19, (1, 2), 0.4).build(spec)
    ids = torch.from_numpy(rng.integers(3, 19, (10 if fixed else 7, 9)))
    labels = ids[:, 1:].clone()
    labels[7:] = IGNORE_INDEX
    return TaskBatch({"ids": ids[:, :-1], "labels": labels}, 56, 56)


def token_links(rng: np.random.Generator, lengths: tuple[int, int]) -> list[int]:
    """For some target tokens but the end a source token or two: target, source, target, source ..."""
    source, target = (int(length) - 1 for length in lengths)
    pairs = {(t, int(s)) for t in range(0, target, 2) for s in rng.integers(0, source, 2)}
    return [number for pair in sorted(pairs) for number in pair]


def gradients_of(model: nn.Module) -> dict[str, Tensor]:
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def close(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> None:
    assert found.keys() == wanted.keys()
    for name in wanted:
        bound = small_apart(wanted[name])
        torch.testing.assert_close(found[name], wanted[name], atol=bound, rtol=0, msg=lambda m, n=name: n + m)


ERRORS = {
    "cuda": lambda: torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
    "cpu": lambda: RuntimeError("[enforce fail] DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes"),
    "python": MemoryError,
}


def poisoned(monkeypatch: pytest.MonkeyPatch, steps: set[int]) -> list[int]:
    """From now on the loss is no number at some steps."""
    one, count = Gradients.one, [0]

    def bad(self: Gradients, batch: Any, *more: Any) -> Tensor:
        count[0] += 1
        loss = one(self, batch, *more)
        if count[0] in steps:
            for weight in self.model.parameters():
                weight.grad.fill_(float("nan"))
            return loss * float("nan")
        return loss

    monkeypatch.setattr(Gradients, "one", bad)
    return count
