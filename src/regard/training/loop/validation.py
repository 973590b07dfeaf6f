"""How well it goes: the loss on held-out text, then what each task can say of itself."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.models.checkpoint import Model
from regard.tasks import Translator
from regard.tasks.eval_mode import eval_mode
from regard.text.bpe import Paired, target_of
from regard.text.tokenizer import Tokenizer
from regard.training.data.task_batches import IGNORE_INDEX, BatchLoader
from regard.training.evaluate import validate_translations
from regard.training.optim.loss import FORWARDS, summed_cross_entropy
from regard.training.recipe.recipe import Recipe
from regard.training.report.events import Sample, Validated

TRANSLATED = 2000  # validation sentences translated at most while training; the loss reads them all


@dataclass
class Validation:
    """A validation set, ready to be read again and again."""

    recipe: Recipe
    model: Model
    tokenizer: Tokenizer | Paired
    loader: BatchLoader
    rows: list[tuple[str, ...]]
    half: bool

    def __call__(self, step: int) -> Validated:
        start = time.monotonic()
        samples: list[Sample] = []
        intervals: dict[str, float] = {}
        with eval_mode(self.model):
            scores = self.losses()
            if self.recipe.task == "translate":
                translated, intervals, samples = self.translations()
                scores |= translated
        return Validated(step, time.monotonic() - start, scores, False, samples, intervals)

    @torch.no_grad()
    def losses(self) -> dict[str, float]:
        """Nats a word, and how often the likeliest word is right."""
        device = next(self.model.parameters()).device
        total, right, words = torch.zeros((), device=device), torch.zeros((), device=device), 0
        for spec in self.loader.epoch(0):
            tensors, count, _ = self.loader.build(spec)
            tensors = {name: tensor.to(device) for name, tensor in tensors.items()}
            with torch.autocast(device.type, torch.bfloat16, enabled=self.half):
                logits = FORWARDS[self.recipe.task](self.model, tensors)
            total += summed_cross_entropy(logits, tensors["labels"])
            right += count_correct(logits, tensors["labels"])
            words += count
        loss = float(total) / max(words, 1)
        return {"loss": loss, "perplexity": math.exp(min(loss, 50.0)), "accuracy": 100 * float(right) / max(words, 1)}

    def translations(self) -> tuple[dict[str, float], dict[str, float], list[Sample]]:
        translator = Translator(self.model, self.tokenizer)  # type: ignore[arg-type]
        some = self.rows[:TRANSLATED]
        sources, references = [row[0] for row in some], [row[1] for row in some]
        beams = 1 if self.recipe.decoding.greedy else self.recipe.decoding.beams
        scores, intervals, outputs = validate_translations(
            translator, sources, references, beams=beams, batch=256, max_length=self.room(references)
        )
        shown = list(zip(sources, references, outputs, strict=True))[: self.recipe.decoding.samples]
        return scores, intervals, [Sample(*one) for one in shown]

    def room(self, references: list[str]) -> int:
        """Tokens for a translation: a model that has learned nothing yet would otherwise ramble on to the limit."""
        return max(map(len, target_of(self.tokenizer).encode(references)), default=0) * 3 // 2 + 5


def count_correct(logits: Tensor, labels: Tensor) -> Tensor:
    return ((logits.argmax(-1) == labels) & (labels != IGNORE_INDEX)).sum()
