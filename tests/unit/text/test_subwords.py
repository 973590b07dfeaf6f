"""The same text in other pieces each epoch, and always the same text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Engine
from tokenizers import models

from regard.errors import InputError
from regard.text.bpe import END, START, train_tokenizer
from regard.text.store import Store
from regard.text.subwords import Sampled
from regard.text.tokenizer import Tokenizer

CORPUS = ["the cat sat on the mat", "the cats sat on the other mats", "qu'elle dort, l'été", "1984 and 2024!"] * 5
TEXTS = st.lists(
    st.one_of(st.sampled_from([*CORPUS, START, END, ""]), st.text(st.characters(exclude_categories=("Cs",)))),
    min_size=1, max_size=6,
)  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(CORPUS, 320)


def rows(store: Store) -> list[list[int]]:
    return [store.ids[first:last].tolist() for first, last in zip(store.starts, store.starts[1:], strict=False)]


@given(TEXTS, st.floats(0.01, 0.99), st.integers(0, 5), st.integers(0, 5))
@settings(max_examples=40)
def test_however_a_text_is_cut_it_is_that_text(
    tokenizer: Tokenizer, texts: list[str], dropout: float, seed: int, epoch: int
) -> None:
    sampled = Sampled(texts, tokenizer, dropout, seed)
    cut = rows(sampled.epoch(epoch))
    assert max(map(len, cut)) <= sampled.longest
    assert [tokenizer.decode(row) for row in cut] == texts
    assert all(row[-1] == tokenizer.id_of(END) for row in cut)


@given(TEXTS, st.integers(0, 5))
@settings(max_examples=40)
def test_when_nothing_is_dropped_the_pieces_are_the_tokenizers_own(
    tokenizer: Tokenizer, texts: list[str], epoch: int
) -> None:
    assert rows(Sampled(texts, tokenizer, 0.0, 0).epoch(epoch)) == tokenizer.encode(texts)


def test_epochs_differ_and_come_again(tokenizer: Tokenizer) -> None:
    sampled, again = (Sampled(CORPUS, tokenizer, 0.3, 1) for _ in range(2))
    epochs = [rows(sampled.epoch(number)) for number in range(4)]
    assert all(one != other for n, one in enumerate(epochs) for other in epochs[:n])
    assert [rows(again.epoch(number)) for number in (3, 1, 0, 2)] == [epochs[n] for n in (3, 1, 0, 2)]
    assert rows(Sampled(CORPUS, tokenizer, 0.3, 2).epoch(0)) != epochs[0]


def test_the_more_is_dropped_the_more_pieces_there_are(tokenizer: Tokenizer) -> None:
    sizes = [len(Sampled(CORPUS, tokenizer, dropout, 0).epoch(0).ids) for dropout in (0.0, 0.1, 0.4, 0.8)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_only_a_tokenizer_that_merges_can_leave_merges_out() -> None:
    words = Tokenizer(Engine(models.WordLevel({"a": 0, "<unk>": 1}, unk_token="<unk>")))
    with pytest.raises(InputError, match="subword_dropout"):
        Sampled(["a"], words, 0.1, 0)
