"""What an example may say about how it is computed: the scale, the softmax's temperature, and codes of positions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal

import torch
from torch import Tensor

from regard.errors import InputError, ShapeError
from regard.models.layers import sinusoids

USUAL = ("sqrt(d)", "1/sqrt(d)", "default")
Positions = Literal[False, "sinusoidal"] | Tensor


def read_scale(given: Any) -> float | None:
    """What scores are multiplied by: a number, or a fraction as "1/8"; None for 1 / sqrt(d), 1 for "none"."""
    if given is None or given in USUAL:
        return None
    if given == "none":
        return 1.0
    advice = 'scale = "sqrt(d)" to divide by it, "none", or what scores are multiplied by: 0.125 or "1/8"'
    return above_zero("scale", given, advice)


def read_temperature(given: Any) -> float:
    """What scaled scores are divided by before the softmax: 1 leaves them as they are."""
    return 1.0 if given is None else above_zero("temperature", given, "temperature = 2, or leave it out")


def above_zero(name: str, given: Any, advice: str) -> float:
    try:
        value = math.nan if isinstance(given, bool) else float(Fraction(str(given).strip()))
    except (ValueError, ZeroDivisionError, OverflowError):
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{name} must be a number greater than 0", found=f"{given!r}", do=advice)
    return value


def read_positions(given: Any, matrix: Any) -> Positions:
    """Sinusoidal codes, or one's own, a row for each word; `matrix` reads a list of rows."""
    if given is None or isinstance(given, bool):
        return "sinusoidal" if given else False
    if isinstance(given, str):
        if given in ("sinusoidal", "none"):
            return "sinusoidal" if given == "sinusoidal" else False
        raise InputError(
            "positions must be sinusoidal, or a row of numbers for each word", found=f"{given!r}",
            do="positions = true, or positions = [[0, 1], [0.8, 0.5]]",
        )  # fmt: skip
    read: Tensor = matrix("positions", given)
    return read


def position_codes(positions: Positions, x: Tensor) -> Tensor | None:
    """P, to be added to X; None where there is none."""
    if isinstance(positions, Tensor):
        if positions.shape != x.shape:
            raise ShapeError(
                "positions must be as large as x", found=f"positions {tuple(positions.shape)}, x {tuple(x.shape)}",
                do="give one row a word, as wide as its embedding",
            )  # fmt: skip
        return positions
    if not positions:
        return None
    if x.shape[-1] % 2:
        raise InputError(
            "sines and cosines come in pairs, so sinusoidal positions need an even d", found=f"d={x.shape[-1]}",
            do="choose an even one, or give the codes yourself: positions = [[...], ...]",
        )  # fmt: skip
    return sinusoids(torch.arange(x.shape[-2]), x.shape[-1]).to(x.dtype)
