"""The script that draws, for pages and for widgets: the studio's own heads and maps, built from studio/src/widget."""

from __future__ import annotations

import zlib
from base64 import b64encode
from functools import cache
from importlib.resources import files

from regard.errors import FileError


@cache
def script() -> str:
    """Defines `regardLook`: its `openAll` is for pages, its `render` for widgets."""
    built = files("regard.widget").joinpath("browser").joinpath("look.js")
    if not built.is_file():
        raise FileError(
            "the script that draws is not built", found=f"no {built}",
            do="give `make studio` in the folder of the sources; an installed wheel brings it along",
        )  # fmt: skip
    return built.read_text(encoding="utf-8")


@cache
def packed_script() -> str:
    """Deflated, in base64: no more than a third of it, and no element of a page can end in it."""
    return b64encode(zlib.compress(script().encode(), 9)).decode()


@cache
def loader() -> str:
    """What a page runs: it opens the packed script."""
    return files("regard.widget").joinpath("loader.js").read_text(encoding="utf-8")
