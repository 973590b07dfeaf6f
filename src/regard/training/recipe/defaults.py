"""A recipe for text that came without one: the task by its columns, all sizes by how much text there is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import InputError, UnknownNameError
from regard.text.corpora import Checks, guess_kind, suits_two_fields
from regard.text.grammar import is_grammar
from regard.training.recipe.file_options import NO_OPTIONS, FileOptions
from regard.training.recipe.fine_tuning import KINDS, Start
from regard.training.recipe.recipe import TASKS
from regard.training.recipe.source_rows import SourceRows

HELD = 1_000  # rows kept back at most
BRIEF, SMALLEST = 4, 2_000  # where there is little time a quarter of the vocabulary, which costs as much as the layers


class SizeDefaults(NamedTuple):
    """What suits texts up to so many rows."""

    rows: float
    preset: str
    layers: int
    vocabulary: int
    steps: int
    tokens: int
    rate: float


SIZES = (
    SizeDefaults(10_000, "tiny", 2, 2_000, 1_500, 1_024, 2e-3),
    SizeDefaults(60_000, "tiny", 4, 8_000, 8_000, 4_096, 2e-3),
    SizeDefaults(600_000, "small", 4, 16_000, 30_000, 8_192, 1e-3),
    SizeDefaults(float("inf"), "base", 6, 32_000, 100_000, 25_000, 7e-4),
)
STACKS: dict[str, dict[str, int]] = {
    "tiny": {"dim": 128, "heads": 4, "feedforward": 512},
    "small": {"dim": 256, "heads": 4, "feedforward": 1024},
    "base": {"dim": 512, "heads": 8, "feedforward": 2048},
}


def recipe_for(
    files: Sequence[str],
    base: Path,
    task: str | None,
    options: FileOptions = NO_OPTIONS,
    start: Start | None = None,
    minutes: float | None = None,
) -> dict[str, Any]:
    """The data of a recipe for one file of any format, or two line-aligned ones.

    `start`: for training from there. `minutes`: with little time less of it all.
    """
    if not 1 <= len(files) <= 2:
        raise InputError("training reads one file, or two that are line-aligned", found=", ".join(files))
    if task is not None and task not in TASKS:
        raise UnknownNameError("task", task, TASKS)
    if options.columns is not None and (len(files) == 2 or is_grammar(files[0])):
        raise InputError("columns are for a single file", found=" and ".join(files), do="leave out --columns")
    two = len(files) == 2 and not any(map(is_grammar, files))
    if two and all(suits_two_fields(file, base, options.read_options.encoding) for file in files):
        raise InputError(
            "two files are read as two sides, line by line, and these have two columns each",
            found=" and ".join(files),
            do='a glob in quotes reads one after the other ("part*.tsv"), and so does a recipe: data.train = '
            + f"[{', '.join(map(repr, files))}]",
        )
    grammar = is_grammar(files[0])
    kind = "pairs" if grammar else guess_kind(tuple(files), base, options=options.read_options)
    task = task or (KINDS[kind] if start is None else start.task_for(kind))
    source: Any = files[0] if len(files) == 1 else {"source": files[0], "target": files[1]}
    source = source if grammar else options.apply_to(source)
    count = rows_in(source, base, task)
    size = next(size for size in SIZES if count <= size.rows)
    every = max(size.steps // 10, 50)
    held, vocabulary = HELD, size.vocabulary
    if minutes is not None:
        held = min(held, max(int(100 * minutes), 200))
        vocabulary = max(vocabulary // BRIEF, SMALLEST)
    training: dict[str, Any] = {
        "steps": size.steps, "batch_tokens": size.tokens, "rate": size.rate, "warmup": size.steps // 8,
        "validate_every": every, "checkpoint_every": every, "average": "moving", "decay": 0.99, "patience": 5,
    }  # fmt: skip
    if task != "translate":
        training |= {"batch_tokens": max(size.tokens, 4096), "rate": size.rate / 2}
    recipe = {
        "name": Path(files[0]).name.split(".")[0] or "run",
        "task": task,
        "data": {"train": [source], "held": max(20, min(held, count // 20))},
        "tokenizer": {"vocabulary": vocabulary},
        "model": model_for(task, size),
        "training": training,
    }
    return recipe if start is None else start.suited(recipe, steps=True)


def model_for(task: str, size: SizeDefaults) -> dict[str, Any]:
    """Few layers where there is little text: deeper ones would not begin to learn before it is over."""
    if task != "translate":
        return {**STACKS[size.preset], "layers": size.layers}
    deep = {"encoder_layers": size.layers, "decoder_layers": size.layers}
    return {"preset": size.preset, **deep, **({"dropout": 0.2} if size.layers == 2 else {})}


def rows_in(source: Any, base: Path, task: str) -> int:
    """How many rows there are, read through once."""
    checks = Checks(fields=1 if task in ("generate", "mask") else 2, labelled=task == "classify", swapped=False)
    return sum(1 for _ in SourceRows([source], base, checks))
