"""From files to ids: what is kept, what is dropped and told, what is held back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import FileError, InputError
from regard.text.bpe import Paired, source_of, target_of
from regard.text.corpora import digest
from regard.training.data.loaders import loaders_for
from regard.training.data.prepare import Preparation
from regard.training.data.prepared_text import PreparedText
from regard.training.recipe.recipe import read_recipe
from regard.training.report.events import Started
from tests.families import decoder, encoder, transformer
from tests.training_cases import ENGLISH, FRENCH, STACK, TINY, Heard, go, numbers, write_rows


def prepare(
    folder: Path, heard: Heard | None = None, *, task: str = "translate", strict: bool = False, **tables: Any
) -> PreparedText:
    """Files beside the folder, made ready for training."""
    tables.setdefault("tokenizer", {"vocabulary": 300})
    recipe = read_recipe({"task": task, **tables})
    preparation = Preparation(recipe, folder, folder / "model", strict, heard or Heard())
    preparation.check()
    return preparation.run(None)


def texts(prepared: PreparedText, column: str) -> list[str]:
    """What the ids of a column say."""
    side = target_of(prepared.tokenizer) if column == "target" else source_of(prepared.tokenizer)
    store = prepared.columns[column]
    return [side.decode(store.ids[a:b].tolist()) for a, b in zip(store.starts, store.starts[1:], strict=False)]


def test_pairs_become_ids_on_disk(tmp_path: Path) -> None:
    rows = numbers(60)
    write_rows(tmp_path / "a.tsv", rows[:40])
    write_rows(tmp_path / "v.tsv", rows[40:])
    heard = Heard()
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
    first, heard = prepare(tmp_path, data=data), Heard()
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


# What is dropped


def test_what_is_dropped_is_counted_and_told(tmp_path: Path) -> None:
    rows = [*numbers(40), ("empty", ""), ("one", "two", "three"), ("long " * 60, "long " * 60)]
    write_rows(tmp_path / "a.tsv", rows)
    heard = Heard()
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


def test_rows_of_the_validation_set_are_not_trained_on(tmp_path: Path) -> None:
    rows = numbers(50)
    write_rows(tmp_path / "a.tsv", rows)
    write_rows(tmp_path / "v.tsv", [(f" {english.replace(' ', '  ')} ", french) for english, french in rows[:20]])
    heard = Heard()
    prepared = prepare(tmp_path, heard, data={"train": "a.tsv", "valid": "v.tsv"})
    assert "20 rows dropped: also in the validation set" in heard.warnings
    assert texts(prepared, "source") == [english for english, _ in rows[20:]]


def test_the_built_in_language_keeps_its_sets_apart_too(tmp_path: Path) -> None:
    heard = Heard()
    prepared = prepare(tmp_path, heard, data={"train": "grammar:train:60", "valid": "grammar:train:10"})
    assert len(prepared.columns["source"]) <= 50
    assert "also in the validation set" in heard.warnings


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


# What is held back


@given(st.integers(2, 60), st.integers(1, 30), st.integers(0, 50))
@settings(max_examples=25)
def test_no_text_is_on_both_sides(tmp_path_factory: pytest.TempPathFactory, count: int, held: int, seed: int) -> None:
    folder = tmp_path_factory.mktemp("held")
    rows = numbers(count, seed)
    twice = [*rows, *((english.replace(" ", "  "), french + " encore") for english, french in rows[: count // 2])]
    write_rows(folder / "a.tsv", twice)
    prepared = prepare(folder, data={"train": "a.tsv", "held": held})
    read = {digest(text) for text in texts(prepared, "source")}
    kept = {digest(row[0]) for row in prepared.valid}
    assert kept
    assert read
    assert not read & kept
    assert len(prepared.valid) + len(prepared.columns["source"]) == len(twice)


def test_about_as_many_are_held_back_as_asked_for_but_never_more_than_a_tenth(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.tsv", numbers(2000))
    assert 60 < len(prepare(tmp_path, data={"train": "a.tsv", "held": 100}).valid) < 140
    write_rows(tmp_path / "b" / "a.tsv", numbers(300))
    assert 10 < len(prepare(tmp_path / "b", data={"train": "a.tsv", "held": 1000}).valid) < 50


def test_of_a_running_text_the_end_is_held_back(tmp_path: Path) -> None:
    lines = [f"line {n}" for n in range(50)]
    write_rows(tmp_path / "a.txt", [[line] for line in lines])
    prepared = prepare(tmp_path, task="generate", data={"train": "a.txt", "held": 4})
    assert [row[0] for row in prepared.valid] == lines[-4:]
    assert "".join(texts(prepared, "text")) == "".join(f"{line}\n" for line in lines[:-4])


@pytest.mark.parametrize("end", [[""], ["", "", ""]])
def test_a_running_text_may_end_in_empty_lines(end: list[str], tmp_path: Path) -> None:
    file = write_rows(tmp_path / "a.txt", [[line] for line in [*(f"line {n}" for n in range(30)), *end]])
    assert go(file, tmp_path / "model", STACK, {"data.held": 1, "training.block": 8}).status == "finished"


def test_labels_are_found_in_the_text(tmp_path: Path) -> None:
    rows = [(f"{english} {n}", ["good", " bad", "fair "][n % 3]) for n, (english, _) in enumerate(numbers(60))]
    write_rows(tmp_path / "a.tsv", rows)
    prepared = prepare(tmp_path, task="classify", data={"train": "a.tsv", "held": 5})
    assert prepared.labels == ("bad", "fair", "good")
    wanted = {text: label.strip() for text, label in rows}
    assert [prepared.labels[n] for n in prepared.classes] == [wanted[text] for text in texts(prepared, "text")]


@pytest.mark.parametrize("task", ["classify", "mask", "translate"])
def test_validation_texts_may_be_longer_than_what_is_trained_on(task: str, tmp_path: Path) -> None:
    rows = [(english, "ab"[n % 2]) for n, (english, _) in enumerate(numbers(60))] if task == "classify" else numbers(60)
    long = (" ".join(ENGLISH * 5), "a" if task == "classify" else " ".join(FRENCH * 5))
    rows = [row[:1] for row in rows] if task == "mask" else rows
    ending = "txt" if task == "mask" else "tsv"
    train = write_rows(tmp_path / f"a.{ending}", rows[:50])
    valid = write_rows(tmp_path / f"v.{ending}", [*rows[50:], long[:1] if task == "mask" else long])
    how = {"data.longest": 24, "data.valid": [str(valid)]}
    if task == "translate":
        how |= {"model.positions": "learned", "model.max_length": 24}
    heard = Heard()
    settings_ = TINY if task == "translate" else STACK
    assert go(train, tmp_path / "model", settings_, how, task=task, listener=heard).status == "finished"
    assert "1 validation texts have more than 24 tokens" in heard.warnings


def test_texts_longer_than_the_positions_of_the_model_are_refused_before_training(tmp_path: Path) -> None:
    rows = [*numbers(60), (" ".join(ENGLISH * 5), " ".join(FRENCH * 5))]
    train = write_rows(tmp_path / "a.tsv", rows)
    heard = Heard()
    with pytest.raises(InputError, match="positions for 16 tokens") as error:
        go(train, tmp_path / "model", TINY, {"model.positions": "learned", "model.max_length": 16}, listener=heard)
    assert "data.longest = 16" in error.value.do
    assert not heard.of(Started)


def test_blocks_longer_than_the_positions_of_the_model_are_refused_before_training(tmp_path: Path) -> None:
    text = write_rows(tmp_path / "a.txt", [row[:1] for row in numbers(60)])
    with pytest.raises(InputError, match="positions for 16 tokens") as error:
        go(text, tmp_path / "model", STACK, {"training.block": 32, "model.max_length": 16})
    assert "training.block = 16" in error.value.do


def test_pieces_drawn_anew_that_may_not_fit_the_positions_are_refused_before_training(tmp_path: Path) -> None:
    """Fewer merges make longer rows."""
    train = write_rows(tmp_path / "a.tsv", numbers(60))
    how = {"model.positions": "learned", "model.max_length": 24, "data.longest": 24, "training.subword_dropout": 0.9}
    with pytest.raises(InputError, match="in other pieces") as error:
        go(train, tmp_path / "model", TINY, how)
    longest = int(error.value.do.split()[2].strip(","))
    assert go(train, tmp_path / "enough", TINY, how, {"model.max_length": longest}).status == "finished"


def test_a_label_that_only_the_validation_set_has_is_a_label_too(tmp_path: Path) -> None:
    rows = [(english, "ab"[n % 2]) for n, (english, _) in enumerate(numbers(60))]
    train = write_rows(tmp_path / "a.tsv", rows[:50])
    valid = write_rows(tmp_path / "v.tsv", [*rows[50:], ("nine nine nine nine", "c")])
    assert go(train, tmp_path / "model", STACK, {"data.valid": [str(valid)]}, task="classify").status == "finished"
    assert json.loads((tmp_path / "model" / "config.json").read_text())["labels"] == ["a", "b", "c"]


# Loaders


def loaders(tmp_path: Path, task: str, **training: Any) -> tuple[Any, Any, PreparedText]:
    """The two loaders of a task, fresh."""
    rows: list[Any] = numbers(80)
    if task == "classify":
        rows = [(english, "ab"[n % 2]) for n, (english, _) in enumerate(rows)]
    if task in ("generate", "mask"):
        rows = [row[:1] for row in rows]
    ending = "tsv" if len(rows[0]) == 2 else "txt"
    write_rows(tmp_path / f"a.{ending}", rows)
    training = {"batch_tokens": 64, "block": 16, **training}
    tables = {"data": {"train": f"a.{ending}", "held": 6}, "training": training, "tokenizer": {"vocabulary": 300}}
    prepared = prepare(tmp_path, task=task, **tables)
    size = prepared.tokenizer.size
    config = {
        "translate": lambda: transformer(source_vocabulary=size, target_vocabulary=size),
        "generate": lambda: decoder(vocabulary=size),
        "mask": lambda: encoder(vocabulary=size, head="mask"),
        "classify": lambda: encoder(vocabulary=size, head="class", labels=("a", "b")),
    }[task]()
    return *loaders_for(read_recipe({"task": task, **tables}), prepared, config, fixed=False), prepared


TASKS = ["translate", "generate", "mask", "classify"]


def listed(loader: Any, specs: Any) -> list[dict[str, Any]]:
    return [{name: tensor.tolist() for name, tensor in loader.build(spec).tensors.items()} for spec in specs]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_loader_goes_on_in_the_middle_of_an_epoch(task: str, dropout: float, tmp_path: Path) -> None:
    loader, _, _ = loaders(tmp_path, task, subword_dropout=dropout if task == "translate" else 0.0)
    epochs = [listed(loader, loader.epoch(number)) for number in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]
    again, _, _ = loaders(tmp_path, task, subword_dropout=dropout if task == "translate" else 0.0)
    assert listed(again, again.epoch(2)[3:]) == epochs[2][3:]
    assert listed(again, again.epoch(1)) == epochs[1]


@pytest.mark.parametrize("task", TASKS)
def test_validation_is_the_same_every_time(task: str, tmp_path: Path) -> None:
    _, held, prepared = loaders(tmp_path, task)
    assert listed(held, held.epoch(0)) == listed(held, held.epoch(0))
    if task != "generate":
        assert sum(len(spec.numbers) for spec in held.epoch(0)) == len(prepared.valid)


def test_a_decoder_reads_the_target_one_place_later(tmp_path: Path) -> None:
    loader, _, prepared = loaders(tmp_path, "translate")
    pairs = dict(zip(texts(prepared, "source"), texts(prepared, "target"), strict=True))
    for spec in loader.epoch(0):
        batch = loader.build(spec)
        assert batch.words == int((batch.tensors["labels"] != -100).sum())
        for source, target, labels in zip(
            *(batch.tensors[name].tolist() for name in ("source", "target", "labels")), strict=True
        ):
            said = [number for number in labels if number != -100]
            assert target[0] == 1
            assert target[1 : len(said)] == said[:-1]
            assert said[-1] == 2
            assert prepared.tokenizer.decode(said) == pairs[prepared.tokenizer.decode(source)]


def test_blocks_hold_the_whole_text_but_for_a_rest(tmp_path: Path) -> None:
    loader, _, prepared = loaders(tmp_path, "generate")
    text = prepared.columns["text"].ids.tolist()
    for epoch in range(3):
        rows = [
            row for one in listed(loader, loader.epoch(epoch)) for row in zip(one["ids"], one["labels"], strict=True)
        ]
        assert len(rows) == (len(text) - 1) // 16
        assert all(ids[1:] == labels[:-1] for ids, labels in rows)
        assert all(any(text[n : n + 17] == [*ids, labels[-1]] for n in range(len(text) - 16)) for ids, labels in rows)


def test_words_are_hidden_as_often_as_asked(tmp_path: Path) -> None:
    loader, _, prepared = loaders(tmp_path, "mask", masked=0.3)
    mask = prepared.tokenizer.id_of("[MASK]")
    hidden = words = masks = changed = 0
    for epoch in range(40):
        for spec in loader.epoch(epoch):
            batch = loader.build(spec)
            ids, labels = batch.tensors["ids"], batch.tensors["labels"]
            asked = labels != -100
            hidden, words = hidden + int(asked.sum()), words + batch.tokens
            masks += int((ids[asked] == mask).sum())
            changed += int(((ids != labels) & asked & (ids != mask)).sum())
            assert not bool(((ids == mask) & ~asked).any())
            assert not bool((labels[:, 0] != -100).any())
    assert hidden / words == pytest.approx(0.3, abs=0.02)
    assert masks / hidden == pytest.approx(0.8, abs=0.03)
    assert changed / hidden == pytest.approx(0.1, abs=0.03)


# What could be wrong at the very end is looked at first


def test_a_test_set_that_is_not_there_is_missed_before_training(tmp_path: Path) -> None:
    train = write_rows(tmp_path / "a.tsv", numbers(40))
    heard = Heard()
    with pytest.raises(FileError, match=r"nowhere.tsv"):
        go(train, tmp_path / "model", TINY, {"data.test": {"news": "nowhere.tsv"}}, listener=heard)
    assert not heard.of(Started)


def test_sets_of_the_built_in_language_may_be_counted_wherever_they_are_named(tmp_path: Path) -> None:
    sets = {"data.valid": ["grammar:valid:8"], "data.test": {"unseen": "grammar:unseen:5", "fresh": "grammar:test:5:7"}}
    outcome = go("grammar:train:60:1", tmp_path / "model", TINY, sets, {"training.steps": 2})
    assert outcome.scores.keys() == {"valid", "unseen", "fresh"}


def test_a_score_that_the_task_does_not_have_is_refused_before_training(tmp_path: Path) -> None:
    rows = [(english, "ab"[n % 2]) for n, (english, _) in enumerate(numbers(40))]
    heard = Heard()
    with pytest.raises(InputError, match="bleu"):
        go(write_rows(tmp_path / "a.tsv", rows), tmp_path / "model", STACK, {"training.select": "bleu"}, listener=heard)
    assert not heard.of(Started)
