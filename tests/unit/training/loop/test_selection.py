"""Which validation is kept: every branch with invented numbers, and that it is all in a checkpoint."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from regard.errors import UnknownNameError
from regard.text.scores import bleu, bleu_interval, chrf, chrf_interval
from regard.training.loop.selection import Best, selection_for
from regard.training.recipe.recipe import read_recipe
from regard.training.report.events import Validated
from tests.training_cases import TINY, go, left_by, numbers, write_rows


def recipe(task: str = "translate", select: str = "auto") -> object:
    return read_recipe({"task": task, "data": {"train": "a.tsv"}, "training": {"select": select}})


def seen(step: int, bleu: float, chrf: float, loss: float, width: float = 1.0, chrf_width: float = 0.5) -> Validated:
    scores = {"bleu": bleu, "chrf": chrf, "loss": loss, "accuracy": 50.0}
    return Validated(step, 0.0, scores, False, [], {"bleu": width, "chrf": chrf_width})


def kept(validations: list[Validated], task: str = "translate", select: str = "auto") -> tuple[int, list[bool]]:
    """The step whose weights are kept, and which validations were the best when they came; by way of a checkpoint."""
    choose, best, step, verdicts = selection_for(recipe(task, select)), None, 0, []  # type: ignore[arg-type]
    for one in validations:
        better, state = choose(one, best)
        best: Best | None = json.loads(json.dumps(state))
        step = one.step if better else step
        verdicts.append(better)
    return step, verdicts


@pytest.mark.parametrize(
    ("validations", "step"),
    [
        ([seen(1, 20, 40, 2.0), seen(2, 22, 30, 3.0)], 2),  # beyond the interval, BLEU alone
        ([seen(1, 22, 40, 3.0), seen(2, 20, 60, 1.0)], 1),  # and not below it either, whatever else is better
        ([seen(1, 20, 40, 2.0), seen(2, 20.5, 41, 3.0)], 2),  # within it, chrF
        ([seen(1, 20, 41, 2.0), seen(2, 20.5, 40, 1.0)], 1),  # chrF is worse by more than its interval
        ([seen(1, 20, 40, 2.0), seen(2, 19.5, 40.3, 1.9)], 2),  # within both, the loss
        ([seen(1, 20, 40, 2.0), seen(2, 20.9, 40.3, 2.1)], 1),  # a higher BLEU that means nothing
        ([seen(1, 20, 40, 2.0), seen(2, 20, 40, 2.0)], 1),  # of equals, the first
        ([seen(1, 20, 40, math.nan), seen(2, 20, 40, 2.0)], 2),  # a loss that is no number is worse than any
        ([seen(1, 20, 40, 2.0), seen(2, 20, 40, math.nan)], 1),
        ([seen(1, 0, 0, 9.0, 0, 0), seen(2, 0, 0, 8.0, 0, 0)], 2),  # nothing is translated yet: the loss
    ],
)
def test_each_branch_of_the_rule(validations: list[Validated], step: int) -> None:
    assert kept(validations)[0] == step


def test_it_cannot_go_down_a_little_at_a_time() -> None:
    falling = [seen(step, 20 - 0.6 * step, 40, 5 - 0.1 * step) for step in range(6)]
    assert kept(falling)[0] == 1  # 19.4 is within 1 of the highest, 20; 18.8 and all that follow are not


def test_the_highest_counts_even_where_it_was_not_kept() -> None:
    first, second = seen(1, 20, 40, 1.0), seen(2, 20.8, 40, 2.0)
    assert kept([first, second]) == (1, [True, False])
    assert kept([first, second, seen(3, 19.7, 40, 0.5)])[0] == 1  # 20.8 - 1 is more than 19.7
    assert kept([first, second, seen(3, 21.5, 40, 3.0)])[0] == 3  # now 20 is too low, and 21.5 is all there is


@pytest.mark.parametrize(
    ("task", "select", "step"),
    [
        ("translate", "bleu", 2), ("translate", "chrf", 1), ("translate", "loss", 3), ("translate", "end", 4),
        ("classify", "auto", 3), ("generate", "auto", 3),
    ],
)  # fmt: skip
def test_a_score_that_is_named_decides_alone(task: str, select: str, step: int) -> None:
    rows = [seen(1, 20, 44, 2.0), seen(2, 20.1, 43, 2.5), seen(3, 20, 42, 1.0), seen(4, 19, 41, 1.5)]
    assert kept(rows, task, select)[0] == step


def test_scores_of_other_tasks_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="auto"):
        selection_for(recipe("generate", "bleu"))  # type: ignore[arg-type]


@pytest.mark.parametrize("old", [None, 12.5, {"score": 3.0, "loss": 1.0}])
def test_what_another_version_kept_is_no_obstacle(old: object) -> None:
    assert selection_for(recipe())(seen(1, 20, 40, 2.0), old)[0]  # type: ignore[arg-type]


def test_intervals_are_those_of_the_bootstrap() -> None:
    pairs = numbers(120, seed=3)
    references = [french for _, french in pairs]
    outputs = [text if n % 3 else text.replace("un", "deux") + " zéro" for n, text in enumerate(references)]
    for interval, score in ((bleu_interval, bleu), (chrf_interval, chrf)):
        width = interval(outputs, references)
        assert width == interval(outputs, references)  # the same every time
        assert interval(references, references) == 0.0
        assert 0 < width < min(score(outputs, references).value, 100 - score(outputs, references).value)
        # four times the sentences: half as wide. Of 200 draws a quantile is within a third or so.
        assert 0.3 < interval(outputs * 4, references * 4) / width < 0.8


def test_a_run_says_its_intervals_and_keeps_its_best_in_the_checkpoint(tmp_path: Path) -> None:
    corpus = write_rows(tmp_path / "numbers.tsv", numbers(80))
    go(corpus, tmp_path / "model", TINY)
    best = left_by(tmp_path / "model")["position"]["best"]
    assert set(best) == {"bleu", "chrf", "loss", "chrf_interval", "highest", "interval"}
    rows = [
        json.loads(line) for line in (tmp_path / "model" / "log.jsonl").read_text(encoding="utf-8").split("\n") if line
    ]
    assert all(set(row["intervals"]) == {"bleu", "chrf"} for row in rows if row["event"] == "valid")
