"""Scores of a translator on tiny files: the right ones, with intervals, beside a dictionary and what is published."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import pytest

from benchmarks.translator_checks import share
from benchmarks.translators import read_sets, score_model, table, training_pairs
from benchmarks.word_dictionary import learn_dictionary, translate
from regard.errors import FileError
from regard.text.grammar import sentences
from tests.training_cases import numbers


def compress(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode()))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The public sets and the training text, all of the built-in language; and what was kept aside."""
    root = tmp_path_factory.mktemp("data")
    test, train = sentences("test", 12, seed=5), sentences("train", 300, seed=5)
    for side, lines in (("en", [one.source for one in test]), ("fr", [one.target for one in test])):
        compress(root / f"flores200/devtest.{side}.xz", lines)
        compress(root / f"wmt-news/newstest2013.en-fr.{side}.xz", lines[:6])
    rows = [f"{one.source}\t{one.target}" for one in train]
    leak = f"{test[0].source}\t{test[0].target}"
    compress(root / "tatoeba-en-fr/pairs.tsv.xz", [*rows, leak])
    (root / "aside").mkdir()
    kept = [f"{one.source}\t{one.target}\n" for one in sentences("valid", 8, seed=5)]
    (root / "aside" / "0-tatoeba-en-fr.tsv").write_text("".join(kept), encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def scores(data: Path) -> dict[str, Any]:
    return score_model("grammar", data, data / "aside", limit=None, beams=1, device="cpu")


def test_every_set_is_scored_beside_a_dictionary(scores: dict[str, Any]) -> None:
    assert [(one["name"], one["pairs"]) for one in scores["sets"]] == [
        ("FLORES-200 devtest", 12), ("newstest2013", 6), ("tatoeba-en-fr", 8),
    ]  # fmt: skip
    for one in scores["sets"]:
        assert one["bleu"]["value"] > 90 > one["dictionary"]["bleu"] > 0
        assert one["bleu"]["signature"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
        assert 0 <= one["bleu"]["interval"] < 20
    assert scores["languages"] == ["en", "fr"]


def test_what_others_publish_is_marked_as_published(scores: dict[str, Any]) -> None:
    text = "\n".join(table(scores))
    assert "as published, not measured here" in text
    assert [one["published"][0]["bleu"] for one in scores["sets"]] == [52.2, 33.2, 50.5]
    assert "| FLORES-200 devtest | 12 |" in text


def test_lines_as_typed_and_pronouns_are_counted(scores: dict[str, Any]) -> None:
    typed, pronouns = scores["typed"], scores["pronouns"]
    assert typed["lines"] == 300
    assert 30 < typed["right"] < 150  # the model of the built-in language knows few of these words
    assert pronouns["asked"] > 100
    assert pronouns["right"] >= 0.98 * pronouns["asked"]
    text = "\n".join(table(scores))
    assert (
        f"Of 300 lines as people type them (single words, capitals, dates, addresses, greetings), {typed['right']} "
        in text
    )
    assert f"right in {pronouns['right']} of {pronouns['asked']} sentences" in text


def test_a_share_has_its_interval() -> None:
    assert share(252, 300) == "84.0 ± 4.1 %"
    assert share(7, 7) == "100.0 ± 0.0 %"


def test_a_sentence_that_is_scored_does_not_teach_the_dictionary(data: Path) -> None:
    sets = read_sets(("en", "fr"), data, data / "aside", None)
    pairs = list(training_pairs(("en", "fr"), data, sets))
    scored = {text for one in sets for text in one.sources}
    assert len(pairs) > 100
    assert not scored & {source for source, _ in pairs}
    back = list(training_pairs(("fr", "en"), data, sets))
    assert back == [(french, english) for english, french in pairs]


def test_the_other_direction_reads_the_other_side(data: Path) -> None:
    there, back = (read_sets(languages, data, None, 3) for languages in (("en", "fr"), ("fr", "en")))
    assert [one.sources for one in there] == [one.references for one in back]


def test_no_sets_are_said(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no test sets"):
        read_sets(("en", "fr"), tmp_path, None, None)


# The dictionary


def test_words_that_stand_for_each_other_are_found() -> None:
    english, french = (
        "zero one two three four five six seven eight nine".split(),  # noqa: SIM905
        "zéro un deux trois quatre cinq six sept huit neuf".split(),  # noqa: SIM905
    )
    assert learn_dictionary(numbers(200)) == dict(zip(english, french, strict=True))


def test_translation_keeps_capitals_signs_and_unknown_words() -> None:
    words = {"the": "le", "cat": "chat"}
    assert translate("The cat, the 2 dogs!", words) == "Le chat, le 2 dogs!"
    assert learn_dictionary([]) == {}
