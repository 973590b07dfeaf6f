"""How well a model fills in words: some are masked, the same ones every time, and it says what they were."""

from __future__ import annotations

import random
from time import perf_counter
from typing import NamedTuple

import torch

from regard.errors import InputError
from regard.tasks import Classifier
from regard.tasks.text_ids import encode
from regard.text.scores import Score
from regard.text.tokenizer import Codec
from regard.training.evaluate.batching import Told, at_work, parts, perplexity, shortened, side_by_side, uniform
from regard.training.evaluate.result import Evaluation
from regard.training.evaluate.sets import EvaluationData

MASKED = 0.15
SEED = 0


class Masked(NamedTuple):
    """Texts as ids, and the places in each that are masked."""

    rows: list[list[int]]
    places: list[list[int]]


def evaluate_masks(classifier: Classifier, data: EvaluationData, batch: int | None, told: Told) -> Evaluation:
    """Mask 15 % of the tokens of each text, at least one, all by the mask itself, and score only those."""
    given, config = data.texts(), classifier.model.config
    rows, notes = shortened(encode(classifier.tokenizer, given.texts, config.vocabulary), config)
    masked = Masked(rows, choose(rows, special_ids(rows, classifier.tokenizer)))
    asked, start = sum(map(len, masked.places)), perf_counter()
    if not asked:
        raise InputError(f"{data.name} has no words to mask", found=f"{len(rows)} texts", do="give texts with words")
    nats, right = fill_all(classifier, masked, batch, told)
    signature = f"masked:{MASKED}|seed:{SEED}|tokens:{asked}"
    return Evaluation(
        task="masked words",
        data=data.name,
        count=len(rows),
        unit="texts",
        seconds=perf_counter() - start,
        scores=[
            Score("accuracy", 100 * right / asked, signature),
            Score("nats_per_token", nats / asked, signature),
            Score("perplexity", perplexity(nats / asked), signature),
        ],
        baseline="every token alike",
        baselines={"accuracy": 100 / config.vocabulary, **uniform(config.vocabulary)},
        notes=[*given.notes, *notes],
    )


def fill_all(classifier: Classifier, masked: Masked, batch: int | None, told: Told) -> tuple[float, int]:
    """As `fill`, over all texts: those of like length together, the longest first."""
    mask = classifier.tokenizer.id_of(classifier.mask)
    if mask is None:
        raise InputError(f"the tokenizer has no {classifier.mask}", found=classifier.tokenizer.kind, do="add one to it")
    texts = sorted((pair for pair in zip(*masked, strict=True) if pair[1]), key=lambda pair: -len(pair[0]))
    nats, right = 0.0, 0
    with at_work(classifier, batch):
        for some in parts(texts, side_by_side(len(texts[0][0]), classifier.model.config.vocabulary, batch), told):
            found = fill(classifier, [row for row, _ in some], [places for _, places in some], mask)
            nats, right = nats + found[0], right + found[1]
    return nats, right


@torch.no_grad()
def fill(classifier: Classifier, rows: list[list[int]], places: list[list[int]], mask: int) -> tuple[float, int]:
    """The nats that the true words behind the masks cost, and how many were the model's first choice."""
    hidden = [
        [mask if place in chosen else number for place, number in enumerate(row)]
        for row, chosen in zip(rows, map(set, places), strict=True)
    ]
    where = [(number, place) for number, chosen in enumerate(places) for place in chosen]
    logits = classifier.read(hidden)[[number for number, _ in where], [place for _, place in where]].float()
    truth = torch.tensor([rows[number][place] for number, place in where], device=logits.device)
    loss = torch.nn.functional.cross_entropy(logits, truth, reduction="sum")
    return float(loss), int((logits.argmax(-1) == truth).sum())


def choose(rows: list[list[int]], special: set[int]) -> list[list[int]]:
    """The places to mask in each row: the same for the same texts, whoever runs it."""
    chance = random.Random(SEED)
    chosen: list[list[int]] = []
    for row in rows:
        words = [place for place, number in enumerate(row) if number not in special]
        chosen.append(sorted(chance.sample(words, max(1, round(MASKED * len(words))))) if words else [])
    return chosen


def special_ids(rows: list[list[int]], tokenizer: Codec) -> set[int]:
    """What stands around texts and is no part of them: it reads back as nothing."""
    return {number for number in {number for row in rows for number in row} if not tokenizer.decode([number])}
