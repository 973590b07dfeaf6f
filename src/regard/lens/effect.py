"""`regard.effect(model, score)`: what each head's silence does to any score of the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.drawing.plain import as_text
from regard.drawing.writing import write_csv, write_text
from regard.errors import InputError, UnknownNameError
from regard.lens.assembly.watch_options import WatchOptions
from regard.lens.draw.effect_map import HeadEffect as HeadEffect
from regard.lens.draw.effect_map import effect_svg, effect_view
from regard.lens.hooks.attach import attach, module_of
from regard.lens.hooks.changes import Means
from regard.lens.intervene import intervene

OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Effect:
    """The score of the model as it is, and a line for every head without which it was scored again."""

    baseline: float
    lines: list[HeadEffect]

    def strongest(self, count: int = 1, *, up: bool = False) -> list[HeadEffect]:
        """The heads whose silence lowers the score most; `up`: raises it most, as a loss."""
        return sorted(self.lines, key=lambda line: -line.change if up else line.change)[:count]

    def to_csv(self, path: str | Path) -> None:
        """The table, with a header."""
        write_csv(path, [[field.name for field in fields(HeadEffect)], *map(astuple, self.lines)])

    def to_svg(self, path: str | Path | None = None, *, title: str = "") -> str:
        """A heat map: sites down, heads across, what the silence of each changed; also written where a path says."""
        svg = effect_svg(self.baseline, self.lines, title)
        if path is not None:
            write_text(svg, path)
        return svg

    def _repr_html_(self) -> str:
        return self.to_svg()

    def __str__(self) -> str:
        return as_text(effect_view(self.baseline, self.lines))


def effect(
    model: Any,
    score: Callable[[Any], float],
    *,
    sites: Sequence[str] | str | None = None,
    heads: int | Sequence[int] | None = None,
    means: Means | None = None,
    on_progress: OnProgress | None = None,
) -> Effect:
    """Silence one head after the other, and score the model each time.

    score        a function of the model, such as one that translates and gives BLEU; it is called once for each head
    sites        which attention layers to try: names, or patterns such as "decoder.*.cross"
    heads        which heads of each, by number
    means        replace each head's output by its mean, as `regard.lens.intervene.means` found it, instead of by zeros
    on_progress  is called with how many heads are done, and of how many
    """
    heads = [heads] if isinstance(heads, int) else heads
    baseline, head_counts = scored(model, score)
    options = WatchOptions(None if sites is None else (sites,) if isinstance(sites, str) else tuple(sites))
    targets = [
        (site, head) for site, size in head_counts.items() if options.wants(site)
        for head in (range(size) if heads is None else heads) if head < size
    ]  # fmt: skip
    if not any(map(options.wants, head_counts)):
        raise UnknownNameError("site", str(sites), head_counts)
    if not targets:
        most = max(head_counts.values())
        raise InputError(f"no site has such heads: {list(heads or ())}", found=f"{most} heads at most")
    lines = []
    for number, (site, head) in enumerate(targets, 1):
        with without(model, [(site, head)], means):
            value = number_of(score(model))
        lines.append(HeadEffect(site, head, value, value - baseline))
        if on_progress is not None:
            on_progress(number, len(targets))
    return Effect(baseline, lines)


@contextmanager
def without(model: Any, heads: Sequence[tuple[str, int]], means: Means | None = None) -> Iterator[None]:
    """The model without some heads."""
    changes: Any = {"silence": list(heads)} if means is None else {"mean": list(heads), "means": means}
    with intervene(model, **changes):
        yield


def scored(model: Any, score: Callable[[Any], float]) -> tuple[float, dict[str, int]]:
    """The score, and how many heads each site had meanwhile."""
    module, _ = module_of(model)
    head_counts: dict[str, int] = {}

    def hook(
        site: str, call: Callable[..., Tensor], query: Tensor, key: Tensor, value: Tensor, **options: Any
    ) -> Tensor:
        head_counts[site] = query.shape[-3]
        return call(query, key, value, **options)

    with attach(module, hook=hook):
        value = number_of(score(model))
    if not head_counts:
        raise InputError("the score did not use the model", found="no attention came through", do="call it in `score`")
    return value, head_counts


def number_of(value: Any) -> float:
    """A score is one number, whatever holds it."""
    try:
        number = float(value.detach() if isinstance(value, Tensor) else value)
    except (TypeError, ValueError) as error:
        raise InputError("a score must be one number", found=f"{value!r:.80}", do="return a float") from error
    if not math.isfinite(number):
        raise InputError("the score is not a finite number", found=f"{number}", do="look at what the score computes")
    return number
