"""Capitals, full stops and small letters as the source has them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.capitals import is_acronyms, is_shouted, like_source, lowered, raised


@pytest.mark.parametrize(
    "text", ["HELLO", "STOP!", "I AM HERE", "À BIENTÔT", "NASA LAUNCHES A ROCKET", "DO NOT ENTER 5"]
)
def test_shouted(text: str) -> None:
    assert is_shouted(text)
    assert not is_acronyms(text)


@pytest.mark.parametrize("text", ["NASA", "USB", "PDF, HTML", "I", "A 5", "Hello", "42", "", "iPhone", "OK"])
def test_not_shouted(text: str) -> None:
    assert not is_shouted(text)


def test_acronyms_alone_stay() -> None:
    assert is_acronyms("NASA")
    assert is_acronyms("PDF, HTML")
    assert not is_acronyms("I")
    assert not is_acronyms("html")
    assert not is_acronyms("")


def test_as_a_sentence_is_written() -> None:
    assert lowered("I THINK I'M AT NASA.") == "I think I'm at NASA."
    assert lowered("«ÉTÉ»") == "«Été»"


def test_raised_but_for_spans() -> None:
    assert raised("à {name}, ça va ?", ["{name}"]) == "À {name}, ÇA VA ?"
    assert raised("voir {ab} et {a", ["{a", "{ab}"]) == "VOIR {ab} ET {a"


@given(st.text(max_size=20))
def test_nothing_moves(text: str) -> None:
    assert len(lowered(text)) == len(text) or any(len(char.upper()) != 1 for char in text)


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("the cat sleeps", "Le chat dort.", "le chat dort"),
        ("The cat sleeps", "Le chat dort.", "Le chat dort"),
        ("The cat sleeps.", "Le chat dort.", "Le chat dort."),
        ("paris is big", "Paris est grand.", "paris est grand".replace("p", "P", 1)),
        ("wait", "Attends...", "attends..."),
        ("in the USA", "Aux U.S.A.", "aux U.S.A."),
        ("see \ue000", "Voir \ue000.", "voir \ue000"),
        ("nasa", "NASA", "NASA"),
        ("20 minutes ago", "Il y a.", "Il y a"),
        ("chapter 2", "Chapitre 2.", "chapitre 2"),
        ("where is it", "Où est-ce ?", "où est-ce"),
        ("good morning", "Bonjour !", "bonjour"),
        ("Mr. X", "M. X.", "M. X."),
        ("what", "Quoi ?!", "quoi ?!"),
        ("", "Oui.", "Oui."),
    ],
)
def test_like_the_source(source: str, output: str, expected: str) -> None:
    assert like_source(source, output) == expected
