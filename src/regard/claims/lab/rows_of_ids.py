"""Images and sounds as rows of ids: handwritten digits from scikit-learn, and tones made here, all of one size."""

from __future__ import annotations

import importlib
import math
from functools import cache
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.errors import InputError

LENGTH, LEVELS, CLASSES = 64, 17, 10  # 8 x 8 pixels or as many moments, how dark or loud, digits or pitches
TRAINING = 0.75  # of all rows
TONES = 4_000  # with half as many they are learned by heart, and nothing of what makes a pitch
LOWEST, RATIO = 2.0, 1.25  # waves in a row of the lowest pitch, and of each pitch over the one below
NOISE = 0.2  # of a tone's loudness


class RowTask(NamedTuple):
    """Rows of ids and their classes, to learn from and to be asked."""

    train: Tensor  # (rows, LENGTH)
    train_labels: Tensor
    test: Tensor
    test_labels: Tensor


def library(name: str) -> Any:
    """A part of scikit-learn, or an error that says how to get it."""
    try:
        return importlib.import_module(f"sklearn.{name}")
    except ImportError as error:
        raise InputError(
            "this claim needs scikit-learn", found=str(error), do='pip install "regard[claims]"'
        ) from error


def digits(seed: int) -> RowTask:
    """8 x 8 pixels from 0 to 16, row by row, and which digit it is."""
    images, labels = library("datasets").load_digits(return_X_y=True)
    return divided(torch.tensor(images).round().long(), torch.tensor(labels).long(), seed)


def tones(seed: int, count: int = TONES) -> RowTask:
    """A wave of one of ten pitches, begun anywhere, with noise, and which pitch it is."""
    rng = torch.Generator().manual_seed(seed)
    labels = torch.randint(CLASSES, (count,), generator=rng)
    waves = LOWEST * RATIO ** labels.double()
    start = torch.rand(count, generator=rng, dtype=torch.float64)
    noise = torch.randn(count, LENGTH, generator=rng, dtype=torch.float64)
    moments = torch.arange(LENGTH, dtype=torch.float64) / LENGTH
    sound = (2 * math.pi * (waves[:, None] * moments + start[:, None])).sin() + NOISE * noise
    return divided(levels(sound), labels, seed)


def levels(sound: Tensor) -> Tensor:
    """Each moment as one of `LEVELS` ids; what is louder than a tone and its noise may be is cut."""
    most = 1 + NOISE
    return ((sound.clamp(-most, most) / most + 1) / 2 * (LEVELS - 1)).round().long()


def divided(rows: Tensor, labels: Tensor, seed: int) -> RowTask:
    """In another order for each seed."""
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
    split = round(TRAINING * len(rows))
    first, last = order[:split], order[split:]
    return RowTask(rows[first], labels[first], rows[last], labels[last])


TASKS = {"digits": digits, "tones": tones}


@cache
def row_task(name: str, seed: int) -> RowTask:
    return TASKS[name](seed)


def logistic_accuracy(task: RowTask) -> dict[str, float]:
    """Of scikit-learn's logistic regression, which reads the ids as numbers, or each id as a feature of its own."""
    return {
        "as numbers": logistic(task, lambda rows: rows.double() / (LEVELS - 1)),
        "as ids": logistic(task, lambda rows: F.one_hot(rows, LEVELS).flatten(1).double()),
    }


def logistic(task: RowTask, features: Any) -> float:
    """On one thread: where others are at work too, the threads of matrices so small only wait for each other."""
    model = library("linear_model").LogisticRegression(max_iter=5_000)
    with importlib.import_module("threadpoolctl").threadpool_limits(1):  # scikit-learn brings it along
        model.fit(features(task.train).numpy(), task.train_labels.numpy())
        return float(model.score(features(task.test).numpy(), task.test_labels.numpy()))
