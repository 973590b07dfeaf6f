"""Slots in, slots out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from regard.text.protect import Span, find_spans
from regard.text.slots import SLOTS
from regard.text.slotted import Slotted

A, B = SLOTS[:2]


def slotted(text: str) -> Slotted:
    return Slotted.of(text, find_spans(text))


def test_a_tag_that_touches_a_word_stands_apart_for_the_model() -> None:
    form = slotted("a <b>bold</b> word")
    assert form.source == f"a {A} bold {B} word"
    assert form.restore(f"un mot {A} gras {B}.") == "un mot <b>gras</b>."


def test_slots_that_are_lost_doubled_or_made_up_are_refused() -> None:
    form = slotted("see %s")
    assert form.restore(f"voir {A}") == "voir %s"
    assert [form.restore(text) for text in ("voir", f"{A} {A}", f"{A} {B}", B)] == [None] * 4


def test_a_word_glued_to_a_slot_gets_its_space_back() -> None:
    assert slotted("see %s now").restore(f"voir{A}maintenant") == "voir %s maintenant"
    assert slotted("see %s now").restore(f"l'{A}, maintenant") == "l'%s, maintenant"


def test_what_is_no_slot_may_be_changed() -> None:
    assert slotted("see %s").restore(f"voir {A}", str.upper) == "VOIR %s"


def test_a_term_has_a_capital_at_the_start_of_a_sentence() -> None:
    form = Slotted.of("the cat", [Span(0, 3, "term", "le")])
    assert form.restore(f"{A} chat") == "Le chat"
    assert form.restore(f"« {A} chat »") == "« Le chat »"
    assert form.restore(f"ici {A} chat") == "ici le chat"


@given(st.text(st.sampled_from("ab %s{}<>./1 \n"), max_size=40))
def test_without_a_change_the_text_comes_back(text: str) -> None:
    spans = find_spans(text)[:8]
    restored = Slotted.of(text, spans).restore(Slotted.of(text, spans).source)
    assert restored is not None
    assert "".join(restored.split()) == "".join(text.split())
