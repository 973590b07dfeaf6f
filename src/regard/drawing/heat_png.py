"""A picture of maps as a PNG, twice as fine as the screen, with its badge in the picture and in the file."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from regard.drawing.colour_font import ColourFont, colour_fonts
from regard.drawing.colours import RGB, colour
from regard.drawing.heat_layout import GAPPED, SIZES, SLANT, Panel, Picture, PictureText
from regard.drawing.heat_map import shares
from regard.drawing.writing import cannot_write
from regard.text.characters import JOINER, characters
from regard.version import __version__

FINE = 2  # pixels of the file for one of the picture
GROUND, FRAME = (255, 255, 255), (217, 209, 195)
INKS = {"title": (28, 26, 23), "head": (28, 26, 23), "name": (28, 26, 23), "soft": (107, 101, 92)}
LEVELS = 255
# What systems usually have, wide ranges of letters first. The font within Pillow comes last: it has no accents.
FONTS = (
    "DejaVuSans.ttf", "NotoSans-Regular.ttf", "LiberationSans-Regular.ttf", "Arial.ttf", "arial.ttf", "segoeui.ttf",
    "Helvetica.ttc", "NotoSansCJK-Regular.ttc", "Arial Unicode.ttf", "PingFang.ttc", "msyh.ttc", "msgothic.ttc",
    "malgun.ttf", "wqy-microhei.ttc", "DroidSansFallbackFull.ttf", "NotoSansArabic-Regular.ttf",
    "NotoSansHebrew-Regular.ttf", "NotoSansDevanagari-Regular.ttf", "NotoEmoji-Regular.ttf", "seguiemj.ttf",
    "seguisym.ttf", "Symbola.ttf", "NotoSansSymbols2-Regular.ttf", "unifont.ttf", "unifont_upper.ttf",
)  # fmt: skip
UNDRAWN = {JOINER, "\ufe0e", "\ufe0f"}  # they only say how what stands around them is drawn
Run = tuple[Any, str]  # some letters, and the font that has them
BOLD = ("DejaVuSans-Bold.ttf", "NotoSans-Bold.ttf", "LiberationSans-Bold.ttf", "Arial Bold.ttf", "arialbd.ttf")


def write_png(picture: Picture, path: str | Path | BinaryIO) -> None:
    """Paint it and put it into a file, or into what is open already."""
    info = PngInfo()
    for name, text in (("Title", picture.title), ("Description", picture.badge), ("Software", f"regard {__version__}")):
        info.add_itxt(name, text)
    try:
        if isinstance(path, (str, Path)):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        png(picture).save(path, format="PNG", pnginfo=info, optimize=True, dpi=(96 * FINE, 96 * FINE))
    except BrokenPipeError:
        raise  # who reads standard output has gone: no fault of the file
    except OSError as error:
        raise cannot_write(path if isinstance(path, (str, Path)) else "to standard output", error) from error


def png(picture: Picture) -> Image.Image:
    """The picture, on light ground."""
    image = Image.new("RGB", (picture.width * FINE, picture.height * FINE), GROUND)
    for panel in picture.panels:
        paint_panel(image, panel, picture.most)
    x, y, width, height = (number * FINE for number in picture.scale)
    ramp = np.linspace(0, LEVELS, width).round().astype(int)
    image.paste(Image.fromarray(np.broadcast_to(palette()[ramp], (height, width, 3)).copy()), (x, y))
    draw_frame(image, x, y, width, height)
    for text in picture.texts:
        write(image, text)
    return image


@cache
def palette() -> Any:
    return np.array([colour(level / LEVELS) for level in range(LEVELS + 1)], dtype=np.uint8)


def paint_panel(image: Image.Image, panel: Panel, most: float) -> None:
    levels = (shares(panel.heat, most) * LEVELS).round().int().numpy()
    side = panel.step * FINE
    cells = palette()[levels].repeat(side, 0).repeat(side, 1)
    if panel.step >= GAPPED:  # cells stand apart
        for number in range(FINE):
            cells[side - 1 - number :: side] = cells[:, side - 1 - number :: side] = palette()[0]
    image.paste(Image.fromarray(cells), (panel.x * FINE, panel.y * FINE))
    draw_frame(image, panel.x * FINE, panel.y * FINE, panel.width * FINE, panel.height * FINE)


def draw_frame(image: Image.Image, x: int, y: int, width: int, height: int) -> None:
    box = (x - FINE, y - FINE, x + width + FINE - 1, y + height + FINE - 1)
    ImageDraw.Draw(image).rectangle(box, outline=FRAME, width=FINE)


def write(image: Image.Image, text: PictureText) -> None:
    runs = legible(text.text, round(SIZES[text.kind] * FINE), text.kind in ("title", "head"))
    x, y = text.x * FINE, text.y * FINE
    if text.slanted:
        write_slanted(image, (x, y), runs, INKS[text.kind])
        return
    x -= {"start": 0.0, "middle": 0.5, "end": 1.0}[text.anchor] * length(runs)
    write_runs(image, (x, y), runs, INKS[text.kind])


def write_runs(image: Image.Image, place: tuple[float, float], runs: Sequence[Run], ink: RGB) -> None:
    """One after the other, from their baseline's beginning."""
    x, y = place
    for font, text in runs:
        if isinstance(font, ColourFont):
            font.draw(image, (x, y), text)
        else:
            ImageDraw.Draw(image).text((x, y), text, ink, font, "ls")
        x += font.getlength(text)


