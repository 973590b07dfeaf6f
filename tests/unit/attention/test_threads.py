"""Blocks of rows in threads of their own: the same numbers, and nothing of it left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import Statistics, attend, received, tile
from regard.attention.second_pass import lse_of, read_pass
from regard.attention.threads import in_threads
from tests.attention_cases import Case, coin, force_blocks, holed, make, normal, run_backend

CPU = torch.device("cpu")
MANY = 1 << 30  # cells: certainly worth a thread
THREADS = 3
SIZES: dict[str, Any] = {"batch": (2,), "heads": 4, "served": 2, "queries": 11, "keys": 11}
WATCHED = [
    make("threads, plain", **SIZES),
    make("threads, causal", **SIZES, causal=True),
    make("threads, window", **SIZES, window=(2, 1)),
    make("threads, mask, bias, sinks", **SIZES, mask=coin(2, 1, 1, 11), bias=holed(11, 11), sinks=normal(4)),
]


@pytest.fixture(autouse=True)
def small_things_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    force_blocks(monkeypatch, 2, 3)
    monkeypatch.setattr("regard.attention.threads.WORTHWHILE", 0)


def on_each(run: Callable[[], list[Tensor]]) -> Iterator[tuple[Tensor, Tensor]]:
    """What it gives on one thread beside what it gives on three."""
    results = []
    for threads in (1, THREADS):
        torch.set_num_threads(threads)
        results.append(run())
    return zip(*results, strict=True)


def everything(case: Case) -> list[Tensor]:
    pass_options = {"query": case.query, "key": case.key, **case.options}
    output, seen = attend(case.query, case.key, case.value, **case.options, see="stats")
    scores, _ = read_pass(case.query, case.key, seen.lse, case.options)
    pooled = [tile(**pass_options, cell=cell, pool=pool) for cell in (1, 3, 5) for pool in ("mass", "max", "mean")]
    columns = received(**pass_options), received(**pass_options, lse=seen.lse, weigh=torch.arange(11))
    return [output, *(getattr(seen, field.name) for field in fields(Statistics)), *lse_of(scores), *columns, *pooled]


@pytest.mark.parametrize("case", WATCHED, ids=str)
def test_the_same_bits_of_any_number_of_threads(case: Case) -> None:
    for alone, together in on_each(lambda: everything(case)):
        assert torch.equal(alone, together)


def test_the_same_cells_are_dropped_forward_and_backward() -> None:
    case = make("threads, dropout", **SIZES, causal=True)

    def gradients() -> list[Tensor]:
        torch.manual_seed(5)
        leaf_case, leaves = case.with_grad()
        output = run_backend("tiled", leaf_case, dropout=0.4)
        output.sum().backward()
        return [output.detach(), *(leaf.grad for leaf in leaves.values())]

    for alone, together in on_each(gradients):
        assert torch.equal(alone, together)


def test_a_graph_is_kept_of_the_whole_and_of_no_block() -> None:
    torch.set_num_threads(THREADS)
    case, leaves = make("threads, trained", **SIZES, softcap=2.0).with_grad()
    output, seen = attend(case.query, case.key, case.value, **case.options, see="stats")
    assert not any(getattr(seen, field.name).requires_grad for field in fields(Statistics))
    output.sum().backward()
    assert all(leaf.grad is not None for leaf in leaves.values())


@pytest.mark.parametrize("inference", [False, True])
def test_inference_mode_reaches_the_threads(inference: bool) -> None:
    torch.set_num_threads(THREADS)
    case = WATCHED[1]
    with torch.inference_mode(inference):
        query = case.query.clone()
        output, seen = attend(query, case.key, case.value, **case.options, see="stats")
        modes = list(in_threads(lambda _: torch.is_inference_mode_enabled(), range(4), CPU, MANY))
    assert output.is_inference() == seen.entropy.is_inference() == inference
    assert modes == [inference] * 4


def test_autocast_rounds_nothing() -> None:
    case = make("threads, autocast", **SIZES, causal=True).to(torch.float32)

    def watch() -> list[Tensor]:
        with torch.autocast("cpu", torch.bfloat16):
            return everything(case)

    for (alone, together), plain in zip(on_each(watch), everything(case), strict=True):
        assert torch.equal(alone, together)
        assert torch.equal(alone, plain)


# ---- the threads themselves -----------------------------------------------------------------------------------------


def threads_of_a_new_thread() -> int:
    numbers: list[int] = []
    thread = threading.Thread(target=lambda: numbers.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return numbers[0]


def test_each_has_one_of_pytorchs_and_all_others_have_as_many_as_before() -> None:
    torch.set_num_threads(THREADS)
    together = threading.Barrier(THREADS, timeout=60)

    def work(_: int) -> tuple[int, int, int]:
        together.wait()  # which only so many at a time can pass
        return threading.get_ident(), torch.get_num_threads(), threads_of_a_new_thread()

    results = list(in_threads(work, range(2 * THREADS), CPU, MANY))
    assert {(own, new) for _, own, new in results} == {(1, THREADS)}
    assert threading.get_ident() not in {ident for ident, _, _ in results}
    assert torch.get_num_threads() == threads_of_a_new_thread() == THREADS


def test_results_come_in_the_order_of_the_jobs() -> None:
    torch.set_num_threads(THREADS)
    first_waits = threading.Event()

    def work(job: int) -> int:
        first_waits.wait(60) if job == 0 else first_waits.set()
        return job

    assert list(in_threads(work, range(9), CPU, MANY)) == list(range(9))


def test_what_goes_wrong_in_a_thread_comes_out() -> None:
    torch.set_num_threads(THREADS)

    def work(job: int) -> None:
        raise ValueError(f"job {job}")

    with pytest.raises(ValueError, match="job 0"):
        list(in_threads(work, range(9), CPU, MANY))
    assert torch.get_num_threads() == threads_of_a_new_thread() == THREADS


@pytest.mark.parametrize(
    ("device", "cells", "jobs"), [("cpu", 1000, 4), ("meta", MANY, 4), ("cpu", MANY, 1), ("cpu", MANY, 0)]
)
def test_nothing_is_started_for_little(device: str, cells: int, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    torch.set_num_threads(THREADS)
    idents = list(in_threads(lambda _: threading.get_ident(), range(jobs), torch.device(device), cells))
    assert idents == [threading.get_ident()] * jobs


def test_a_thread_that_cannot_start_leaves_none_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(THREADS)
    start, started = threading.Thread.start, []

    def refuse_the_second(thread: threading.Thread) -> None:
        started.append(thread)
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse_the_second)
    with pytest.raises(RuntimeError, match="can't start"):
        list(in_threads(lambda job: job, range(9), CPU, MANY))
    monkeypatch.undo()
    assert torch.get_num_threads() == threads_of_a_new_thread() == THREADS
