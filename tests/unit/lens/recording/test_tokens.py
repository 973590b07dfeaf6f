"""Tokens as strings: whole characters, also where several tokens share one; bytes only where they make none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import transformers
from tokenizers import Tokenizer as Engine
from tokenizers import decoders, models, pre_tokenizers, trainers

from regard.drawing.heat_labels import cut, label
from regard.lens.alignment.word_spans import joined
from regard.lens.draw.page.legend import headline
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording.tokens import BROKEN, NEXT, Text, alphabet, as_read, string_of, strings
from regard.lens.recording_api import Recording
from regard.text.bpe import train_tokenizer
from regard.text.characters import characters
from regard.text.tokenizer import Tokenizer
from tests.page_cases import named, noise

ODD = [
    "🙂", "I 🙂 you!", "👩‍💻 and 👩‍💻", "👍🏽", "🇫🇷🇩🇪", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "❤️‍🔥", "café",
    "cafe\u0301", "日本語", "क्षि", "naïve — “œuvre”…", "H₂O x₁",
]  # fmt: skip


class Pieces:
    """A tokenizer of which only the names of its tokens are known, as their text is none."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def decode(self, ids: list[int]) -> str:
        return BROKEN

    def convert_ids_to_tokens(self, number: int) -> str:
        return self.names[number]


def test_the_letters_of_byte_level_tokenizers() -> None:
    assert set(alphabet()) == set(pre_tokenizers.ByteLevel.alphabet())
    assert sorted(alphabet().values()) == list(range(256))
    assert (alphabet()["Ġ"], alphabet()["Ċ"], alphabet()["a"]) == (ord(" "), ord("\n"), ord("a"))


@pytest.mark.parametrize(
    ("name", "shown"), [("æ", "⟨E6⟩"), ("ĠæĹ", " ⟨E6⟩⟨97⟩"), ("<0xE6>", "⟨E6⟩"), ("éŀ日", "éŀ日"), ("ï¿½", BROKEN)]
)
def test_a_part_of_a_character_is_its_bytes(name: str, shown: str) -> None:
    assert string_of(Pieces(name), 0) == shown


@pytest.mark.parametrize("first", [["⟨E6⟩", "⟨97⟩⟨A5⟩"], [" ⟨E6⟩", "⟨97⟩", "⟨A5⟩"]])
def test_a_title_has_whole_characters(first: list[str]) -> None:
    tokens = [*first, "</s>"]
    assert headline(named(noise(1, 1, len(tokens)), tokens), 0) == "日"


@pytest.fixture(scope="module")
def ours() -> Tokenizer:
    """Hardly anything is merged: most characters beyond ASCII are several tokens."""
    return train_tokenizer(["I you and café café 🙂🙂"] * 4, 268)


@pytest.fixture(scope="module")
def theirs(ours: Tokenizer) -> Any:
    """As GPT-2's: bytes, and a space at the beginning of a word."""
    engine = Engine(models.BPE())
    engine.pre_tokenizer, engine.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=290, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False
    )
    engine.train_from_iterator(["the naïve café 🙂 🙂 日本 日本"] * 4, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=engine)


def ids_of(tokenizer: Any, text: str) -> list[int]:
    ids: list[int] = tokenizer.encode([text])[0] if isinstance(tokenizer, Tokenizer) else tokenizer(text)["input_ids"]
    return ids


@pytest.mark.parametrize("name", ["ours", "theirs"])
@pytest.mark.parametrize("text", ODD)
def test_labels_hold_characters_and_no_bytes(name: str, text: str, request: pytest.FixtureRequest) -> None:
    tokenizer = request.getfixturevalue(name)
    ids = ids_of(tokenizer, text)
    shown = strings(tokenizer, ids)
    assert len(shown) == len(ids)
    assert all(shown)
    assert not any(mark in token for token in shown for mark in "⟨⟩" + BROKEN)
    assert "".join(as_read(shown)).removesuffix("</s>") == text
    assert all(label(token) for token in shown)


