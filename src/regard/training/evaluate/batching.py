"""What all evaluations do: go through texts in parts, tell how far they are, and leave the model as it was."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from regard.models import EncoderConfig
from regard.tasks import Classifier, Translator
from regard.tasks.eval_mode import eval_mode

T = TypeVar("T")
ProgressCallback = Callable[[int, int], None]
LOGITS = 1 << 26  # numbers a model may say at once: 256 MiB


def ignore_progress(done: int, total: int) -> None:
    """Nobody listens."""


def batched(rows: Sequence[T], size: int, on_progress: ProgressCallback = ignore_progress) -> Iterator[Sequence[T]]:
    """Some rows at a time; progress is reported after each batch."""
    for first in range(0, len(rows), size):
        yield rows[first : first + size]
        on_progress(min(first + size, len(rows)), len(rows))


def rows_per_batch(length: int, vocabulary: int, batch: int | None) -> int:
    """How many rows go through a model that says a number for each token of the vocabulary at each position."""
    return batch or max(1, min(32, LOGITS // (max(length, 1) * vocabulary)))


def truncate_rows(rows: list[list[int]], config: EncoderConfig) -> tuple[list[list[int]], list[str]]:
    """Rows that the model has positions for, with their last token (it marks the end), and a note if any was cut."""
    longest = config.max_length
    too_long = sum(len(row) > longest for row in rows) if config.positions == "learned" else 0
    if not too_long:
        return rows, []
    cut = [row if len(row) <= longest else [*row[: longest - 1], row[-1]] for row in rows]
    return cut, [f"{too_long:,} texts were cut to {longest:,} tokens, all that the model has positions for"]


def perplexity(nats: float) -> float:
    """Between how many tokens, all alike, a model seems to choose. One that has come apart still gets a number."""
    return math.exp(min(nats, 700.0))


def uniform(vocabulary: int, tokens_per_character: float | None = None) -> dict[str, float]:
    """What it costs to know nothing: every token of the vocabulary alike."""
    nats = math.log(vocabulary)
    scores = {"nats_per_token": nats, "perplexity": float(vocabulary)}
    return scores if tokens_per_character is None else {**scores, "nats_per_character": nats * tokens_per_character}


@contextmanager
def eval_mode_with_batch(task: Translator | Classifier, batch: int | None) -> Iterator[None]:
    """Without dropout, and with as many texts side by side as asked; afterwards as before."""
    before = task.batch
    task.batch = batch or before
    try:
        with eval_mode(task.model):
            yield
    finally:
        task.batch = before
