"""A tokenizer made from a corpus: nothing is unknown to it, and every text comes back as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import FileError, InputError
from regard.text.bpe import (
    END,
    MASK,
    PAD,
    START,
    Paired,
    literal,
    read_tokenizer,
    target_file,
    target_of,
    train_tokenizer,
)
from regard.text.tokenizer import Tokenizer

CORPUS = ["the cat sat on the mat", "the cats sat on the mats", "qu'elle dort, l'été", "1984 and 2024!"] * 5
ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",)))
MARKED = st.lists(st.one_of(ANY_TEXT, st.sampled_from([PAD, START, END, MASK, "\x00", "\r\n", " ", "’"]))).map("".join)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(CORPUS, 285)


@pytest.fixture(scope="module")
def loaded(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = tmp_path_factory.mktemp("saved")
    tokenizer.save(folder / "tokenizer.json")
    found = read_tokenizer(folder)
    assert isinstance(found, Tokenizer)
    return found


@given(MARKED)
def test_every_text_comes_back_as_it_was(tokenizer: Tokenizer, loaded: Tokenizer, text: str) -> None:
    ids = tokenizer.encode([text])[0]
    assert tokenizer.decode(ids) == text
    assert loaded.encode([text])[0] == ids
    assert loaded.decode(ids) == text


@given(MARKED)
def test_only_the_end_of_a_text_is_marked(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode([text])[0]
    special = {tokenizer.id_of(token) for token in (PAD, START, END)}
    assert ids[-1] == tokenizer.id_of(END)
    assert not special & set(ids[:-1])
    assert all(0 <= number < tokenizer.size for number in ids)


def test_special_tokens_come_first_and_bytes_are_all_there(tokenizer: Tokenizer) -> None:
    assert [tokenizer.id_of(token) for token in (PAD, START, END)] == [0, 1, 2]
    assert tokenizer.size == 285
    assert tokenizer.kind == "BPE"
    assert len(tokenizer.encode(["the"])[0]) < len("the") + 1


def test_the_same_corpus_gives_the_same_tokenizer(tokenizer: Tokenizer) -> None:
    assert train_tokenizer(iter(CORPUS), 285).engine.to_str() == tokenizer.engine.to_str()


def test_a_vocabulary_may_stay_smaller_than_asked_for() -> None:
    assert train_tokenizer(["ab"], 1000).size < 300


def test_a_vocabulary_without_room_for_every_byte_is_refused() -> None:
    with pytest.raises(InputError, match="room for every byte") as error:
        train_tokenizer(CORPUS, 258)
    assert "259" in error.value.do
    assert train_tokenizer(CORPUS, 259).size == 259


@pytest.mark.parametrize(("around", "first", "last"), [(("$A",), 0, 0), ((START, "$A", END), 1, 1)])
def test_what_stands_around_a_text_is_as_asked(around: tuple[str, ...], first: int, last: int) -> None:
    tokenizer = train_tokenizer(CORPUS, 280, around=around)
    ids = tokenizer.encode(["the cat"])[0]
    assert (ids[0] == 1, ids[-1] == 2) == (bool(first), bool(last))
    assert tokenizer.decode(ids) == "the cat"


def test_where_words_are_masked_a_text_may_name_the_mask() -> None:
    tokenizer = train_tokenizer(CORPUS, 280, around=(START, "$A", END), mask=True)
    mask = tokenizer.id_of(MASK)
    assert mask in tokenizer.encode([f"the {MASK} sat"])[0]
    assert mask not in literal(tokenizer).encode([f"the {MASK} sat"])[0]


@given(MARKED, MARKED)
@settings(max_examples=30)
def test_two_vocabularies_read_with_one_and_write_with_the_other(pair: Paired, first: str, second: str) -> None:
    assert pair.encode([first]) == pair.source.encode([first])
    assert pair.source.decode(pair.encode([first])[0]) == first
    assert pair.decode(target_of(pair).encode([second])[0]) == second


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Paired:
    folder = tmp_path_factory.mktemp("pair")
    Paired(train_tokenizer(CORPUS, 280), train_tokenizer(CORPUS[2:3], 290)).save(folder / "tokenizer.json")
    assert sorted(path.name for path in folder.iterdir()) == ["tokenizer.json", "tokenizer.target.json"]
    found = read_tokenizer(folder)
    assert isinstance(found, Paired)
    return found


def test_a_folder_without_a_tokenizer_is_an_error(tmp_path: Path) -> None:
    assert target_file(tmp_path / "tokenizer.json") == tmp_path / "tokenizer.target.json"
    with pytest.raises(FileError, match="holds no tokenizer"):
        read_tokenizer(tmp_path)
