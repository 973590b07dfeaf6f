"""What came of a claim: the numbers, the verdict that its rule gives, and where they were measured."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from regard.claims.claim import Claim, Verdict
from regard.claims.draw.plot_svg import plot_svg
from regard.claims.draw.result_page import result_page
from regard.claims.draw.result_view import result_view
from regard.claims.estimates import Estimate
from regard.claims.measurement import Measurement
from regard.claims.setting import OnProgress, Setting, check_folders, no_progress, seeds_that_differ
from regard.drawing.plain import as_text
from regard.drawing.writing import write_text
from regard.version import __version__


@dataclass(frozen=True)
class Provenance:
    """Where and how a result was measured."""

    seeds: tuple[int, ...]
    full: bool
    device: str
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "seeds": list(self.seeds), "full": self.full, "device": self.device, "seconds": round(self.seconds, 1),
            "regard": __version__, "torch": version("torch"), "python": platform.python_version(),
            "machine": platform.machine(), "threads": torch.get_num_threads(),
        }  # fmt: skip


@dataclass(frozen=True)
class Result:
    """A claim, tried."""

    claim: Claim
    measurement: Measurement
    provenance: Provenance

    @property
    def verdict(self) -> Verdict:
        return self.claim.rule.verdict(self.measurement.numbers)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what is not finite is null."""
        claim, measurement = self.claim, self.measurement
        return {
            "name": claim.name,
            "statement": claim.statement,
            "verdict": self.verdict,
            "undecided": list(claim.rule.undecided(measurement.numbers)),
            "measured": {name: numbers_of(one) for name, one in measurement.numbers.items()},
            "rule": claim.rule.words,
            "seeds": list(self.provenance.seeds),
            "if_true": claim.if_true,
            "if_false": claim.if_false,
            "control": claim.control,
            "tables": [
                {
                    "title": table.title,
                    "columns": list(table.columns),
                    "rows": [[plain(cell) for cell in row] for row in table.rows],
                }
                for table in measurement.tables
            ],
            "remarks": [*measurement.remarks, *claim.tried],
            "provenance": self.provenance.to_dict(),
        }

    def to_svg(self, path: str | Path | None = None) -> str:
        """The plot, also written where a path says."""
        return written(plot_svg(self.measurement.plot), path)

    def to_html(self, path: str | Path | None = None) -> str:
        """A page that stands alone: the claim, its plot and tables, the rule and the verdict."""
        return written(result_page(self.to_dict(), self.measurement), path)

    def _repr_html_(self) -> str:
        return self.to_svg()

    def __str__(self) -> str:
        return as_text(result_view(self.to_dict(), self.measurement))


def written(text: str, path: str | Path | None) -> str:
    if path is not None:
        write_text(text, path)
    return text


def numbers_of(one: Estimate) -> dict[str, float | None]:
    return {"value": finite(one.value), "low": finite(one.low), "high": finite(one.high)}


def plain(cell: str | float | int | Estimate) -> Any:
    if isinstance(cell, Estimate):
        return numbers_of(cell)
    return finite(cell) if isinstance(cell, float) else cell


def finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class ClaimRun:
    """`regard.claim(name)`: a claim that can be run."""

    claim: Claim

    def run(
        self,
        *,
        full: bool = False,
        data: str | Path | None = None,
        seeds: Sequence[int] | None = None,
        device: str = "cpu",
        processes: int = 1,
        on_progress: OnProgress = no_progress,
    ) -> Result:
        """Try it: quickly, or in the full form that wants a GPU and, for most, real text in `data`.

        A claim that draws once uses the first of `seeds`, and the result names no other. `processes` train side by side
        on a CPU, each with one thread; the numbers are the same however many there are.
        """
        usual = self.claim.full_seeds if full else self.claim.seeds
        chosen = tuple(range(usual)) if seeds is None else seeds_that_differ(seeds)
        if usual == 1:
            chosen = chosen[:1]
        setting = Setting(chosen, full, None if data is None else Path(data), device, processes, on_progress)
        check_folders(setting.data, self.claim.data if full else ())
        state, threads = torch.random.get_rng_state(), torch.get_num_threads()
        begun = time.monotonic()
        try:
            measurement = self.claim.measure(setting)
        finally:
            torch.random.set_rng_state(state)
            torch.set_num_threads(threads)
        return Result(self.claim, measurement, Provenance(chosen, full, device, time.monotonic() - begun))
