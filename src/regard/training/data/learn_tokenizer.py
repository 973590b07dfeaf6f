"""A tokenizer of a run's own, from its training rows alone."""

from __future__ import annotations

from regard.text.bpe import END, START, Paired, train_tokenizer
from regard.training.data.prepared_text import TextCodec
from regard.training.data.row_reports import with_progress
from regard.training.recipe.recipe import Recipe
from regard.training.recipe.source_rows import SourceRows
from regard.training.report.events import Listener, Note


def learn_tokenizer(recipe: Recipe, train: SourceRows, listener: Listener) -> TextCodec:
    how, task = recipe.tokenizer, recipe.task
    listener(Note(f"training a tokenizer of at most {how.vocabulary:,} tokens"))
    if task == "translate" and not how.joint:
        first, second = (
            train_tokenizer(
                (row.texts[side] for row in with_progress(train, "reading", listener)), how.vocabulary, fold=how.fold
            )
            for side in (0, 1)
        )
        return Paired(first, second)
    around = {"translate": ("$A", END), "generate": ("$A",)}.get(task, (START, "$A", END))
    sides = 2 if task == "translate" else 1
    texts = (text for row in with_progress(train, "reading", listener) for text in row.texts[:sides])
    return train_tokenizer(
        (text + "\n" for text in texts) if task == "generate" else texts,
        how.vocabulary, around=around, mask=task == "mask", fold=how.fold,
    )  # fmt: skip
