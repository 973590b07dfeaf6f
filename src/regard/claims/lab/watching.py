"""What a small model's attention does while it runs: read at the seam, with the statistics that `attend` gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention import Statistics
from regard.models import seams

Attend = Callable[..., Tensor]


@contextmanager
def statistics_of(model: nn.Module) -> Iterator[dict[str, list[Statistics]]]:
    """While the block runs, the `Statistics` of every call of every site."""
    calls: dict[str, list[Statistics]] = {}

    def hook(site: str, call: Attend, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        seeing: Callable[..., tuple[Tensor, Statistics]] = call  # type: ignore[assignment]
        output, statistics = seeing(query, key, value, **options, see="stats")
        calls.setdefault(site, []).append(statistics)
        return output

    with ExitStack() as stack:
        for seam in seams(model).values():
            stack.enter_context(seam.hooked(hook, innermost=True))
        yield calls


@torch.no_grad()
def mean_entropy(model: nn.Module, *inputs: Tensor) -> float:
    """In nats, over all rows of all heads of all sites, for one forward call."""
    model.eval()
    with statistics_of(model) as calls:
        model(*inputs)
    rows = torch.cat([one.entropy.flatten() for some in calls.values() for one in some])
    return float(rows.double().mean())
