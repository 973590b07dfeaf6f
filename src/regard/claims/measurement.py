"""What an experiment gives: the numbers that the rule reads, tables for people, and a plot."""

from __future__ import annotations

from dataclasses import dataclass

from regard.claims.estimates import Estimate

Cell = str | float | int | Estimate


@dataclass(frozen=True)
class ResultTable:
    """Rows of words and numbers under named columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows), "a cell for each column"


@dataclass(frozen=True)
class Series:
    """One line of a plot, or one kind of bar: for each x, an estimate."""

    name: str
    points: tuple[tuple[float, Estimate], ...]


@dataclass(frozen=True)
class LinePlot:
    """Lines over numbers, their intervals as whiskers; either axis may be logarithmic."""

    title: str
    x_name: str
    y_name: str
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class BarPlot:
    """A bar for each named case, its interval as a whisker; `mark` is a value to compare with, such as chance."""

    title: str
    y_name: str
    bars: tuple[tuple[str, Estimate], ...]
    mark: tuple[str, float] | None = None


@dataclass(frozen=True)
class Measurement:
    """All that came out of an experiment, before anybody judges it."""

    numbers: dict[str, Estimate]
    tables: tuple[ResultTable, ...]
    plot: LinePlot | BarPlot
    remarks: tuple[str, ...] = ()
