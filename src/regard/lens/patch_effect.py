"""Which heads, at which positions, move a score when they are taken from another run: `regard.effect(change="patch")`.

A scan by gradients estimates every one of them at once; the strongest, or all, are then really patched and scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from regard.drawing.plain import as_text
from regard.drawing.writing import write_csv, write_text
from regard.errors import InputError, KindError, ShapeError, UnknownNameError
from regard.lens.attribution import Pair, scan
from regard.lens.draw.patch_map import PositionEffect as PositionEffect
from regard.lens.draw.patch_map import patch_svg, patch_view
from regard.lens.hooks.activations import OF_KEYS, PARTS, Activations
from regard.lens.intervene import Positions, intervene, position_pairs
from regard.lens.model_score import OnProgress, ScoreFunction, SiteSize, number_of, scored, select_heads


@dataclass(frozen=True)
class PatchEffect:
    """The score of the model as it is, and a line for every head and position that another run could give."""

    baseline: float
    part: str
    lines: list[PositionEffect]

    def strongest(self, count: int = 1, *, up: bool = False) -> list[PositionEffect]:
        """Of those really patched, the ones that lower the score most; `up`: raise it most."""
        patched = [line for line in self.lines if line.change is not None]
        return sorted(patched, key=lambda line: line.change or 0.0, reverse=up)[:count]

    def to_csv(self, path: str | Path) -> None:
        """The table, with a header; what was not computed is empty."""
        write_csv(path, [[field.name for field in fields(PositionEffect)], *map(astuple, self.lines)])

    def to_svg(self, path: str | Path | None = None, *, title: str = "") -> str:
        """A heat map: heads down, positions across, changes where all were patched and else estimates."""
        svg = patch_svg(self.baseline, self.part, self.lines, title)
        if path is not None:
            write_text(svg, path)
        return svg

    def _repr_html_(self) -> str:
        return self.to_svg()

    def __str__(self) -> str:
        return as_text(patch_view(self.baseline, self.part, self.lines))


@dataclass(frozen=True)
class PatchQuestion:
    """What to take from which run, where, and how many of them exactly (None: all)."""

    source: Activations
    part: str = "output"
    positions: Positions | Literal["each"] = "each"
    top: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.source, Activations):
            raise KindError(
                'change="patch" takes heads from another run', found=f"source={self.source!r:.80}",
                do="with regard.lens.intervene.activations(model) as run: model(...); then give source=run",
            )  # fmt: skip
        if self.part not in PARTS:
            raise UnknownNameError("part", str(self.part), PARTS)
        top = self.top
        if top is not None and (not isinstance(top, int) or isinstance(top, bool) or top < 0):
            raise KindError("top is how many to patch after a scan", found=f"{top!r}", do="give a whole number or None")

    def pairs(self, sizes: dict[str, SiteSize]) -> dict[str, list[Pair]]:
        """Of each site, which positions are patched, one by one, or all together."""
        pairs: dict[str, list[Pair]] = {}
        for site, size in sizes.items():
            here = size.keys if self.part in OF_KEYS else size.rows
            there = self.source.site(site).positions(self.part)
            if self.positions == "each":
                if here != there:
                    raise ShapeError(
                        f"{site} does not have as many positions in both runs", found=f"{here} here, {there} there",
                        do="name the positions, {here: there}, or leave this site out with sites=",
                    )  # fmt: skip
                pairs[site] = [(position, position) for position in range(here)]
                continue
            given: Sequence[Pair] = position_pairs(self.positions)
            pairs[site] = [pair for pair in given if pair[0] is None or pair[0] < here]
        if not any(pairs.values()):
            raise InputError("no site has such positions", found=f"positions={self.positions!r:.80}")
        return pairs


def patch_effect(
    model: Any,
    score: ScoreFunction,
    question: PatchQuestion,
    sites: Sequence[str] | str | None = None,
    heads: int | Sequence[int] | None = None,
    on_progress: OnProgress | None = None,
) -> PatchEffect:
    """Estimate what each patch changes, where the score has a gradient, and patch the strongest of them, or all."""
    baseline, sizes = scored(model, score)
    targets = select_heads(sizes, sites, heads)
    pairs = question.pairs({site: sizes[site] for site, _ in targets})
    estimates = scan(model, score, question.source, question.part, pairs)
    if estimates is None and question.top is not None:
        raise InputError(
            "a first scan needs a score with a gradient", found="a number without one",
            do="return a tensor, computed without torch.no_grad(); or leave out top=, to patch all",
        )  # fmt: skip
    lines = [
        PositionEffect(site, head, here, there, None if estimates is None else float(estimates[site][head, number]))
        for site, head in targets
        for number, (here, there) in enumerate(pairs[site])
    ]
    chosen = strongest(lines, question.top)
    for number, place in enumerate(chosen, 1):
        value = patched_score(model, score, question, lines[place])
        lines[place] = replace(lines[place], score=value, change=value - baseline)
        if on_progress is not None:
            on_progress(number, len(chosen))
    return PatchEffect(baseline, question.part, lines)


def strongest(lines: Sequence[PositionEffect], top: int | None) -> list[int]:
    """Where those to patch stand among the lines; None: all."""
    by_estimate = sorted(range(len(lines)), key=lambda place: -abs(lines[place].estimate or 0.0))
    return sorted(by_estimate[:top])


def patched_score(model: Any, score: ScoreFunction, question: PatchQuestion, line: PositionEffect) -> float:
    """With this one patch."""
    where: Any = None if line.position is None else {line.position: line.source_position}
    with intervene(model, patch=(line.site, line.head, question.part, where), source=question.source):
        return number_of(score(model))
