"""A score of a model is one number; while it is computed, every attention says how large it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from torch import Tensor

from regard.errors import InputError, UnknownNameError
from regard.lens.assembly.watch_options import WatchOptions
from regard.lens.hooks.attach import attach, module_of
from regard.lens.hooks.attention_inputs import RowPositions

ScoreFunction = Callable[[Any], float | Tensor]
OnProgress = Callable[[int, int], None]


class SiteSize(NamedTuple):
    """How many heads a site has, and how many rows and keys the longest text had there."""

    heads: int
    rows: int
    keys: int


def scored(model: Any, score: ScoreFunction) -> tuple[float, dict[str, SiteSize]]:
    """The score, and the size of each site meanwhile."""
    module, _ = module_of(model)
    sizes: dict[str, SiteSize] = {}
    positions = RowPositions(module)

    def hook(
        site: str, call: Callable[..., Tensor], query: Tensor, key: Tensor, value: Tensor, **options: Any
    ) -> Tensor:
        inputs = positions.inputs(site, query, key, value, options)
        before = sizes.get(site, SiteSize(0, 0, 0))
        rows, keys = (inputs.first or 0) + inputs.queries, inputs.first_key + inputs.keys
        sizes[site] = SiteSize(inputs.heads, max(before.rows, rows), max(before.keys, keys))
        return call(query, key, value, **options)

    with attach(module, hook=hook):
        value = number_of(score(model))
    if not sizes:
        raise InputError("the score did not use the model", found="no attention came through", do="call it in `score`")
    return value, sizes


def number_of(value: Any) -> float:
    """A score is one number, whatever holds it."""
    try:
        number = float(value.detach() if isinstance(value, Tensor) else value)
    except (TypeError, ValueError) as error:
        raise InputError("a score must be one number", found=f"{value!r:.80}", do="return a float") from error
    if not math.isfinite(number):
        raise InputError("the score is not a finite number", found=f"{number}", do="look at what the score computes")
    return number


def select_heads(
    sizes: Mapping[str, SiteSize], sites: Sequence[str] | str | None, heads: int | Sequence[int] | None
) -> list[tuple[str, int]]:
    """The heads that were asked for, by names or patterns of sites and by numbers; None asks for all."""
    options = WatchOptions(None if sites is None else (sites,) if isinstance(sites, str) else tuple(sites))
    numbers = [heads] if isinstance(heads, int) else heads
    targets = [
        (site, head) for site, size in sizes.items() if options.wants(site)
        for head in (range(size.heads) if numbers is None else numbers) if head < size.heads
    ]  # fmt: skip
    if not any(map(options.wants, sizes)):
        raise UnknownNameError("site", str(sites), sizes)
    if not targets:
        most = max(size.heads for size in sizes.values())
        raise InputError(f"no site has such heads: {list(numbers or ())}", found=f"{most} heads at most")
    return targets
