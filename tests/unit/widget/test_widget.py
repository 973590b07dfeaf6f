"""The widget answers what the browser asks, and a cell is never blank."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import pytest

from regard.errors import InputError
from regard.widget import Still, script, widget
from regard.widget.view import reply

pytest.importorskip("anywidget", reason="anywidget is not installed")

STILL = Still('<div class="regard-look">the page</div>', "a line")


def answer(question: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    if "row" not in question:
        raise InputError("no row", do="ask for one")
    return {"shape": [1]}, bytes([question["row"]])


@pytest.fixture
def view() -> Any:
    return widget('{"title": 1}', {"levels": b"levels", "exact": b"exact", "norms": b"norms"}, answer, STILL)


def test_it_carries_what_is_drawn_and_the_script_that_draws(view: Any) -> None:
    assert (view.description, view.levels, view.exact) == ('{"title": 1}', b"levels", b"exact")
    assert view.norms == b"norms"
    assert view._esm == script() + "\nexport default { render: regardLook.render };\n"


def test_questions_are_answered_under_their_number(view: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(type(view), "send", lambda self, content, buffers=None: sent.append((content, buffers)))
    view._handle_custom_msg({"id": 7, "question": {"row": 3}}, [])
    view._handle_custom_msg({"id": 8, "question": {}}, [])
    assert sent[0] == ({"id": 7, "shape": [1]}, [b"\3"])
    assert sent[1][0]["id"] == 8
    assert "ask for one" in sent[1][0]["error"]


def test_an_error_is_told_not_raised() -> None:
    assert reply(answer, {"id": 1}) == ({"id": 1, "error": "'question'"}, [])


def test_whoever_cannot_draw_a_widget_gets_the_page(view: Any) -> None:
    data, _ = view._repr_mimebundle_()
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == view.model_id
    assert data["text/html"] == STILL.html
    assert data["text/plain"] == repr(view) == "a line"


def test_in_a_notebook_the_page_waits_beside_it(view: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(sys.modules["IPython.display"], "display", lambda data, **_: shown.append(data))
    view._ipython_display_()
    assert set(shown[0]) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
    assert shown[1]["text/html"] == f'<div class="regard-look" data-standby="{view.name}">the page</div>'
    assert widget("", {}, answer, STILL).name != view.name


def test_the_still_page_shows_itself() -> None:
    assert STILL._repr_html_() == STILL.html
    assert repr(STILL) == "a line"
