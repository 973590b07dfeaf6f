"""Updates of several processes beside those of one: each of these functions runs in every process, and compares."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from regard.models.checkpoint import own_tensors
from regard.training.data.task_batches import TaskBatch
from regard.training.loop.distributed import process_group
from regard.training.optim.engines import engine_for
from regard.training.optim.gradients import Gradients
from regard.training.optim.shards import whole
from regard.training.optim.updates import Update
from regard.training.optim.workers import Workers
from regard.training.recipe.recipe import Training
from tests.bounds import small_apart
from tests.families import FAMILIES
from tests.update_cases import CPU, ERRORS, TASKS, batch_for, objective

HOW = {"average": "moving", "decay": 0.5, "epsilon": 1e-2, "warmup": 0, "clip": 0.5}


def update_for(model: nn.Module, name: str, workers: Workers, loss: Any = None, **training: Any) -> Update:
    how = Training(**{**HOW, **training})
    loss = loss or objective(TASKS[name])
    engine = engine_for(model, loss, how, workers)
    return Update(model, how, Gradients(model, loss, CPU, half=False, engine=engine), workers)


def numbers_of(update: Update) -> dict[str, Tensor]:
    """All weights and their averages, whatever the layout; every process asks."""
    assert update.average is not None
    tensors = {f"model/{name}": tensor for name, tensor in own_tensors(update.model).items()}
    tensors |= {f"average/{name}": tensor for name, tensor in update.average.tensors().items()}
    return {name: whole(tensor).detach().clone() for name, tensor in tensors.items()}


def compare(found: dict[str, Tensor], wanted: dict[str, Tensor], steps: int) -> None:
    """Each step goes as far as its rate, 0.001, times a gradient, clipped to 0.5, over an epsilon of 0.01."""
    assert found.keys() == wanted.keys()
    for name, tensor in wanted.items():
        assert found[name].shape == tensor.shape
        torch.testing.assert_close(found[name], tensor, atol=steps * 0.001 * small_apart() / 0.01, rtol=0, msg=name)


def few(batch: TaskBatch, rows: int) -> TaskBatch:
    """Its first rows alone, with as many words as are asked for in them."""
    tensors = {name: tensor[:rows] for name, tensor in batch.tensors.items()}
    return TaskBatch(tensors, int((tensors["labels"] >= 0).sum()), batch.tokens)


def run(case: str, *arguments: str) -> None:
    """One of the cases below. What it makes is gone before the group is: Gloo waits for nobody who holds on to it."""
    with process_group(CPU) as workers:
        globals()[case](workers, *arguments)


def like_one(workers: Workers, layout: str) -> None:
    """Losses, weights and averages of every family: of seven rows, and of one, which leaves most without any."""
    for name in TASKS:
        model = FAMILIES[name].model().train()
        alone = update_for(copy.deepcopy(model), name, Workers())
        together = update_for(model, name, workers, layout=layout)
        compare(numbers_of(together), numbers_of(alone), 0)
        for step, (rows, parts) in enumerate([(7, 1), (1, 1), (7, 2), (2, 2)], 1):
            batch = few(batch_for(name, step), rows)
            together.gradients.parts = parts
            loss = alone(batch, step)
            torch.testing.assert_close(together(batch, step), loss, atol=2 * step * small_apart(loss), rtol=0)
        compare(numbers_of(together), numbers_of(alone), step)


def guided_like_one(workers: Workers) -> None:
    """With a guided head too, of which the rows of one process know nothing in another."""
    name = "transformer post"
    model, loss = FAMILIES[name].model().train(), objective("translate", guided_alignment=0.7)
    alone = update_for(copy.deepcopy(model), name, Workers(), loss)
    together = update_for(model, name, workers, loss)
    for step, (rows, parts) in enumerate([(7, 1), (1, 1), (7, 2)], 1):
        batch = few(batch_for(name, step, linked=True), rows)
        together.gradients.parts = parts
        wanted = alone(batch, step)
        torch.testing.assert_close(together(batch, step), wanted, atol=2 * step * small_apart(wanted), rtol=0)
    compare(numbers_of(together), numbers_of(alone), step)


def skipped_together(workers: Workers, layout: str) -> None:
    """One process whose gradient is not finite is enough: nobody moves, and the next step is as if nothing was."""
    name = "transformer post"
    model = FAMILIES[name].model().train()
    bad = [workers.rank == workers.count - 1]
    plain = objective(TASKS[name])

    def loss(*what: Any) -> Tensor:
        value: Tensor = plain(*what)
        return value * float("inf") if bad[0] else value

    alone = update_for(copy.deepcopy(model), name, Workers())
    together = update_for(model, name, workers, loss, layout=layout)
    before = numbers_of(together)
    together(batch_for(name), 1)
    assert together.skipped == (1, 1)
    assert all(torch.equal(tensor, before[key]) for key, tensor in numbers_of(together).items())
    bad[0] = False
    together(batch_for(name), 2)
    alone(batch_for(name), 2)
    assert together.skipped == (0, 1)
    compare(numbers_of(together), numbers_of(alone), 1)


def split_together(workers: Workers) -> None:
    """Memory that runs out in one process, before others have its numbers, makes all of them take smaller parts."""
    name = "transformer post"
    model = FAMILIES[name].model().train()
    plain = objective(TASKS[name])

    def loss(model: Any, batch: dict[str, Tensor], weight: Tensor) -> Tensor:
        if workers.rank == 1 and len(batch["labels"]) > 1:
            raise ERRORS["cuda"]()
        return plain(model, batch, weight)

    alone = update_for(copy.deepcopy(model), name, Workers())
    together = update_for(model, name, workers, loss)
    for step in (1, 2):
        wanted = alone(batch_for(name), step)
        found = together(batch_for(name), step)
        torch.testing.assert_close(found, wanted, atol=2 * step * small_apart(wanted), rtol=0)
        compare(numbers_of(together), numbers_of(alone), step)
        assert workers.gather(together.gradients.parts) == [2] * workers.count
