"""The table of heads as it prints itself."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

from regard.lens.draw.heads_table import FIRST, LAST, Head
from regard.lens.head_kinds import Heads
from regard.lens.recording_api import Recording
from tests.page_cases import noise


def some(count: int) -> Heads:
    lines = [Head(f"layers.{n // 8}.attn", n % 8, n / 7, 0.5, 1.25, 0.1, 0.2, math.nan, 0.4) for n in range(count)]
    return Heads(lines)


def test_what_a_recording_gives_prints_as_a_table() -> None:
    table = Recording(calls=[noise(2, 3, 9)]).heads()
    shown = str(table).splitlines()
    assert repr(table) == str(table)
    assert shown[0].split("  ")[0] == "site"
    lines = [line for line in shown[1:] if line.strip()][:6]
    assert [line.split()[0] for line in lines] == ["layers.0.attn", "1", "2", "layers.1.attn", "1", "2"]
    for line, head in zip(lines, table.lines, strict=True):
        assert f"{head.entropy:.3f}" in line
        assert f"{head.top_weight:.3f}" in line
    assert "Means over every row" in str(table)


def test_the_columns_stand_aligned() -> None:
    shown = str(some(10)).splitlines()
    ends = {line.rindex("0.400") for line in shown if "0.400" in line}
    assert len(ends) == 1
    assert all("–" in line for line in shown if "0.400" in line)


def test_a_long_table_is_shortened_and_says_where_the_rest_is() -> None:
    many = some(144)
    shown = str(many).splitlines()
    assert sum("0.400" in line for line in shown) == FIRST + LAST
    (left_out,) = (line for line in shown if line.startswith("…"))
    assert f"{144 - FIRST - LAST} more heads" in left_out
    assert ".to_csv" in left_out
    assert f"{143 / 7:.3f}" in str(many)
    assert len({line.rindex("0.400") for line in shown if "0.400" in line}) == 1  # both parts are aligned
    assert "more heads" not in str(some(FIRST + LAST))


def test_a_notebook_gets_a_table() -> None:
    root = ElementTree.fromstring(some(144)._repr_html_())
    rows = root.findall(".//tbody/tr")
    assert len(rows) == FIRST + LAST + 1
    assert len(root.findall(".//thead/tr/th")) == 9
    assert [cell.text for cell in rows[1]][:2] == [None, "1"]


def test_names_cannot_break_the_page() -> None:
    table = Heads([Head("<b>&", 0, *(0.0,) * 7)])
    assert ElementTree.fromstring(table._repr_html_()).find(".//tbody/tr/th").text == "<b>&"  # type: ignore[union-attr]


def test_an_empty_table_prints() -> None:
    assert "site" in str(Heads([]))
    assert "site" in Heads([])._repr_html_()
