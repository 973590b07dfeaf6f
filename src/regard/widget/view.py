"""The notebook widget: draws what it is given, asks a callback for exact numbers, and is never a blank cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any
from uuid import uuid4

from regard.widget.script import script

Answer = Callable[[Mapping[str, Any]], tuple[dict[str, Any], bytes]]
Bundle = dict[str, Any]


@dataclass(frozen=True)
class Still:
    """What a notebook shows without a widget: a page's fragment, and a line where there is no HTML."""

    html: str
    line: str

    def _repr_html_(self) -> str:
        return self.html

    def beside(self, name: str) -> str:
        """The page that shows itself only where the widget of this name does not."""
        return self.html.replace('class="regard-look"', f'class="regard-look" data-standby="{name}"', 1)

    def __repr__(self) -> str:
        return self.line


def widget(description: str, packed: Mapping[str, bytes], answer: Answer, still: Still) -> Any:
    """An anywidget (the extra `notebook`) of these maps; where it cannot be drawn, `still` stands in for it.

    `packed` has the deflated "levels", "exact" and "norms". `answer` gets a question of the browser, a dict, and gives
    what it says in JSON, and float32 numbers as bytes.
    """
    return kind()(description, packed, answer, still)


@cache
def kind() -> Any:
    """The class, made when first used: anywidget is an option."""
    anywidget, traitlets, notebook = map(import_module, ("anywidget", "traitlets", "IPython.display"))

    class Look(anywidget.AnyWidget):  # type: ignore[misc, name-defined]
        _esm = script() + "\nexport default { render: regardLook.render };\n"
        name = traitlets.Unicode().tag(sync=True)
        description = traitlets.Unicode().tag(sync=True)
        levels = traitlets.Bytes().tag(sync=True)
        exact = traitlets.Bytes().tag(sync=True)
        norms = traitlets.Bytes().tag(sync=True)

        def __init__(self, description: str, packed: Mapping[str, bytes], answer: Answer, still: Still) -> None:
            super().__init__(name=uuid4().hex, description=description, **packed)
            self.still = still
            self.on_msg(lambda _, content, __: self.send(*reply(answer, content)))

        def __repr__(self) -> str:
            return self.still.line

        def _repr_mimebundle_(self, **_: Any) -> tuple[Bundle, Bundle]:
            data, metadata = super()._repr_mimebundle_() or ({}, {})
            return {**data, "text/html": self.still.html, "text/plain": self.still.line}, metadata

        def _ipython_display_(self, **_: Any) -> None:
            """Two outputs: a notebook opened again has no widget, and says so; then the page beside it shows itself."""
            data, metadata = super()._repr_mimebundle_() or ({}, {})
            notebook.display({**data, "text/plain": self.still.line}, metadata=metadata, raw=True)
            notebook.display({"text/html": self.still.beside(self.name), "text/plain": ""}, raw=True)

    return Look


def reply(answer: Answer, content: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """The answer with the number of its question; an error is told, never raised into the kernel's log."""
    number = content.get("id")
    try:
        words, numbers = answer(content["question"])
        return {**words, "id": number}, [numbers]
    except (KeyError, TypeError, ValueError) as error:
        return {"id": number, "error": str(error)}, []
