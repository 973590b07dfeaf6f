"""One stack that reads both ways or from left to right: what it sees, what it is asked, and that it learns."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.claims.lab import text_stacks
from regard.claims.lab.fit import Fit
from regard.claims.lab.label_task import KINDS, first_named, grammar_labels, it_means, label_task
from regard.claims.lab.pair_task import PAD, START
from regard.claims.lab.text_stacks import (
    TextStack,
    cut_rows,
    hidden_words,
    label_fit,
    learn_labels,
    learn_language,
    next_word_loss,
    next_words,
    share_right,
    text_stack,
)
from regard.claims.setting import Setting
from regard.text.grammar import sentences
from tests.label_cases import counting, tiny_reviews

SIZES: dict[str, Any] = {"dim": 32, "heads": 2, "feedforward": 32, "layers": 2, "dropout": 0.0}
STACKS: tuple[Any, ...] = ("decoder", "encoder")


@pytest.mark.parametrize("kind", STACKS)
def test_only_an_encoder_sees_what_comes_after(kind: Any) -> None:
    torch.manual_seed(0)
    stack = TextStack(kind, counting(), SIZES).eval()
    ids = torch.tensor([[START, 4, 5, 6], [START, 4, 5, 9]])
    first, second = stack.vectors(ids)
    assert torch.equal(first[2], second[2]) == (kind == "decoder")
    assert not torch.equal(first[3], second[3])


@pytest.mark.parametrize("kind", STACKS)
def test_labels_are_read_where_all_of_the_text_is_seen(kind: Any) -> None:
    torch.manual_seed(0)
    stack = TextStack(kind, counting(), SIZES).eval()
    ids = torch.tensor([[START, 4, 5, 6], [START, 9, 5, 6], [START, 4, 5, 9]])
    logits = stack(ids)
    assert not torch.equal(logits[0], logits[1])
    assert not torch.equal(logits[0], logits[2])
    padded_logits = stack(torch.nn.functional.pad(ids, (0, 2), value=PAD))
    torch.testing.assert_close(padded_logits, logits)


def test_what_each_lesson_asks() -> None:
    task, rng = counting(), torch.Generator().manual_seed(0)
    ids = torch.tensor([[START, 4, 5, 6, 7], [START, 4, 5, PAD, PAD]]).repeat(200, 1)
    read, asked, words = next_words(ids, task, rng)
    assert torch.equal(read, ids[:, :-1])
    assert words.tolist()[:6] == [4, 5, 6, 7, 4, 5]
    assert asked.sum() == len(words) == 200 * 6
    read, asked, words = hidden_words(ids, task, rng)
    assert torch.equal(words, ids[asked])
    assert not (asked & ((ids == PAD) | (ids == START))).any()
    assert asked.any(-1).all()
    assert torch.equal(read[~asked], ids[~asked])
    assert 0.6 < float((read[asked] == task.mask).float().mean()) < 0.95
    read, asked, words = cut_rows(ids, task, rng)
    assert (asked.sum(-1) == 1).all()
    assert (read[asked] == task.mask).all()
    assert torch.equal(words, ids[asked])
    behind = asked.cumsum(-1).bool() & ~asked
    assert (read[behind] == PAD).all()
    assert set(words.tolist()) == {4, 5, 6, 7}


LESSONS: list[tuple[Any, Any]] = [("decoder", "next"), ("encoder", "continue")]


@pytest.mark.parametrize(("kind", "lesson"), LESSONS)
def test_a_language_that_can_be_said_is_learned(kind: Any, lesson: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the first word of a row follows from the one before it: a seventh of the words costs log 8."""
    monkeypatch.setattr(text_stacks, "QUICK", SIZES)
    task = counting()
    task = replace(task, valid=task.valid[:1])  # the words of a row, of which the first is one of eight
    stack = text_stack(kind, task, Setting(), 0)
    before, _ = next_word_loss(stack, task)
    learn_language(stack, task, lesson, Fit(200, 16, 1e-2))
    after, right = next_word_loss(stack, task)
    assert before > math.log(8)
    assert after < math.log(8) / 6 + 0.3
    assert right >= 5 / 6


@pytest.mark.parametrize("kind", STACKS)
@pytest.mark.parametrize("layers", [{}, {"unfreeze": 0.2, "layer_decay": 0.9}])
def test_labels_are_learned(kind: Any, layers: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_stacks, "QUICK", SIZES)
    task = counting()
    stack = text_stack(kind, task, Setting(), 0)
    learn_labels(stack, task.some(100, 0), label_fit(100, 1e-2, 0, **layers), 8)
    assert share_right(stack, task.test) == 1


def test_what_is_asked_of_the_built_in_language() -> None:
    by_text = {one.source: one for one in sentences("train", 40)}
    pizza = by_text["The pizza came out of this farm and it was so fresh."]
    ostrich = by_text["My ostrich wanted to taste the cheese, but it was too nervous."]
    couple = by_text["The ambitious actress and the honest neighbour ran near this lake."]
    ambulance = by_text["The ambulance could not cross the new motorway because it was flooded."]
    assert [first_named(one) for one in (pizza, ostrich, couple)] == [
        KINDS.index(k) for k in ("thing", "animal", "person")
    ]
    assert [it_means(one) for one in (pizza, ambulance, couple)] == [0, 1, None]


def test_texts_with_and_without_labels() -> None:
    task = grammar_labels("it", 200, 100)
    assert len(task.texts) == 200
    assert 0 < len(task.train) < 200
    assert {one.ids for one in task.train} <= set(task.texts)
    assert not {one.ids for one in task.test} & set(task.texts)
    assert 0.5 <= task.commonest < 1
    assert len(task.some(10, 0)) == len(set(task.some(10, 0))) == 10
    assert task.some(10, 0) == task.some(10, 0) != task.some(10, 1)


def test_real_reviews_and_articles(tmp_path: Path) -> None:
    task = label_task(Setting(full=True, data=tiny_reviews(tmp_path)), "it")
    assert task.labels == ("negative", "positive")
    assert [one.label for one in task.test] == [0, 1]  # without the one that is learned from
    assert len(task.train) == 40
    assert all(len(text) == 128 for text in (*task.texts, *task.valid))
    assert task.valid
