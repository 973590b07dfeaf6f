"""A call as one self-contained page: no network, light and dark, on a desk and on a phone."""

from __future__ import annotations

from base64 import b64encode, b85encode
from hashlib import sha256
from html import escape
from typing import Unpack

from regard.lens.draw.page.payload import PageOptions, Payload, payload
from regard.lens.recording.forward import ForwardCall
from regard.widget import loader, packed_script, script

GROUND = (
    "html { background: #fbf9f5; }\nbody { margin: 0; }\n"
    "@media (prefers-color-scheme: dark) { html { background: #171512; } }"
)
POLICY = (  # whatever a token says: nothing is asked of anybody, and no script runs but ours
    "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
    "form-action 'none'"
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
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'
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
    """In elements that no browser runs or shows: the numbers, and the script that draws them."""
    numbers = {"levels": content.levels, "exact": content.exact, "norms": content.norms}
    parts = {**{name: letters(part) for name, part in numbers.items()}, "code": packed_script()}
    coded = "\n".join(f'<script type="text/plain" data-part="{name}">{part}</script>' for name, part in parts.items())
    return f'<script type="application/json" data-part="description">{content.json}</script>\n{coded}'


def letters(numbers: bytes) -> str:
    """Five letters for each four bytes: base64 has a fifteenth more. Without <, no element can begin or end in them."""
    return b85encode(numbers).decode().replace("<", ",")


def program() -> str:
    return f"<script>{started()}</script>"


def started() -> str:
    return f"\n{loader()}"


def policy() -> str:
    """What a page may do: the loader runs, and what the loader opens."""
    digests = (b64encode(sha256(code.encode()).digest()).decode() for code in (started(), script()))
    return POLICY.format(scripts=" ".join(f"'sha256-{digest}'" for digest in digests))


def plain(text: str) -> str:
    """For HTML, in characters of any encoding."""
    return escape(text).encode("ascii", "xmlcharrefreplace").decode()
