"""Texts to ids, side by side, and back."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer as Engine
from tokenizers import models, pre_tokenizers

from regard.errors import FileError
from regard.text.tokenizer import Tokenizer, padded, tidied


@pytest.fixture
def tokenizer() -> Tokenizer:
    engine = Engine(models.WordLevel({"<unk>": 0, "a": 1, "b": 2, "</s>": 3}, unk_token="<unk>"))
    engine.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    engine.enable_padding(length=9)
    engine.enable_truncation(1)
    return Tokenizer(engine)


def test_batches_are_filled_up_on_either_side(tokenizer: Tokenizer) -> None:
    rows = tokenizer.encode(["a b", "b"])
    right, left = padded(rows, 9), padded(rows, 9, left=True)
    assert right.ids.tolist() == [[1, 2], [2, 9]]
    assert right.mask.tolist() == [[True, True], [True, False]]
    assert left.ids.tolist() == [[1, 2], [9, 2]]
    assert left.mask.tolist() == [[True, True], [False, True]]
    assert padded([], 0).ids.shape == (0, 0)


def test_back_to_text_without_special_tokens(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode([1, 3, 2]) == "a </s> b"
    tokenizer.mark_special(["</s>"])
    assert tokenizer.decode([1, 3, 2]) == "a b"
    assert (tokenizer.kind, tokenizer.size, tokenizer.id_of("b"), tokenizer.id_of("c")) == ("WordLevel", 4, 2, None)


def test_saved_and_loaded(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json").encode(["b a c"]) == [[2, 1, 0]]


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no tokenizer"):
        Tokenizer.load(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(FileError, match="is no tokenizer"):
        Tokenizer.load(tmp_path / "tokenizer.json")


def test_tidying_takes_spaces_before_punctuation_away() -> None:
    assert tidied("I do n't , you 're ' fine ' !") == "I don't, you're'fine '!"