def test_every_part_shows_the_whole_character_and_its_number(ours: Tokenizer) -> None:
    split = strings(ours, ids_of(ours, "日 👍🏽"))
    assert split == ["日₁", "日₂", "日₃", " ", *(f"👍🏽{number}" for number in "₁₂₃₄₅₆"), "</s>"]
    merged = strings(ours, ids_of(ours, "café"))
    assert merged == ["caf", "é", "</s>"]  # the two bytes of é were merged


def test_a_token_may_end_one_character_and_begin_another() -> None:
    pieces = Pieces("æĹ", "¥æ", "ľ", "¬!")  # 日本! cut where no character ends
    assert strings(pieces, [0, 1, 2, 3]) == ["日₁", "日₂本₁", "本₂", "本₃!"]
    assert as_read(["日₁", "日₂本₁", "本₂", "本₃!"]) == ["日", "本", "", "!"]


def test_bytes_of_sentencepiece_are_characters_too() -> None:
    pieces = Pieces(*(f"<0x{byte:02X}>" for byte in "🙂".encode()))
    assert strings(pieces, [0, 1, 2, 3]) == ["🙂₁", "🙂₂", "🙂₃", "🙂₄"]
    assert strings(pieces, [0, 1]) == ["⟨F0⟩", "⟨9F⟩"]  # they make no character


def test_a_special_token_ends_a_character() -> None:
    class Special(Pieces):
        def decode(self, ids: list[int]) -> str:
            return "" if self.names[ids[0]] == "</s>" else BROKEN

    assert strings(Special("æĹ", "</s>", "¥"), [0, 1, 2]) == ["⟨E6⟩⟨97⟩", "</s>", "⟨A5⟩"]


def test_titles_and_words_are_read_from_parts() -> None:
    tokens = ["I", " 🙂₁", "🙂₂", " you", "</s>"]
    assert headline(named(noise(1, 1, len(tokens)), tokens), 0) == "I 🙂 you"
    text, spans = joined(as_read(tokens))
    assert text == "I 🙂 you"
    assert spans[1] == spans[2]
    assert as_read(["H₂", "O"]) == ["H₂", "O"]


def test_names_are_cut_between_characters() -> None:
    assert list(characters("a👩‍💻é🇫🇷🇩🇪")) == ["a", "👩‍💻", "é", "🇫🇷", "🇩🇪"]
    assert cut("👩‍💻👩‍💻👩‍💻", 2) == "👩‍💻…"
    assert label("\u200d") == "⟨200D⟩"


def test_what_each_row_writes_is_the_token_after_it() -> None:
    strings = [["<s>", "a", "b"], ["<s>", "c", "<pad>"]]
    text = Text([[1, 5, 6], [1, 7, 0]], pad=0, strings=strings, after=["</s>", None])
    assert text.written(0) == ["a", "b", "</s>"]
    assert text.written(1) == ["c", NEXT, "<pad>"]  # what fills up has rows too, and writes nothing
    assert Text([[4, 5]]).written() == [5, NEXT]
    assert Text([[4, 5]], after=[6]).written() == [5, 6]


def test_a_character_begun_in_the_last_token_that_was_read(ours: Tokenizer) -> None:
    *read, last = ids_of(ours, "日")[:3]
    text = Text([read], tokenizer=ours, after=[last])
    assert text.tokens() == ["⟨E6⟩", "⟨97⟩"]
    assert text.written() == ["日₂", "日₃"]
    assert text.all_after() == ["日₃"]


def test_files_keep_what_follows(tmp_path: Path) -> None:
    call = noise(1, 1, 3, causal=True)
    text = Text([[1, 5, 6]], strings=[["<s>", "a", "b"]], after=["</s>"])
    Recording(calls=[ForwardCall(call.maps, text)]).save(tmp_path / "one.regard")
    read = Recording.load(tmp_path / "one.regard")
    assert read.labels("layers.0.attn") == (["<s>", "a", "b"], ["<s>", "a", "b"])
    assert read.labels("layers.0.attn", row="output") == (["a", "b", "</s>"], ["<s>", "a", "b"])
    bare = ForwardCall(call.maps)  # nobody told the tokens: positions
    assert bare.labels("layers.0.attn", row="output") == ([1, 2, 3], [0, 1, 2])
