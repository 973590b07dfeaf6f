"""Slots: what both sides share is replaced on both, and nothing else changes."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.bpe import train_tokenizer
from regard.text.slots import COUNT, SLOTS, are_tokens, shared_words, with_slots

PAIR = "See http://a.b/c for %s, Tom Smith (2019).", "Voir http://a.b/c pour %s, Tom Smith (2019)."


def test_shared_words_are_those_that_no_dictionary_has() -> None:
    assert shared_words(*PAIR) == ["http://a.b/c", "%s", "Tom", "Smith", "2019"]
    assert shared_words("on on a", "on a on") == []


@pytest.mark.parametrize("seed", range(20))
def test_both_sides_get_the_same_slots_and_give_the_pair_back(seed: int) -> None:
    source, target = with_slots(*PAIR, random.Random(seed))
    used = [letter for letter in source if letter in SLOTS]
    assert used
    assert sorted(used) == sorted(letter for letter in target if letter in SLOTS)
    assert len(used) == len(set(used)) <= COUNT
    for slot in used:  # what stands around a slot stood around one word before
        assert any(source.replace(slot, word).count(word) == 1 for word in shared_words(*PAIR))
        assert slot not in (PAIR[0] + PAIR[1])


@given(st.text(max_size=40), st.text(max_size=40), st.integers(0, 1 << 20))
def test_any_pair_goes_through(source: str, target: str, seed: int) -> None:
    slotted = with_slots(source, target, random.Random(seed))
    if not shared_words(source, target):
        assert slotted == (source, target)
    assert [letter in SLOTS for letter in slotted[0]].count(True) >= [letter in SLOTS for letter in source].count(True)


def test_a_slot_is_never_joined_with_its_neighbours() -> None:
    tokenizer = train_tokenizer([f"Hello {slot}, it is {slot}!" for slot in SLOTS] * 20, 320)
    tokens = tokenizer.engine.encode(f"Hello {SLOTS[3]}, it is{SLOTS[3]}{SLOTS[4]}!").tokens
    assert sum(token in ("Ġ" + "î", "î") or token.startswith(("Ġî", "î")) for token in tokens) == 3
    assert not are_tokens(train_tokenizer(["Hello, it is!"] * 20, 320).encode)
    assert are_tokens(tokenizer.encode)


def test_folding_reads_curly_as_plain() -> None:
    tokenizer = train_tokenizer(['it\'s "so" !'] * 20, 300, fold=True)
    assert tokenizer.encode(["it’s “so”\u00a0!"]) == tokenizer.encode(['it\'s "so" !'])
