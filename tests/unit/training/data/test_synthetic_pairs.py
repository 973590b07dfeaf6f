"""Which translations are good enough to learn from."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.tasks.translator import Translation
from regard.training.data.synthetic_pairs import (
    EQUAL,
    FAR,
    NO_END,
    RATIO,
    REPEATED,
    PairFilter,
    SyntheticSource,
    as_sources,
    ended_text,
    read_synthetic,
    repeats,
    write_pairs,
    write_synthetic,
)

KEEP = PairFilter(ratio=3.0, chrf=30.0)


@pytest.mark.parametrize(
    ("text", "translation", "reference", "fault"),
    [
        ("the cat sleeps", "le chat dort", "le chat dort", ""),
        ("the cat sleeps", "", "le chat dort", NO_END),
        ("Paris", "Paris", "Paris", EQUAL),
        ("the cat sleeps on the sofa in the room", "le", "le chat", RATIO),
        ("the cat sleeps and dreams", "le chat le chat le chat dort", None, REPEATED),
        ("no no no", "non non non", "non non non", ""),
        ("the cat sleeps", "une voiture passe", "le chat dort", FAR),
        ("the cat sleeps", "une voiture passe", None, ""),
    ],
)
def test_a_translation_is_left_out_for_its_first_fault(
    text: str, translation: str, reference: str | None, fault: str
) -> None:
    assert KEEP.fault(text, translation, reference) == fault


def test_phrases_of_up_to_four_words_are_seen_to_repeat() -> None:
    assert repeats("a b c d a b c d a b c d")
    assert not repeats("a b c d a b c d a b c")
    assert not repeats("a b a c a d")


def test_what_came_to_no_end_says_nothing() -> None:
    assert ended_text("", [Translation("a  b\nc", 0.0)]) == "a b c"
    assert ended_text("", [Translation("a b", 0.0, cut=True)]) == ""


def test_pairs_are_written_either_way_and_found_again(tmp_path: Path) -> None:
    place = tmp_path / "synthetic"
    place.mkdir()
    rows = [("un chat", "a cat", None), ("un chien", "", None)]
    kept = write_pairs([place / "0.source", place / "0.target"], rows, PairFilter(3.0), back=True, tag=False)
    assert kept == (1, {NO_END: 1})
    assert (place / "0.source").read_text() == "a cat\n"
    assert (place / "0.target").read_text() == "un chat\n"
    assert read_synthetic(tmp_path) is None
    sources = [
        SyntheticSource("back_translation", ("0.source", "0.target"), 0.5, *kept),
        SyntheticSource("distillation", ("1.source", "1.target"), 1.0, 0, {}),
    ]
    write_synthetic(tmp_path, sources)
    assert read_synthetic(tmp_path) == sources
    (source,) = as_sources(tmp_path, sources)
    assert source["weight"] == 0.5
    assert Path(source["target"]).read_text() == "un chat\n"
