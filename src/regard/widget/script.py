"""The script that draws, as one piece: the modules of `browser/` end to end, with their style sheet as a constant."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files

MODULES = (
    "tools",
    "pictures",
    "plates",
    "colours",
    "overview",
    "drawing",
    "chart",
    "threads",
    "telling",
    "address",
    "frame",
    "look",
    "entry",
)  # fmt: skip - each uses those before it


@cache
def script() -> str:
    """Ends with `openAll`, for pages, and `render`, for widgets, defined; safe inside a script element."""
    home = files("regard.widget").joinpath("browser")
    style = json.dumps(home.joinpath("look.css").read_text(encoding="utf-8"), ensure_ascii=False)
    modules = [joined(home.joinpath(f"{name}.js").read_text(encoding="utf-8")) for name in MODULES]
    whole = "\n".join(['"use strict";', f"const STYLE = {style};", *modules])
    assert not re.search("</script|<!--", whole, re.IGNORECASE), "the script would end its own element"
    return whole


def joined(module: str) -> str:
    """A module among others: what it imports stands above it. Comments and indents stay behind: a page is small."""
    code = re.sub(r"^import [^;]*;\n|^\s*//.*\n|(?<=[;{},(]) +// .*$", "", module, flags=re.MULTILINE)
    return re.sub(r"^export |^\s+", "", code, flags=re.MULTILINE)
