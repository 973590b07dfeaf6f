"""From text on disk to ids on disk: what is dropped, what is refused, what is opened again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from regard.errors import FileError, InputError
from regard.text.bpe import Paired
from regard.training.report.events import Started
from tests.prepare_cases import prepare, texts
from tests.training_cases import STACK, TINY, EventRecorder, go, numbers, write_rows


def test_pairs_become_ids_on_disk(tmp_path: Path) -> None:
    rows = numbers(60)
    write_rows(tmp_path / "a.tsv", rows[:40])
    write_rows(tmp_path / "v.tsv", rows[40:])
    heard = EventRecorder()
    prepared = prepare(tmp_path, heard, data={"train": "a.tsv", "valid": "v.tsv"})
    assert list(zip(texts(prepared, "source"), texts(prepared, "target"), strict=True)) == rows[:40]
    assert prepared.valid == rows[40:]
    assert all(isinstance(store.ids, np.memmap) for store in prepared.columns.values())
    assert (tmp_path / "model" / "tokenizer.json").is_file()
    assert "40 rows to train on, 20 to validate" in heard.notes
    assert not heard.warnings


def test_what_was_prepared_is_opened_again(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.tsv", numbers(40))
    data = {"train": "a.tsv", "held": 5}
    first, heard = prepare(tmp_path, data=data), EventRecorder()
    second = prepare(tmp_path, heard, data=data)
    assert not heard.events
    assert texts(first, "source") == texts(second, "source")
    assert first.valid == second.valid


def test_two_vocabularies_are_learnt_each_from_its_side(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.tsv", numbers(60))
    prepared = prepare(tmp_path, data={"train": "a.tsv", "held": 5}, tokenizer={"vocabulary": 300, "joint": False})
    assert isinstance(prepared.tokenizer, Paired)
    assert len(prepared.tokenizer.target.encode([" quatre"])[0]) < len(prepared.tokenizer.source.encode([" quatre"])[0])
    assert sorted(texts(prepared, "target")) == sorted(
        french for _, french in numbers(60) if (_, french) not in prepared.valid
    )


def test_what_is_dropped_is_counted_and_told(tmp_path: Path) -> None:
    rows = [*numbers(40), ("empty", ""), ("one", "two", "three"), ("long " * 60, "long " * 60)]
    write_rows(tmp_path / "a.tsv", rows)
    heard = EventRecorder()
    prepared = prepare(tmp_path, heard, data={"train": "a.tsv", "held": 4, "longest": 40})
    assert "1 row dropped: empty side" in heard.warnings
    assert "1 row dropped: longer than 40 tokens (data.longest)" in heard.warnings
    assert "a.tsv:43" in heard.warnings
    assert len(prepared.columns["source"]) == 40 - len(prepared.valid)
    report = json.loads((tmp_path / "model" / "prepared" / "meta.json").read_text())["report"]
    assert report["dropped"]["longer than 40 tokens (data.longest)"] == 1


@pytest.mark.parametrize("row", [("empty", ""), ("long " * 60, "long " * 60)])
def test_strict_makes_any_drop_an_error(row: tuple[str, str], tmp_path: Path) -> None:
    write_rows(tmp_path / "a.tsv", [*numbers(40), row])
    with pytest.raises(InputError) as error:
        prepare(tmp_path, strict=True, data={"train": "a.tsv", "held": 4, "longest": 40})
    assert "a.tsv:41" in str(error.value)


def test_strict_finds_nothing_wrong_with_clean_rows(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.tsv", numbers(40))
    assert prepare(tmp_path, strict=True, data={"train": "a.tsv", "held": 4})


def test_sides_that_differ_between_training_and_validation_are_refused(tmp_path: Path) -> None:
    rows = numbers(80)
    write_rows(tmp_path / "a.tsv", rows[:50])
    write_rows(tmp_path / "v.tsv", [(french, english) for english, french in rows[50:]])
    data = {"train": "a.tsv", "valid": "v.tsv"}
    with pytest.raises(InputError, match="look swapped") as error:
        prepare(tmp_path, data=data)
    assert "data.swapped = false" in error.value.do
    assert prepare(tmp_path, data={**data, "swapped": False})


def test_sides_of_the_wrong_language_are_refused(tmp_path: Path) -> None:
    english = "the cat and the dog were in the house with this man"
    french = "le chat et le chien sont dans la maison avec les hommes"
    write_rows(tmp_path / "a.tsv", [(f"{french} {n}", f"{english} {n}") for n in range(30)])
    with pytest.raises(InputError, match="look swapped"):
        prepare(tmp_path, data={"train": "a.tsv", "languages": ["en", "fr"]})


def test_when_nothing_is_left_the_reasons_are_given(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.tsv", [(f"one {english}", f"un {french}") for english, french in numbers(30)])
    with pytest.raises(InputError, match="no text is left") as error:
        prepare(tmp_path, data={"train": "a.tsv", "held": 3, "longest": 2})
    assert "longer than 2 tokens" in error.value.found


def test_labels_are_found_in_the_text(tmp_path: Path) -> None:
    rows = [(f"{english} {n}", ["good", " bad", "fair "][n % 3]) for n, (english, _) in enumerate(numbers(60))]
    write_rows(tmp_path / "a.tsv", rows)
    prepared = prepare(tmp_path, task="classify", data={"train": "a.tsv", "held": 5})
    assert prepared.labels == ("bad", "fair", "good")
    wanted = {text: label.strip() for text, label in rows}
    assert [prepared.labels[n] for n in prepared.classes] == [wanted[text] for text in texts(prepared, "text")]


def test_a_label_that_only_the_validation_set_has_is_a_label_too(tmp_path: Path) -> None:
    rows = [(english, "ab"[n % 2]) for n, (english, _) in enumerate(numbers(60))]
    train = write_rows(tmp_path / "a.tsv", rows[:50])
    valid = write_rows(tmp_path / "v.tsv", [*rows[50:], ("nine nine nine nine", "c")])
    assert go(train, tmp_path / "model", STACK, {"data.valid": [str(valid)]}, task="classify").status == "finished"
    assert json.loads((tmp_path / "model" / "config.json").read_text())["labels"] == ["a", "b", "c"]


def test_a_test_set_that_is_not_there_is_missed_before_training(tmp_path: Path) -> None:
    train = write_rows(tmp_path / "a.tsv", numbers(40))
    heard = EventRecorder()
    with pytest.raises(FileError, match=r"nowhere.tsv"):
        go(train, tmp_path / "model", TINY, {"data.test": {"news": "nowhere.tsv"}}, listener=heard)
    assert not heard.of(Started)


def test_sets_of_the_built_in_language_may_be_counted_wherever_they_are_named(tmp_path: Path) -> None:
    sets = {"data.valid": ["grammar:valid:8"], "data.test": {"unseen": "grammar:unseen:5", "fresh": "grammar:test:5:7"}}
    outcome = go("grammar:train:60:1", tmp_path / "model", TINY, sets, {"training.steps": 2})
    assert outcome.scores.keys() == {"valid", "unseen", "fresh"}


def test_a_score_that_the_task_does_not_have_is_refused_before_training(tmp_path: Path) -> None:
    rows = [(english, "ab"[n % 2]) for n, (english, _) in enumerate(numbers(40))]
    heard = EventRecorder()
    with pytest.raises(InputError, match="bleu"):
        go(write_rows(tmp_path / "a.tsv", rows), tmp_path / "model", STACK, {"training.select": "bleu"}, listener=heard)
    assert not heard.of(Started)


def test_repaired_rows_are_told_with_an_example(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "numbers.tsv", [["one\u2028two", "un deux"], ["be\x07ll", "cloche"], *numbers(80)])
    heard = EventRecorder()
    go(file, tmp_path / "out", TINY, listener=heard)
    assert "2 of them repaired: control characters became spaces" in heard.warnings
    assert r"one\u2028two" in heard.warnings
