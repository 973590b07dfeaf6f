"""One update after another: steps that are skipped, gradients that are clipped, processes that wait for none."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.errors import InputError
from regard.training.loop.checkpoint_files import checkpoints, read_state
from regard.training.optim.gradients import Gradients
from regard.training.optim.graph_update import GraphUpdate
from regard.training.optim.updates import SkippedSteps, Update
from regard.training.optim.workers import Workers
from regard.training.recipe.recipe import Training
from regard.training.report.events import Saved, Stepped
from regard.training.run import run_builder
from tests.families import FAMILIES
from tests.training_cases import TINY, EventRecorder, Stop, go
from tests.update_cases import CPU, batch_for, objective, poisoned


def test_a_step_without_a_number_is_skipped_and_told(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poisoned(monkeypatch, {4, 5, 6})
    heard = EventRecorder()
    quiet = {"training.average": "moving", "training.checkpoint_every": 1, "training.validate_every": 10,
             "training.keep": 20}  # fmt: skip
    assert go(corpus, tmp_path, TINY, quiet, listener=heard).status == "finished"
    assert [line for line in heard.warnings.split("\n") if "not a number" in line] == [
        f"step {step}: the loss or a gradient is not a number; skipped ({step - 3} in all)" for step in (4, 5, 6)
    ]
    states = {
        position.step: (position, tensors)
        for position, tensors in map(read_state, checkpoints(tmp_path / "checkpoints"))
    }
    assert {step: (states[step][0].bad, states[step][0].skipped) for step in (3, 4, 6, 7, 10)} == {
        3: (0, 0), 4: (1, 1), 6: (3, 3), 7: (0, 3), 10: (0, 3),
    }  # fmt: skip
    still = {name: t for name, t in states[3][1].items() if not name.startswith("chance/")}
    assert all(torch.equal(states[6][1][name], tensor) for name, tensor in still.items())
    assert any(not torch.equal(states[7][1][name], tensor) for name, tensor in still.items())


def test_only_an_infinite_gradient_is_enough_to_skip() -> None:
    model, batch = FAMILIES["transformer post"].model(), batch_for("transformer post")
    how = Training()
    update = Update(model, how, Gradients(model, objective("translate"), CPU, half=False), Workers())
    before = copy.deepcopy(model.state_dict())
    handle = next(model.parameters()).register_hook(lambda gradient: gradient * float("inf"))
    assert bool(update(batch, 1).isfinite())
    handle.remove()
    assert update.skipped == (1, 1)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    update(batch, 2)
    assert update.skipped == (0, 1)


def test_ten_such_steps_in_a_row_end_the_run_with_advice(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poisoned(monkeypatch, set(range(6, 100)))
    how = {"training.steps": 30, "training.validate_every": 30, "training.checkpoint_every": 2}
    with pytest.raises(InputError, match="10 steps in a row") as error:
        go(corpus, tmp_path, TINY, how)
    assert "training.rate" in error.value.do
    assert "step 15" in error.value.found
    tensors = read_state(checkpoints(tmp_path / "checkpoints")[0])[1]
    assert all(bool(tensor.isfinite().all()) for name, tensor in tensors.items() if tensor.is_floating_point())
    monkeypatch.undo()
    assert go(corpus, tmp_path, TINY, how).step == 30


def test_nine_in_a_row_across_an_interruption_still_count(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = {"training.steps": 30, "training.validate_every": 30, "training.checkpoint_every": 1}
    with monkeypatch.context() as patch:
        poisoned(patch, set(range(1, 10)))
        with pytest.raises(Stop):
            go(corpus, tmp_path, TINY, how, listener=EventRecorder(lambda e: isinstance(e, Saved) and e.step == 9))
    with monkeypatch.context() as patch:
        poisoned(patch, {1})
        with pytest.raises(InputError, match="10 steps in a row"):
            go(corpus, tmp_path, TINY, how)


class Whole(GraphUpdate):
    """A GPU's updates on a CPU: whole batches are worked through in full each time, where a GPU replays a recording."""

    def __init__(self, *what: Any) -> None:
        super().__init__(*what)
        self.optimizer = torch.optim.AdamW(self.weights, fused=True)

    def record(self, example: Any) -> Callable[[Any], Tensor]:
        self.optimizer.found_inf = self.bad
        return self.whole


def whole_update() -> Whole:
    model = FAMILIES["transformer post"].model()
    return Whole(model, Training(), Gradients(model, objective("translate"), CPU, half=False), Workers())


def test_skipped_steps_in_a_row_are_counted_over_whole_batches_and_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    update, batch = whole_update(), batch_for("transformer post")
    update.skipped = SkippedSteps(2, 5)  # as a checkpoint says
    with monkeypatch.context() as patch:
        poisoned(patch, {1, 2, 3, 4, 5})
        update(batch, 1)
        assert update.skipped == (3, 6)
        update.gradients.parts = 2
        update(batch, 2)
        assert update.skipped == (4, 7)
    update(batch, 3)
    assert update.skipped == (0, 7)


def test_a_good_step_of_a_whole_batch_ends_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    update, batch = whole_update(), batch_for("transformer post")
    poisoned(monkeypatch, {1, 2, 4, 5})
    counted = []
    for step in range(1, 5):
        update.gradients.parts = 1 if step < 4 else 2
        update(batch, step)
        counted.append(update.skipped)
    assert counted == [(1, 1), (2, 2), (0, 2), (1, 3)]


def test_a_skipped_whole_batch_does_not_hold_back_the_parts_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    update, batch = whole_update(), batch_for("transformer post")
    poisoned(monkeypatch, {1})
    before = copy.deepcopy(update.model.state_dict())
    update(batch, 1)
    assert all(torch.equal(before[name], tensor) for name, tensor in update.model.state_dict().items())
    update.gradients.parts = 2
    update(batch, 2)
    assert any(not torch.equal(before[name], tensor) for name, tensor in update.model.state_dict().items())


def test_ten_in_a_row_end_a_run_whose_batches_go_through_in_parts(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_builder, "Update", Whole)
    poisoned(monkeypatch, set(range(6, 1000)))
    with pytest.raises(InputError, match="10 steps in a row"):
        go(corpus, tmp_path, TINY, {"training.steps": 30, "training.micro_batches": 2})


def test_gradients_are_clipped_to_the_length_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = FAMILIES["decoder"].model(), batch_for("decoder")
    update = Update(model, Training(clip=0.01), Gradients(model, objective("generate"), CPU, half=False), Workers())
    update(batch, 1)
    norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
    torch.testing.assert_close(norm, torch.tensor(0.01), atol=1e-5, rtol=1e-3)


def test_steps_tell_where_training_stands(corpus: Path, tmp_path: Path) -> None:
    heard = EventRecorder()
    go(corpus, tmp_path, TINY, listener=heard)
    steps = heard.of(Stepped)
    assert [event.step for event in steps] == list(range(1, 11))
    assert all(event.steps == 10 and event.loss > 0 and event.tokens_per_second > 0 for event in steps)
    assert [event.seconds for event in steps] == sorted(event.seconds for event in steps)
