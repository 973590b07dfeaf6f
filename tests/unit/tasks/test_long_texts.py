"""Texts longer than the model can read: every word is translated, or the text is refused; nothing is cut silently."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Engine
from tokenizers import decoders, models, pre_tokenizers, processors, trainers

from benchmarks import peers
from regard.errors import FileError, InputError, UnknownNameError
from regard.models import Recurrent, RecurrentConfig, Transformer, TransformerConfig
from regard.tasks import Translator, load
from regard.tasks.long_texts import TooLongError, split, trained_longest
from regard.tasks.translator import Translation, join_pieces
from regard.text.tokenizer import Tokenizer
from tests.bounds import small_apart

SIZES: dict[str, Any] = {
    "source_vocabulary": 40, "target_vocabulary": 40, "dim": 16, "heads": 2, "feedforward": 24,
    "encoder_layers": 1, "decoder_layers": 1,
}  # fmt: skip


def words() -> Tokenizer:
    return Tokenizer(peers.tokenizer("seq2seq").backend_tokenizer)


def bytes_in_pairs() -> Tokenizer:
    """Byte-level BPE: tokens of a whole are not the sum of those of its parts, and one character may be several."""
    engine = Engine(models.BPE())
    engine.pre_tokenizer, engine.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=["</s>", ">>fr<<"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    engine.train_from_iterator(["the cat sat on the mat. it was there, it was happy!"] * 3, trainer)
    engine.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 0)])
    return Tokenizer(engine)


BYTES = bytes_in_pairs()


class Characters:
    """One id a character, and one at the end."""

    kind = "characters"
    size = 0x110000

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [[*map(ord, text), 0] for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids))

    def id_of(self, token: str) -> int | None:
        return ord(token) if len(token) == 1 else None


def translator(**changes: Any) -> Translator:
    torch.manual_seed(0)
    return Translator(Transformer(TransformerConfig(**{**SIZES, **changes})).eval(), words())


@pytest.mark.parametrize(
    ("text", "longest", "pieces"),
    [
        ("One two. Three four? Five!", 100, ["One two. Three four? Five!"]),
        ("One two. Three four? Five!", 22, ["One two. Three four?", "Five!"]),
        ("One two. Three four? Five!", 13, ["One two.", "Three four?", "Five!"]),
        ('He said "no." Then left… Yes', 15, ['He said "no."', "Then left… Yes"]),
        ("v1.5 costs 1,000 now. Ok.", 22, ["v1.5 costs 1,000 now.", "Ok."]),
        ("一二三。四五六！七八？九", 6, ["一二三。", "四五六！", "七八？九"]),
        ("A heading\nA text below", 14, ["A heading", "A text below"]),
        ("one; two, three: four five", 11, ["one; two,", "three:", "four five"]),
        ("one two three four", 10, ["one two", "three", "four"]),
        ("abcdefghij", 5, ["abcd", "efgh", "ij"]),
        ("ab abcdefghij cd", 5, ["ab", "abcd", "efgh", "ij", "cd"]),
        ("e\u0301e\u0301e\u0301", 4, ["e\u0301", "e\u0301", "e\u0301"]),
    ],
)
def test_where_texts_are_split(text: str, longest: int, pieces: list[str]) -> None:
    assert split(text, Characters(), longest) == pieces


TEXTS = st.lists(st.sampled_from(["the", "cat", "naïve", "😀", "x" * 40, "a.", "b,", "c!", "\n", "。", "é" * 9, "  "]))


@given(TEXTS, st.sampled_from([" ", ""]), st.integers(6, 30))
def test_every_piece_fits_and_nothing_is_lost(some: list[str], between: str, longest: int) -> None:
    text = between.join(some)
    for tokenizer in (BYTES, Characters()):
        pieces = split(text, tokenizer, longest)
        assert all(len(row) <= longest for row in tokenizer.encode(pieces))
        assert "".join("".join(pieces).split()) == "".join(text.split())
        assert all(piece.strip() == piece != "" for piece in pieces)


def test_a_very_long_text_is_split_in_good_time() -> None:
    text = "the cat sat on the mat, it was there. " * 20_000 + "x" * 20_000
    pieces = split(text, BYTES, 100)
    assert max(map(len, BYTES.encode(pieces))) <= 100
    assert sum(len(row) for row in BYTES.encode(pieces[:100])) > 70 * 100  # most pieces are nearly full


def test_the_language_is_said_in_front_of_every_piece() -> None:
    assert split(">>fr<< the cat. the mat.", BYTES, 6) == [">>fr<< the cat.", ">>fr<< the mat."]
    assert split(">>xx<< the cat. the mat.", BYTES, 6)[-1] == "the mat."


def test_not_even_one_character_fits() -> None:
    with pytest.raises(InputError, match="'😀' has 5 tokens, where 3 fit"):
        split("a 😀", BYTES, 3)


@pytest.mark.parametrize("long", ["split", "refuse"])
def test_texts_that_fit_are_left_as_they_are(long: str) -> None:
    task = translator()
    texts = ["w1 w2. w3", "", "w4"]
    before = task.search(texts, max_length=6)
    task.longest_source = 4  # three words and the end
    assert task.search(texts, max_length=6, long=long) == before


def test_a_long_text_is_the_sum_of_its_pieces() -> None:
    task = translator()
    first, second = task.search(["w1 w2 w3.", "w4 w5 w6."], nbest=2, max_length=6)
    task.longest_source = 4
    empty, whole, last = task.search([" ", "w1 w2 w3. w4 w5 w6.", "w7"], nbest=2, max_length=6)
    assert [one.text for one in whole] == [f"{a.text} {b.text}".strip() for a, b in zip(first, second, strict=True)]
    assert [one.score for one in whole] == pytest.approx(
        [a.score + b.score for a, b in zip(first, second, strict=True)],
        abs=12 * small_apart(4.0),  # twice six words
    )
    assert empty == [Translation("", 0.0)] * 2
    assert last[0].text == task.translate(["w7"], max_length=6)[0]
    assert task.translate(["w1 w2 w3. w4 w5 w6."], max_length=6) == [whole[0].text]


def test_pieces_with_different_numbers_of_translations() -> None:
    one, other = [Translation("a", -1.0), Translation("b", -2.0, True)], [Translation("", -4.0)]
    assert join_pieces([one, other], 2) == [Translation("a", -5.0), Translation("b", -6.0, True)]
    assert join_pieces([], 2) == [Translation("", 0.0)] * 2


def test_a_long_text_is_refused_when_asked() -> None:
    task = translator()
    task.longest_source = 4
    with pytest.raises(TooLongError, match="text 2 is longer") as caught:
        task.translate(["w1", "w1 w2 w3 w4"], long="refuse")
    assert "5 tokens, where at most 4 fit: 'w1 w2 w3 w4'" in str(caught.value)
    assert (caught.value.number, caught.value.tokens, caught.value.longest) == (2, 5, 4)
    with pytest.raises(UnknownNameError, match="did you mean 'split'"):
        task.translate(["w1"], long="splitt")


def test_how_much_is_read_at_once(tmp_path: Path) -> None:
    assert translator().longest_source == 256
    learned = translator(positions="learned", max_length=12)
    assert learned.longest_source == 12
    assert Translator(learned.model, learned.tokenizer, longest=9).longest_source == 9
    assert Translator(learned.model, learned.tokenizer, longest=99).longest_source == 12
    recurrent = Recurrent(RecurrentConfig(source_vocabulary=40, target_vocabulary=40, dim=8, hidden=12))
    assert Translator(recurrent, words()).longest_source == 256
    theirs = load(peers.save(peers.marian(), tmp_path, "seq2seq", num_beams=2, max_length=12), "cpu")
    assert isinstance(theirs, Translator)
    assert theirs.longest_source == 64


def test_a_model_with_learned_positions_takes_any_length() -> None:
    task = translator(positions="learned", max_length=8)
    assert len(task.pieces(["w1 w2 w3, w4 w5 w6. " * 5], "split")[0]) == 5
    ways: list[Any] = [{"beams": 1}, {"max_length": 500}, {"max_length": 8}]
    for how in ways:
        (best,) = task.search(["w1 w2 w3, w4 w5 w6. " * 5], **how)
        assert best[0].score < 0


@pytest.mark.parametrize(
    ("text", "longest"),
    [("[data]\nlongest = 128\n", 128), ("[data]\n", None), ("name = 'x'\n", None), ("data = 3\n", None), (None, None)],
)
def test_the_longest_text_of_training(text: str | None, longest: int | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "recipe.toml").write_text(text, encoding="utf-8")
    assert trained_longest(tmp_path) == longest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[data]\nlongest = 0\n", "must be a number of tokens"),
        ("[data]\nlongest = true\n", "must be a number of tokens"),
        ("[data", "cannot read"),
    ],
)
def test_a_recipe_that_cannot_be_read(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=message):
        trained_longest(tmp_path)


def end_bias(task: Translator, value: float) -> None:
    """How gladly the model ends a text."""
    model: Any = task.model
    model.output.bias.data[model.config.end] = value


class TestCut:
    """A translation without an end is marked."""

    @pytest.mark.parametrize("beams", [1, 4])
    def test_one_that_never_ends(self, beams: int) -> None:
        task = translator(output_bias=True)
        end_bias(task, -1e9)
        ((best,), (nothing,)) = task.search(["w1", ""], beams=beams, max_length=3)
        assert (best.cut, nothing.cut) == (True, False)
        task.longest_source = 3
        ((best,),) = task.search(["w1. w2. w3."], beams=beams, max_length=3)
        assert best.cut

    @pytest.mark.parametrize("beams", [1, 4])
    def test_one_that_ends(self, beams: int) -> None:
        task = translator(output_bias=True)
        end_bias(task, 1e9)
        ((best,),) = task.search(["w1"], beams=beams, max_length=3)
        assert not best.cut

    def test_an_end_that_was_forced_is_none(self, tmp_path: Path) -> None:
        how: dict[str, Any] = {"num_beams": 2, "max_length": 4, "min_length": 4, "forced_eos_token_id": peers.END}
        task = load(peers.save(peers.marian(), tmp_path, "seq2seq", **how), "cpu")
        assert isinstance(task, Translator)
        assert task.search(["w1 w2"])[0][0].cut
