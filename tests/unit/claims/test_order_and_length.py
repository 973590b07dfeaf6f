"""The rule of the claim, what its measurement sees, and both its forms in miniature."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from regard.claims.claim_names import claim_named
from regard.claims.lab.pair_task import PairIds, PairTask, WordIds
from regard.claims.lab.word_for_word import looked_up, right_in_any_order
from regard.claims.setting import Setting
from regard.claims.tried import order_and_length
from regard.claims.tried.order_and_length import Scores, by_dictionary, differs
from regard.text.word_translations import likeliest
from tests.claim_cases import Invented, check_rule
from tests.tiny_corpora import tiny_multi30k

MUCH, NOTHING = (60.0, 50.0, 70.0), (1.0, -2.0, 4.0)
INVENTED: Invented = {
    "holds": {"gained_by_2014": MUCH, "gained_by_2015": MUCH, "gained_by_2017": MUCH},
    "holds in part": {"gained_by_2014": NOTHING, "gained_by_2015": MUCH, "gained_by_2017": MUCH},
    "does not hold": {"gained_by_2014": NOTHING, "gained_by_2015": NOTHING, "gained_by_2017": NOTHING},
}
PAIRS = (
    ("the red house is big", "la maison rouge est grande"),
    ("the red wall is tall", "le mur rouge est haut"),
    ("the house is tall", "la maison est haute"),
    ("the wall is big", "le mur est grand"),
    ("the wall is red", "le mur est rouge"),
    ("the house ends", "la maison prend fin"),
)


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = dict.fromkeys(order_and_length.STEPS, 2)
    for name, value in {"PAIRS": 100, "TESTS": 60, "STEPS": steps, "FULL_STEPS": steps}.items():
        monkeypatch.setattr(order_and_length, name, value)


def task_of_words(pairs: tuple[tuple[str, str], ...]) -> PairTask:
    source, target = (WordIds(pair[side] for pair in pairs) for side in (0, 1))
    encoded = tuple(PairIds(source.encode(ours), target.encode(theirs)) for ours, theirs in pairs)
    return PairTask(encoded, (), encoded, source, target)


def test_the_rule_gives_every_verdict() -> None:
    check_rule("order-and-length", INVENTED)


def test_the_dictionary_finds_what_translates_what() -> None:
    dictionary = likeliest([(tuple(ours.split()), tuple(theirs.split())) for ours, theirs in PAIRS], nobody=False)
    assert (dictionary["house"], dictionary["wall"], dictionary["red"]) == ("maison", "mur", "rouge")
    assert looked_up(dictionary, ("wall", "unheard")) == ("mur", "unheard")


def test_words_count_wherever_they_stand_but_not_twice() -> None:
    assert right_in_any_order([("b", "a")], [("a", "b")]) == 1
    assert right_in_any_order([("a", "a")], [("a", "b")]) == 0.5


def test_word_for_word_is_right_where_languages_are_alike_and_wrong_where_they_differ() -> None:
    words = [f"word{number}" for number in range(8)]
    others = dict(zip(words, (f"mot{number}" for number in range(8)), strict=True))
    alike = [" ".join(words[(first + step) % 8] for step in range(5)) for first in range(8)]
    longer = [" ".join(others[word] for word in text.split()) for text in alike]
    pairs = [(ours, theirs) for ours, theirs in zip(alike, longer, strict=True)]
    pairs += [(ours, f"{' '.join(reversed(theirs.split()))} encore") for ours, theirs in pairs]
    task = task_of_words(tuple(pairs))
    assert [differs(task, pair) for pair in task.test] == [False] * 8 + [True] * 8
    found = by_dictionary(Setting(full=True), task)
    assert found.alike == pytest.approx(100)
    assert found.differing < 50
    assert found.any_order > 0.85


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize(("reached", "verdict"), [(100.0, "holds"), (0.0, "does not hold")])
def test_the_measurement_compares_with_the_dictionary(
    reached: float, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order_and_length, "run", lambda _, case: Scores(50.0, reached + case[1] / 10, 0.5))
    claim = claim_named("order-and-length")
    assert claim.rule.verdict(claim.measure(Setting((0, 1, 2))).numbers) == verdict


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("full", [False, True])
def test_both_forms_in_miniature(full: bool, tmp_path: Path) -> None:
    result = regard.claim("order-and-length").run(full=full, data=tiny_multi30k(tmp_path), seeds=[0, 1])
    assert set(result.measurement.numbers) == set(INVENTED["holds"])
    assert len(result.measurement.tables[0].rows) == 4
    assert "dictionary" in str(result)
