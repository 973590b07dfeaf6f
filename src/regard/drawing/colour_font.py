"""Emoji for pictures: fonts of coloured pictures, which exist in one size only and are made smaller."""

from __future__ import annotations

from typing import Any

from PIL import Image, ImageDraw, ImageFont

FONTS = (("NotoColorEmoji.ttf", 109), ("Apple Color Emoji.ttc", 160))  # and the size that their pictures have


class ColourFont:
    """What a picture asks of a font: how long a text is, and to draw it."""

    def __init__(self, font: Any, size: int) -> None:
        self.font, self.size = font, size

    def getlength(self, text: str) -> float:
        return float(self.font.getlength(text)) * self.size / float(self.font.size)

    def getmask(self, text: str) -> Any:
        return self.font.getmask(text)

    def draw(self, image: Image.Image, place: tuple[float, float], text: str) -> None:
        """Put it where its baseline begins."""
        left, top, right, bottom = (round(edge) for edge in self.font.getbbox(text, anchor="ls"))
        large = Image.new("RGBA", (max(right - left, 1), max(bottom - top, 1)))
        ImageDraw.Draw(large).text((-left, -top), text, font=self.font, anchor="ls", embedded_color=True)
        share = self.size / self.font.size
        small = large.resize((max(round(large.width * share), 1), max(round(large.height * share), 1)))
        corner = (round(place[0] + left * share), round(place[1] + top * share))
        if image.mode == "RGBA":
            image.alpha_composite(small, corner)
        else:
            image.paste(small, corner, small)


def colour_fonts(size: int) -> list[ColourFont]:
    """Those that are here."""
    fonts = []
    for name, only in FONTS:
        try:
            fonts.append(ColourFont(ImageFont.truetype(name, only), size))
        except OSError:
            continue
    return fonts
