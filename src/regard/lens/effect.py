"""`regard.effect(model, score)`: what any score of the model does without each head, or with that of another run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, Literal, overload

from regard.drawing.plain import as_text
from regard.drawing.writing import write_csv, write_text
from regard.errors import KindError, UnknownNameError
from regard.lens.draw.effect_map import HeadEffect as HeadEffect
from regard.lens.draw.effect_map import effect_svg, effect_view
from regard.lens.hooks.activations import Activations
from regard.lens.hooks.changes import Means
from regard.lens.intervene import Positions, intervene
from regard.lens.model_score import OnProgress, ScoreFunction, number_of, scored, select_heads
from regard.lens.patch_effect import PatchEffect as PatchEffect
from regard.lens.patch_effect import PatchQuestion, patch_effect

Change = Literal["silence", "mean", "patch"]
CHANGES = "silence", "mean"  # of one head after the other


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


@overload
def effect(
    model: Any,
    score: ScoreFunction,
    *,
    sites: Sequence[str] | str | None = ...,
    heads: int | Sequence[int] | None = ...,
    change: Literal["silence", "mean"] = ...,
    means: Means | None = ...,
    on_progress: OnProgress | None = ...,
) -> Effect: ...
@overload
def effect(
    model: Any,
    score: ScoreFunction,
    *,
    sites: Sequence[str] | str | None = ...,
    heads: int | Sequence[int] | None = ...,
    change: Literal["patch"],
    source: Activations,
    part: str = ...,
    positions: Positions | Literal["each"] = ...,
    top: int | None = ...,
    on_progress: OnProgress | None = ...,
) -> PatchEffect: ...
def effect(
    model: Any,
    score: ScoreFunction,
    *,
    sites: Sequence[str] | str | None = None,
    heads: int | Sequence[int] | None = None,
    change: Change = "silence",
    means: Means | None = None,
    source: Activations | None = None,
    part: str = "output",
    positions: Positions | Literal["each"] = "each",
    top: int | None = None,
    on_progress: OnProgress | None = None,
) -> Effect | PatchEffect:
    """Change one head after the other, and score the model each time.

    score        a function of the model, such as one that translates and gives BLEU; it is called once for each head
    sites        which attention layers to try: names, or patterns such as "decoder.*.cross"
    heads        which heads of each, by number
    change       "silence": its output becomes 0. "mean": its mean over the text's rows, or as `means` says.
                 "patch": what it was in another run, position by position
    means        what `regard.lens.intervene.means` found: each head's output is replaced by it
    on_progress  is called with how many heads are done, and of how many

    For "patch":

    source       what `regard.lens.intervene.activations(model)` kept of the other run
    part         "output", "query", "key", "value" or "weights"
    positions    "each" position by itself; one, several, or {here: there}, each by itself; None: all together
    top          first estimate all of them by gradients, then patch only so many, those of the largest estimates. The
                 score is then a tensor that has a gradient. None: patch all; estimates are given if there is a gradient
    """
    if change == "patch":
        question = PatchQuestion(source, part, positions, top)  # type: ignore[arg-type]
        return patch_effect(model, score, question, sites, heads, on_progress)
    if change not in CHANGES:
        raise UnknownNameError("change", str(change), (*CHANGES, "patch"))
    if source is not None:
        raise KindError("a source run is for patches", found=f"change={change!r}", do='change="patch"')
    baseline, sizes = scored(model, score)
    targets, lines = select_heads(sizes, sites, heads), []
    for number, (site, head) in enumerate(targets, 1):
        with without(model, [(site, head)], means, change=change):
            value = number_of(score(model))
        lines.append(HeadEffect(site, head, value, value - baseline))
        if on_progress is not None:
            on_progress(number, len(targets))
    return Effect(baseline, lines)


@contextmanager
def without(
    model: Any, heads: Sequence[tuple[str, int]], means: Means | None = None, *, change: str = "silence"
) -> Iterator[None]:
    """The model without some heads."""
    by_mean = means is not None or change == "mean"
    changes: Any = {"mean": list(heads), "means": means} if by_mean else {"silence": list(heads)}
    with intervene(model, **changes):
        yield
