"""Documents of HTML through a queue: whatever texts they ask for are translated where that is done, and put in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from regard.documents.html import translate_html

ROUNDS = 8  # of asking: one for the texts, and a few for those whose tags a translation has lost


async def translate_document(html: str, translate: Callable[[list[str]], Awaitable[list[str]]]) -> str:
    """The document with its texts translated by somebody who must be waited for.

    It is gone through with what is known so far, as often as it asks for more.
    """
    document, known, missing = html, dict[str, str](), dict[str, None]()

    def look_up(texts: list[str]) -> list[str]:
        missing.update((text, None) for text in texts if text not in known)
        return [known.get(text, text) for text in texts]

    for _ in range(ROUNDS):
        missing.clear()
        document = translate_html(html, look_up)
        if not missing:
            break
        texts = list(missing)
        known.update(zip(texts, await translate(texts), strict=True))
    return document
