"""Which language a text is in, by py3langid, which knows some 140 of them from their bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from regard.errors import UnknownNameError

CHUNKS = 20  # parts in which texts are looked at: alone most are too short to tell
MAJORITY = 0.8  # of them that must agree


def detect(text: str, among: Sequence[str] | None = ("en", "fr")) -> list[tuple[str, float]]:
    """The languages a text may be in with their probabilities, best first; only these few are asked for (None: all).

    A text that says nothing ("", "42") is as likely one as the other.
    """
    ranks: dict[str, float] = dict(identifier().rank(text))
    if among is None:
        return sorted(ranks.items(), key=lambda one: -one[1])
    for code in among:
        if code not in ranks:
            raise UnknownNameError("language", code, ranks)
    total = sum(ranks[code] for code in among)
    shares = {code: ranks[code] / total if total else 1 / len(among) for code in among}
    return sorted(shares.items(), key=lambda one: -one[1])


def language_of_texts(texts: Sequence[str]) -> str | None:
    """The language of texts that are in one, if they leave no doubt."""
    size = max(len(texts) // CHUNKS, 1)
    chunks = ["\n".join(texts[start : start + size]) for start in range(0, len(texts), size)]
    if not chunks:
        return None
    votes = Counter(detect(chunk, None)[0][0] for chunk in chunks)
    language, count = votes.most_common(1)[0]
    return language if count >= MAJORITY * len(chunks) else None


@cache
def identifier() -> Any:
    """Read once, all languages, never restricted: then several threads may ask it."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