def length(runs: Sequence[Run]) -> float:
    return sum(float(font.getlength(text)) for font, text in runs)


def write_slanted(image: Image.Image, place: tuple[float, float], runs: Sequence[Run], ink: RGB) -> None:
    """Text that rises from its place: drawn level on a square around its beginning, then turned."""
    reach = int(length(runs)) + 2 * max((font.size for font, _ in runs), default=0)
    square = Image.new("RGBA", (2 * reach, 2 * reach), (*ink, 0))
    write_runs(square, (reach, reach), runs, ink)
    turned = square.rotate(SLANT, Image.Resampling.BICUBIC)
    image.paste(turned, (round(place[0]) - reach, round(place[1]) - reach), turned)


@lru_cache(maxsize=4096)
def legible(text: str, size: int, bold: bool = False) -> tuple[Run, ...]:
    """The text in a font that has its letters; where none has them all, each character in the first that has it."""
    known = [*(fonts(size, BOLD)[:-1] if bold else []), *fonts(size)]
    for font in known:
        if all(has(font, mark) for mark in text):
            return ((font, text),)
    runs: list[Run] = []
    for character in characters(text):
        able = next((font for font in known if all(has(font, mark) for mark in character)), None)
        font, shown = (able, character) if able is not None else nearest_to(character, fonts(size))
        if runs and runs[-1][0] is font:
            runs[-1] = (font, runs[-1][1] + shown)
        else:
            runs.append((font, shown))
    return tuple(runs)


def nearest_to(character: str, known: Sequence[Any]) -> Run:
    """What comes closest: those of its marks that one font has, such as an emoji without its skin, else plain ones."""
    for font in known:
        if shown := "".join(mark for mark in character if has(font, mark) and mark not in UNDRAWN):
            return font, shown
    return known[0], plainer(known[0], character[0])


def plainer(font: Any, mark: str) -> str:
    """Without its accent, else a box, or where there is not even that a question mark."""
    bare = unicodedata.normalize("NFKD", mark)[:1]
    return next((other for other in (bare, "□") if has(font, other)), "?")


@cache
def fonts(size: int, names: tuple[str, ...] = FONTS) -> list[Any]:
    """Those that are here."""
    known: list[Any] = []
    for name in names:
        try:
            known.append(ImageFont.truetype(name, size))
        except OSError:
            continue
    return [*known, *colour_fonts(size), ImageFont.load_default(size)]


@lru_cache(maxsize=65536)
def has(font: Any, mark: str) -> bool:
    """Can the font draw it? What it cannot, it draws as it draws what is no character."""
    if mark == " " or mark in UNDRAWN:
        return True
    drawn, nothing = font.getmask(mark), font.getmask("\uffff")
    return drawn.size != nothing.size or bytes(drawn) != bytes(nothing)
