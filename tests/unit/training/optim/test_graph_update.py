"""What a GPU replays is the plain update: compared update by update, with graphs that are faked, and with real ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.training.data.task_batches import TaskBatch
from regard.training.loop.warm_up import WarmUp
from regard.training.optim.gradients import Gradients
from regard.training.optim.graph_update import GraphUpdate
from regard.training.optim.optimizer import optimizer_for
from regard.training.optim.updates import Update
from regard.training.optim.workers import Workers
from regard.training.recipe.recipe import Training
from tests.bounds import small_apart
from tests.faked_graphs import FakedGraph, graphs
from tests.families import FAMILIES
from tests.training_cases import EventRecorder
from tests.update_cases import CPU, TASKS, batch_for, objective

__all__ = ["graphs"]  # a fixture
HOW = {"steps": 8, "warmup": 3, "rate": 0.01, "clip": 0.5}
DROPOUT = {"dropout": 0.2, "attention_dropout": 0.1}
LAYERS: dict[str, Any] = {"unfreeze": 0.6, "layer_decay": 0.5}
NAN = float("nan")
WORDS = [30, NAN, NAN, 40, NAN, 20]  # in each batch: where they are no number, neither is the loss


def update_of(kind: type[Update], name: str, *, device: torch.device = CPU, **training: Any) -> Update:
    """Over fresh weights, the same for every kind; with the optimizer that a GPU has."""
    changes = {} if FAMILIES[name].config.family == "recurrent" else DROPOUT
    how = Training(**{**HOW, **training})
    model = FAMILIES[name].model(**changes).to(device).train()
    work = Gradients(model, objective(TASKS[name], **how.model_dump(exclude={"minutes"})), device, half=False)
    update = kind(model, how, work, Workers())
    update.optimizer = optimizer_for(model, how, fused=True)
    return update


def batches(name: str, count: int = 6) -> Iterator[TaskBatch]:
    """Two shapes in turn, every batch with other ids and, but for whole texts, other numbers of words."""
    for number in range(count):
        yield batch_for(name, seed=number, fixed=bool(number % 2))


def weights_of(update: Update) -> dict[str, Tensor]:
    average = {} if update.average is None else {f"average {n}": t for n, t in update.average.tensors().items()}
    return {**{name: tensor.detach() for name, tensor in update.model.named_parameters()}, **average}


def same_steps(one: Update, other: Update, work: Any) -> None:
    """Both take the same steps, drawing the same random numbers: losses, weights and averages to the last bit."""
    for step, batch in enumerate(work, start=1):
        losses = []
        for update in (one, other):
            torch.manual_seed(step)
            losses.append(update(batch, step).clone())
        torch.testing.assert_close(*losses, atol=0, rtol=0, equal_nan=True)
        assert one.skipped == other.skipped
        expected = weights_of(other)
        assert [name for name, tensor in weights_of(one).items() if not torch.equal(tensor, expected[name])] == []


@pytest.mark.parametrize("name", [name for name in TASKS if "recurrent" not in name])
@pytest.mark.parametrize("training", [{}, {"consistency": 2.0, "average": "moving"}, {"optimizer": "adam", "clip": 0}])
def test_what_is_replayed_is_the_plain_update(name: str, training: dict[str, Any], graphs: list[FakedGraph]) -> None:
    """The rate rises, agreement counts more and more, words differ: whatever is not read anew would show."""
    replayed, plain = (update_of(kind, name, **training) for kind in (GraphUpdate, Update))
    before = {name: tensor.clone() for name, tensor in weights_of(plain).items()}
    same_steps(replayed, plain, batches(name))
    assert [graph.replays for graph in graphs] == [3, 3]
    assert not any(torch.equal(before[name], tensor) for name, tensor in weights_of(plain).items() if tensor.ndim > 1)


@pytest.mark.parametrize("name", ["transformer post", "encoder class"])
def test_replayed_layers_begin_when_they_do_in_the_plain_update(name: str, graphs: list[FakedGraph]) -> None:
    """Their rates are read anew at every step: a layer that is frozen at the recording learns later all the same."""
    replayed, plain = (update_of(kind, name, **LAYERS) for kind in (GraphUpdate, Update))
    before = {name: tensor.clone() for name, tensor in weights_of(plain).items()}
    work = list(batches(name))
    same_steps(replayed, plain, work[:1])
    assert any(torch.equal(before[name], tensor) for name, tensor in weights_of(plain).items() if tensor.ndim > 1)
    same_steps(replayed, plain, work)
    assert not any(torch.equal(before[name], tensor) for name, tensor in weights_of(plain).items() if tensor.ndim > 1)


@pytest.mark.parametrize("average", ["none", "moving"])
def test_replayed_steps_without_a_number_are_skipped_and_counted(average: str, graphs: list[FakedGraph]) -> None:
    replayed, plain = (update_of(kind, "transformer post", average=average) for kind in (GraphUpdate, Update))
    work = [batch._replace(words=words) for batch, words in zip(batches("transformer post"), WORDS, strict=True)]
    same_steps(replayed, plain, work)
    assert replayed.skipped == (0, 3)
    assert len(graphs) == 2


def test_after_memory_ran_out_batches_in_parts_take_the_same_steps(
    graphs: list[FakedGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second shape finds no room to be recorded: what was recorded goes, and everything is plain from there on."""
    replayed, plain = (update_of(kind, "transformer separate") for kind in (GraphUpdate, Update))
    work = list(batches("transformer separate"))
    work[0] = work[0]._replace(words=NAN)  # and skipping it holds back no later one
    same_steps(replayed, plain, work[:1])
    with monkeypatch.context() as patch:
        patch.setattr(GraphUpdate, "warm", scarce)
        torch.manual_seed(2)
        replayed(work[1], 2)
    assert isinstance(replayed, GraphUpdate)
    assert not replayed.recordings
    plain.gradients.parts = replayed.gradients.parts
    assert plain.gradients.parts == 2
    torch.manual_seed(2)
    plain(work[1], 2)
    same_steps(replayed, plain, work[2:])
    assert [graph.replays for graph in graphs] == [1]


