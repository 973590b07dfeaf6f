"""The folder for HeadVis: files of the shape that it describes, with the recording's own numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.errors import FileError, InputError
from regard.lens.headvis import write_headvis
from regard.lens.headvis.sparse_maps import KEYS, LEAST
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording_api import Recording
from regard.lens.watch import watch
from tests.families import FAMILIES
from tests.page_cases import named, noise

HALF = 0.5e-4 + 1e-6  # of the last of four digits, and float32


@pytest.fixture(scope="module")
def seen() -> Recording:
    """Two texts: encoder, decoder and cross-attention."""
    family = FAMILIES["transformer post"]
    model = family.model()
    with watch(model) as recording:
        family.run(model, family.example(lengths=(9, 5), target=7))
    return recording


@pytest.fixture(scope="module")
def folder(seen: Recording, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("headvis") / "data"
    report = write_headvis(seen.calls, out, "two texts")
    assert (report.layers, report.heads, report.texts) == (seen.sites, 6 * 4, 2)
    assert report.bytes == sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    return out


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def dense(sequence: dict[str, Any]) -> Tensor:
    """As HeadVis opens it: flat places of a square."""
    size = sequence["seq_len"]
    assert size == len(sequence["tokens"])
    found = torch.zeros(size * size)
    found[sequence["attention_indices"]] = torch.tensor(sequence["attention_values"])
    return found.view(size, size)


def strongest(weights: Tensor) -> Tensor:
    """What is kept of each row."""
    least = weights.topk(min(KEYS, weights.shape[-1]), -1).values[..., -1:]
    return weights.where((weights >= least) & (weights >= LEAST), 0.0)


@pytest.mark.parametrize(("site", "head"), [("encoder.0.self", 1), ("decoder.1.self", 0), ("decoder.1.cross", 3)])
def test_the_weights_are_those_of_the_recording(seen: Recording, folder: Path, site: str, head: int) -> None:
    found = read(folder, f"heads/L{seen.sites.index(site)}H{head}.json")
    by_text = {one["sequence_id"]: one for one in found["sequences"]}
    assert set(by_text) == {0, 1}
    for batch, one in by_text.items():
        weights = seen.last.weights(site, head, batch=batch)
        rows, columns = weights.shape
        queries, keys = ([str(token) for token in side] for side in seen.last.labels(site, batch))
        first = columns if site.endswith("cross") else 0
        assert one["tokens"] == ([*keys, *queries] if first else keys)
        square = dense(one)
        torch.testing.assert_close(square[first : first + rows, :columns], strongest(weights), atol=HALF, rtol=0)
        square[first : first + rows, :columns] = 0
        assert not square.any()
        apart = weights.clone()
        apart[:, 0] = 0
        if not first:
            apart[0] = 0
            apart.fill_diagonal_(0)
        assert one["max_activation"] == pytest.approx(float(apart.max()), abs=HALF)


def test_what_headvis_reads_first(seen: Recording, folder: Path) -> None:
    config = read(folder, "config.json")
    assert config["heads"] == [[layer, head] for layer in range(6) for head in range(4)]
    assert (config["n_layers"], config["n_heads"], config["n_intervals"]) == (6, 4, 2)
    assert config["head_data_pattern"] == "L{layer}H{head}.json"
    assert (config["has_umap"], config["umap_heads"]) == (False, [])
    assert (config["sites"], config["badge"]) == (seen.sites, str(seen.badge))
    assert set(config["metrics"]) == set(config["metric_descriptions"])
    for layer, head in config["heads"]:
        found = read(folder, f"heads/L{layer}H{head}.json")
        assert {one["key"] for one in config["custom_plots"] + config["custom_tables"]} <= set(found)
        assert set(config["statistics_display"]) == set(found["statistics"])
        assert sorted(one["interval"] for one in found["sequences"]) == [1, 2]  # no interval is empty
        for plot in config["custom_plots"]:
            edges, values = found[plot["key"]]["bin_edges"], found[plot["key"]]["bin_values"]
            assert (len(edges), edges) == (len(values) + 1, sorted(edges))
    assert (read(folder, "server_config.json"), read(folder, "attributions/manifest.json")) == ({}, {})


def test_the_table_of_heads_is_regard_s_own(seen: Recording, folder: Path) -> None:
    rows = read(folder, "scatter_data.json")
    assert len(rows) == 6 * 4
    assert all(isinstance(number, float | int) for number in rows[0].values()), (
        "HeadVis reads the metrics off the first"
    )
    lines = {(seen.sites.index(line.site), line.head): line for line in seen.heads().lines}
    for row in rows:
        line = lines[row["layer"], row["head"]]
        assert row["pattern_entropy"] == pytest.approx(line.entropy, abs=HALF)
        for name, number in (("self_attention_score", line.own), ("qk_distance", line.distance)):
            assert row[name] is None if math.isnan(number) else row[name] == pytest.approx(number, abs=HALF)


def test_what_stands_beside_a_head(tmp_path: Path) -> None:
    """Sums over the weights that are kept."""
    call = named(noise(1, 1, 12, spread=3.0, causal=True), ["a", "b"] * 6)
    write_headvis([call], tmp_path / "data", "noise")
    found = read(tmp_path / "data", "heads/L0H0.json")
    square = dense(found["sequences"][0])
    places = torch.arange(12)
    counts = [0] * 5
    for query, key in square.nonzero().tolist():
        counts[abs(query - key).bit_length()] += 1
    histogram = found["qk_distance_histogram"]
    assert histogram["bin_edges"] == [0, 1, 2, 4, 8, 16][: len(histogram["bin_values"]) + 1]
    assert histogram["bin_values"] == counts[: len(histogram["bin_values"])]
    for name, sums in (("top_key_tokens", square.sum(0)), ("top_query_tokens", square.sum(1))):
        expected = {token: float(sums[places % 2 == side].sum()) for side, token in enumerate("ab")}
        told = {one["token"]: one["weight"] for one in found[name]}
        assert told == pytest.approx(expected, abs=1e-3)
        assert [one["weight"] for one in found[name]] == sorted(told.values(), reverse=True)


def test_many_texts_from_weak_to_strong(tmp_path: Path) -> None:
    """Ten intervals, of which each shows some texts."""
    calls = [noise(1, 1, 6, spread=spread / 40, seed=spread) for spread in range(230)]
    write_headvis(calls, tmp_path / "data", "noise")
    sequences = read(tmp_path / "data", "heads/L0H0.json")["sequences"]
    assert read(tmp_path / "data", "config.json")["n_intervals"] == 10
    assert [one["interval"] for one in sequences] == [place for place in range(1, 11) for _ in range(20)]
    assert [one["max_activation"] for one in sequences] == sorted(one["max_activation"] for one in sequences)
    assert len({one["sequence_id"] for one in sequences}) == 200


def test_hostile_tokens_are_strings(tmp_path: Path) -> None:
    tokens = ["</script>", "\ud800", "\u202e", "x" * 10_000]
    write_headvis([named(noise(1, 1, 4), tokens)], tmp_path / "data", "<b>")
    assert read(tmp_path / "data", "heads/L0H0.json")["sequences"][0]["tokens"] == tokens


def test_a_folder_that_holds_something_stays_as_it_is(tmp_path: Path) -> None:
    call = noise(1, 1, 4)
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(FileError, match="no empty folder"):
        write_headvis([call], tmp_path, "noise")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    (tmp_path / "empty").mkdir()
    write_headvis([call], tmp_path / "empty", "noise")
    assert (tmp_path / "empty" / "config.json").is_file()
    with pytest.raises(InputError, match="nothing was recorded"):
        write_headvis([ForwardCall({})], tmp_path / "none", "noise")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "mine.txt"]
