"""`regard look` and `regard info` as a person meets them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import torch
from PIL import Image
from typer.testing import CliRunner, Result

from regard.cli import app
from regard.lens.analysis.subject import open_subject
from regard.lens.recording_api import Recording
from tests.subjects import ours, theirs

TEXT = "w1 w2 w3 w4"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("look")
    folders = {name: ours(name, root) for name in ("transformer learned", "decoder", "encoder", "recurrent attention")}
    folders |= {name: theirs(name, root) for name in ("llama", "t5", "vit")}
    file = root / "seen.regard"
    two = open_subject(folders["transformer learned"], "cpu")
    calls = [two.see(text, target).last for text, target in (("w9", "w8"), (TEXT, "w5 w6 w7"))]
    Recording(calls=calls).save(file)
    return {name: str(path) for name, path in {**folders, "seen": file}.items()}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Untrained models find no end."""
    monkeypatch.setattr("regard.tasks.translator.LONGEST", 16)


def run(places: dict[str, str], *arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(app, [places.get(argument, argument) for argument in arguments], input=given)


def read(result: Result) -> str:
    """What is printed, but for how far off the badge says it is: that is rounding, and threads round each time anew."""
    return re.sub(r"\d+e-\d+", "so much", result.stdout)


@pytest.mark.parametrize("name", ["transformer learned", "decoder", "encoder", "recurrent attention", "llama", "t5"])
def test_any_model_of_text(name: str, places: dict[str, str]) -> None:
    result = run(places, "look", name, TEXT)
    assert result.exit_code == 0, result.stderr
    assert "✓ regard" in result.stdout
    assert "w1" in result.stdout
    if name in ("transformer learned", "t5"):
        cross = {"t5": "EncDecAttention"}.get(name, "decoder.1.cross")
        assert cross in result.stdout.splitlines()[0]
        assert "of the last cross-attention" in result.stdout
    assert read(run(places, "look", name, "-", given=TEXT)) == read(result)


def test_a_recording_needs_no_text(places: dict[str, str]) -> None:
    result = run(places, "look", "seen")
    assert result.exit_code == 0, result.stderr
    assert read(result) == read(run(places, "look", "transformer learned", TEXT, "--target", "w5 w6 w7"))
    assert "w8" in run(places, "look", "seen", "--call", "0").stdout


def test_a_text_from_outside_is_a_text(places: dict[str, str]) -> None:
    """The end of the last line is no token, and bytes that are no UTF-8 are no crash."""
    shown = run(places, "look", "decoder", TEXT).stdout
    assert run(places, "look", "decoder", "-", given=f"{TEXT}\r\n").stdout == shown
    assert run(places, "look", "decoder", "w1 \udcff").exit_code == 0


def test_the_badge_of_a_site_counts_once(places: dict[str, str]) -> None:
    how = ("look", "seen", "--site", "decoder.1.cross", "--head")
    one, every = (" ".join(run(places, *how, head).stdout.split()) for head in ("2", "all"))
    assert "on 4 rows" in one
    assert "on 4 rows" in every
    assert "on 4 rows" in run(places, *how, "all", "--svg").stdout


def test_why_a_head_is_said_truly(places: dict[str, str], tmp_path: Path) -> None:
    file = str(tmp_path / "one.regard")
    run(places, "record", "decoder", TEXT, "--sites", "decoder.0.self", "--out", file)
    assert "chosen" not in run(places, "look", file, "--head", "1").stdout
    assert "the only site of that name" in run(places, "look", "seen", "--site", "encoder.0", "--head", "1").stdout


def test_what_to_look_at(places: dict[str, str]) -> None:
    first = run(places, "look", "seen", "--site", "encoder.0", "--head", "3").stdout.splitlines()[0]
    assert first.startswith("encoder.0.self, head 3")
    assert "head 3" in run(places, "look", "seen", "--site", "cross", "--head", "3").stdout.splitlines()[0]
    whole = run(places, "look", "seen", "--site", "all").stdout
    assert whole.count("head 0") == 6
    assert run(places, "look", "seen", "--site", "decoder.0.cross", "--head", "all").stdout.count("head ") == 4
    part = run(places, "look", "seen", "--rows", "1:3", "--columns", "0:2").stdout
    assert [line.split()[0] for line in part.splitlines()[1:4]] == ["w1", "w6", "w7"]
    part = run(places, "look", "seen", "--rows", "1:3", "--columns", "0:2", "--row", "input").stdout
    assert [line.split()[0] for line in part.splitlines()[1:4]] == ["w1", "w5", "w6"]


def test_top_keys(places: dict[str, str]) -> None:
    seen = Recording.load(places["seen"])
    how = ("look", "seen", "--site", "decoder.1.cross", "--head", "2")
    weights = seen.weights("decoder.1.cross", 2)
    every = run(places, *how, "--top", "2").stdout
    assert every.count(f"{float(weights[1].max()):.4f}") >= 1
    read = run(places, *how, "--token", "w6", "--row", "input").stdout
    written = run(places, *how, "--token", "w6").stdout
    for shown, row in ((written, 1), (read, 2)):
        table = shown[shown.index("looks most at") : shown.index("heads ")]
        for weight in weights[row].topk(5).values.tolist():
            assert f"{weight:.4f}" in table
        assert table.count("0.") == 5
    assert run(places, *how, "--token", "1").stdout == written


def test_by_value(places: dict[str, str], tmp_path: Path) -> None:
    seen = Recording.load(places["seen"])
    site = "decoder.1.cross"
    how = ("look", "seen", "--site", site, "--head", "2", "--by", "value")
    largest = f"weight times |v W_O|, of the largest {float(seen.last.largest_norms(site, 2)):.3g}"
    for form in ([], ["--svg"]):
        assert largest in " ".join(run(places, *how, *form).stdout.split())
    products = seen.weights(site, 2, by="value")
    table = list(csv.reader(io.StringIO(run(places, *how, "--csv").stdout)))
    assert "weight times |v W_O|" in table[0][0]
    torch.testing.assert_close(torch.tensor([[float(cell) for cell in row[1:]] for row in table[1:]]), products)
    top = run(places, *how, "--top", "2").stdout
    assert "takes most from" in top
    assert f"{float(products[1].max()):.4f}" in top
    every = " ".join(run(places, "look", "seen", "--site", "all", "--by", "value").stdout.split())
    assert "weight times |v W_O|, of each head's largest" in every
    page = tmp_path / "one.html"
    run(places, *how, "--html", str(page))
    assert '"by":"value"' in page.read_text(encoding="utf-8")


def test_by_value_needs_values(places: dict[str, str], tmp_path: Path) -> None:
    file = str(tmp_path / "bare.regard")
    run(places, "record", "decoder", TEXT, "--no-values", "--out", file)
    assert json.loads(run(places, "info", file, "--json").stdout)["values"] is False
    assert run(places, "look", file).exit_code == 0
    result = run(places, "look", file, "--by", "value")
    assert result.exit_code == 2
    assert "the values were not kept" in result.stderr


def test_open_ends_of_rows(places: dict[str, str]) -> None:
    how = ("look", "seen", "--site", "decoder.1.cross", "--head", "2", "--csv")
    every = list(csv.reader(io.StringIO(run(places, *how).stdout)))
    for rows, start, stop in (("2:", 2, None), (":-1", None, -1), ("-2:", -2, None), (":", None, None)):
        found = list(csv.reader(io.StringIO(run(places, *how, f"--rows={rows}").stdout)))
        assert found[1:] == every[1:][start:stop]


@pytest.mark.parametrize("form", ["terminal", "svg", "csv"])
def test_a_decoder_s_row_is_that_of_the_token_it_writes(form: str, places: dict[str, str]) -> None:
    """In every form the same, from the row of the start to the row that writes the end; the weights do not change."""
    how = ("look", "seen", "--site", "decoder.1.cross", "--head", "2", *([] if form == "terminal" else [f"--{form}"]))
    written, read = (run(places, *how, "--row", row).stdout for row in ("output", "input"))
    assert run(places, *how).stdout == written
    for shown, names, says in (
        (written, ["w5", "w6", "w7", "</s>"], "looks in the source to write this token"),
        (read, ["</s>", "w5", "w6", "w7"], "once it has read this token"),
    ):
        assert says in " ".join(shown.split())
        if form == "csv":
            rows = list(csv.reader(io.StringIO(shown)))
            assert [row[0] for row in rows[1:]] == names
            assert [row[1:] for row in rows[1:]] == [row[1:] for row in csv.reader(io.StringIO(written))][1:]
        elif form == "terminal":
            assert [line.split()[0] for line in shown.splitlines()[2:6]] == names
        else:
            beside = [one.text for one in ElementTree.fromstring(shown).iter() if one.get("text-anchor") == "end"]
            assert beside == names


def test_the_token_after_the_last_is_shown_where_it_is_known(places: dict[str, str]) -> None:
    """A translator ends what it says; what a language model would write after its text nobody asked."""
    said = run(places, "look", "transformer learned", TEXT, "--csv").stdout
    target = open_subject(places["transformer learned"], "cpu").see(TEXT).target_tokens
    rows = [row[0] for row in csv.reader(io.StringIO(said))][1:]
    assert rows[:-1] == target[1:]
    assert rows[-1] != "(next)"
    for name in ("decoder", "llama"):
        rows = [row[0] for row in csv.reader(io.StringIO(run(places, "look", name, TEXT, "--csv").stdout))][1:]
        assert rows == ["w2", "w3", "w4", "(next)"]
    encoder = run(places, "look", "encoder", TEXT, "--csv").stdout
    assert [row[0] for row in csv.reader(io.StringIO(encoder))][1:] == ["[CLS]", *TEXT.split(), "[SEP]"]


def test_several_sites_are_all_shown(places: dict[str, str], tmp_path: Path) -> None:
    how = ("look", "seen", "--site=encoder")
    shown = run(places, *how).stdout
    heads = [line for line in shown.splitlines() if ", head " in line]
    assert [line.split(",")[0] for line in heads] == ["encoder.0.self", "encoder.1.self"]
    assert shown.count("each row: where a token of the source looks") == 2
    one = run(places, *how, "--head", "3").stdout
    assert [line.split("  ")[0] for line in one.splitlines() if ", head " in line] == [
        "encoder.0.self, head 3", "encoder.1.self, head 3",
    ]  # fmt: skip
    every = run(places, *how, "--head", "all").stdout
    assert every.count("head ") == 8
    root = ElementTree.fromstring(run(places, *how, "--head", "3", "--svg").stdout)
    texts = [one.text for one in root.iter() if one.tag.endswith("text")]
    assert {"encoder.0.self, head 3", "encoder.1.self, head 3"} <= set(texts)
    rows = list(csv.reader(io.StringIO(run(places, *how, "--head", "3", "--csv").stdout)))
    assert [len(row) for row in rows] == [6] * 6 + [0] + [6] * 6
    seen = Recording.load(places["seen"])
    last = torch.tensor([[float(cell) for cell in row[1:]] for row in rows[8:]])
    torch.testing.assert_close(last, seen.weights("encoder.1.self", 3))
    assert run(places, *how, "--head", "3", "--png", str(tmp_path / "two.png")).exit_code == 0
    assert run(places, *how, "--html", str(tmp_path / "two.html")).exit_code == 0
    assert run(places, *how, "--token", "w2").stdout.count("looks most at") == 2


def test_kinds_of_sites_whatever_they_are_called(places: dict[str, str]) -> None:
    shown = run(places, "look", "t5", TEXT, "--site", "cross", "--head", "0").stdout
    sites = [line.split(",")[0] for line in shown.splitlines() if ", head 0" in line]
    assert len(sites) == 2
    assert all("EncDecAttention" in site for site in sites)
    shown = run(places, "look", "t5", TEXT, "--site=encoder", "--head", "0").stdout
    assert all(site.startswith("encoder") for site in [s.split(",")[0] for s in shown.splitlines() if ", head 0" in s])


def test_top_keys_beside_a_file(places: dict[str, str], tmp_path: Path) -> None:
    how = ("look", "seen", "--site", "decoder.1.cross", "--head", "2", "--token", "w6")
    result = run(places, *how, "--svg", str(tmp_path / "map.svg"))
    assert result.exit_code == 0, result.stderr
    assert "looks most at" in result.stdout
    assert result.stdout.strip() in run(places, *how).stdout


def test_a_head_is_written_as_svg_png_csv_and_html(places: dict[str, str], tmp_path: Path) -> None:
    how = ("look", "seen", "--site", "decoder.1.cross", "--head", "2")
    names = [tmp_path / "deep" / f"map.{kind}" for kind in ("svg", "png", "csv", "html")]
    options = [part for name in names for part in (f"--{name.suffix[1:]}", str(name))]
    result = run(places, *how, *options)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    assert [line.removeprefix("wrote ") for line in sorted(result.stderr.splitlines())] == sorted(map(str, names))
    svg, png, table, html = names
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    with Image.open(png) as image:
        assert image.info["Title"] == "decoder.1.cross, head 2"
    rows = list(csv.reader(io.StringIO(table.read_text(encoding="utf-8"))))
    weights = torch.tensor([[float(cell) for cell in row[1:]] for row in rows[1:]])
    torch.testing.assert_close(weights, Recording.load(places["seen"]).weights("decoder.1.cross", 2))
    assert html.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_standard_output(places: dict[str, str], tmp_path: Path) -> None:
    how = ("look", "seen", "--site", "decoder.1.cross", "--head", "2")
    run(places, *how, "--svg", str(tmp_path / "map.svg"), "--csv", str(tmp_path / "map.csv"))
    assert run(places, *how, "--svg").stdout == (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert run(places, "look", "--csv", *how[1:]).stdout == (tmp_path / "map.csv").read_text(encoding="utf-8")
    image = Image.open(io.BytesIO(run(places, *how, "--png").stdout_bytes))
    assert image.info["Title"] == "decoder.1.cross, head 2"
    assert "one form at a time" in run(places, *how, "--png", "--svg").stderr


def test_a_page_holds_every_head_whole(places: dict[str, str], tmp_path: Path) -> None:
    file = str(tmp_path / "a.html")
    assert run(places, "look", "seen", "--site", "all", "--head", "1", "--html", file).exit_code == 0
    result = run(places, "look", "seen", "--rows", "1:2", "--html", file)
    assert "a page holds whole maps" in result.stderr


@pytest.mark.parametrize("form", [[], ["--csv"], ["--svg"], ["--png"]])
def test_nowhere_to_write(form: list[str], places: dict[str, str]) -> None:
    """A full disk behind standard output is told; a reader that has gone, such as `head`, is not."""
    command = [sys.executable, "-m", "regard", "look", places["seen"], *form]
    if Path("/dev/full").exists():
        with Path("/dev/full").open("w") as full:
            refused = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        assert refused.returncode != 0
        assert "No space left" in refused.stderr
        assert "Traceback" not in refused.stderr
    reader, writer = os.pipe()
    os.close(reader)
    gone = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (gone.returncode, gone.stderr) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["look", "decoder"], "there is no text"),
        (["look", "decoder", " "], "there is no text"),
        (["look", "seen", TEXT], "holds its text already"),
        (["look", "decoder", "-", "--target", "-"], "standard input holds one text"),
        (["record", "decoder", "-", "--target", "-", "--out", "a.regard"], "standard input holds one text"),
        (["look", "./nowhere.regard"], "there is no file"),
        (["look", "./nowhere", TEXT], "no such folder"),
        (["look", "vit", TEXT], "regard.watch"),
        (["look", "decoder", TEXT, "--target", "w1"], "reads one text"),
        (["look", "decoder", "w1 " * 40], "40 tokens, where at most 32 fit"),
        (["look", "seen", "--site", "crosss"], "did you mean 'cross'"),
        (["look", "seen", "--row", "1:3"], "--rows 20:50"),
        (["look", "seen", "--by", "norm"], "--by value"),
        (["look", "decoder", TEXT, "--token", "w1"], "no row writes 'w1'"),
        (["look", "seen", "--token", "w5", "--csv"], "and the top keys"),
        (["look", "seen", "--head", "9"], "head 9 of"),
        (["look", "seen", "--head", "first"], "--head 3, or --head all"),
        (["look", "seen", "--head", "²"], "--head 3, or --head all"),
        (["look", "seen", "--token", "²"], "there is no token '²'"),
        (["look", "seen", "--token=--1"], "there is no token '--1'"),
        (["look", "seen", "--token", "zebra"], "there is no token 'zebra'"),
        (["look", "seen", "--head", "all", "--token", "w5"], "top keys are of one head"),
        (["look", "seen", "--head", "all", "--csv"], "a table holds one head"),
        (["look", "seen", "--rows", "3"], "--rows 20:50"),
        (["look", "seen", "--rows", "²:3"], "--rows 20:50"),
        (["look", "seen", "--rows", "3:99"], "within the map"),
        (["look", "seen", "--rows", "1:99", "--top", "2"], "rows=(1, 99)"),
        (["look", "seen", "--call", "2"], "choose 0 to 1"),
        (["look", "decoder", TEXT, "--device", "gpu"], "no device 'gpu'"),
        (["info", "./nowhere.regard"], "there is no file"),
    ],
)
def test_errors_say_what_to_do_and_exit_with_2(arguments: list[str], message: str, places: dict[str, str]) -> None:
    result = run(places, *arguments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert "do: " in result.stderr
    assert "Traceback" not in result.stderr


def test_info_of_a_recording(places: dict[str, str]) -> None:
    found = json.loads(run(places, "info", "seen", "--json").stdout)
    assert found["calls"] == 2
    assert found["tokens"] == ["2 source and 2 target tokens", "5 source and 4 target tokens"]
    assert found["sites"]["decoder.1.cross"] == "4 heads"
    assert (found["dtype"], found["values"], found["true"]) == ("float32", True, True)
    assert found["size"] == Path(places["seen"]).stat().st_size
    shown = run(places, "info", "seen").stdout
    assert "kB" in shown
    assert "largest difference" in " ".join(shown.split())


def test_info_of_a_model_that_ours_do_not_equal(places: dict[str, str]) -> None:
    found = json.loads(run(places, "info", "llama", "--json").stdout)
    assert (found["origin"], found["family"]) == ("Hugging Face (LlamaForCausalLM)", "llama")
    assert found["sizes"]["num_key_value_heads"] == 2
    assert "regard look" in found["use"]


def test_help_flows() -> None:
    shown = CliRunner().invoke(app, ["look", "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).stdout
    about = shown[shown.index("MODEL is") : shown.index("A decoder reads")].rstrip().splitlines()
    assert all(len(line.rstrip()) > 60 for line in about[:-1])


def test_help_needs_no_torch() -> None:
    program = (
        "import sys; from typer.testing import CliRunner; from regard.cli import app\n"
        "for verb in ('look', 'record', 'heads', 'info'):\n"
        "    assert CliRunner().invoke(app, [verb, '--help']).exit_code == 0\n"
        "assert not {'torch', 'transformers', 'PIL'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
