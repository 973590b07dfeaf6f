"""In the sinusoidal code of positions, is a shift a linear map, and is each pair of numbers a clock?"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import exactly
from regard.claims.measurement import LinePlot, Measurement, ResultTable, Series
from regard.claims.setting import Setting
from regard.models.layers import sinusoids

DIM = 64
FURTHEST = 60_000  # positions are drawn below this: the slowest hand, too, has then gone half its round
POSITIONS = 2_000, 20_000  # how many, quickly and in full
SHIFTS = (1, 7, 50, 365, 1_000)
EPS = torch.finfo(torch.float64).eps
ROUNDING = 16 * (FURTHEST + max(SHIFTS)) * EPS  # of an angle so large, which is what limits a sine's digits
FITTED = DIM * ROUNDING  # of a matrix found by least squares: each of its rows sums so many products
NO_MAP = 0.1  # of the code's own size: an error larger than that, and a matrix does not foretell the shifted code

Code = Callable[[Tensor], Tensor]


def drawn_code(rng: torch.Generator) -> Code:
    """The control: a vector for each position as a table has them before it learns, on circles of the same size."""
    table = torch.randn(FURTHEST + max(SHIFTS) + 1, DIM, generator=rng, dtype=torch.float64)
    pairs = torch.unflatten(table, -1, (-1, 2))
    rows: Tensor = (pairs / pairs.norm(dim=-1, keepdim=True)).flatten(-2)

    def code(positions: Tensor) -> Tensor:
        vectors: Tensor = rows[positions]
        return vectors

    return code


def sinusoidal_code(positions: Tensor) -> Tensor:
    return sinusoids(positions.double(), DIM)


def rotation(shift: int) -> Tensor:
    """The map that is claimed: each pair turned by its own rate times the shift."""
    rates = 10_000.0 ** (-torch.arange(0, DIM, 2, dtype=torch.float64) / DIM)
    cosines, sines = (shift * rates).cos(), (shift * rates).sin()
    turns = torch.stack([torch.stack([cosines, sines], -1), torch.stack([-sines, cosines], -1)], -2)
    matrix: Tensor = torch.block_diag(*turns)
    return matrix


def rotation_error(code: Code, positions: Tensor, shift: int) -> float:
    return float((code(positions + shift) - code(positions) @ rotation(shift).mT).abs().max())


def fitted_error(code: Code, positions: Tensor, shift: int) -> float:
    """Of the matrix that least squares find from half of the positions, on the other half; it knows no formula."""
    half = len(positions) // 2
    before, after = code(positions), code(positions + shift)
    matrix = torch.linalg.lstsq(before[:half], after[:half]).solution
    return float((before[half:] @ matrix - after[half:]).abs().max())


def angles(code: Code, positions: Tensor) -> Tensor:
    """Where each pair's hand points."""
    sines, cosines = torch.unflatten(code(positions), -1, (-1, 2)).unbind(-1)
    return torch.atan2(sines, cosines)


def clock_errors(code: Code, positions: Tensor) -> tuple[float, float]:
    """How far hands are from the circle; and how far a step is from the step that the same hand makes elsewhere."""
    radius = torch.unflatten(code(positions), -1, (-1, 2)).norm(dim=-1)
    steps = (angles(code, positions + 1) - angles(code, positions)).remainder(2 * math.pi)
    return float((radius - 1).abs().max()), float((steps - steps[:1]).abs().max())


def distance_error(code: Code, positions: Tensor, shift: int) -> float:
    """How much the product of two codes at one distance depends on where they stand."""
    products = (code(positions) * code(positions + shift)).sum(-1)
    return float(products.max() - products.min())


def errors_of(code: Code, positions: Tensor) -> dict[str, float]:
    radius, step = clock_errors(code, positions)
    return {
        "rotation": max(rotation_error(code, positions, shift) for shift in SHIFTS),
        "fitted": max(fitted_error(code, positions, shift) for shift in SHIFTS),
        "radius": radius,
        "step": step,
        "distance": max(distance_error(code, positions, shift) for shift in SHIFTS),
    }


WORDS = {
    "rotation": "each pair turned by rate × shift: furthest from the shifted code",
    "fitted": "a matrix found from half of the positions: furthest, on the others",
    "radius": "a hand's length: furthest from 1",
    "step": "the angle of one step: furthest from the same hand's elsewhere",
    "distance": "product of two codes at one distance: most that it depends on where",
}


def measure(setting: Setting) -> Measurement:
    count = setting.quick_or_full(*POSITIONS)
    rng = torch.Generator().manual_seed(setting.seeds[0])
    positions = torch.randint(FURTHEST, (count,), generator=rng)
    control = drawn_code(rng)
    errors, others = errors_of(sinusoidal_code, positions), errors_of(control, positions)
    table = ResultTable(
        f"{DIM} numbers a position, {count:,} positions below {FURTHEST:,}, shifts of {', '.join(map(str, SHIFTS))}",
        ("what", "sinusoids", "drawn vectors"),
        tuple((words, errors[name], others[name]) for name, words in WORDS.items()),
    )
    lines = tuple(
        Series(name, tuple((float(shift), exactly(fitted_error(code, positions, shift))) for shift in SHIFTS))
        for name, code in (("sinusoids", sinusoidal_code), ("drawn vectors", control))
    )
    plot = LinePlot(
        "A matrix found from half of the positions, tried on the others", "shift", "furthest from the shifted code",
        lines, log_x=True, log_y=True,
    )  # fmt: skip
    slowest = 2 * math.pi * 10_000.0 ** ((DIM - 2) / DIM)
    remark = f"The fastest hand goes round in {2 * math.pi:.2f} positions, the slowest in {slowest:,.0f}."
    return Measurement({name: exactly(value) for name, value in errors.items()}, (table,), plot, (remark,))


def holds(numbers: Numbers) -> bool:
    sharp = all(numbers[name].value <= ROUNDING for name in ("rotation", "radius", "step"))
    return sharp and numbers["fitted"].value <= FITTED


def fails(numbers: Numbers) -> bool:
    return all(numbers[name].value > NO_MAP for name in ("rotation", "fitted", "step"))


CLAIM = Claim(
    name="sinusoids",
    statement="In the sinusoidal code a shift by so many positions is one linear map, the same everywhere, and each "
    "pair of numbers is a clock whose hand turns evenly.",
    if_true="One matrix for each shift gives the shifted code at every position, and can be found from some positions "
    "without the formula; every hand has length 1 and makes the same step everywhere.",
    if_false="No matrix serves at positions that it was not found from, or hands change length or speed.",
    control="Drawn vectors, such as a table of learned positions starts from, with hands of length 1 too.",
    measure=measure,
    rule=VerdictRule(
        "turning the pairs, the matrix that was found, the length of hands and their steps are all right to rounding",
        f"turned pairs, the matrix that was found and the steps are all wrong by more than {NO_MAP:g}",
        holds,
        fails,
    ),
    seeds=1,
    full_seeds=1,
)
