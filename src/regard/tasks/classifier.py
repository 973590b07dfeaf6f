"""Texts to classes, or masked words filled in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from regard.decoding.finite import check_finite
from regard.errors import InputError
from regard.models import Encoder
from regard.tasks.text_ids import check_batch, check_lengths, encode
from regard.text.tokenizer import Codec, padded

NO_HEAD = "it gives vectors only: use one that was trained to classify or to fill in masks"


class Classification(NamedTuple):
    """The likeliest label, and the probability of each. A text without words has no label: None, and no probability."""

    label: str | None
    probabilities: dict[str, float]


NOTHING = Classification(None, {})


class Filling(NamedTuple):
    """A word for a mask, its probability, and the text with it in place."""

    token: str
    probability: float
    text: str


class Classifier:
    """An encoder-only model with its tokenizer: `classify` with a classification head, `fill` with that for masks."""

    batch = 32  # texts read side by side

    def __init__(self, model: Encoder, tokenizer: Codec, mask: str = "[MASK]") -> None:
        self.model, self.tokenizer, self.mask = model, tokenizer, mask

    @property
    def head(self) -> str:
        """What this model can be asked: "class", "mask" or "none"."""
        return self.model.config.head

    def classify(self, texts: Sequence[str]) -> list[Classification]:
        """The label of each text, in order, with the probability of every label; None for one without words."""
        self.need("class", "classes")
        check_batch(self.batch)
        check_lengths(texts)
        rows = encode(self.tokenizer, texts, self.model.config.vocabulary)
        labels = self.model.config.labels
        classifications = [NOTHING] * len(rows)
        nonempty = [number for number, text in enumerate(texts) if text.strip()]
        for first in range(0, len(nonempty), self.batch):
            numbers = nonempty[first : first + self.batch]
            batch_probabilities = class_probabilities(self, [rows[number] for number in numbers])
            for number, probabilities in zip(numbers, batch_probabilities, strict=True):
                best = max(range(len(labels)), key=probabilities.__getitem__)
                classifications[number] = Classification(labels[best], dict(zip(labels, probabilities, strict=True)))
        return classifications

    def fill(self, texts: Sequence[str], top: int = 5) -> list[list[list[Filling]]]:
        """For each text, for each mask in it, the `top` likeliest words; nothing for a text without words."""
        self.need("mask", "masked words")
        check_lengths(texts)
        rows = encode(self.tokenizer, texts, self.model.config.vocabulary)
        if not 1 <= top <= self.model.config.vocabulary:
            raise InputError("top must be a number of words", found=f"{top}", do="5 is usual")
        mask = self.tokenizer.id_of(self.mask)
        if mask is None:
            raise InputError(
                f"the tokenizer has no {self.mask}", found=self.tokenizer.kind, do="add a mask token to it"
            )
        pairs = zip(texts, rows, strict=True)
        return [self.fill_one(text, ids, mask, top) if text.strip() else [] for text, ids in pairs]

    def fill_one(self, text: str, ids: list[int], mask: int, top: int) -> list[list[Filling]]:
        positions = [position for position, number in enumerate(ids) if number == mask]
        if not positions:
            raise InputError("there is no mask to fill in", found=f"{text!r:.60}", do=f"put {self.mask} for a word")
        logits = self.read([ids])[0, positions]
        check_finite(logits, self.model)
        best = logits.softmax(-1).topk(top, -1)
        fillings: list[list[Filling]] = []
        for position, top_probabilities, words in zip(
            positions, best.values.tolist(), best.indices.tolist(), strict=True
        ):
            completed_rows = [[*ids[:position], word, *ids[position + 1 :]] for word in words]
            fillings.append([
                Filling(self.tokenizer.decode([word]).strip(), probability, self.tokenizer.decode(row))
                for word, probability, row in zip(words, top_probabilities, completed_rows, strict=True)
            ])  # fmt: skip
        return fillings

    @torch.no_grad()
    def read(self, rows: list[list[int]]) -> Tensor:
        """What the head says of some texts."""
        ids, mask = padded(rows, self.model.config.pad or 0)
        device = next(self.model.parameters()).device
        logits: Tensor = self.model(ids.to(device), mask.to(device))
        return logits

    def need(self, head: str, what: str) -> None:
        if self.head != head:
            advice = {"mask": "it fills in masks: put one for a word", "class": "it names classes", "none": NO_HEAD}
            raise InputError(f"this model has no head for {what}", found=f"head={self.head!r}", do=advice[self.head])


def class_probabilities(classifier: Classifier, rows: list[list[int]]) -> list[list[float]]:
    """The probability of each class, for each of some texts."""
    logits = classifier.read(rows)
    check_finite(logits, classifier.model)
    probabilities: list[list[float]] = logits.softmax(-1).tolist()
    return probabilities
