"""HTML through a queue: whatever a document asks for, however often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from regard.server import html_texts
from regard.server.html_texts import translate_document


def test_a_document_may_ask_again_by_what_it_was_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """As readers of HTML do where a translation has lost a tag: they ask for the pieces around it."""

    def reader(html: str, translate: Callable[[list[str]], list[str]]) -> str:
        whole = translate(["a <b>b</b>", "c", "c"])
        if "<b>" not in whole[0]:
            whole[0] = "{} <b>{}</b>".format(*translate(["a", "b"]))
        return "|".join(whole)

    asked: list[list[str]] = []

    async def translate(texts: list[str]) -> list[str]:
        asked.append(texts)
        return [text.replace("<b>", "").replace("</b>", "").upper() for text in texts]

    monkeypatch.setattr(html_texts, "translate_html", reader)
    assert asyncio.run(translate_document("", translate)) == "A <b>B</b>|C|C"
    assert asked == [["a <b>b</b>", "c"], ["a", "b"]]
