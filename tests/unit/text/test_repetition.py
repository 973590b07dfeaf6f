"""Texts that go round in circles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.repetition import longest, repeats, without_repeats

LOOPS = [
    "le chat le chat le chat le chat", "non non non non non", "il a dit qu'il a dit qu'il a dit qu'il",
    "hahahahahahahahahaha",
    "a b c d x a b c d y a b c d z a b c d", "mot " * 60, "x" * 200,
]  # fmt: skip


@pytest.mark.parametrize("text", LOOPS)
def test_circles_are_noticed_and_ended(text: str) -> None:
    source = "The cat is there."
    assert repeats(text, source)
    short = without_repeats(text, source)
    assert short
    assert len(short) <= longest(source)
    assert set(short.split()) <= set(text.split()) | {short}


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("Le chat dort.", "The cat sleeps."),
        ("Non, non, non, non !", "No, no, no, no!"),
        ("ha ha ha ha ha", "ha ha ha ha ha"),
        ("Nous nous nous levons.", "We get up."),
        ("nooooooooooooon", "nooooooooooooo"),
        ("", "Hello"),
        ("S'il vous plaît, pourriez-vous m'aider ?", "Please"),
    ],
)
def test_what_is_no_circle(text: str, source: str) -> None:
    assert not repeats(text, source)


def test_a_circle_is_said_once() -> None:
    assert without_repeats("le chat le chat le chat dort", "the cat") == "le chat dort"
    assert without_repeats("Non, non, non, non.", "no") == "non."


@given(st.text(st.sampled_from("ab "), max_size=80), st.text(max_size=5))
def test_no_words_are_made_up(text: str, source: str) -> None:
    short = without_repeats(text, source)
    assert len(short) <= len(text)
    assert bool(short) == bool(text.split())
