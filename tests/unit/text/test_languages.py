"""Which language a text is in."""

from __future__ import annotations

import random

import pytest

from regard.errors import UnknownNameError
from regard.text.languages import detect, language_of_texts
from tests.training_cases import numbers

TEXTS = {
    "en": "The committee will meet again next week to discuss what remains.",
    "fr": "La commission se réunira la semaine prochaine pour parler de ce qui reste.",
    "de": "Der Ausschuss trifft sich nächste Woche wieder, um den Rest zu besprechen.",
    "es": "La comisión se reunirá la semana que viene para hablar de lo que queda.",
}


@pytest.mark.parametrize("language", TEXTS)
def test_the_right_one_comes_first(language: str) -> None:
    assert detect(TEXTS[language], None)[0][0] == language
    ranks = detect(TEXTS[language], tuple(TEXTS))
    assert ranks[0][0] == language
    assert ranks[0][1] > 0.9
    assert sum(share for _, share in ranks) == pytest.approx(1)
    assert [share for _, share in ranks] == sorted((share for _, share in ranks), reverse=True)


def test_only_what_is_asked_for_is_answered() -> None:
    assert {code for code, _ in detect(TEXTS["de"])} == {"en", "fr"}
    assert detect("Le chat dort.", ("en", "fr"))[0][0] == "fr"
    assert detect(TEXTS["de"], ("fr",)) == [("fr", 1.0)]


@pytest.mark.parametrize("text", ["", "42", "?!"])
def test_a_text_that_says_nothing_is_as_likely_either(text: str) -> None:
    assert [share for _, share in detect(text)] == [0.5, 0.5]


def test_a_language_that_is_unknown_is_said() -> None:
    with pytest.raises(UnknownNameError, match="frr"):
        detect("Le chat dort.", ("en", "frr"))


def test_many_short_texts_tell_together() -> None:
    sides = list(zip(*numbers(60), strict=True))
    assert [language_of_texts(side) for side in sides] == ["en", "fr"]


def test_no_majority_is_no_language() -> None:
    mixed = [TEXTS["en"], TEXTS["fr"]] * 30
    random.Random(0).shuffle(mixed)
    halves = [TEXTS["en"]] * 30 + [TEXTS["fr"]] * 30
    assert (language_of_texts(halves), language_of_texts([])) == (None, None)
