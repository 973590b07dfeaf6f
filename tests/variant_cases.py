"""For claims whose variants all learn one task: a training of two steps, and outcomes that are invented."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import ModuleType

import pytest

from regard.claims import Verdict
from regard.claims.claim_names import claim_named
from regard.claims.lab import variants
from regard.claims.lab.variants import Learned
from regard.claims.setting import Setting

SEEDS = (0, 1, 2)


def learn_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two steps of training, in both forms, on few sentences."""
    for name, value in {"QUICK": (2, 8, 1e-3), "FULL": (2, 8, 1e-3), "SENTENCES": 100, "TESTS": 10}.items():
        monkeypatch.setattr(variants, name, value)


def verdict_of_losses(monkeypatch: pytest.MonkeyPatch, tried: ModuleType, losses: Mapping[Hashable, float]) -> Verdict:
    """What the claim of a module says if its variants reach these losses, each seed a little more than the last."""
    learn_little(monkeypatch)

    def run(_: Setting, case: tuple[Hashable, int]) -> Learned:
        variant, seed = case
        return Learned(losses[variant] + seed / 1000, 10.0, 100)

    monkeypatch.setattr(tried, "run", run)
    claim = claim_named(tried.CLAIM.name)
    return claim.rule.verdict(claim.measure(Setting(SEEDS)).numbers)
