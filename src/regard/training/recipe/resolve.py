"""Which recipe a call of `train` means: one by name, a file, or one made for text, with all that was said beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from regard.errors import InputError
from regard.training.recipe.conflicts import check_conflicts, check_start
from regard.training.recipe.defaults import recipe_for
from regard.training.recipe.derived import fill_in, follow_steps, given_by, table_of
from regard.training.recipe.file_options import NO_OPTIONS, FileOptions
from regard.training.recipe.fine_tuning import read_start, start_in
from regard.training.recipe.recipe import Recipe, find_recipe, names, read_recipe, with_settings
from regard.training.recipe.shipped_start import asks_for_another, shipped_start


class Request(NamedTuple):
    """A recipe's name or file, or files of text, found below `base`; settings change single values."""

    what: str | Path | Sequence[str]
    base: Path
    settings: Sequence[str] = ()
    task: str | None = None
    options: FileOptions = NO_OPTIONS
    scratch: bool = False  # fresh weights, even where a model ships for the languages


def resolve(request: Request) -> Recipe:
    """The effective recipe."""
    what, base, settings, task, options, scratch = request
    given, keys, start = as_names(what), given_by(settings), start_in(settings)
    if names_recipe(what):
        data = find_recipe(given[0])
        if start is not None or options != NO_OPTIONS:
            read_recipe(data)  # what is wrong with it is said before it is changed
        data = options.apply_to_recipe(data)
        if task is not None and task != data.get("task", "translate"):
            settings = [f"task={task}", *settings]
        data = data if start is None else start.suited(data, steps=False)
    elif len(given) == 1 and not is_data(given[0], base):
        data = find_recipe(given[0])  # neither a recipe nor a file: the error offers the nearest recipe
    else:
        if not scratch and not asks_for_another(keys, task):
            chosen = shipped_start(given, base, options, languages_in(settings))
            if chosen is not None:
                start = read_start(chosen.name)
                settings = [f"data.languages={list(chosen.languages)}", *settings]
        data = recipe_for(given, base, task, options, start, minutes_of(settings))
        if "model.family" in keys:
            data["model"] = {}  # the sizes by default are those of a fresh transformer
    data = dict(fill_in(data))
    data = follow_steps(data, with_settings(data, settings), keys)
    name = data.get("start")
    start = start or (read_start(name) if isinstance(name, str) else None)
    recipe = read_recipe(data if start is None else start.effective(data))
    if recipe.training.minutes is not None and "training.steps" in keys:
        raise InputError(
            "both a number of steps and a number of minutes say when to end",
            found=f"training.steps = {recipe.training.steps:,}, training.minutes = {recipe.training.minutes:g}",
            do="give one of them",
        )
    check_conflicts(recipe)
    check_start(recipe, None if start is None else start.family)
    return recipe


def languages_in(settings: Sequence[str]) -> tuple[str, str] | None:
    """The languages of the two columns, where the settings say them."""
    table = with_settings({}, settings).get("data")
    value = table.get("languages") if isinstance(table, dict) else None
    return (str(value[0]), str(value[1])) if isinstance(value, list) and len(value) == 2 else None


def minutes_of(settings: Sequence[str]) -> float | None:
    """The budget among the settings; one that is none is left for the recipe to refuse."""
    value = table_of(with_settings({}, settings)).get("minutes")
    return value if isinstance(value, (int, float)) and math.isfinite(value) else None


def as_names(what: str | Path | Sequence[str]) -> list[str]:
    return [str(what)] if isinstance(what, (str, Path)) else [str(one) for one in what]


def names_recipe(what: str | Path | Sequence[str]) -> bool:
    given = as_names(what)
    return len(given) == 1 and (given[0].endswith(".toml") or given[0] in names())


def is_data(name: str, base: Path) -> bool:
    """Whether a name that is no recipe's can be meant for text: a file, a glob, or a set of the built-in language."""
    return bool(Path(name).suffix) or (base / name).exists() or any(mark in name for mark in "*?[:")
