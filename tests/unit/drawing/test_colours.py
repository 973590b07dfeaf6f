"""Equal differences of weight look equally large."""

from __future__ import annotations

import torch

from regard.drawing.colours import NIGHT, PAPER, WARM, colour, ink_on, oklab


def test_colours_go_by_equal_steps_of_lightness() -> None:
    for ends, dark in ((PAPER, False), (NIGHT, True)):
        assert (colour(0.0, dark=dark), colour(1.0, dark=dark)) == ends
        lights = [oklab(colour(step / 20, dark=dark))[0] for step in range(21)]
        steps = torch.tensor(lights).diff()
        assert float((steps - steps.mean()).abs().max()) < 0.004
        nearest = min(
            sum(abs(a - b) for a, b in zip(colour(step / 200, dark=dark), WARM, strict=True)) for step in range(201)
        )
        assert nearest < 12
    assert ink_on(colour(0.0)) != ink_on(colour(1.0))
