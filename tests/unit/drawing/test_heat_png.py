"""Text in a PNG: each character in a font that has it, whatever fonts there are."""

from __future__ import annotations

import pytest
from PIL import Image

from regard.drawing import heat_png
from regard.drawing.colour_font import ColourFont
from regard.drawing.heat_png import has, legible


def test_letters_that_no_font_has_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = heat_png.ImageFont.load_default(24)
    assert has(bundled, "e")
    assert not has(bundled, "é")
    monkeypatch.setattr(heat_png, "fonts", lambda size, names=(): [bundled])
    legible.cache_clear()
    assert "".join(text for _, text in legible("été 中", 24)) == "ete ?"
    legible.cache_clear()


def test_each_character_is_written_in_a_font_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    emoji = "👩\u200d💻"
    letters, others = (heat_png.ImageFont.load_default(24) for _ in range(2))
    monkeypatch.setattr(heat_png, "fonts", lambda size, names=(): [letters, others])
    monkeypatch.setattr(heat_png, "has", lambda font, mark: mark.isascii() if font is letters else mark in emoji)
    legible.cache_clear()
    assert legible(f"a{emoji}b", 24) == ((letters, "a"), (others, emoji), (letters, "b"))
    assert legible("日", 24) == ((letters, "?"),)
    legible.cache_clear()


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_a_font_of_one_size_is_drawn_smaller(mode: str) -> None:
    font = ColourFont(heat_png.ImageFont.load_default(100), 25)
    assert font.getlength("ab") == font.font.getlength("ab") / 4
    image = Image.new(mode, (60, 40), "black")
    font.draw(image, (5, 30), "ab")
    inked = image.convert("L").point(lambda grey: 255 * (grey > 128)).getbbox()  # where no colour is its own, white
    assert inked is not None
    left, top, right, bottom = inked
    assert (left, bottom) == pytest.approx((5, 30), abs=2)  # pixels: sizes and places are rounded
    assert right <= 5 + font.getlength("ab") + 2
    assert top >= 30 - 25
