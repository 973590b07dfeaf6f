"""The gradients of parts add up to those of the whole, also when memory runs out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.errors import InputError
from regard.training.data.task_batches import (
    part_of,
)
from regard.training.loop.checkpoint_files import checkpoints, read_state
from regard.training.optim.gradients import Gradients
from regard.training.report.events import Saved
from tests.bounds import small_apart
from tests.families import FAMILIES
from tests.training_cases import TINY, EventRecorder, Stop, go
from tests.update_cases import CPU, ERRORS, TASKS, batch_for, close, gradients_of, objective


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("parts", [2, 4, 8])
def test_the_gradients_of_parts_add_up_to_those_of_the_whole(name: str, parts: int) -> None:
    model, batch = FAMILIES[name].model(), batch_for(name)
    work = Gradients(model, objective(TASKS[name]), CPU, half=False)
    whole = work(batch, batch.words)
    wanted = gradients_of(model)
    work.parts = parts
    torch.testing.assert_close(work(batch, batch.words), whole, atol=small_apart(whole), rtol=0)
    close(gradients_of(model), wanted)


@pytest.mark.parametrize("name", TASKS)
def test_the_gradients_of_workers_add_up_to_those_of_the_whole(name: str) -> None:
    model, batch = FAMILIES[name].model(), batch_for(name)
    work = Gradients(model, objective(TASKS[name]), CPU, half=False)
    work(batch, batch.words)
    wanted, total = gradients_of(model), {}
    for rank in range(3):
        work(part_of(batch, rank, 3), batch.words)
        total = {key: total.get(key, 0) + gradient for key, gradient in gradients_of(model).items()}
    close(total, wanted)


@pytest.mark.parametrize("name", [name for name in TASKS if TASKS[name] != "mask"])  # other places, other masks
def test_rows_and_places_that_only_fill_up_change_no_gradient(name: str) -> None:
    model = FAMILIES[name].model()
    work = Gradients(model, objective(TASKS[name]), CPU, half=False)
    plain, filled = batch_for(name), batch_for(name, fixed=True)
    assert filled.tensors["labels"].shape[0] == 10
    loss = work(plain, plain.words)
    wanted = gradients_of(model)
    torch.testing.assert_close(work(filled, filled.words), loss, atol=small_apart(loss), rtol=0)
    assert all(bool(gradient.isfinite().all()) for gradient in gradients_of(model).values())
    close(gradients_of(model), wanted)


def test_masks_over_rows_that_fill_up_leave_gradients_finite() -> None:
    model, filled = FAMILIES["encoder mask"].model(), batch_for("encoder mask", fixed=True)
    Gradients(model, objective("mask"), CPU, half=False)(filled, filled.words)
    assert all(bool(gradient.isfinite().all()) for gradient in gradients_of(model).values())


class Scarce:
    """An objective that finds no memory for more than a few rows."""

    def __init__(self, rows: int, inner: Any, error: Callable[[], BaseException]) -> None:
        self.rows, self.inner, self.error = rows, inner, error

    def __call__(self, model: Any, batch: dict[str, Tensor], *more: Any) -> Tensor:
        loss = self.inner(model, batch, *more)
        if len(batch["labels"]) > self.rows:
            loss.backward()  # some of the gradients are there already
            raise self.error()
        return loss


@pytest.mark.parametrize("kind", ERRORS)
def test_when_memory_runs_out_the_batch_goes_through_in_parts(kind: str) -> None:
    model, batch = FAMILIES["transformer post"].model(), batch_for("transformer post")
    plain = objective("translate")
    Gradients(model, plain, CPU, half=False)(batch, batch.words)
    wanted = gradients_of(model)
    work = Gradients(model, Scarce(2, plain, ERRORS[kind]), CPU, half=False)
    work(batch, batch.words)
    assert work.parts == 4
    close(gradients_of(model), wanted)


def test_one_row_that_does_not_fit_is_an_error_with_advice() -> None:
    model, batch = FAMILIES["transformer post"].model(), batch_for("transformer post")
    work = Gradients(model, Scarce(0, objective("translate"), ERRORS["cuda"]), CPU, half=False)
    with pytest.raises(InputError, match="one row alone does not fit") as error:
        work(batch, batch.words)
    assert "smaller model" in error.value.do
    assert "2 GiB" in error.value.found


def test_other_errors_are_not_taken_for_a_lack_of_memory() -> None:
    model, batch = FAMILIES["transformer post"].model(), batch_for("transformer post")
    work = Gradients(model, Scarce(0, objective("translate"), lambda: RuntimeError("shapes")), CPU, half=False)
    with pytest.raises(RuntimeError, match="shapes"):
        work(batch, batch.words)


def test_parts_are_told_and_kept_and_change_nothing(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = {"model.dropout": 0.0, "training.epsilon": 1e-2}  # else what is zero but for rounding counts too
    go(corpus, tmp_path / "whole", TINY, quiet)
    one, tries = Gradients.one, []

    def scarce(self: Gradients, batch: Any, *more: Any) -> Tensor:
        if len(batch["labels"]) > 3 and len(tries) < 2:
            tries.append(len(batch["labels"]))
            raise ERRORS["cuda"]()
        return one(self, batch, *more)

    monkeypatch.setattr(Gradients, "one", scarce)
    heard = EventRecorder(lambda event: isinstance(event, Saved) and event.step == 3)
    with pytest.raises(Stop):
        go(corpus, tmp_path / "parts", TINY, quiet, listener=heard)
    assert "in 4 parts" in heard.warnings
    assert read_state(checkpoints(tmp_path / "parts" / "checkpoints")[0])[0].micro_batches == 4
    monkeypatch.setattr(Gradients, "one", one)
    go(corpus, tmp_path / "parts", TINY, quiet, listener=(again := EventRecorder()))
    assert "parts" not in again.warnings
    whole, parts = (read_state(checkpoints(tmp_path / name / "checkpoints")[0]) for name in ("whole", "parts"))
    assert parts[0].micro_batches == 4
    for name, tensor in whole[1].items():
        if name.startswith("model/"):
            # Each of ten steps goes as far as its rate, 0.001 or less, times a gradient over an epsilon of 0.01.
            torch.testing.assert_close(parts[1][name], tensor, atol=10 * 0.001 * small_apart() / 0.01, rtol=1e-4)
