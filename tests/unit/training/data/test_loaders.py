"""Batches of every task: the same for the same seed, whole, and no longer than the model can read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from regard.errors import InputError
from regard.text.length_classes import CLASSES
from regard.training.data.loaders import loaders_for
from regard.training.data.prepared_text import PreparedText
from regard.training.recipe.recipe import read_recipe
from regard.training.report.events import Started
from tests.families import decoder, encoder, transformer
from tests.prepare_cases import prepare, texts
from tests.training_cases import ENGLISH, FRENCH, STACK, TINY, EventRecorder, go, numbers, write_rows


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
    heard = EventRecorder()
    settings_ = TINY if task == "translate" else STACK
    assert go(train, tmp_path / "model", settings_, how, task=task, listener=heard).status == "finished"
    assert "1 validation texts have more than 24 tokens" in heard.warnings


def test_texts_longer_than_the_positions_of_the_model_are_refused_before_training(tmp_path: Path) -> None:
    rows = [*numbers(60), (" ".join(ENGLISH * 5), " ".join(FRENCH * 5))]
    train = write_rows(tmp_path / "a.tsv", rows)
    heard = EventRecorder()
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


def loaders(tmp_path: Path, task: str, fixed: bool = False, **training: Any) -> tuple[Any, Any, PreparedText]:
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
    return *loaders_for(read_recipe({"task": task, **tables}), prepared, config, fixed=fixed), prepared


TASKS = ["translate", "generate", "mask", "classify"]


def listed(loader: Any, specs: Any) -> list[dict[str, Any]]:
    return [{name: tensor.tolist() for name, tensor in loader.build(spec).tensors.items()} for spec in specs]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("fixed", [False, True])
def test_a_loader_goes_on_in_the_middle_of_an_epoch(task: str, dropout: float, fixed: bool, tmp_path: Path) -> None:
    loader, _, _ = loaders(tmp_path, task, fixed, subword_dropout=dropout if task == "translate" else 0.0)
    epochs = [listed(loader, loader.epoch(number)) for number in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]
    again, _, _ = loaders(tmp_path, task, fixed, subword_dropout=dropout if task == "translate" else 0.0)
    assert listed(again, again.epoch(2)[3:]) == epochs[2][3:]
    assert listed(again, again.epoch(1)) == epochs[1]


@pytest.mark.parametrize("task", TASKS)
def test_with_few_shapes_every_text_is_asked_for_once(task: str, tmp_path: Path) -> None:
    """In pieces that are drawn anew as well: no epoch has a shape that another start of the run would not have."""
    how = {"subword_dropout": 0.3} if task == "translate" else {}
    loader, _, _ = loaders(tmp_path, task, True, **how)
    plain, _, _ = loaders(tmp_path, task, False, **how)
    shapes = set()
    for epoch in range(4):
        batches = [loader.build(spec) for spec in loader.epoch(epoch)]
        shapes |= {tuple(tensor.shape for tensor in batch.tensors.values()) for batch in batches}
        every = [plain.build(spec) for spec in plain.epoch(epoch)]
        assert sum(batch.tokens for batch in batches) == sum(batch.tokens for batch in every)
        if task != "mask":  # which hides other words in other batches
            assert words_of(batches) == words_of(every)
    assert len(shapes) <= CLASSES + 1


def words_of(batches: Any) -> list[int]:
    """All labels, in order of size."""
    return sorted(label for batch in batches for label in batch.tensors["labels"].flatten().tolist() if label != -100)


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
