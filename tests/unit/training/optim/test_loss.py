"""Losses, by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.training.data.task_batches import IGNORE_INDEX
from regard.training.optim.loss import FORWARDS, objective_for, r_drop_loss, summed_cross_entropy
from regard.training.recipe.recipe import read_recipe
from tests.families import FAMILIES


def random_logits(rows: int, length: int, words: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, words, (rows, length), generator=generator)
    return torch.randn(rows, length, words, generator=generator, dtype=torch.float64), labels


@given(st.integers(1, 4), st.integers(1, 5), st.integers(2, 9), st.floats(0, 0.9), st.integers(0, 99))
def test_smoothing_spreads_a_share_of_each_label_over_all_words(
    rows: int, length: int, words: int, smoothing: float, seed: int
) -> None:
    logits, labels = random_logits(rows, length, words, seed)
    wanted = (1 - smoothing) * F.one_hot(labels, words) + smoothing / words
    by_hand = -(wanted * logits.log_softmax(-1)).sum()
    torch.testing.assert_close(summed_cross_entropy(logits, labels, smoothing).double(), by_hand, atol=1e-4, rtol=1e-5)


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.integers(0, 99))
def test_places_that_are_not_asked_for_change_nothing(rows: int, length: int, more: int, seed: int) -> None:
    logits, labels = random_logits(rows, length, 7, seed)
    wide = torch.cat([logits, torch.full((rows, more, 7), 1e4).double()], 1)
    asked = F.pad(labels, (0, more), value=IGNORE_INDEX)
    torch.testing.assert_close(summed_cross_entropy(wide, asked, 0.1), summed_cross_entropy(logits, labels, 0.1))


def test_nothing_asked_for_is_no_loss() -> None:
    assert float(summed_cross_entropy(torch.randn(2, 3, 5), torch.full((2, 3), IGNORE_INDEX), 0.1)) == 0.0


def batch_of() -> dict[str, Tensor]:
    source = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]])
    return {
        "source": source,
        "target": torch.tensor([[1, 4, 5], [1, 6, 0]]),
        "labels": torch.tensor([[4, 5, 2], [6, 2, IGNORE_INDEX]]),
    }


def test_two_passes_without_dropout_agree() -> None:
    model, batch = FAMILIES["transformer post"].model(), batch_of()
    with torch.no_grad():
        alone = summed_cross_entropy(FORWARDS["translate"](model, batch), batch["labels"], 0.1)
        torch.testing.assert_close(r_drop_loss(FORWARDS["translate"], model, batch, 0.1, torch.tensor(5.0)), alone)


@pytest.mark.parametrize("weight", [0.0, 1.0, 4.0])
def test_two_passes_are_drawn_together_by_their_divergences(weight: float) -> None:
    generator = torch.Generator().manual_seed(0)
    first, second = (torch.randn(2, 3, 6, generator=generator) for _ in range(2))
    labels = torch.tensor([[1, 2, IGNORE_INDEX], [3, IGNORE_INDEX, IGNORE_INDEX]])

    def forward(model: Any, batch: dict[str, Tensor]) -> Tensor:
        assert batch["ids"].shape == (4, 3)
        return torch.cat([first, second])

    found = r_drop_loss(forward, None, {"ids": torch.zeros(2, 3), "labels": labels}, 0.1, torch.tensor(weight))
    right = (summed_cross_entropy(first, labels, 0.1) + summed_cross_entropy(second, labels, 0.1)) / 2
    divergence = torch.tensor(0.0)
    for row, place in ((0, 0), (0, 1), (1, 0)):
        p, q = first[row, place].softmax(-1), second[row, place].softmax(-1)
        divergence += ((p * (p / q).log()).sum() + (q * (q / p).log()).sum()) / 2
    torch.testing.assert_close(found, right + weight * divergence)


@pytest.mark.parametrize("task", ["translate", "generate", "mask", "classify"])
@pytest.mark.parametrize("consistency", [0.0, 2.0])
def test_every_task_has_a_loss(task: str, consistency: float) -> None:
    names = {
        "translate": "transformer post",
        "generate": "decoder",
        "mask": "encoder mask",
        "classify": "encoder class",
    }
    family = FAMILIES[names[task]]
    recipe = read_recipe({"task": task, "data": {"train": "x"}, "training": {"consistency": consistency}})
    ids = torch.tensor([[5, 6, 7, 2], [8, 9, 4, 2]])
    batch = {"ids": ids, "labels": torch.tensor([1, 2]) if task == "classify" else ids}
    loss = objective_for(recipe)(
        family.model(), batch_of() if task == "translate" else batch, torch.tensor(consistency)
    )
    assert loss.ndim == 0
    assert bool(loss.isfinite())
    loss.backward()
