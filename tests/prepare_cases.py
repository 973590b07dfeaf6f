"""Text made ready for training, and read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regard.text.bpe import source_of, target_of
from regard.training.data.prepare import Preparation
from regard.training.data.prepared_text import PreparedText
from regard.training.recipe.recipe import read_recipe
from tests.training_cases import EventRecorder


def prepare(
    folder: Path, heard: EventRecorder | None = None, *, task: str = "translate", strict: bool = False, **tables: Any
) -> PreparedText:
    """Files beside the folder, made ready for training."""
    tables.setdefault("tokenizer", {"vocabulary": 300})
    recipe = read_recipe({"task": task, **tables})
    preparation = Preparation(recipe, folder, folder / "model", strict, heard or EventRecorder())
    preparation.check()
    return preparation.run(None)


def texts(prepared: PreparedText, column: str) -> list[str]:
    """What the ids of a column say."""
    side = target_of(prepared.tokenizer) if column == "target" else source_of(prepared.tokenizer)
    store = prepared.columns[column]
    return [side.decode(store.ids[a:b].tolist()) for a, b in zip(store.starts, store.starts[1:], strict=False)]
