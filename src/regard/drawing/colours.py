"""Weights as colours: from paper over orange to a dark brown, or on dark ground from black over orange to cream.

Lightness changes by equal steps (in OKLab), so that equal differences of weight look equally large.
"""

from __future__ import annotations

from functools import cache

RGB = tuple[int, int, int]
WARM: RGB = (234, 115, 23)  # the orange of every sheet and page
PAPER: tuple[RGB, RGB] = ((247, 243, 236), (92, 30, 0))  # of no weight, and of the largest
NIGHT: tuple[RGB, RGB] = ((42, 38, 33), (255, 236, 205))


@cache
def colour(share: float, *, dark: bool = False) -> RGB:
    """Of a share between 0 and 1 of the largest weight."""
    low, high = (oklab(end) for end in (NIGHT if dark else PAPER))
    warm = oklab(WARM)
    light = low[0] + (high[0] - low[0]) * min(max(share, 0.0), 1.0)
    middle = (light - low[0]) / (warm[0] - low[0])  # how far on the way to orange; beyond 1, on the way from it
    beyond = (light - warm[0]) / (high[0] - warm[0])
    start, end, way = (low, warm, middle) if middle <= 1 else (warm, high, beyond)
    tint = [start[axis] + (end[axis] - start[axis]) * way for axis in (1, 2)]
    return srgb((light, tint[0], tint[1]))


def hexadecimal(rgb: RGB) -> str:
    return "#{:02x}{:02x}{:02x}".format(*rgb)


def ink_on(rgb: RGB) -> str:
    """What can be read on this colour."""
    return "#14110d" if oklab(rgb)[0] > 0.6 else "#f4efe7"


def oklab(rgb: RGB) -> tuple[float, float, float]:
    red, green, blue = (linear(part / 255) for part in rgb)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    medium = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )


def srgb(lab: tuple[float, float, float]) -> RGB:
    light, a, b = lab
    long = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (light - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        gamma(4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short),
        gamma(-1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short),
        gamma(-0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short),
    )


def linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)


def gamma(part: float) -> int:
    part = min(max(part, 0.0), 1.0)
    return round(255 * (12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055))
