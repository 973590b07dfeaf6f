"""One update after another: parts that add up, steps that are skipped, weights that are averaged."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.errors import InputError
from regard.models import build
from regard.text.batches import Budget, Spec
from regard.text.store import Store
from regard.training.data.task_batches import (
    IGNORE_INDEX,
    EpochSampler,
    LabelledLoader,
    MaskedLoader,
    PairLoader,
    TaskBatch,
    part_of,
)
from regard.training.loop import loop
from regard.training.loop.checkpoint_files import checkpoints, read_state
from regard.training.optim.gradients import Gradients
from regard.training.optim.loss import objective_for
from regard.training.optim.optimizer import Average, moments, optimizer_for, restore_moments
from regard.training.optim.updates import GraphUpdate, SkippedSteps, Update
from regard.training.optim.workers import Workers
from regard.training.plan.planning import Planner
from regard.training.plan.probe import Speed
from regard.training.recipe.recipe import Training, read_recipe
from regard.training.report.events import Saved, Stepped
from regard.training.run import run_builder
from tests.bounds import small_apart
from tests.families import FAMILIES
from tests.training_cases import TINY, Heard, Stop, go, left_by, numbers, write_rows

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("corpus") / "numbers.tsv", numbers(80))


@pytest.fixture(autouse=True)
def nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults are counted by updates, and those of a measurement would count too."""
    monkeypatch.setattr(Planner, "speed", lambda planner, recipe: Speed(0.1, 100.0))


@pytest.fixture(autouse=True)
def every_step_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "REPORT_EVERY", 0.0)


TASKS = {
    "transformer post": "translate", "transformer separate": "translate", "recurrent": "translate",
    "recurrent attention": "translate", "decoder": "generate", "encoder mask": "mask", "encoder class": "classify",
}  # fmt: skip


def objective(task: str, **training: Any) -> Any:
    return objective_for(read_recipe({"task": task, "data": {"train": "x"}, "training": training}))


def batch_for(name: str, seed: int = 0, fixed: bool = False) -> TaskBatch:
    """Seven rows of different lengths, laid out as training does; `fixed`: padded to more rows and more places."""
    rng = np.random.default_rng(seed)

    def store() -> Store:
        return Store.of([[*rng.integers(3, 19, n), 2] for n in (3, 5, 1, 6, 2, 4, 5)])

    sampler = EpochSampler(Budget(64), seed)
    spec = Spec(np.arange(7), 10 if fixed else 7, 12 if fixed else None)
    task = TASKS[name]
    if task == "translate":
        loader: Any = PairLoader(sampler, store(), store(), 0, 1)
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


def gradients_of(model: nn.Module) -> dict[str, Tensor]:
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def close(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> None:
    assert found.keys() == wanted.keys()
    for name in wanted:
        bound = small_apart(wanted[name])
        torch.testing.assert_close(found[name], wanted[name], atol=bound, rtol=0, msg=lambda m, n=name: n + m)


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


# Out of memory


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


ERRORS = {
    "cuda": lambda: torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
    "cpu": lambda: RuntimeError("[enforce fail] DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes"),
    "python": MemoryError,
}


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
    heard = Heard(lambda event: isinstance(event, Saved) and event.step == 3)
    with pytest.raises(Stop):
        go(corpus, tmp_path / "parts", TINY, quiet, listener=heard)
    assert "in 4 parts" in heard.warnings
    assert read_state(checkpoints(tmp_path / "parts" / "checkpoints")[0])[0].micro_batches == 4
    monkeypatch.setattr(Gradients, "one", one)
    go(corpus, tmp_path / "parts", TINY, quiet, listener=(again := Heard()))
    assert "parts" not in again.warnings
    whole, parts = (read_state(checkpoints(tmp_path / name / "checkpoints")[0]) for name in ("whole", "parts"))
    assert parts[0].micro_batches == 4
    for name, tensor in whole[1].items():
        if name.startswith("model/"):
            # Each of ten steps goes as far as its rate, 0.001 or less, times a gradient over an epsilon of 0.01.
            torch.testing.assert_close(parts[1][name], tensor, atol=10 * 0.001 * small_apart() / 0.01, rtol=1e-4)


# Losses that are no numbers


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


def test_a_step_without_a_number_is_skipped_and_told(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poisoned(monkeypatch, {4, 5, 6})
    heard = Heard()
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
            go(corpus, tmp_path, TINY, how, listener=Heard(lambda e: isinstance(e, Saved) and e.step == 9))
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


def test_a_validation_without_a_number_is_never_the_best(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regard.training.loop.validation import Validation

    losses = Validation.losses
    monkeypatch.setattr(
        Validation, "losses", lambda self: {**losses(self), "loss": float("nan")} if calls.append(1) or len(calls) == 1
        else losses(self),
    )  # fmt: skip
    calls: list[int] = []
    go(corpus, tmp_path, TINY, {"training.select": "loss"})
    assert left_by(tmp_path)["position"]["best_step"] > 4


# What moves the weights


def test_matrices_decay_and_nothing_else() -> None:
    model = FAMILIES["transformer post"].model()
    optimizer = optimizer_for(model, Training(weight_decay=0.5))
    decayed = {id(p) for group in optimizer.param_groups if group["weight_decay"] for p in group["params"]}
    names = {name for name, p in model.named_parameters() if id(p) in decayed}
    assert names
    assert all(dict(model.named_parameters())[name].ndim == 2 for name in names)
    assert not any("embed" in name or "norm" in name or "bias" in name for name in names)
    every = {id(p) for group in optimizer.param_groups for p in group["params"]}
    assert every == {id(p) for p in model.parameters()}


def test_gradients_are_clipped_to_the_length_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = FAMILIES["decoder"].model(), batch_for("decoder")
    update = Update(model, Training(clip=0.01), Gradients(model, objective("generate"), CPU, half=False), Workers())
    update(batch, 1)
    norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
    torch.testing.assert_close(norm, torch.tensor(0.01), atol=1e-5, rtol=1e-3)


def test_the_memory_of_the_optimizer_comes_back_by_name() -> None:
    model, batch = FAMILIES["transformer separate"].model(), batch_for("transformer separate")
    how = Training(warmup=0)

    def fresh(weights: nn.Module) -> Update:
        return Update(weights, how, Gradients(weights, objective("translate"), CPU, half=False), Workers())

    first = fresh(model)
    for step in (1, 2):
        first(batch, step)
    other = build(model.config)
    other.load_state_dict(model.state_dict())
    other.eval()
    second = fresh(other)
    kept = {name: tensor.clone() for name, tensor in moments(first.optimizer, model).items()}
    restore_moments(second.optimizer, other, kept)
    first(batch, 3), second(batch, 3)
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), other.parameters(), strict=True))


