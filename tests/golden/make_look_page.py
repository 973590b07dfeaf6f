"""Writes look_page.json: the data of pages, and the numbers that come out of them, for the script that draws them.

python -m tests.golden.make_look_page
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

from torch import Tensor

from regard.lens.draw.page import page, plan
from regard.lens.recording.forward import ForwardCall
from tests.page_cases import Elements, Read, noise

FILE = Path(__file__).with_name("look_page.json")
WHOLE = {"causal, with norms": {"causal": True, "values": True, "spread": 2.0}, "every key": {"spread": 3.0}}


def made() -> list[dict[str, Any]]:
    cases = [entry(name, noise(2, 2, 7, **options)) for name, options in WHOLE.items()]  # type: ignore[arg-type]
    with patch.object(plan, "TOGETHER", 2 * 16):
        cases.append(entry("pooled, one head closer", noise(1, 2, 13, spread=3.0), site="layers.0.attn", head=1))
        cases.append(entry("pooled by value", noise(1, 1, 9, values=True), by="value"))
    return cases


def entry(name: str, call: ForwardCall, **options: Any) -> dict[str, Any]:
    parts = Elements(page(call, title=name, **options)).parts
    del parts["code"]
    description = json.loads(parts.pop("description"))
    return {"name": name, "description": description, **parts, **numbers(description, parts)}


def numbers(description: dict[str, Any], parts: dict[str, str]) -> dict[str, Any]:
    """What a reader gets of it: numbers of every head, which of them are exact, and norms."""
    read = Read(Elements.packed(description, parts))
    found = [values(levels, exact, told) for (levels, exact), told in zip(read.maps, description["maps"], strict=True)]
    return {"maps": found, "shares": read.shares()}


def values(levels: Tensor, exact: list[list[dict[int, float]]], told: dict[str, Any]) -> list[dict[str, Any]]:
    heads = []
    for head in range(len(told["heads"])):
        rows = (levels[head].double() / 255).tolist()
        for row, known in enumerate(exact[head]):
            for column, weight in known.items():
                rows[row][column] = weight
        heads.append({"numbers": rows, "exact": [sorted(known) for known in exact[head]]})
    return heads


if __name__ == "__main__":
    FILE.write_text(json.dumps(made(), separators=(",", ":")) + "\n")
