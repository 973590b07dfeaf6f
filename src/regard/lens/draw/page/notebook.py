"""A call in a notebook: a widget where there are widgets, else the page itself; never a blank cell."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Unpack

from regard.lens.draw.page.answers import answers
from regard.lens.draw.page.document import fragment_of
from regard.lens.draw.page.payload import PageOptions, Payload, payload
from regard.lens.recording.forward import ForwardCall
from regard.widget import Still, widget


def show(call: ForwardCall, **options: Unpack[PageOptions]) -> Any:
    """For the last line of a cell, or `display(...)`; the widget asks for exact numbers, the still page holds some."""
    content = payload(call, **options)
    still = Still(fragment_of(content), line(content))
    if find_spec("anywidget") is None:
        return still
    packed = {"levels": content.levels, "exact": content.exact, "norms": content.norms}
    return widget(content.json, packed, answers(call, options.get("batch", 0)), still)


def line(content: Payload) -> str:
    """One line for a terminal."""
    description = content.description
    maps = [one for one in description["maps"] if not one["closer"]]
    heads = sum(len(one["heads"]) for one in maps)
    return f"attention of {heads} heads at {len(maps)} sites: {description['title']} ({description['badge']['text']})"
