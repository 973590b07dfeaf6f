"""Which validation is the best so far, where scores differ by no more than the choice of sentences would make them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from regard.errors import UnknownNameError
from regard.training.recipe.recipe import Recipe
from regard.training.report.events import Validated

Best = dict[str, float]  # what is kept of the best validation: plain numbers, for a checkpoint
Selection = Callable[[Validated, Any], tuple[bool, Best]]


def selection_for(recipe: Recipe) -> Selection:
    """How to tell whether a validation is better than the best before it."""
    default = {"translate": "", "classify": "accuracy"}.get(recipe.task, "loss")
    name = default if recipe.training.select == "auto" else recipe.training.select
    if name in ("bleu", "chrf") and recipe.task != "translate":
        raise UnknownNameError(f"score of the task {recipe.task!r}:", name, ("auto", "loss", "accuracy", "end"))
    return (lambda validated, best: by_score(name, validated, best)) if name else by_interval


def by_score(name: str, validated: Validated, best: Best | None) -> tuple[bool, Best]:
    """One score decides; of equal ones, the smaller loss."""
    loss = finite(validated.scores["loss"])
    score = {"end": float(validated.step), "loss": -loss}.get(name, validated.scores.get(name, -math.inf))
    new = {"score": -math.inf if math.isnan(score) else score, "loss": loss}
    known = best if isinstance(best, dict) and "score" in best else None  # else of an older checkpoint
    better = known is None or (new["score"], -loss) > (known["score"], -known["loss"])
    return better, new if better else known or new


def by_interval(validated: Validated, best: Best | None) -> tuple[bool, Best]:
    """Translations: BLEU decides between what lies within the interval of the highest BLEU so far and what does not.

    Within it, the higher chrF, if they are further apart than its interval; else the smaller loss. `highest` is kept
    beside the best: otherwise a run could go down by a little less than an interval again and again.
    """
    new = {**{name: validated.scores[name] for name in ("bleu", "chrf")}, "loss": finite(validated.scores["loss"])}
    new["chrf_interval"] = validated.intervals.get("chrf", 0.0)
    top = {"highest": new["bleu"], "interval": validated.intervals.get("bleu", 0.0)}
    if not isinstance(best, dict) or "highest" not in best:
        return True, new | top
    if best["highest"] >= new["bleu"]:
        top = {name: best[name] for name in top}
    better = beats(new, best, top["highest"] - top["interval"])
    return better, (new if better else best) | top


def beats(new: Best, best: Best, enough: float) -> bool:
    """Whether one validation is better than another, where that much BLEU is as good as the highest."""
    inside, best_inside = new["bleu"] >= enough, best["bleu"] >= enough
    if inside != best_inside:
        return inside
    difference = new["chrf"] - best["chrf"]
    if abs(difference) > max(new["chrf_interval"], best["chrf_interval"]):
        return difference > 0
    return new["loss"] < best["loss"]


def finite(loss: float) -> float:
    """What is not a number is worse than any."""
    return math.inf if math.isnan(loss) else loss
