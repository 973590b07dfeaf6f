"""A call in a notebook: a widget where there are widgets, else the page itself; never a blank cell."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Unpack

from regard.lens.draw.page.answers import answers
from regard.lens.draw.page.document import fragment_of
from regard.lens.draw.page.payload import Opened, Payload, payload
from regard.lens.recording.forward import Call
from regard.widget import Still, widget


def show(call: Call, **opened: Unpack[Opened]) -> Any:
    """For the last line of a cell, or `display(...)`; the widget asks for exact numbers, the still page holds some."""
    made = payload(call, **opened)
    still = Still(fragment_of(made), line(made))
    if find_spec("anywidget") is None:
        return still
    return widget(made.json, made.levels, made.exact, answers(call, opened.get("batch", 0)), still)


def line(made: Payload) -> str:
    """One line for a terminal."""
    maps = [one for one in made.told["maps"] if not one["closer"]]
    heads = sum(len(one["heads"]) for one in maps)
    return f"attention of {heads} heads at {len(maps)} sites: {made.told['title']} ({made.told['badge']['text']})"
