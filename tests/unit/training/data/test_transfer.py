"""Batches copied ahead: the same, in the same order, and none is read before it is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.training.data.task_batches import TaskBatch
from regard.training.data.transfer import Transfer
from regard.training.loop import loop
from regard.training.report.events import Saved
from tests.faked_graphs import FakedGraph, FakedStream, graphs
from tests.training_cases import RANDOM, TINY, EventRecorder, Stop, go, same
from tests.update_cases import CPU

__all__ = ["graphs"]  # a fixture


def numbered(count: int, built: list[int]) -> Iterator[TaskBatch]:
    for number in range(count):
        built.append(number)
        yield TaskBatch({"ids": torch.tensor([number])}, number, number)


def test_on_a_cpu_batches_stay_where_they_are() -> None:
    transfer, built = Transfer.to(CPU), []
    batches = list(numbered(3, built))
    assert all(one is other for one, other in zip(transfer(iter(batches)), batches, strict=True))


def test_each_batch_is_copied_one_ahead_and_waited_for(graphs: list[FakedGraph]) -> None:
    built: list[int] = []
    for number, batch in enumerate(Transfer(CPU, staged=True)(numbered(4, built))):
        FakedStream.log.append("read")
        assert (batch.words, batch.tensors["ids"].item()) == (number, number)
        assert built == list(range(min(number + 2, 4)))
    assert FakedStream.log == ["work", *["work", "wait", "read"] * 3, "wait", "read"]


def test_a_batch_that_finds_no_room_stays_where_it_is(
    graphs: list[FakedGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(tensor: Tensor, *args: Any, **options: Any) -> Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(Tensor, "to", full)
    assert [batch.words for batch in Transfer(CPU, staged=True)(numbered(3, []))] == [0, 1, 2]


def test_a_run_with_batches_ahead_is_the_same_run_and_resumes_as_such(
    corpus: Path, tmp_path: Path, graphs: list[FakedGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was ready but not worked on when it stopped comes again."""
    go(corpus, tmp_path / "plain", TINY, RANDOM)
    monkeypatch.setattr(loop.Transfer, "to", lambda device: Transfer(device, staged=True))
    with pytest.raises(Stop):
        go(corpus, tmp_path / "ahead", TINY, RANDOM,
           listener=EventRecorder(lambda event: isinstance(event, Saved) and event.step == 3))  # fmt: skip
    go(corpus, tmp_path / "ahead", TINY, RANDOM)
    same(tmp_path / "plain", tmp_path / "ahead")
