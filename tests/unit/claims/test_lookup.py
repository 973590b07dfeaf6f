"""The rule of the claim, registers made by hand, and the lecture's own."""

from __future__ import annotations

from random import Random

import pytest

import regard
from regard.claims.tried import lookup
from regard.claims.tried.lookup import (
    HOTEL,
    Register,
    at_length_1,
    counted,
    finds,
    misspelt,
    registers,
    weights_of,
)
from tests.claim_cases import Invented, check_rule

FOUND, SOME, LOST = (0.97, 0.95, 0.99), (0.7, 0.65, 0.75), (0.2, 0.1, 0.3)
NAMES = ("misspelt_counts", "right_counts", "misspelt_length_1", "right_length_1")
INVENTED: Invented = {
    "holds": dict.fromkeys(NAMES, FOUND),
    "holds in part": {**dict.fromkeys(NAMES, FOUND), "right_counts": SOME},
    "does not hold": {**dict.fromkeys(NAMES, FOUND), "misspelt_counts": LOST, "right_length_1": LOST},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("lookup", INVENTED)


def test_a_name_is_found_unless_a_longer_one_has_all_its_letters() -> None:
    clear = Register(("tobe", "ruma"), "tobbe", 0)
    hidden = Register(("tobe", "tobebo"), "tobe", 0)
    assert finds(clear, counted)
    assert not finds(hidden, counted)
    assert finds(hidden, at_length_1)


def test_whom_all_score_alike_is_not_found_at_any_scale() -> None:
    guests, asked, _ = HOTEL
    register = Register(guests, asked, 1)
    assert not finds(register, counted)
    assert weights_of(register, counted, [1000.0])[0].tolist() == pytest.approx([0.0, 0.5, 0.5])
    assert weights_of(register, counted, [8**-0.5])[0].tolist() == pytest.approx([0.198, 0.401, 0.401], abs=5e-4)


def test_as_the_scale_grows_the_one_who_is_found_gets_all_the_weight() -> None:
    register = Register(("tobe", "ruma", "tibo"), "tobbe", 0)
    weights = weights_of(register, counted, [0.1, 1.0, 10.0, 100.0])[:, 0].tolist()
    assert weights == sorted(weights)
    assert weights[0] < 0.5
    assert weights[-1] == pytest.approx(1)


def test_misspellings_are_no_guests_name() -> None:
    assert all(misspelt("tobe", Random(seed)) != "tobe" for seed in range(50))
    assert all(one.asked not in one.guests for one in registers(50, 0, wrong=True))
    assert all(one.asked == one.guests[one.meant] for one in registers(50, 0, wrong=False))


@pytest.mark.parametrize("full", [False, True])
def test_it_is_tried_in_both_forms(full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "REGISTERS", (30, 40))
    numbers = regard.claim("lookup").run(full=full).measurement.numbers
    assert set(numbers) == set(NAMES)
    assert numbers["right_length_1"].value == 1
