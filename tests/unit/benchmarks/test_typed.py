"""The lines that people type: what is right, and that no model loses anything of them."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from benchmarks.typed import RIGHT_AT_LEAST, is_right, keeps, normalised, read_lines, score, translated
from regard.interop.folders import locate
from regard.tasks import Translator, load
from regard.tasks.long_texts import recipe_of
from regard.tasks.pipeline import TranslationPipeline
from tests.translator_fakes import HOSTILE, FakeTranslator, Say

KINDS = {
    "word", "caps", "bare", "several", "number", "date", "name", "url", "email", "emoji", "placeholder", "tag",
    "greeting", "polite", "everyday",
}  # fmt: skip


@pytest.mark.parametrize(("direction", "count"), [("en-fr", 300), ("fr-en", 100)])
def test_the_lines(direction: str, count: int) -> None:
    lines = read_lines(direction)
    assert len(lines) >= count
    assert {line.kind for line in lines} == KINDS
    assert len({line.source for line in lines}) == len(lines)
    assert min(Counter(line.kind for line in lines).values()) >= count // 20
    for line in lines:
        assert line.answers
        assert all(is_right(line, answer) and keeps(line.source, answer) for answer in line.answers), line


def test_what_typesetters_differ_in_counts_for_nothing() -> None:
    assert normalised("L’été :\u00a0« oui » ?") == normalised("l'été: «oui»?")
    assert normalised("Paris") != normalised("PARIS")


def test_a_score_counts_what_is_right_lost_and_repeated() -> None:
    lines = [line for line in read_lines("en-fr") if line.source in ("cat", "%d files", "Hello!")]
    assert [line.source for line in lines] == ["cat", "%d files", "Hello!"]
    result = score(lines, ["Chat", "fichiers", "bonjour " * 9])
    assert (result.right.total(), result.keeping, result.repeating) == (1, 2, 1)
    assert result.share_right == pytest.approx(1 / 3)


@pytest.mark.parametrize("slots", [True, False])
@pytest.mark.parametrize("say", HOSTILE)
def test_no_translator_loses_a_span_or_goes_round_in_circles(say: Say, slots: bool) -> None:
    lines = read_lines("en-fr") + read_lines("fr-en")
    answers = TranslationPipeline(FakeTranslator(say, knows_slots=slots)).translate([line.source for line in lines])
    result = score(lines, [answer.text for answer in answers])
    assert result.keeping == len(lines)
    assert result.repeating == 0


@pytest.mark.parametrize("name", RIGHT_AT_LEAST)
def test_models_that_ship(name: str) -> None:
    task = load(name, "cpu")
    assert isinstance(task, Translator)
    lines = read_lines("-".join(recipe_of(locate(name))["data"]["languages"]))
    answers = translated(task, lines)
    result = score(lines, [answer.text for answer in answers])
    assert result.keeping == len(lines)
    assert result.repeating == 0
    assert result.share_right >= RIGHT_AT_LEAST[name]
    assert all(0.0 <= answer.doubt <= 1.0 for answer in answers)
    card = re.search(
        r"Of (\d+) lines as people type them .*?, (\d+) become", (locate(name) / "README.md").read_text("utf-8")
    )
    if card is not None:  # a few lines are let go, at which two answers are nearly equally likely
        assert int(card[1]) == len(lines)
        assert int(card[2]) == pytest.approx(result.right.total(), abs=4)
    else:
        assert name == "grammar"
