"""A map in a terminal's cells."""

from __future__ import annotations

from regard.drawing.heat_cells import columns_for


def test_names_of_columns_stand_upright_or_are_cut() -> None:
    names = ["because"] * 10
    assert columns_for(names, 100).widths == [8] * 10
    assert columns_for(names, 64).widths == [6] * 10
    assert not columns_for(names, 64).upright
    assert (columns_for(names, 45).widths, columns_for(names, 45).upright) == ([4] * 10, True)
    assert columns_for(names, 30).numbered
    assert not columns_for(names, 20).numbered
