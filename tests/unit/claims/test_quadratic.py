"""The rule of the claim, memory that is counted, and clocks that were invented."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import regard
from regard.claims.lab.attention_backends import WAYS
from regard.claims.lab.timing import power
from regard.claims.setting import Setting, one_run
from regard.claims.tried import quadratic
from regard.claims.tried.quadratic import Case, memory_of
from tests.claim_cases import Invented, check_rule

SQUARE, PROPORTION = (2.0, 1.9, 2.1), (1.0, 0.9, 1.1)
ALL = {f"{what}_{backend}": SQUARE for what in ("time", "memory") for backend in WAYS}
INVENTED: Invented = {
    "holds": ALL,
    "holds in part": {**ALL, "memory_tiled": PROPORTION, "memory_fused": PROPORTION},
    "does not hold": {**ALL, "memory_fused": PROPORTION, "time_fused": PROPORTION},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("quadratic", INVENTED)


@pytest.mark.parametrize(("backend", "least", "most"), [("steps", 1.8, 2.1), ("tiled", -0.1, 1.5), ("fused", 0.9, 1.1)])
def test_the_measurement_sees_what_is_kept(backend: str, least: float, most: float) -> None:
    """Blocks of a tile are so large that of short texts one is all."""
    memory = {length: one_run(Setting(), memory_of, Case(backend, length)) for length in (1024, 2048)}
    assert least < power(memory) < most


def clock_of(exponent: float) -> Any:
    def clock(ways: Mapping[Case, object], *_: Any) -> dict[Case, list[float]]:
        return {case: [float(case.length) ** exponent] * 9 for case in ways}

    return clock


@pytest.mark.parametrize(("exponent", "verdict"), [(2.0, "holds in part"), (1.0, "does not hold")])
@pytest.mark.parametrize("full", [False, True])
def test_the_measurement_reads_the_clock(
    exponent: float, verdict: str, full: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quadratic, "LENGTHS", (16, 32, 64))
    monkeypatch.setattr(quadratic, "FULL_LENGTHS", (16, 32, 64, 128))
    monkeypatch.setattr(quadratic, "FULL_DENSE", 64)
    monkeypatch.setattr(quadratic, "joules_of", lambda run, device: None)
    monkeypatch.setattr(quadratic, "in_turns", clock_of(exponent))
    result = regard.claim("quadratic").run(full=full)
    assert result.verdict == verdict
    assert result.measurement.tables[1].rows[-1][1] == ("-" if full else pytest.approx(1e3 * 64**exponent))


def test_energy_is_told_where_it_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quadratic, "LENGTHS", (16, 32))
    monkeypatch.setattr(quadratic, "ROUNDS", (1, 1))
    spent = iter([1.0, 4.0])
    monkeypatch.setattr(quadratic, "joules_of", lambda run, device: next(spent))
    assert "with the power 2.00" in str(regard.claim("quadratic").run().to_dict()["remarks"])
