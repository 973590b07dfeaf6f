"""Several processes that train one model: each takes its rows of a batch, and what they must agree on.

The batches are the same as with one process, so the mathematics are too. The engines add up gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist

from regard.errors import RegardError

T = TypeVar("T")


class SharedError(RegardError):
    """What every process raises alike. The first one says it for all."""


@dataclass(frozen=True)
class Workers:
    """Which of how many this process is. The first one writes, validates and speaks."""

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        return self.rank == 0

    def agree(self, flag: bool) -> bool:
        """True everywhere when it is True anywhere."""
        return bool(self.total([float(flag)])[0])

    def total(self, numbers: Sequence[float]) -> list[float]:
        """Each number summed over all processes."""
        if self.count == 1:
            return list(numbers)
        summed = torch.tensor(numbers, dtype=torch.float64, device="cuda" if dist.get_backend() == "nccl" else "cpu")
        dist.all_reduce(summed)
        return [float(number) for number in summed.tolist()]

    def gather(self, mine: T) -> list[T]:
        """What every process has, by rank."""
        every: list[T | None] = [mine] * self.count
        if self.count > 1:
            dist.all_gather_object(every, mine)
        return every  # type: ignore[return-value]

    def together(self, work: Callable[[], T]) -> T:
        """What `work` gives here, once it is done everywhere; if it fails in one process, that is the error of all."""
        if self.count == 1:
            return work()
        failure: RegardError | None = None
        try:
            result = work()
        except RegardError as error:
            failure = error
        for rank, wrong in enumerate(self.gather(failure and (failure.wrong, failure.found, failure.do))):
            if wrong:
                raise SharedError(f"process {rank}: {wrong[0]}", found=wrong[1], do=wrong[2]) from failure
        return result

    def wait(self) -> None:
        if self.count > 1:
            dist.barrier()
