"""What a model's own folder knows of its training, where that matters for how it is scored."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from regard.errors import FileError
from regard.interop.folders import languages_of, locate, read_json


def target_language(name: str | Path) -> str | None:
    """The language that a model translates into, by its recipe, or by what a folder of Marian's says."""
    if languages := languages_of(locate(name)):
        return languages[1]
    code = read_json(locate(name) / "tokenizer_config.json").get("target_lang")
    return code if isinstance(code, str) and len(code) in (2, 3) else None


def block_of(name: str | Path) -> int | None:
    """How many tokens a language model saw at once in training, by its recipe: more would be new to it."""
    block = table(name, "training").get("block")
    return block if isinstance(block, int) else None


def table(name: str | Path, key: str) -> dict[str, Any]:
    """A table of recipe.toml; empty for a model that has none, as on the hub."""
    path = locate(name) / "recipe.toml"
    if not path.is_file():
        return {}
    try:
        value = tomllib.loads(path.read_text(encoding="utf-8")).get(key)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError(f"cannot read {path}", found=str(error), do="restore it, or take it away") from error
    return value if isinstance(value, dict) else {}
