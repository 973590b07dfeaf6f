"""What the lab counts: chains of operations, bytes alive, joules."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from regard.claims.lab import energy
from regard.claims.lab.energy import joules, joules_of
from regard.claims.lab.graph_depth import graph_depth
from regard.claims.lab.live_bytes import peak_bytes


def test_a_chain_is_as_long_as_its_longest_way() -> None:
    x = torch.ones(3, requires_grad=True)
    assert graph_depth(x.exp()) == 2  # and the leaf itself
    assert graph_depth(x.exp() + x.exp().exp().exp()) == 5
    assert graph_depth(torch.ones(3)) == 0


def test_what_stands_side_by_side_is_no_longer_chain() -> None:
    x = torch.ones(3, requires_grad=True)
    assert graph_depth(torch.stack([x.exp() for _ in range(9)])) == graph_depth(torch.stack([x.exp()]))


def test_a_long_chain_is_counted_too() -> None:
    y = x = torch.ones((), requires_grad=True)
    for _ in range(5_000):
        y = y * 1.0
    assert graph_depth(y) == graph_depth(x * 1.0) + 4_999


def test_what_is_let_go_counts_no_longer() -> None:
    x = torch.ones(1_000)

    def one_after_another() -> None:
        for _ in range(5):
            x.exp()

    def all_at_once() -> None:
        _ = [x.exp() for _ in range(5)]

    assert peak_bytes(one_after_another, [x]) < 2 * 2 * x.nbytes
    assert peak_bytes(all_at_once, [x]) == 5 * x.nbytes


def test_inputs_and_views_take_no_memory_of_their_own() -> None:
    x = torch.ones(1_000)
    assert peak_bytes(lambda: x.view(10, 100).mT[3:], [x]) == 0


def test_joules_are_counted_between_two_readings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counter = tmp_path / "intel-rapl:0" / "energy_uj"
    counter.parent.mkdir()
    counter.write_text("1000000\n")
    monkeypatch.setattr(energy, "COUNTERS", tmp_path)
    monkeypatch.setattr(energy, "LEAST_SECONDS", 0.0)
    assert joules("cpu") == 1.0
    assert joules_of(lambda: None, "cpu") is None  # nothing was counted
    clock = iter([0.0, 0.0, 1.0])
    monkeypatch.setattr(energy.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(energy, "LEAST_SECONDS", 0.5)
    assert joules_of(lambda: counter.write_text("4000000\n"), "cpu") == 3.0


def test_a_machine_that_tells_nothing_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(energy, "COUNTERS", tmp_path)
    assert joules_of(lambda: None, "cpu") is None
