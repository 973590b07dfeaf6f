"""The recipe of a stage: what trains a teacher, or a model of the other direction, on the pairs of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from regard.training.recipe.derived import follow_steps
from regard.training.recipe.recipe import Recipe, find_recipe, read_recipe
from regard.training.recipe.synthetic_tables import STAGE_TABLES, STAGES, BackTranslation, Distillation, StageName

FOLDERS: dict[StageName, str] = {"distillation": "teacher", "back_translation": "reverse"}
SIDES = ("source", "target")
VALID = "valid"


class Stage(NamedTuple):
    """A table of synthetic pairs by its name. `inputs` is the side that is translated, of each pair of the run."""

    name: StageName
    table: Distillation | BackTranslation

    @property
    def folder(self) -> str:
        """Of the model that it trains, inside that of the run."""
        return FOLDERS[self.name]

    @property
    def given(self) -> str | dict[str, Any]:
        """The model, or what says how to train it."""
        return self.table.teacher if isinstance(self.table, Distillation) else self.table.model

    @property
    def trained(self) -> bool:
        """Whether the model must be trained first."""
        return not isinstance(self.given, str) or self.given.endswith(".toml")

    @property
    def inputs(self) -> str:
        return SIDES[self.name == "back_translation"]


def stage_recipe(recipe: Recipe, stage: Stage, numbers: Sequence[int], weights: Sequence[float]) -> Recipe:
    """For the pairs that a run has written down: sources by number, each weighing as much as there.

    Nothing is kept aside or held back: what was written down is what may be trained on.
    """
    before = recipe.model_dump(exclude_none=True)
    given = find_recipe(stage.given) if isinstance(stage.given, str) else stage.given
    tables: dict[str, Any] = {name: {**before[name], **given.get(name, {})} for name in STAGE_TABLES}
    tables["model"] = given.get("model", before["model"])
    changed = {f"{name}.{key}" for name in STAGE_TABLES for key in given.get(name, {})}
    tables = follow_steps(before, tables, changed)
    tables["training"] |= {"guided_alignment": 0.0, "guided_head": ""}
    sides = SIDES if stage.name == "distillation" else SIDES[::-1]
    data: dict[str, Any] = {
        "train": [{**pair_files(str(n), sides), "weight": weight} for n, weight in zip(numbers, weights, strict=True)],
        "valid": [pair_files(VALID, sides)],
        **{name: before["data"][name] for name in ("longest", "slots")},
        "swapped": False,
    }
    if recipe.data.languages is not None:
        ways = recipe.data.languages
        data["languages"] = ways if stage.name == "distillation" else ways[::-1]
    return read_recipe({"name": f"{recipe.name}-{stage.folder}", "task": "translate", "data": data, **tables})


def pair_files(name: str, sides: Sequence[str] = SIDES) -> dict[str, str]:
    """Two line-aligned files; the first of `sides` is what the model reads."""
    return {"source": f"{name}.{sides[0]}", "target": f"{name}.{sides[1]}"}


def stages_of(recipe: Recipe) -> list[Stage]:
    """Those that a recipe asks for, in order."""
    tables = ((name, getattr(recipe, name)) for name in STAGES)
    return [Stage(name, table) for name, table in tables if table is not None]
