"""The rule of the claim, and clocks that were invented."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import regard
from regard.claims.tried import heads_for_speed
from regard.claims.tried.heads_for_speed import Case
from tests.claim_cases import Invented, check_rule

FASTER, SLOWER, UNSURE = (0.5, 0.4, 0.6), (1.2, 1.1, 1.3), (0.8, 0.6, 1.1)
INVENTED: Invented = {
    "holds": {"reading_512_64": FASTER, "training_512_64": FASTER},
    "holds in part": {"reading_512_64": UNSURE, "training_512_64": SLOWER},
    "does not hold": {"reading_512_64": SLOWER, "training_512_64": SLOWER},
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, sizes in {
        "DIMS": ((16,), (16, 32)), "LENGTHS": ((4, 8), (4, 8, 16)), "WORDS": (8, 16), "ROUNDS": (2, 3),
    }.items():  # fmt: skip
        monkeypatch.setattr(heads_for_speed, name, sizes)


def test_the_rule_gives_every_verdict() -> None:
    check_rule("heads-for-speed", INVENTED)


@pytest.mark.parametrize(("eight", "verdict"), [(0.5, "holds"), (1.5, "does not hold")])
def test_the_measurement_reads_the_clock(eight: float, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def clock(ways: Mapping[Case, object], *_: Any) -> dict[Case, list[float]]:
        return {case: [eight if case.heads == heads_for_speed.CLAIMED else 1.0] * 9 for case in ways}

    monkeypatch.setattr(heads_for_speed, "in_turns", clock)
    assert regard.claim("heads-for-speed").run().verdict == verdict


@pytest.mark.parametrize("full", [False, True])
def test_it_is_tried_in_both_forms(full: bool) -> None:
    result = regard.claim("heads-for-speed").run(full=full)
    assert len(result.measurement.numbers) == (12 if full else 4)
    assert "as long for every number of heads" in str(result.to_dict()["remarks"])