def scarce(update: GraphUpdate, inputs: Any) -> None:
    raise torch.OutOfMemoryError("CUDA out of memory")


def test_recording_draws_no_random_number_and_changes_no_weight(graphs: list[FakedGraph]) -> None:
    update, batch = update_of(GraphUpdate, "decoder"), batch_for("decoder")
    assert isinstance(update, GraphUpdate)
    before = {name: tensor.clone() for name, tensor in weights_of(update).items()}
    state = torch.get_rng_state()
    update.record(batch.tensors)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(before[name], tensor) for name, tensor in weights_of(update).items())


def test_recordings_are_announced_as_they_come(graphs: list[FakedGraph]) -> None:
    heard = EventRecorder()
    update = update_of(GraphUpdate, "decoder")
    assert isinstance(update, GraphUpdate)
    update.warm_up = WarmUp(heard, 2, False)
    for step, batch in enumerate(batches("decoder", 4), start=1):
        update(batch, step)
    assert [note.split(":")[0] for note in heard.notes.split("\n")] == ["warming up", "warmed up"]


def test_two_replays_drop_other_cells(graphs: list[FakedGraph]) -> None:
    update, batch = update_of(GraphUpdate, "transformer post", rate=1e-30), batch_for("transformer post")
    losses = {float(update(batch, step)) for step in range(1, 6)}
    assert len(losses) == 5


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("training", [{}, {"consistency": 2.0, "average": "moving"}, LAYERS])
def test_on_a_gpu_what_is_replayed_is_the_plain_update(training: dict[str, Any]) -> None:
    nearly_the_same_steps(torch.device("cuda"), training)


def test_what_is_asked_of_a_gpu_holds_of_a_faked_one(graphs: list[FakedGraph]) -> None:
    nearly_the_same_steps(CPU, {"consistency": 2.0, "average": "moving"})


def nearly_the_same_steps(device: torch.device, training: dict[str, Any]) -> None:
    """On a GPU without dropout, since a graph's random numbers are others than the plain update's.

    With an epsilon as large as the rate, what rounding makes of a gradient moves a weight no further than that.
    """
    how = {**training, "epsilon": 1e-2}
    replayed, plain = (update_of(kind, "transformer post", device=device, **how) for kind in (GraphUpdate, Update))
    for update in (replayed, plain) if device.type == "cuda" else ():
        silence(update.model)
    work = [batch._replace(words=words) for batch, words in zip(batches("transformer post"), WORDS, strict=True)]
    for step, batch in enumerate(work, start=1):
        torch.manual_seed(step)
        loss = replayed(batch, step)
        torch.manual_seed(step)
        expected = plain(batch, step)
        torch.testing.assert_close(loss, expected, atol=step * small_apart(10), rtol=0, equal_nan=True)
        assert replayed.skipped == plain.skipped
    for name, weight in weights_of(plain).items():
        bound = len(work) * small_apart(weight)
        torch.testing.assert_close(weights_of(replayed)[name], weight, atol=bound, rtol=0)
    assert isinstance(replayed, GraphUpdate)
    assert len(replayed.recordings) == 2


def silence(model: nn.Module) -> None:
    for part in model.modules():
        if hasattr(part, "dropout"):
            part.dropout = 0.0
    model.config = replace(model.config, dropout=0.0)  # type: ignore[arg-type]
