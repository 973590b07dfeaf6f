"""How good a model is on data that it has not seen, with what would be had for nothing beside it."""

from __future__ import annotations

from typing import TypedDict, Unpack

from regard.errors import InputError, UnknownNameError
from regard.tasks import Classifier, Generator, Translator
from regard.training.evaluate.attention import look_into
from regard.training.evaluate.batching import ProgressCallback, ignore_progress
from regard.training.evaluate.classes import evaluate_classes
from regard.training.evaluate.masked_words import evaluate_masks
from regard.training.evaluate.next_words import evaluate_next_words
from regard.training.evaluate.origin import block_of, target_language
from regard.training.evaluate.result import Evaluation
from regard.training.evaluate.sets import EvaluationData, read_data
from regard.training.evaluate.translations import TranslationOptions, evaluate_translations, validate_translations

__all__ = [
    "Evaluation",
    "EvaluationData",
    "block_of",
    "evaluate",
    "look_into",
    "read_data",
    "target_language",
    "validate_translations",
]


class EvaluationOptions(TypedDict, total=False):
    """How to evaluate; what is left out is as the model says.

    beams, alpha, max_length  how to look for translations
    language                  that of the translations, whose tokens Moses knows (guessed)
    against                   another translator, to compare with
    batch                     texts side by side
    window                    tokens that a language model sees at once (all that it can)
    on_progress               is called with how much is done, and of how much
    """

    beams: int | None
    alpha: float | None
    max_length: int | None
    language: str | None
    against: Translator | None
    batch: int | None
    window: int | None
    on_progress: ProgressCallback


def evaluate(
    task: Translator | Generator | Classifier, data: EvaluationData, **options: Unpack[EvaluationOptions]
) -> Evaluation:
    """Score what `regard.load` gave on what `read_data` found."""
    for name in options:
        if name not in EvaluationOptions.__annotations__:
            raise UnknownNameError("option", name, EvaluationOptions.__annotations__)
    batch, window = options.get("batch"), options.get("window")
    on_progress, against = options.get("on_progress", ignore_progress), options.get("against")
    for name, value in (("batch", batch), ("window", window)):
        if value is not None and value < 1:
            raise InputError(f"{name} must be at least 1", found=f"{value}", do="leave it out")
    if isinstance(task, Translator):
        search = TranslationOptions(options.get("beams"), options.get("alpha"), options.get("max_length"), batch)
        return evaluate_translations(task, data, search, options.get("language"), against, on_progress)
    if against is not None:
        raise InputError("only translators are compared", found=type(task).__name__, do="evaluate each by itself")
    if isinstance(task, Generator):
        return evaluate_next_words(task, data, window, batch, on_progress)
    if task.head == "mask":
        return evaluate_masks(task, data, batch, on_progress)
    return evaluate_classes(task, data, batch, on_progress)
