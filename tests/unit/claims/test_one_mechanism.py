"""The rule of the claim, rows whose classes can be told, and both its forms in miniature."""

from __future__ import annotations

import importlib
import math
from typing import Any

import pytest
import torch

import regard
from regard.claims.claim_names import claim_named
from regard.claims.lab import rows_of_ids, text_stacks
from regard.claims.lab.pair_task import PAD, START, UNKNOWN
from regard.claims.lab.rows_of_ids import CLASSES, LENGTH, LEVELS, LOWEST, RATIO, TASKS, RowTask, logistic, row_task
from regard.claims.lab.text_stacks import label_fit, learn_labels, share_right, text_stack
from regard.claims.setting import Setting
from regard.claims.tried import one_mechanism
from regard.claims.tried.one_mechanism import Outcome, as_text
from regard.errors import InputError
from tests.claim_cases import Invented, check_rule

MORE, AS_MANY, FEWER = (10.0, 8.0, 12.0), (0.0, -2.0, 2.0), (-10.0, -12.0, -8.0)
INVENTED: Invented = {
    "holds": {"more_right_digits": MORE, "more_right_tones": MORE},
    "holds in part": {"more_right_digits": AS_MANY, "more_right_tones": MORE},
    "does not hold": {"more_right_digits": FEWER, "more_right_tones": FEWER},
}
SIZES: dict[str, Any] = {"dim": 32, "heads": 2, "feedforward": 32, "layers": 1, "dropout": 0.0}


def part_of(task: RowTask, count: int) -> RowTask:
    return RowTask(*(rows[:count] for rows in task))


def test_the_rule_gives_every_verdict() -> None:
    check_rule("one-mechanism", INVENTED)


@pytest.mark.parametrize("name", TASKS)
def test_rows_are_ids_of_one_size(name: str) -> None:
    task = row_task(name, 0)
    for rows, labels in ((task.train, task.train_labels), (task.test, task.test_labels)):
        assert rows.shape == (len(labels), LENGTH)
        assert set(labels.tolist()) == set(range(CLASSES))
        assert (int(rows.min()), int(rows.max())) == (0, LEVELS - 1)
    assert len(task.train) == pytest.approx(3 * len(task.test), abs=3)


@pytest.mark.parametrize("name", TASKS)
def test_no_row_is_asked_that_was_learned_from(name: str) -> None:
    task = row_task(name, 0)
    learned = {tuple(row) for row in task.train.tolist()}
    assert not any(tuple(row) in learned for row in task.test.tolist())


def test_the_pitch_of_a_tone_can_be_heard() -> None:
    """Whichever of the ten waves, begun anywhere, is most like it."""
    task = row_task("tones", 0)
    sound = task.test.double() - (LEVELS - 1) / 2
    moments = torch.arange(LENGTH, dtype=torch.float64) / LENGTH
    waves = 2 * math.pi * moments * LOWEST * RATIO ** torch.arange(CLASSES, dtype=torch.float64)[:, None]
    both = torch.stack([waves.sin(), waves.cos()], -1)  # any wave of a pitch is a mix of these
    nearest = torch.stack([sound @ one @ torch.linalg.pinv(one) for one in both])
    heard = (nearest - sound).square().sum(-1).argmin(0)
    assert float((heard == task.test_labels).double().mean()) > 0.99


def test_rows_become_texts() -> None:
    rows, labels = torch.tensor([[0, 16, 3]]), torch.tensor([7])
    task = as_text(RowTask(rows, labels, rows, labels))
    assert task.test == task.train
    assert task.train[0].ids == (START, UNKNOWN + 1, UNKNOWN + 17, UNKNOWN + 4)
    assert task.train[0].label == 7
    assert not {PAD, UNKNOWN, task.mask} & set(task.train[0].ids)
    assert task.known == UNKNOWN + 1 + LEVELS


def test_the_control_has_what_a_straight_line_tells() -> None:
    """Whether the first pixel is dark."""
    rows = torch.arange(40)[:, None] % LEVELS * torch.ones(1, LENGTH, dtype=torch.long)
    labels = (rows[:, 0] > 8).long()
    task = RowTask(rows, labels, rows, labels)
    assert logistic(task, lambda ids: ids.double() / (LEVELS - 1)) == 1


def test_digits_are_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_stacks, "QUICK", SIZES)
    task = as_text(row_task("digits", 0))
    stack = text_stack("encoder", task, Setting(), 0)
    learn_labels(stack, task.train, label_fit(150, 1e-2, 0), 32)
    assert share_right(stack, task.test) > 0.5


def test_without_scikit_learn_one_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(f"No module named {name}")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(InputError, match=r"regard\[claims\]"):
        rows_of_ids.digits(0)


@pytest.mark.parametrize(
    ("digits", "tones", "verdict"),
    [(99.0, 99.0, "holds"), (90.0, 99.0, "holds in part"), (90.0, 20.0, "does not hold")],
)
def test_it_is_compared_with_the_better_control(
    digits: float, tones: float, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = {"digits": digits, "tones": tones}

    def run(_: Setting, case: tuple[str, int]) -> Outcome:
        name, seed = case
        controls = (95.0, 93.0) if name == "digits" else (10.0, 30.0)
        return Outcome(100.0, blocks[name] - seed / 10, *controls)

    monkeypatch.setattr(one_mechanism, "run", run)
    claim = claim_named("one-mechanism")
    assert claim.rule.verdict(claim.measure(Setting((0, 1, 2))).numbers) == verdict


@pytest.mark.parametrize("full", [False, True])
def test_both_forms_in_miniature(full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for form in ("QUICK", "FULL"):
        monkeypatch.setattr(text_stacks, form, SIZES)
        monkeypatch.setattr(one_mechanism, form, (2, 4, 1e-2))
    monkeypatch.setattr(one_mechanism, "row_task", lambda name, seed: part_of(row_task(name, seed), 60))
    result = regard.claim("one-mechanism").run(full=full, seeds=[0, 1])
    assert set(result.measurement.numbers) == set(INVENTED["holds"])
    assert [row[0] for row in result.measurement.tables[0].rows] == list(TASKS)
    assert "logistic" in str(result)
