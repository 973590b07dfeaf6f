"""The rule of the claim, and codes that are no clocks."""

from __future__ import annotations

import pytest
import torch

import regard
from regard.claims.tried import sinusoids
from regard.claims.tried.sinusoids import NO_MAP, ROUNDING, drawn_code, errors_of, sinusoidal_code
from tests.claim_cases import Invented, check_rule

SOUND = {"rotation": 1e-12, "fitted": 1e-12, "radius": 1e-16, "step": 1e-12, "distance": 1e-11}
INVENTED: Invented = {
    "holds": SOUND,
    "holds in part": {**SOUND, "fitted": 1.0},
    "does not hold": {"rotation": 2.0, "fitted": 2.0, "radius": 0.0, "step": 6.0, "distance": 9.0},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("sinusoids", INVENTED)


def test_the_measurement_sees_what_is_no_clock() -> None:
    rng = torch.Generator().manual_seed(0)
    positions = torch.randint(sinusoids.FURTHEST, (400,), generator=rng)
    clock, other = errors_of(sinusoidal_code, positions), errors_of(drawn_code(rng), positions)
    assert max(clock[name] for name in ("rotation", "radius", "step")) <= ROUNDING
    assert clock["fitted"] <= sinusoids.FITTED
    assert min(other[name] for name in ("rotation", "fitted", "step")) > NO_MAP
    assert other["radius"] <= ROUNDING


def test_a_hand_that_goes_faster_and_faster_is_no_clock() -> None:
    def accelerated(positions: torch.Tensor) -> torch.Tensor:
        return sinusoidal_code(positions.double() ** 1.2)

    positions = torch.arange(0, 4_000, 10)
    errors = errors_of(accelerated, positions)
    assert min(errors[name] for name in ("rotation", "fitted", "step")) > NO_MAP


@pytest.mark.parametrize("full", [False, True])
def test_it_holds(full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinusoids, "POSITIONS", (400, 500))
    assert regard.claim("sinusoids").run(full=full).verdict == "holds"
