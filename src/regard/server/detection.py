"""Which language a text is in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any


def detect(text: str, among: Sequence[str]) -> list[tuple[str, float]]:
    """These languages, the likeliest first, each with its probability."""
    return [(str(code), float(share)) for code, share in identifier(tuple(among)).rank(text)]


@lru_cache(maxsize=8)
def identifier(among: tuple[str, ...]) -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]

    one = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    one.set_languages(list(among))
    return one
