"""How well a model fills in words: some are masked, the same ones every time, and it says what they were."""

from __future__ import annotations

import random
from time import perf_counter
from typing import NamedTuple

import torch

from regard.decoding.finite import check_finite
from regard.errors import InputError
from regard.tasks import Classifier
from regard.tasks.text_ids import encode
from regard.text.scores import Score
from regard.text.tokenizer import Codec
from regard.training.evaluate.batching import (
    ProgressCallback,
    batched,
    eval_mode_with_batch,
    perplexity,
    rows_per_batch,
    truncate_rows,
    uniform,
)
from regard.training.evaluate.result import Evaluation
from regard.training.evaluate.sets import EvaluationData

MASKED = 0.15
SEED = 0


class MaskedRows(NamedTuple):
    """Texts as ids, and the positions in each that are masked."""

    rows: list[list[int]]
    positions: list[list[int]]


def evaluate_masks(
    classifier: Classifier, data: EvaluationData, batch: int | None, on_progress: ProgressCallback
) -> Evaluation:
    """Mask 15 % of the tokens of each text, at least one, all by the mask itself, and score only those."""
    given, config = data.texts(), classifier.model.config
    rows, notes = truncate_rows(encode(classifier.tokenizer, given.texts, config.vocabulary), config)
    masked = MaskedRows(rows, choose(rows, special_ids(rows, classifier.tokenizer)))
    tokens, start = sum(map(len, masked.positions)), perf_counter()
    if not tokens:
        raise InputError(f"{data.name} has no words to mask", found=f"{len(rows)} texts", do="give texts with words")
    nats, right = fill_all(classifier, masked, batch, on_progress)
    signature = f"masked:{MASKED}|seed:{SEED}|tokens:{tokens}"
    return Evaluation(
        task="masked words",
        data=data.name,
        count=len(rows),
        unit="texts",
        seconds=perf_counter() - start,
        scores=[
            Score("accuracy", 100 * right / tokens, signature),
            Score("nats_per_token", nats / tokens, signature),
            Score("perplexity", perplexity(nats / tokens), signature),
        ],
        baseline="every token alike",
        baselines={"accuracy": 100 / config.vocabulary, **uniform(config.vocabulary)},
        notes=[*given.notes, *notes],
    )


def fill_all(
    classifier: Classifier, masked: MaskedRows, batch: int | None, on_progress: ProgressCallback
) -> tuple[float, int]:
    """As `fill`, over all texts: those of like length together, the longest first."""
    mask = classifier.tokenizer.id_of(classifier.mask)
    if mask is None:
        raise InputError(f"the tokenizer has no {classifier.mask}", found=classifier.tokenizer.kind, do="add one to it")
    texts = sorted((pair for pair in zip(*masked, strict=True) if pair[1]), key=lambda pair: -len(pair[0]))
    nats, right = 0.0, 0
    with eval_mode_with_batch(classifier, batch):
        for some in batched(
            texts, rows_per_batch(len(texts[0][0]), classifier.model.config.vocabulary, batch), on_progress
        ):
            scored = fill(classifier, [row for row, _ in some], [positions for _, positions in some], mask)
            nats, right = nats + scored[0], right + scored[1]
    return nats, right


@torch.no_grad()
def fill(classifier: Classifier, rows: list[list[int]], positions: list[list[int]], mask: int) -> tuple[float, int]:
    """The nats that the true words behind the masks cost, and how many were the model's first choice."""
    hidden = [
        [mask if position in chosen else number for position, number in enumerate(row)]
        for row, chosen in zip(rows, map(set, positions), strict=True)
    ]
    where = [(number, position) for number, chosen in enumerate(positions) for position in chosen]
    logits = classifier.read(hidden)[[number for number, _ in where], [position for _, position in where]].float()
    check_finite(logits, classifier.model)
    labels = torch.tensor([rows[number][position] for number, position in where], device=logits.device)
    loss = torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
    return float(loss), int((logits.argmax(-1) == labels).sum())


def choose(rows: list[list[int]], special: set[int]) -> list[list[int]]:
    """The positions to mask in each row: the same for the same texts, whoever runs it."""
    rng = random.Random(SEED)
    chosen: list[list[int]] = []
    for row in rows:
        words = [position for position, number in enumerate(row) if number not in special]
        chosen.append(sorted(rng.sample(words, max(1, round(MASKED * len(words))))) if words else [])
    return chosen


def special_ids(rows: list[list[int]], tokenizer: Codec) -> set[int]:
    """What stands around texts and is no part of them: it reads back as nothing."""
    return {number for number in {number for row in rows for number in row} if not tokenizer.decode([number])}
