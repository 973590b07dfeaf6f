"""Numbers for words that come without any: made up, always the same for the same words and seed, and called so."""

from __future__ import annotations

import random

import torch
from torch import Tensor

from regard.errors import InputError, ShapeError
from regard.worked.reading import Example

USUAL = 4  # numbers a word
NUMBERS = 100_000  # of a whole sheet: beyond, nobody reads them, and drawing them takes gigabytes
SYMBOLS = {"x": "X", "w_q": "W_Q", "w_k": "W_K", "w_v": "W_V", "w_o": "W_O"}


def made_up(example: Example, d: int | None, seed: int) -> tuple[dict[str, Tensor], str]:
    """The matrices, those that are not given made up of one decimal each, and the sentence that says so."""
    matrices = dict(example.matrices)
    width = width_of(example, d)
    words, of_matrices = len(example.tokens), (4 if example.heads > 1 else 3) * width * width
    check_size(of_matrices + 5 * words * width, (words, words), example.heads)
    invented = [name for name in ("x", "w_q", "w_k", "w_v") if name not in matrices]
    if "x" not in matrices:
        matrices["x"] = torch.stack([small_numbers(f"{seed}/{word}", width) for word in example.tokens])
    for name in ("w_q", "w_k", "w_v"):
        if name not in matrices:
            matrices[name] = torch.stack([small_numbers(f"{seed}/{name}/{row}", width) for row in range(width)])
    if example.heads > 1 and "w_o" not in matrices:
        height = matrices["w_v"].shape[-1]
        matrices["w_o"] = torch.stack([small_numbers(f"{seed}/w_o/{row}", width) for row in range(height)])
        invented.append("w_o")
    return matrices, sentence(invented, seed)


def sentence(invented: list[str], seed: int) -> str:
    """What every way of drawing says of such numbers."""
    if not invented:
        return ""
    names = [SYMBOLS[name] for name in invented]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    source = f"from the letters of each word and seed {seed}" if "x" in invented else f"from seed {seed}"
    return f"The numbers of {listed} are made up, {source}: nothing was trained, and they mean nothing."


def width_of(example: Example, d: int | None) -> int:
    """How many numbers a word has: as in what is given, else d."""
    given = example.matrices
    rows = [len(given[name]) for name in ("w_q", "w_k", "w_v") if name in given]
    width = given["x"].shape[-1] if "x" in given else rows[0] if rows else (USUAL if d is None else d)
    if not isinstance(width, int) or isinstance(width, bool) or width < 1 or (d is not None and d != width):
        raise InputError("d must be a whole number, at least 1, and fit what is given", found=f"{d}", do="d = 4")
    if width % example.heads and not all(f"w_{name}" in given for name in "qkv"):
        raise ShapeError(
            f"{example.heads} heads cannot share {width} dims equally",
            found=f"d={width}, heads={example.heads}",
            do=f"choose d as a multiple of {example.heads}",
        )
    return width


def check_size(numbers: int, size: tuple[int, int], heads: int) -> None:
    """Refuse a sheet of more numbers than anybody reads, before any is made: `numbers`, and those of the maps."""
    maps = 4 * heads * size[0] * size[1]  # scores, scaled, masked, weights
    if numbers + maps > NUMBERS:
        raise InputError(
            f"a sheet to read holds at most {NUMBERS:,} numbers",
            found=f"{numbers:,} in words and matrices, {maps:,} in maps of {size[0]} x {size[1]} words, heads={heads}",
            do="choose a smaller d (128 is plenty), fewer words or fewer heads; regard.attend has no such limit",
        )


def small_numbers(key: str, count: int) -> Tensor:
    """One decimal each, between -1 and 1, decided by the key alone on every machine."""
    draw = random.Random(key)
    return torch.tensor([draw.randint(-10, 10) / 10 for _ in range(count)], dtype=torch.float64)
