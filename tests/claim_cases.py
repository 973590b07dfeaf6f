"""What the tests of every claim share: its rule, fed invented numbers, must be able to give every verdict."""

from __future__ import annotations

from collections.abc import Mapping

from regard.claims import VERDICTS, Estimate, Verdict
from regard.claims.claim_names import claim_named
from regard.claims.estimates import exactly

Invented = Mapping[Verdict, Mapping[str, float | tuple[float, float, float]]]


def estimates_of(numbers: Mapping[str, float | tuple[float, float, float]]) -> dict[str, Estimate]:
    """A number alone is exact; three are a value and its interval."""
    return {
        name: Estimate(*number) if isinstance(number, tuple) else exactly(number) for name, number in numbers.items()
    }


def check_rule(name: str, invented: Invented) -> None:
    """The rule gives each verdict for the numbers that were invented for it."""
    assert set(invented) == set(VERDICTS), "numbers for every verdict"
    rule = claim_named(name).rule
    assert {verdict: rule.verdict(estimates_of(numbers)) for verdict, numbers in invented.items()} == {
        verdict: verdict for verdict in invented
    }
