"""Documents of HTML through a queue: their texts are collected, translated wherever that is done, and put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import cast

Translate = Callable[[list[str]], list[str]]


def translate_html(html: str, translate: Translate) -> str:
    """The document with its texts translated."""
    return cast(str, import_module("regard.documents.html").translate_html(html, translate))


def texts_of(html: str) -> list[str]:
    """The texts of a document that want translation, in order."""
    texts: list[str] = []

    def collect(some: list[str]) -> list[str]:
        texts.extend(some)
        return list(some)

    translate_html(html, collect)
    return texts


def filled_html(html: str, translations: Sequence[str]) -> str:
    """The document with these in the place of its texts, in the order in which `texts_of` gave them."""
    rest: Iterator[str] = iter(translations)
    return translate_html(html, lambda some: [next(rest) for _ in some])
