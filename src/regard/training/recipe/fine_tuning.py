"""Fine-tuning: what a trained model decides when training starts from it, and what suits it where nobody says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.models.checkpoint import own_tensors
from regard.models.config import BlockConfig
from regard.tasks.long_texts import recipe_of
from regard.tasks.model_folder import find, tokenizer_of
from regard.text.bpe import Paired
from regard.training.recipe.build_model import CHANGEABLE
from regard.training.recipe.recipe import Recipe, Training, with_settings

KINDS = {"pairs": "translate", "labelled": "classify", "lines": "generate"}
# What has been learned is to be kept: a fraction of the rate of fresh weights, smaller for larger models.
RATES = ((20_000_000, 3e-4), (60_000_000, 1e-4), (float("inf"), 3e-5))  # up to so many parameters
WARMUP = 100  # steps at most
# By how much of the way a translator goes back to its start. In three trials (benchmarks/NOTES.md, "Fine-tuning without
# forgetting") that kept what was known within 1 BLEU, where 2 to 27 were lost without it, for a part of what was won.
ANCHOR = 0.6
SHORTER = 3  # times fewer steps than for fresh weights


@dataclass(frozen=True)
class Start:
    """A model that training starts from, in the numbers that a recipe needs."""

    name: str
    family: str
    parameters: int
    vocabulary: int
    joint: bool
    positions: int | None  # how many it has learned, if it has learned them
    slots: float = 0.0  # the share of its pairs that had them, by its recipe: what it can copy it is to go on copying

    @property
    def rate(self) -> float:
        return next(rate for most, rate in RATES if self.parameters <= most)

    def task_for(self, kind: str) -> str:
        """What is trained on rows of a kind, as far as the model decides it."""
        if self.family in ("transformer", "recurrent") and kind == "labelled":
            return "translate"
        return "mask" if self.family == "encoder" and kind == "lines" else KINDS[kind]

    def suited(self, recipe: dict[str, Any], *, steps: bool) -> dict[str, Any]:
        """A recipe for fresh weights as one that goes on: the sizes are the model's, the rate is low.

        `steps`: there are fewer of them too, since nobody said how many.
        """
        training = dict(recipe.get("training", {}))
        data = dict(recipe["data"])
        count = max(training["steps"] // SHORTER, 1) if steps else training.get("steps", 10_000)
        if steps and recipe["task"] == "translate":
            data["slots"], training["anchor"] = self.slots, ANCHOR
        rate, warmup = min(training.get("rate", self.rate), self.rate), training.get("warmup", WARMUP)
        training |= {"steps": count, "rate": rate, "warmup": min(warmup, WARMUP, count // 10)}
        if steps:
            every = max(count // 10, 50)
            training |= {"validate_every": every, "checkpoint_every": every}
        if self.positions is not None and recipe.get("task") == "generate":
            training["block"] = min(training.get("block", 256), self.positions)
        elif self.positions is not None:
            data["longest"] = min(data.get("longest", 128), self.positions)
        model = {name: value for name, value in recipe.get("model", {}).items() if name in CHANGEABLE and not steps}
        return {**recipe, "start": self.name, "data": data, "model": model, "training": training}

    def effective(self, recipe: dict[str, Any]) -> dict[str, Any]:
        """The recipe with the tokenizer that is really used: another would give the model's words other numbers."""
        return {**recipe, "tokenizer": {"vocabulary": self.vocabulary, "joint": self.joint}}


def read_start(name: str) -> Start:
    """What a folder or a name says as a start."""
    folder = find(name)
    config, tokenizer = folder.model.config, tokenizer_of(folder)
    return Start(
        name=name,
        family=config.family,
        parameters=sum(tensor.numel() for tensor in own_tensors(folder.model).values()),
        vocabulary=tokenizer.size,
        joint=not isinstance(tokenizer, Paired),
        slots=slots_of(folder.folder),
        positions=config.max_length if isinstance(config, BlockConfig) and config.positions == "learned" else None,
    )


def slots_of(folder: Path) -> float:
    """The share of pairs with slots in a model's own training."""
    data = recipe_of(folder).get("data")
    share = data.get("slots", 0.0) if isinstance(data, dict) else 0.0
    return share if isinstance(share, float) and 0 <= share < 1 else 0.0


def start_in(settings: Sequence[str]) -> Start | None:
    """The model that settings such as "start=FOLDER" name, if they name one."""
    named = with_settings({}, [one for one in settings if one.partition("=")[0].strip() == "start"])
    return read_start(str(named["start"])) if named else None


def start_words(recipe: Recipe, parameters: int) -> str:
    """What training starts from, in one line."""
    size = f"{parameters / 1e6:.1f}M" if parameters >= 1e5 else f"{parameters:,}"
    how = recipe.training
    return (
        f"starts from {recipe.start} ({size} parameters), its tokenizer ({recipe.tokenizer.vocabulary:,} tokens), "
        f"rate {how.rate:g}, {how.warmup:,} steps of warm-up{layer_words(how)}"
    )


def layer_words(how: Training) -> str:
    """Which of its layers learn when, and how fast, where they do not all learn alike."""
    slower = f", each layer {how.layer_decay:g} times as fast as the one above it" if how.layer_decay < 1 else ""
    later = f", frozen at first and freed from the top over {how.unfreeze:.0%} of the steps" if how.unfreeze else ""
    return slower + later
