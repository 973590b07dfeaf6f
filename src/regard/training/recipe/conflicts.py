"""Settings of a recipe that cannot go together, each refused by its name before anything is read."""

from __future__ import annotations

from regard.errors import InputError
from regard.training.recipe.recipe import Recipe, Training
from regard.training.recipe.synthetic_tables import STAGES, Distillation


def check_conflicts(recipe: Recipe) -> None:
    """Raises at the first."""
    check_synthetic(recipe)
    if recipe.data.words and recipe.task != "translate":
        raise InputError(
            "data.words are words with their translations, and nothing is translated",
            found=f"data.words = {recipe.data.words}, task = {recipe.task!r}",
            do="leave it out",
        )
    if recipe.training.guided_alignment:
        check_guided(recipe)
    elif recipe.data.links or recipe.training.guided_head:
        what = "data.links" if recipe.data.links else "training.guided_head"
        raise InputError(
            f"{what} is for guided alignment, which is off",
            found="training.guided_alignment = 0",
            do="training.guided_alignment = 0.3, or leave both out",
        )


def check_start(recipe: Recipe, family: str | None) -> None:
    """What is said of a fine-tuning needs a model to start from; what is said of its layers needs stacks of them."""
    how = recipe.training
    chosen = {
        "anchor": (how.anchor, "holds on to the weights of a start"),
        "unfreeze": (how.unfreeze, "lets the layers of a start learn one by one"),
        "layer_decay": (how.layer_decay, "slows the lower layers of a start"),
    }
    for name, (value, what) in chosen.items():
        if value == Training.model_fields[name].default:
            continue
        if family is None:
            raise InputError(
                f"training.{name} {what}, and there is none",
                found=f"training.{name} = {value:g}",
                do="leave it out, or fine-tune: --start MODEL",
            )
        if name != "anchor" and family == "recurrent":
            raise InputError(
                f"training.{name} is for stacks of layers, and a recurrent model has none",
                found=f"training.{name} = {value:g}, start = {recipe.start!r}",
                do="leave it out; training.anchor suits every model",
            )


def check_guided(recipe: Recipe) -> None:
    """The head's weights are seen through the seam of a layer that every process has, and links are between fixed
    tokens."""
    how = recipe.training
    refused = {
        f"task = {recipe.task!r}": recipe.task != "translate",
        "model.family = 'recurrent'": recipe.model.get("family") == "recurrent",
        "training.subword_dropout": bool(how.subword_dropout),
        "training.compile": how.compile,
        "training.layout = 'sharded'": how.layout == "sharded",
    }
    for name, is_set in refused.items():
        if is_set:
            raise InputError(
                f"guided alignment does not go with {name}",
                found=f"training.guided_alignment = {how.guided_alignment:g}",
                do="leave one of the two out",
            )


def check_synthetic(recipe: Recipe) -> None:
    """Pairs are synthesized for translators, by models that are there or are trained from scratch for some steps."""
    for name in STAGES:
        table = getattr(recipe, name)
        if table is None:
            continue
        given = table.teacher if isinstance(table, Distillation) else table.model
        refused = {
            f"task = {recipe.task!r}": recipe.task != "translate",
            "training.minutes, which says nothing of earlier stages": recipe.training.minutes is not None,
            "start, unless it names a trained model": recipe.start is not None and not is_model(given),
        }
        for what, is_set in refused.items():
            if is_set:
                raise InputError(f"[{name}] does not go with {what}", do="leave one of the two out")


def is_model(given: object) -> bool:
    """A trained model is named, not a recipe or the tables of one."""
    return isinstance(given, str) and not given.endswith(".toml")
