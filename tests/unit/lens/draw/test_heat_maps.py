"""Pictures of maps: every cell in the right colour, every token at its place, and the badge on all of them."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from rich.console import Console

from regard.drawing.colours import NIGHT, PAPER, colour, hexadecimal
from regard.drawing.heat_labels import cut, label
from regard.drawing.heat_map import largest, shares
from regard.drawing.heat_png import FINE, png
from regard.drawing.heat_svg import LEVELS, tint
from regard.errors import FileError, InputError, UnknownNameError
from regard.lens.draw.heat import View, heats
from regard.lens.draw.heat_picture import CELLS, picture
from regard.lens.draw.heat_small import SmallMaps
from regard.lens.draw.heat_terminal import HeatView, top_view
from regard.lens.recording_api import Recording
from regard.lens.watch import watch
from tests.families import FAMILIES
from tests.heat_cases import CROSS, NAMES

SVG = "{http://www.w3.org/2000/svg}"


# What is drawn


def test_what_was_not_compared_is_not_called_true() -> None:
    family = FAMILIES["decoder"]
    model, example = family.model(attention_dropout=0.5).train(), family.example((6,), 5)
    with torch.no_grad(), watch(model) as recording:
        family.run(model, example)
    assert recording.badge.dropout
    assert not recording.badge.compared
    site = recording.sites[0]
    assert picture(recording.last, View(site, 0)).badge.startswith("not compared: ")
    console = Console(file=io.StringIO(), width=100)
    console.print(HeatView(recording.last, View(site, 0)))
    assert "? regard" in console.file.getvalue()  # type: ignore[attr-defined]


def test_the_cells_are_the_weights(pair: Recording) -> None:
    (one,) = heats(pair.last, View(CROSS, 2), (64, 64))
    torch.testing.assert_close(one.cells_RC, pair.weights(CROSS, 2))
    rows, columns = pair.labels(CROSS, row="output")
    assert (one.rows, one.columns) == ([label(token) for token in rows], [label(token) for token in columns])
    assert not one.pooled
    assert one.badge.pooling == "none"
    assert [heat.head for heat in heats(pair.last, View(CROSS), (64, 64))] == [0, 1, 2, 3]
    (part,) = heats(pair.last, View(CROSS, 1, (1, 3), (2, 5)), (64, 64))
    torch.testing.assert_close(part.cells_RC, pair.weights(CROSS, 1)[1:3, 2:5])
    assert part.columns == one.columns[2:5]


def test_too_many_cells_are_pooled_and_it_is_said(long: Recording) -> None:
    (one,) = heats(long.last, View("decoder.0.self", 1), (40, 40))
    assert one.cell == (8, 8)
    weights = long.weights("decoder.0.self", 1)
    expected = torch.stack([rows.split(8, 1)[0].sum(1).mean() for rows in weights.split(8, 0)])
    torch.testing.assert_close(one.cells_RC[:, 0], expected)
    torch.testing.assert_close(one.cells_RC.sum(1), torch.ones(38))  # a row's attention, all of it
    assert one.badge.pooling == "sum over 8 keys, mean over 8 queries a cell"
    assert one.rows[1].startswith("8 ")
    assert largest([one]) < one.most  # the first rows see few keys
    assert float(shares(one, largest([one])).max()) == 1.0


# SVG


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def test_one_head_as_svg(pair: Recording, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "map.svg"
    drawn = pair.to_svg(path, CROSS, 2)
    assert path.read_text(encoding="utf-8") == drawn
    root = parsed(drawn)
    words = texts(root)
    rows, columns = pair.labels(CROSS, row="output")
    for token in (*rows, *columns):
        assert cut(label(token), 18) in words
    assert words[0] == f"{CROSS}, head 2"
    assert any(word.startswith("true to the model: regard, float32") for word in words)
    assert "pooling: none" in "".join(root.find(f"{SVG}desc").itertext())  # type: ignore[union-attr]
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")


def test_the_cells_of_an_svg_have_the_classes_of_their_weights(pair: Recording) -> None:
    made = picture(pair.last, View(CROSS, 2))
    step = made.panels[0].step
    root = parsed(pair.to_svg(None, CROSS, 2))
    found = {}
    for path in root.iter(f"{SVG}path"):
        for x, y in re.findall(r"M(\d+) (\d+)", path.get("d", "")):
            found[int(y) // step, int(x) // step] = int(path.get("class", "")[1:])
    weights = pair.weights(CROSS, 2)
    expected = (weights / weights.max() * (LEVELS - 1)).round().int()
    for row in range(weights.shape[0]):
        for column in range(weights.shape[1]):
            assert found.get((row, column), 0) == int(expected[row, column])
    assert f".heat .l{LEVELS - 1} {{ fill: {hexadecimal(PAPER[1])}; }}" in pair.to_svg(None, CROSS, 2)
    assert tint(LEVELS - 1, dark=True) == hexadecimal(NIGHT[1])


def test_long_and_odd_tokens_are_cut_and_escaped(pair: Recording) -> None:
    with watch(model := FAMILIES["decoder"].model(), tokenizer=lambda number: NAMES[number]) as odd, torch.no_grad():
        model(torch.tensor([[17, 18, 15, 0]]))
    root = parsed(odd.to_svg(None, "decoder.0.self", 0))
    assert {"<&>", "été", f"{'x' * 17}…"} <= set(texts(root))
    assert [title.text for title in root.iter(f"{SVG}title")].count("x" * 40) == 2  # the whole, on hover


def test_all_heads_of_a_site_and_all_sites(pair: Recording) -> None:
    site = texts(parsed(pair.to_svg(None, CROSS)))
    assert site[0] == f"{CROSS}, 4 heads"
    assert [word for word in site if word.startswith("head ")] == [f"head {head}" for head in range(4)]
    whole = texts(parsed(pair.to_svg()))
    assert whole[0] == "6 sites, 24 heads"
    assert set(pair.sites) <= set(whole)
    assert len(picture(pair.last, View()).panels) == 24
    assert len(picture(pair.last, View(None, 3)).panels) == 6


def test_a_large_picture_stays_small(long: Recording) -> None:
    for view in (View("decoder.0.self", 0), View("decoder.0.self"), View()):
        made = picture(long.last, view)
        assert sum(panel.heat.cells_RC.numel() for panel in made.panels) <= CELLS
        drawn = long.to_svg(None, view.site, view.head)
        assert len(drawn) < 1_000_000
        assert "pooling: sum over" in drawn
        parsed(drawn)
        assert made.width < 2000
        for panel in made.panels:
            assert panel.x + panel.width <= made.width
            assert panel.y + panel.height <= made.height


# PNG


def test_the_cells_of_a_png_have_the_colours_of_their_weights(pair: Recording, tmp_path: Path) -> None:
    pair.to_png(tmp_path / "map.png", CROSS, 2)
    made = picture(pair.last, View(CROSS, 2))
    weights, panel = pair.weights(CROSS, 2), made.panels[0]
    with Image.open(tmp_path / "map.png") as image:
        assert image.size == (made.width * FINE, made.height * FINE)
        assert image.info["Title"] == f"{CROSS}, head 2"
        assert image.info["Description"].startswith("true to the model: regard, float32")
        assert image.info["Software"].startswith("regard ")
        for row in range(weights.shape[0]):
            for column in range(weights.shape[1]):
                at = [
                    (corner + (place + 0.5) * panel.step) * FINE
                    for corner, place in ((panel.x, column), (panel.y, row))
                ]
                expected = colour(round(float(weights[row, column] / weights.max()) * 255) / 255)
                assert image.getpixel((round(at[0]), round(at[1]))) == expected
        ends = [
            image.getpixel(((made.scale[0] + x) * FINE + shift, made.scale[1] * FINE + 4))
            for x, shift in ((0, 0), (160, -1))
        ]
        assert ends == list(PAPER)


@pytest.mark.parametrize("view", [View(CROSS), View(), View(CROSS, 0, (0, 2), (1, 4))])
def test_other_views_as_png(view: View, pair: Recording) -> None:
    made = picture(pair.last, view)
    image = png(made)
    for panel in made.panels:
        corner = image.getpixel((panel.x * FINE + 1, panel.y * FINE + 1))
        assert corner == colour(round(float(panel.heat.cells_RC[0, 0] / made.most) * 255) / 255)


def test_names_are_written(pair: Recording) -> None:
    """Every label leaves ink where it stands."""
    made = picture(pair.last, View(CROSS, 2))
    image = png(made).convert("L")
    for words in made.texts:
        if words.text.strip("."):
            x, y = round(words.x * FINE), round(words.y * FINE)
            box = (x, y - 40, x + 60, y + 6) if words.anchor == "start" else (x - 60, y - 24, x, y + 8)
            assert image.crop(box).getextrema()[0] < 150, words.text


def test_files_that_cannot_be_written(pair: Recording, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for write in (pair.to_svg, pair.to_png):
        with pytest.raises(FileError):
            write(tmp_path / "file" / "map", CROSS, 0)
    with pytest.raises(UnknownNameError, match="did you mean"):
        pair.to_svg(None, "decoder.1.cros")
    with pytest.raises(InputError, match="head 9"):
        pair.to_svg(None, CROSS, 9)


# Terminal


def printed(view: Any, width: int = 100, **how: Any) -> str:
    console = Console(file=io.StringIO(), width=width, **{"color_system": None, **how})
    console.print(view)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_a_map_in_plain_text_shows_percentages(pair: Recording) -> None:
    text = printed(HeatView(pair.last, View(CROSS, 2)))
    lines = text.splitlines()
    assert lines[0].startswith(f"{CROSS}, head 2")
    rows, columns = pair.labels(CROSS, row="output")
    assert lines[1].split() == [label(token) for token in columns]
    for line, token, weights in zip(lines[2:], rows, pair.weights(CROSS, 2).tolist(), strict=False):
        name, *cells = line.split()
        assert name == label(token)
        assert cells == [f"{100 * weight:.0f}" if weight >= 0.005 else "·" for weight in weights if weight]
    assert "✓ regard, float32" in text
    assert "\x1b" not in text


def test_a_map_in_colour(pair: Recording) -> None:
    text = printed(HeatView(pair.last, View(CROSS, 2)), color_system="truecolor", force_terminal=True)
    weights = pair.weights(CROSS, 2)
    strongest = colour(1.0, dark=True)
    assert "48;2;{};{};{}m".format(*strongest) in text
    for weight in weights[0].tolist():
        assert "48;2;{};{};{}m".format(*colour(round(weight / float(weights.max()), 3), dark=True)) in text
    plain = printed(HeatView(pair.last, View(CROSS, 2)), color_system="truecolor", force_terminal=True, no_color=True)
    assert "48;2" not in plain
    assert "percent" in plain


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 200])
@pytest.mark.parametrize("colours", [None, "truecolor"])
def test_a_map_fits_any_width(width: int, colours: str | None, pair: Recording, long: Recording) -> None:
    for recording, site in ((pair, CROSS), (long, "decoder.0.self")):
        how = {"color_system": colours, "force_terminal": colours is not None}
        text = re.sub(r"\x1b\[[\d;]*m", "", printed(HeatView(recording.last, View(site, 1)), width, **how))
        assert max(map(len, text.splitlines())) <= width
        small = printed(SmallMaps(recording.last, [site], View()), width, **how)
        assert "head 3" in small


def test_a_long_map_says_what_a_cell_is(long: Recording) -> None:
    text = " ".join(printed(HeatView(long.last, View("decoder.0.self", 1))).split())
    assert "a cell is 8 x 8 tokens" in text
    assert "░" in text
    assert "pooling: sum over 8 keys, mean over 8 queries" in text
    window = printed(HeatView(long.last, View("decoder.0.self", 1, (20, 26), (18, 26))))
    assert "percent" in window
    assert "pooling: none" in " ".join(window.split())


def test_small_maps_in_colour_put_two_rows_on_a_line(pair: Recording) -> None:
    text = printed(SmallMaps(pair.last, [CROSS], View()), color_system="truecolor", force_terminal=True)
    assert text.count("▀") == 4 * 3 * 6  # heads, half of five rows, columns
    plain = printed(SmallMaps(pair.last, pair.sites, View()))
    assert all(site in plain for site in pair.sites)
    assert "▀" not in plain


def test_top_keys_are_exact(pair: Recording) -> None:
    text = printed(top_view(pair.last, View(CROSS, 2), [3], 2))
    weights = pair.weights(CROSS, 2)[3]
    best = weights.topk(2)
    columns = [label(token) for token in pair.labels(CROSS)[1]]
    expected = "   ".join(
        f"{columns[key]} {weight:.4f}" for weight, key in zip(*map(torch.Tensor.tolist, best), strict=True)
    )
    assert expected in text


def test_a_map_that_is_not_true_says_so(pair: Recording) -> None:
    from dataclasses import replace

    call = pair.last
    one = call.map(CROSS)
    wrong = replace(call, maps={CROSS: replace(one, badge=replace(one.badge, difference=0.5))})
    assert "✗ not what the model used" in printed(HeatView(wrong, View(CROSS, 0)))
    assert "NOT what the model used" in Recording(calls=[wrong]).to_svg()
