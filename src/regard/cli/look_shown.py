"""What `regard look` shows in the terminal: maps, the top keys of tokens, and where to look next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.errors import InputError, some

if TYPE_CHECKING:
    from rich.console import RenderableType

    from regard.lens.draw.heat import View
    from regard.lens.recording.forward import ForwardCall

LISTED = 8  # other sites that are named
TOP = 5  # keys of a token


def shown(call: ForwardCall, views: dict[View, str], token: str | None, top: int | None) -> RenderableType:
    """The maps with what else there is, and the top keys where they are asked for."""
    from rich.console import Group
    from rich.text import Text

    from regard.lens.draw.heat_small import SmallMaps
    from regard.lens.draw.heat_terminal import HeatView

    keys = token is not None or top is not None
    first = next(iter(views))
    if first.site is None or first.head is None:
        if keys:
            all_keys(call, list(views), token, top)
        sites = call.sites if first.site is None else [str(view.site) for view in views]
        return SmallMaps(call, sites, first)
    parts: list[RenderableType] = []
    for view in views:
        parts += [HeatView(call, view), Text("")]
        parts += [keys_view(call, view, token, top), Text("")] if keys else []
    return Group(*parts, Text(elsewhere(call, views), style="dim"))


def all_keys(call: ForwardCall, views: list[View], token: str | None, top: int | None) -> RenderableType:
    """The top keys in every map that is shown, each below its name."""
    from rich.console import Group
    from rich.text import Text

    if any(view.site is None or view.head is None for view in views):
        raise InputError("top keys are of one head", found="all of them", do="choose --site and --head")
    if len(views) == 1:
        return keys_view(call, views[0], token, top)
    return Group(
        *(
            Group(Text(f"{view.site}, head {view.head}", style="bold"), keys_view(call, view, token, top), Text(""))
            for view in views
        )
    )


def keys_view(call: ForwardCall, view: View, token: str | None, top: int | None) -> RenderableType:
    from regard.attention.tiles import Axis
    from regard.lens.draw.heat_terminal import top_view

    assert view.site is not None
    rows = Axis.read("rows", view.rows, call.extent(view.site)[0])
    wanted = range(rows.start, rows.stop) if token is None else rows_of(call, view, token)
    return top_view(call, view, wanted, TOP if top is None else top)


def rows_of(call: ForwardCall, view: View, token: str) -> list[int]:
    """The rows of a token; one that nobody wrote has none among those that write."""
    from regard.drawing.heat_labels import label
    from regard.lens.draw.default_view import find_token

    assert view.site is not None
    names, read = ([label(one) for one in call.labels(view.site, row=row)[0]] for row in (view.row, "input"))
    if token.strip() in read and token.strip() not in names:
        raise InputError(
            f"no row writes {token!r}", found="it stands at the beginning, and is only read",
            do="--row input shows the row that has read it",
        )  # fmt: skip
    return find_token(names, token)


def elsewhere(call: ForwardCall, views: dict[View, str]) -> str:
    """Why these heads, and where to look next."""
    shown = [str(view.site) for view in views]
    others = [site for site in call.sites if site not in shown]
    heads = list(dict.fromkeys(str(head) for site in shown for head in call.map(site).heads))
    lines = [f"chosen  {why}" for why in dict.fromkeys(views.values()) if why]
    lines += [f"heads   {some(heads, 16)}: --head N, or all"] if len(heads) > 1 else []
    lines += [f"sites   {some(others, LISTED)}: --site NAME, or all"] if others else []
    lines += [f"rows    {rows_in_words(next(iter(views)))}"] if any(map(call.writes, shown)) else []
    return "\n".join(lines)


def rows_in_words(view: View) -> str:
    if view.row == "output":
        return "of the token that each writes; --row input: of the token that each has read"
    return "of the token that each has read; --row output: of the token that each writes"
