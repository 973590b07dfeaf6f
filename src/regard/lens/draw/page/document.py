"""A call as one self-contained page: no network, light and dark, on a desk and on a phone."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from typing import Unpack

from regard.lens.draw.page.payload import PageOptions, Payload, payload
from regard.lens.recording.forward import ForwardCall
from regard.widget import script

GROUND = (
    "html { background: #fbf9f5; }\nbody { margin: 0; }\n"
    "@media (prefers-color-scheme: dark) { html { background: #191714; } }"
)
WAITING = "The maps are drawn by a script, and none ran here. Open this page in a browser, or trust the notebook."


def page(call: ForwardCall, **options: Unpack[PageOptions]) -> str:
    """A whole HTML document: every head of the call.

    `site`, and with it `head`, is what it opens with; of a long text that is shown finer than the rest. `batch` is the
    place of the text in its batch, `title` by default the text itself.
    """
    content = payload(call, **options)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{plain(content.description['title'])}: attention</title>\n"
        f"<style>\n{GROUND}\n</style>\n</head>\n<body>\n"
        f'<div class="regard-look" data-address="keep">\n<noscript>{in_words(content)}</noscript>\n'
        f"{data(content)}\n</div>\n"
        f"{program()}\n</body>\n</html>\n"
    )


def fragment(call: ForwardCall, **options: Unpack[PageOptions]) -> str:
    """The same to stand inside another page, such as a notebook: any number of them, each in its own tree."""
    return fragment_of(payload(call, **options))


def fragment_of(content: Payload) -> str:
    return f'<div class="regard-look" data-shadow="own">\n{in_words(content)}\n{data(content)}\n</div>\n{program()}'


def in_words(content: Payload) -> str:
    """What is left without a script: still true."""
    description = content.description
    return f"<h1>{plain(description['title'])}</h1><p>{plain(description['badge']['text'])}</p><p>{WAITING}</p>"


def data(content: Payload) -> str:
    """In elements that no browser runs or shows."""
    parts = (("levels", content.levels), ("exact", content.exact), ("norms", content.norms))
    coded = "\n".join(
        f'<script type="text/plain" data-part="{name}">{b64encode(part).decode()}</script>' for name, part in parts
    )
    return f'<script type="application/json" data-part="description">{content.json}</script>\n{coded}'


def program() -> str:
    return f"<script>\n(() => {{\n{script()}\nopenAll(document);\n}})();\n</script>"


def plain(text: str) -> str:
    """For HTML, in characters of any encoding."""
    return escape(text).encode("ascii", "xmlcharrefreplace").decode()
