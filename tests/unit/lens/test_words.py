"""Tokens as strings: a part of a character is shown by its bytes, and whole characters are read from them again."""

from __future__ import annotations

import pytest
from tokenizers import pre_tokenizers

from regard.lens.draw.page.telling import headline
from regard.lens.words import BROKEN, alphabet, spelled, string_of
from tests.page_cases import named, noise


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
    assert spelled(name) == shown
    assert string_of(Pieces(name), 0) == shown


@pytest.mark.parametrize("first", [["⟨E6⟩", "⟨97⟩⟨A5⟩"], [" ⟨E6⟩", "⟨97⟩", "⟨A5⟩"]])
def test_a_title_has_whole_characters(first: list[str]) -> None:
    tokens = [*first, "</s>"]
    assert headline(named(noise(1, 1, len(tokens)), tokens), 0) == "日"
