"""Settings that hang on how many steps there are follow them: a tenth of the steps, a tenth of the warm-up."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from regard.training.recipe.recipe import Training

FOLLOWING = ("warmup", "validate_every", "checkpoint_every", "decay")
SELDOM = 50  # steps between two validations at least: each of them costs as much as many steps
WINDOW = 10.0  # steps that a moving average spans, at least


def given_by(settings: Collection[str]) -> set[str]:
    """The names of the settings that someone gave: "training.steps=5" gives training.steps."""
    return {setting.partition("=")[0].strip() for setting in settings}


def follow_steps(before: Mapping[str, Any], after: dict[str, Any], given: Collection[str]) -> dict[str, Any]:
    """A recipe's data whose steps were changed, with all that hangs on them changed as much, but for what was given."""
    old, new = (table_of(data).get("steps", Training().steps) for data in (before, after))
    if not (is_number(old) and is_number(new)) or old == new or not isinstance(after.get("training"), Mapping):
        return after
    fixed = {name for name in FOLLOWING if f"training.{name}" in given}
    table = {**defaults(), **table_of(before)}
    moved = scaled({name: table[name] for name in FOLLOWING if name not in fixed}, old, new)
    return {**after, "training": {**table_of(after), **moved}}


def fill_in(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """A recipe that says its steps and not what hangs on them: that is in proportion to the defaults."""
    table, usual = table_of(data), Training()
    steps: Any = table.get("steps")
    if not is_number(steps) or steps == usual.steps:
        return data
    missing = {name: value for name, value in defaults().items() if name not in table and name != "decay"}
    return {**data, "training": {**scaled(missing, usual.steps, steps), **table}}


def scaled(values: Mapping[str, Any], old: int, new: int) -> dict[str, Any]:
    """Each in proportion; what cannot be scaled is left for the recipe's own checks."""
    share = new / old
    changed: dict[str, Any] = {}
    for name, value in values.items():
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            changed[name] = value
        elif name == "decay":
            window = 1 / (1 - value) if value < 1 else WINDOW
            changed[name] = round(1 - 1 / max(window * share, min(window, WINDOW)), 6)
        elif name == "warmup":
            changed[name] = min(round(value * share), new - 1)
        else:
            changed[name] = max(round(value * share), min(SELDOM, value, new), 1)
    return changed


def defaults() -> dict[str, Any]:
    usual = Training().model_dump()
    return {name: usual[name] for name in FOLLOWING}


def table_of(data: Mapping[str, Any]) -> dict[str, Any]:
    table = data.get("training", {})
    return dict(table) if isinstance(table, Mapping) else {}


def is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
