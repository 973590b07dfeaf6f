"""Views of a call as one picture, ready to be painted: which maps, and what is said beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from regard.drawing.heat_layout import Captions, Picture, lay_out
from regard.drawing.heat_map import topmost
from regard.lens.draw.heat import HeadMap, View, badge_of, heats, measure_in_words, sides_in_words
from regard.lens.recording.forward import ForwardCall

CELLS = 1 << 16  # of a whole picture: one map of 256 x 256, or many smaller ones; beyond, cells are pooled


def picture(call: ForwardCall, *views: View) -> Picture:
    """One head; without a head all of a site; without a site all there are. Several views stand below each other."""
    asked = [replace(view, site=site) for view in views for site in ([view.site] if view.site else call.sites)]
    count = sum(1 if view.head is not None else len(call.map(str(view.site)).heads) for view in asked)
    side = max(4, math.isqrt(CELLS // max(count, 1)))
    groups = [heats(call, view, (side, side)) for view in asked]
    maps = [one for group in groups for one in group]
    abouts = [sides_in_words(call, str(view.site), view.row) for view in asked]
    alike = len(set(abouts)) == 1
    captions = Captions(
        title=title(asked, maps),
        about=abouts[0] if alike else several_in_words(call, asked),
        scale=f"{topmost(maps)}: {measure_in_words(maps)}",
        badge=badge_in_words(maps),
        each=tuple("" if alike else about for about in abouts) if 1 < len(views) == len(maps) else (),
    )
    return lay_out(groups, captions)


def title(views: Sequence[View], maps: Sequence[HeadMap]) -> str:
    if len(maps) == 1:
        return maps[0].name
    if len(views) == 1:
        return f"{views[0].site}, {len(maps)} heads"
    return f"{len(views)} sites, {len(maps)} heads"


def several_in_words(call: ForwardCall, views: Sequence[View]) -> str:
    """What the rows of different sites have in common."""
    written = views[0].row == "output" and any(call.writes(str(view.site)) for view in views)
    return f"each row of a map: where a token looks{'; in a decoder, where it looks to write it' if written else ''}"


def badge_in_words(maps: Sequence[HeadMap]) -> str:
    badge = badge_of(maps)
    verdict = "NOT what the model used" if not badge.true else "true to the model" if badge.compared else "not compared"
    return f"{verdict}: {badge}"
