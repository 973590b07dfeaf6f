"""Single words from a run's own pairs: which ones, from where, and that they stay the same."""

from __future__ import annotations

import random
import re
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from regard.errors import InputError
from regard.text.corpora import Checks
from regard.text.word_translations import MutualWords
from regard.training.data import single_words
from regard.training.data.prepared_text import PreparedText
from regard.training.data.row_sample import sample_pairs
from regard.training.data.single_words import choose, words_in
from regard.training.data.synthetic_pairs import SyntheticSource, write_synthetic
from regard.training.recipe.conflicts import check_conflicts
from regard.training.recipe.recipe import read_recipe
from regard.training.recipe.source_rows import SourceRows, chosen
from regard.training.report.events import Event, Preparing, silent
from tests.prepare_cases import prepare, texts
from tests.training_cases import ENGLISH, FRENCH, TINY, EventRecorder, Stop, go, same, write_rows

WORDS = dict(zip(ENGLISH, FRENCH, strict=True))
ALIKE = "six"  # in both languages


def phrases(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Numbers of two to five words: none stands alone."""
    rng = random.Random(seed)
    rows: dict[str, str] = {}
    while len(rows) < count:
        some = rng.choices(ENGLISH, k=rng.randint(2, 5))
        rows[" ".join(some)] = " ".join(WORDS[word] for word in some)
    return list(rows.items())


def pairs_of(prepared: PreparedText) -> list[tuple[str, str]]:
    return list(zip(texts(prepared, "source"), texts(prepared, "target"), strict=True))


def alone(prepared: PreparedText) -> list[tuple[str, str]]:
    return [row for row in pairs_of(prepared) if " " not in row[0]]


def prepared_with(folder: Path, heard: EventRecorder | None = None, **data: Any) -> PreparedText:
    write_rows(folder / "v.tsv", [("one and two", "un et deux")])
    return prepare(folder, heard, data={"train": "a.tsv", "valid": "v.tsv", "words": 20, **data})


def test_words_join_the_rows_and_are_reported(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.tsv", phrases(200))
    heard = EventRecorder()
    prepared = prepared_with(tmp_path, heard, train=[{"file": "a.tsv", "weight": 2.5}])
    rows = alone(prepared)
    small = {row for row in rows if row[0].islower()}
    assert small == {row for row in WORDS.items() if row[0] != ALIKE}  # one of ten is more than are used
    large = {row for row in rows if not row[0].islower()}
    assert len(large) == single_words.CAPITALS
    assert all((a.lower(), b.lower()) in small and a.istitle() and b.istitle() for a, b in large)
    assert prepared.weights == (2.5, 2.5)
    assert [int(one) for one in prepared.sources].count(1) == len(rows)
    assert "9 single words of 20 (data.words), learned from 200 training pairs, are trained on too: " in heard.notes
    assert len(re.findall(r"\w+ → \w+", heard.notes)) == 3
    assert {"reading pairs for single words", "cutting words", "learning words"} <= {
        event.what for event in heard.of(Preparing)
    }
    assert not heard.warnings


def test_only_as_many_words_as_wanted(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.tsv", phrases(200))
    heard = EventRecorder()
    assert len(alone(prepared_with(tmp_path, heard, words=3))) == 4
    assert "3 single words, learned" in heard.notes
    write_rows(tmp_path / "b" / "a.tsv", phrases(200))
    assert not alone(prepared_with(tmp_path / "b", words=0))


def test_where_nothing_is_sure_no_words_are_added(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.tsv", [(f"a{n} b{n}", f"c{n} d{n}") for n in range(40)])
    heard = EventRecorder()
    prepared = prepared_with(tmp_path, heard)
    assert set(prepared.sources.tolist()) == {0}
    assert "no single words can be learned from 40 training pairs" in heard.warnings


def test_words_are_learned_from_training_rows_alone(tmp_path: Path) -> None:
    """Each set has words of its own: only those of the rows to train on are added, and none that is scored on."""
    rows, other = phrases(300), [("mon", "lun"), ("tue", "mar"), ("wed", "mer"), ("thu", "jeu")]
    held_out = [(f"{a} {b[0]}", f"{c} {b[1]}") for a, c in rows[:8] for b in other]
    write_rows(tmp_path / "valid.tsv", [*held_out, ("Two", "Deux")])
    write_rows(tmp_path / "test.tsv", [*held_out, ("THREE", "TROIS")])
    write_rows(tmp_path / "a.tsv", rows)
    prepared = prepared_with(tmp_path, valid="valid.tsv", test={"t": "test.tsv"}, aside=0.3)
    expected = {
        row for row in WORDS.items()
        if row[0] not in (ALIKE, "two", "three") and not any(chosen(text, 0.3) for text in row)
    }  # fmt: skip
    assert len(expected) > 3
    assert {row for row in alone(prepared) if row[0].islower()} == expected


def test_pairs_kept_aside_teach_no_words(tmp_path: Path) -> None:
    """A word that only occurs in pairs kept aside is not learned."""
    rows = phrases(400)
    secret = [(f"{a} secret", f"{b} caché") for a, b in rows]
    barred = [row for row in secret if any(chosen(text, 0.2) for text in row)]
    assert len(barred) > 50
    write_rows(tmp_path / "a.tsv", [*rows, *barred])
    prepared = prepared_with(tmp_path, aside=0.2)
    assert "secret" not in " ".join(texts(prepared, "source"))
    write_rows(tmp_path / "b" / "a.tsv", [*rows, *secret])
    assert any(text == "secret" for text in texts(prepared_with(tmp_path / "b", aside=0.0), "source"))


def test_the_same_pairs_give_the_same_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their order, also where only some of them are read."""
    monkeypatch.setattr(single_words, "PAIRS", 90)
    rows = phrases(400)
    found = []
    for name, some in (("a", rows), ("b", random.Random(3).sample(rows, len(rows)))):
        write_rows(tmp_path / name / "a.tsv", some)
        prepared_with(tmp_path / name)
        found.append([(tmp_path / name / "model" / "prepared" / file).read_bytes() for file in single_words.FILES])
    assert found[0] == found[1]
    assert found[0][0].count(b"\n") >= 9


def test_a_source_is_read_as_often_as_it_weighs(tmp_path: Path) -> None:
    rows = phrases(1200)
    write_rows(tmp_path / "a.tsv", rows[:600])
    write_rows(tmp_path / "b.tsv", rows[600:])
    train = SourceRows([{"file": "a.tsv", "weight": 4}, "b.tsv"], tmp_path, Checks())
    pairs = [row.texts for row in sample_pairs(train, 200, 3, "single words", silent)]
    heavy = set(rows[:600])
    assert len(pairs) == 200
    assert 2 < sum(row in heavy for row in pairs) / sum(row not in heavy for row in pairs) < 8
    assert max(len(source.split()) for source, _ in pairs) == 3


def test_words_stand_beside_links_and_synthetic_pairs(tmp_path: Path) -> None:
    """Nobody has linked them; what other models wrote has its own weight, and teaches no words."""
    rows = phrases(200)
    write_rows(tmp_path / "a.tsv", rows)
    write_rows(tmp_path / "v.tsv", [("one and two", "un et deux")])
    (tmp_path / "a.links").write_text("0-0\n" * len(rows))
    place = tmp_path / "model" / "synthetic"
    place.mkdir(parents=True)
    for name, text in (("0.source", "made up"), ("0.target", "inventé")):
        (place / name).write_text(f"{text}\n" * 50, encoding="utf-8")
    write_synthetic(tmp_path / "model", [SyntheticSource("distillation", ("0.source", "0.target"), 0.5, 50, {})])
    prepared = prepare(
        tmp_path,
        data={"train": "a.tsv", "valid": "v.tsv", "links": ["a.links"], "words": 20},
        training={"guided_alignment": 0.5},
        distillation={"teacher": "some-model"},
    )
    assert prepared.weights == (1, 0.5, 1)
    counts = Counter(prepared.sources.tolist())
    assert (counts[0], counts[1]) == (200, 50)
    assert prepared.links is not None
    linked = [bool(length) for length in prepared.links.lengths]
    assert linked == [source == 0 for source in prepared.sources]
    assert {row[0].lower() for row in alone(prepared)} <= set(ENGLISH)


def test_what_is_elided_is_cut_off() -> None:
    assert words_in("L'école d’hier, qu'il aujourd'hui peut-être 3 fois.") == [
        "école", "hier", "il", "aujourd'hui", "peut-être", "fois",
    ]  # fmt: skip
    assert words_in("Don't, O'Brien's e-mail") == ["don't", "o'brien's", "e-mail"]


def mutual(source: str, target: str, pairs: int = 9, *numbers: float) -> MutualWords:
    return MutualWords(source, target, pairs, *(numbers or (0.5, 0.5, 0.0)))


def test_what_is_not_sure_is_left_out() -> None:
    good = [mutual("today", "aujourd'hui"), mutual("maybe", "peut-être", 7), mutual("below", "ci-dessous", 7)]
    bad = [
        mutual("rare", "rare-ish", 9, 0.14, 0.9, 0.0), mutual("much", "trop", 9, 0.9, 0.14, 0.0),
        mutual("something", "chose", 9, 0.5, 0.5, 0.5), mutual("i", "je"), mutual("don't", "pas"),
        mutual("e-mail", "courriel"), mutual("x2", "deux"),
    ]  # fmt: skip
    assert choose([*bad, *good], 10) == sorted(good, key=lambda one: (-one.pairs, one.source))
    assert choose(good, 1) == good[:1]


def test_few_words_are_alike() -> None:
    alike = [mutual(f"name{'abcdefghij'[n]}", f"name{'abcdefghij'[n]}", 90 - n) for n in range(10)]
    others = [mutual("abcdefghij"[n % 10] * (2 + n // 10), "w" * (n + 2), 80 - n) for n in range(60)]
    rows = choose([*others, *alike], 40)
    assert len(rows) == 40
    assert [row for row in rows if row in alike] == alike[:2]
    assert [row.pairs for row in rows] == sorted((row.pairs for row in rows), reverse=True)


def test_only_translators_learn_words() -> None:
    recipe = read_recipe({"task": "generate", "data": {"train": "a.txt", "words": 5}})
    with pytest.raises(InputError, match=r"data\.words") as error:
        check_conflicts(recipe)
    assert "task = 'generate'" in error.value.found
    assert error.value.do == "leave it out"


def is_preparing(what: str, event: Event) -> bool:
    return isinstance(event, Preparing) and event.what == what


def test_words_are_learned_again_alike_after_a_stop(tmp_path: Path) -> None:
    corpus = write_rows(tmp_path / "a.tsv", phrases(80))
    how = TINY | {"data.words": 20}
    assert go(corpus, tmp_path / "whole", how).status == "finished"
    for moment in ("learning words", "encoding"):
        with pytest.raises(Stop):
            go(corpus, tmp_path / moment, how, listener=EventRecorder(partial(is_preparing, moment)))
        assert go(corpus, tmp_path / moment, how).status == "finished"
        same(tmp_path / moment, tmp_path / "whole")
