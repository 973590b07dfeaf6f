"""A picture of any grid: no model is needed to lay it out and to paint it."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import torch

from regard.drawing.heat_layout import Captions, Picture, lay_out
from regard.drawing.heat_map import HeatMap, largest, shares, topmost
from regard.drawing.heat_png import FINE, png
from regard.drawing.heat_svg import svg

CAPTIONS = Captions("cities", "rows: from, columns: to", "0.5: share of trains", "counted by hand")


def grid(label: str, most: float = 0.5, cell: tuple[int, int] = (1, 1)) -> HeatMap:
    cells = torch.tensor([[0.0, most], [most / 2, 0.0], [0.1, 0.2]])
    return HeatMap("trains", label, cells, ["Bern", "Lyon", "Graz"], ["Rome", "Oslo"], cell)


def panels_apart(picture: Picture) -> bool:
    boxes = [(one.x, one.y, one.x + one.width, one.y + one.height) for one in picture.panels]
    return all(
        a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        for place, a in enumerate(boxes)
        for b in boxes[place + 1 :]
    )


def test_one_map_is_large_and_has_names() -> None:
    picture = lay_out([[grid("Monday")]], CAPTIONS)
    texts = [text.text for text in picture.texts]
    assert texts[:2] == ["cities", "rows: from, columns: to"]
    assert {"Bern", "Lyon", "Graz", "Rome", "Oslo", "0", "0.5: share of trains", "counted by hand"} <= set(texts)
    assert (picture.most, picture.badge) == (0.5, "counted by hand")


def test_several_stand_in_a_row_or_below_each_other() -> None:
    days = [grid("Monday"), grid("Sunday", 0.25)]
    row = lay_out([days], CAPTIONS)
    assert len({panel.y for panel in row.panels}) == 1
    below = lay_out([days[:1], days[1:]], Captions("cities", "", "0.5", "", each=("all of them", "")))
    assert len({panel.x for panel in below.panels}) == 1
    assert {"trains, Monday", "trains, Sunday", "all of them"} <= {text.text for text in below.texts}
    assert panels_apart(row)
    assert panels_apart(below)


def test_it_is_painted_as_svg_and_as_png() -> None:
    picture = lay_out([[grid("Monday"), grid("Sunday")]], CAPTIONS)
    root = ElementTree.fromstring(svg(picture))
    assert (root.get("width"), root.get("height")) == (str(picture.width), str(picture.height))
    assert png(picture).size == (picture.width * FINE, picture.height * FINE)


def test_the_strongest_colour_is_the_largest_cell_but_for_a_few_pooled_ones() -> None:
    assert largest([grid("Monday"), grid("Sunday", 0.25)]) == 0.5
    assert float(shares(grid("Monday"), 0.25).max()) == 1.0
    assert topmost([grid("Monday")]) == "0.5"
    crowded = HeatMap("trains", "week", torch.tensor([[4.0] + [0.5] * 999]), ["all"], ["x"] * 1000, (1, 7))
    assert largest([crowded]) == 0.5
    assert topmost([crowded]) == "0.5 and more"
