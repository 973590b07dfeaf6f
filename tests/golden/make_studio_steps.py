"""Writes studio_steps.json: sheets with every number as `regard.steps` has it, for the arithmetic of the studio's page.

python -m tests.golden.make_studio_steps
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import regard
from regard.worked.inventing import small_numbers

FILE = Path(__file__).with_name("studio_steps.json")
WORDS = ("I", "love", "chat", "été", "注意", "<script>", "👀", "")  # whose made-up numbers both sides must agree on
CASES: dict[str, dict[str, Any]] = {
    "the lectures' example": {"example": "i-love-ai"},
    "made up": {"text": "I love AI"},
    "two heads, masked, positions": {"text": "The cat sat down", "heads": 2, "causal": True, "positions": True},
    "four heads, a scale, a temperature": {"text": "a b c", "d": 8, "heads": 4, "scale": 0.3, "temperature": 2.5},
    "no scale, another seed": {"text": "été à la mer", "scale": "none", "seed": 3},
    "from queries, keys and values": {"example": "hotel-rooms"},
    "from scores": {"example": "thinking-machines"},
    "from weights": {"example": "python-executes-quickly"},
    "a large temperature, odd words": {"text": "<b> 注意 👀", "temperature": 10, "d": 3},
}


def golden() -> dict[str, Any]:
    keys = [f"{seed}/{word}" for seed in (0, 7) for word in WORDS]
    return {
        "sheets": [{"name": name, "asked": asked, **sheet(asked)} for name, asked in CASES.items()],
        "small_numbers": {key: small_numbers(key, 24).tolist() for key in keys},
    }


def sheet(asked: dict[str, Any]) -> dict[str, Any]:
    made = regard.steps(**asked)
    values = {name: plain(value.tolist()) for name, value in made.values.items()}
    if made.steps is not None and made.causal:
        masked = made.steps.masked if made.heads > 1 else made.steps.masked[0]
        values["masked"] = plain(masked.tolist())
    settings = {"heads": made.heads, "causal": made.causal, "scale": made.scale, "d": made.d}
    return {"tokens": made.tokens, "queries": made.queries, **settings, "values": values}


def plain(value: Any) -> Any:
    """JSON knows no infinity, and nothing here is unknown: a hidden score is null."""
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value if math.isfinite(value) else None


if __name__ == "__main__":
    FILE.write_text(json.dumps(golden(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
