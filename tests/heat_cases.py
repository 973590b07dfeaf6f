"""Recordings to draw pictures of: tokens with names, and weights sharp enough to see something."""

from __future__ import annotations

from typing import Any

import torch

from regard.lens.recording_api import Recording
from regard.lens.watch import watch
from tests.families import FAMILIES

CROSS = "decoder.1.cross"
NAMES = [
    "<pad>",
    "<s>",
    "</s>",
    *["The", "animal", "did", "not", "cross", "the", "street", "because", "it", "was", "too", "tired"],
    "été",
    "L'",
    "<&>",
    "x" * 40,
]


def recorded(
    name: str = "transformer post", lengths: tuple[int, ...] = (6, 4), target: int = 5, **changes: Any
) -> Recording:
    family = FAMILIES[name]
    model, example = family.model(**changes), family.example(lengths, target)
    with torch.no_grad():
        for parameter in model.parameters():  # sharp enough to see something
            parameter.mul_(2.0)
        with watch(model, tokenizer=lambda number: NAMES[number]) as recording:
            family.run(model, example)
    return recording
