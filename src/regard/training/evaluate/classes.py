"""How often a classifier is right, label by label, beside always saying the commonest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from time import perf_counter

from regard.decoding.finite import check_finite
from regard.errors import InputError
from regard.tasks import Classifier
from regard.tasks.text_ids import encode
from regard.text.scores import Score, accuracy, confusion, per_label
from regard.training.evaluate.batching import ProgressCallback, batched, eval_mode_with_batch, truncate_rows
from regard.training.evaluate.result import Evaluation
from regard.training.evaluate.sets import EvaluationData


def evaluate_classes(
    classifier: Classifier, data: EvaluationData, batch: int | None, on_progress: ProgressCallback
) -> Evaluation:
    """Classify the texts and compare with their labels."""
    classifier.need("class", "classes")
    labelled = data.labelled()
    config = classifier.model.config
    known = list(config.labels)
    check_labels(labelled.labels, known, data.name)
    start = perf_counter()
    rows, notes = truncate_rows(encode(classifier.tokenizer, labelled.texts, config.vocabulary), config)
    predictions = classify(classifier, rows, batch, on_progress)
    seconds = perf_counter() - start
    commonest = Counter(labelled.labels).most_common(1)[0][0]
    same = [commonest] * len(predictions)
    return Evaluation(
        task="classes",
        data=data.name,
        count=len(predictions),
        unit="texts",
        seconds=seconds,
        scores=scores(predictions, labelled.labels, known),
        baseline=f"always saying {commonest!r}",
        baselines={score.name: score.value for score in scores(same, labelled.labels, known)},
        labels=per_label(predictions, labelled.labels, known),
        confusion=dict(confusion(predictions, labelled.labels)),
        notes=[*labelled.notes, *notes],
        outputs=predictions,
    )


def classify(
    classifier: Classifier, rows: list[list[int]], batch: int | None, on_progress: ProgressCallback
) -> list[str]:
    """The likeliest label of each text, in order; texts of like length are read together, the longest first."""
    order = sorted(range(len(rows)), key=lambda number: -len(rows[number]))
    labels, predictions = classifier.model.config.labels, dict[int, str]()
    with eval_mode_with_batch(classifier, batch):
        for numbers in batched(order, classifier.batch, on_progress):
            logits = classifier.read([rows[number] for number in numbers])
            check_finite(logits, classifier.model)
            best = logits.argmax(-1).tolist()
            predictions |= {number: labels[index] for number, index in zip(numbers, best, strict=True)}
    return [predictions[number] for number in range(len(rows))]


def scores(predictions: Sequence[str], labels: Sequence[str], known: Sequence[str]) -> list[Score]:
    """Accuracy, and F1 averaged over the labels that occur, the rare ones counting as much as the common."""
    rows = [row for row in per_label(predictions, labels, known) if row.texts or row.label in predictions]
    return [
        Score("accuracy", 100 * accuracy(predictions, labels).share),
        Score("macro_f1", 100 * sum(row.f1 for row in rows) / len(rows)),
    ]


def check_labels(labels: Sequence[str], known: Sequence[str], name: str) -> None:
    """A label that the model cannot say would only count as a mistake; rather, name it."""
    unknown = sorted(set(labels) - set(known))
    if unknown:
        shown = ", ".join(f"{label!r:.40}" for label in unknown[:5])
        more = f" and {len(unknown) - 5:,} more" if len(unknown) > 5 else ""
        raise InputError(
            f"{name} has labels that the model does not know",
            found=f"{shown}{more}",
            do=f"use its own ({', '.join(known)}), or check which column holds the label",
        )
