"""Texts as the Moses scripts leave them: lower-cased, punctuation made alike, tokens apart.

In the order of Multi30k's own script (lowercase.perl, normalize-punctuation.perl, tokenizer.perl), without the escaping
of "'" as "&apos;", which changes no score.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

DEFAULT = "en"


def moses(texts: Sequence[str], language: str) -> list[str]:
    """Each text as tokens with spaces between."""
    normaliser, tokenizer = tools(known_language(language))
    return [tokenizer.tokenize(normaliser.normalize(text.lower()), return_str=True, escape=False) for text in texts]


def moses_signature(language: str) -> str:
    """How the tokens came about, for the signature of a score."""
    from sacremoses import __version__  # type: ignore[import-untyped]

    return f"moses-{known_language(language)}-sacremoses.{__version__}"


@cache
def known_language(language: str) -> str:
    """The language whose rules to use: English for one that Moses does not know. "fr-CA" and "fr_CA" are French."""
    from sacremoses.corpus import NonbreakingPrefixes  # type: ignore[import-untyped]

    short = language.strip().lower().replace("_", "-").split("-")[0]
    return short if short in NonbreakingPrefixes().available_langs.values() else DEFAULT


@cache
def tools(language: str) -> tuple[Any, Any]:
    """Made once for each language: what normalises and what tokenises."""
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    return MosesPunctNormalizer(lang=language), MosesTokenizer(lang=language)