def test_the_moving_average_is_the_recursion_by_hand() -> None:
    model = nn.Linear(2, 2)
    average = Average(model, 0.9)
    by_hand = {name: p.detach().clone() for name, p in model.named_parameters()}
    for step in range(1, 200):
        with torch.no_grad():
            for p in model.parameters():
                p.add_(torch.randn_like(p))
        average.update(average.share(step))
        keep = min(0.9, (1 + step) / (10 + step))
        by_hand = {name: keep * by_hand[name] + (1 - keep) * p.detach() for name, p in model.named_parameters()}
    close(average.tensors(), by_hand)
    live = {name: p.detach().clone() for name, p in model.named_parameters()}
    average.swap()
    close(dict(model.named_parameters()), by_hand)
    average.swap()
    assert all(torch.equal(live[name], p) for name, p in model.named_parameters())


def test_the_average_stands_in_the_folder_and_the_live_weights_in_the_checkpoint(corpus: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    go(corpus, tmp_path, TINY, {"training.average": "moving", "training.decay": 0.5, "training.select": "end"})
    tensors = read_state(checkpoints(tmp_path / "checkpoints")[0])[1]
    for name, tensor in load_file(tmp_path / "model.safetensors").items():
        assert torch.equal(tensor, tensors[f"average/{name}"])
    assert any(
        not torch.equal(t, tensors[name.replace("average/", "model/")])
        for name, t in tensors.items()
        if "average/" in name
    )


def test_the_last_checkpoints_are_averaged(corpus: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    how = {"training.average": "last", "training.last": 3, "training.checkpoint_every": 2, "training.validate_every": 5}
    go(corpus, tmp_path, TINY, how)
    kept = checkpoints(tmp_path / "checkpoints")
    assert [path.name for path in kept] == ["step-000010", "step-000008", "step-000006"]
    states = [read_state(path)[1] for path in kept]
    for name, tensor in load_file(tmp_path / "model.safetensors").items():
        mean = torch.stack([state[f"model/{name}"].double() for state in states]).mean(0)
        torch.testing.assert_close(tensor, mean.float())


def test_steps_tell_where_training_stands(corpus: Path, tmp_path: Path) -> None:
    heard = Heard()
    go(corpus, tmp_path, TINY, listener=heard)
    steps = heard.of(Stepped)
    assert [event.step for event in steps] == list(range(1, 11))
    assert all(event.steps == 10 and event.loss > 0 and event.tokens_per_second > 0 for event in steps)
    assert [event.seconds for event in steps] == sorted(event.seconds for event in steps)


class Second(Workers):
    """The second of two processes, whose sums are its own."""

    added: ClassVar[list[int]] = []

    def add_up(self, tensors: Any) -> None:
        self.added.append(len(tensors))


def test_a_process_without_rows_adds_up_as_many_gradients_as_the_others() -> None:
    model, batch = FAMILIES["decoder"].model(), batch_for("decoder")
    alone = TaskBatch({name: tensor[:1] for name, tensor in batch.tensors.items()}, 8, 8)
    update = Update(model, Training(), Gradients(model, objective("generate"), CPU, half=False), Second(1, 2))
    update(alone, 1)
    assert Second.added == [len(list(model.parameters())) + 1]
