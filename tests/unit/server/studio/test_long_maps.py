"""Maps that were pooled when they were recorded: coarse tiles, marginals and the strongest cells are read from them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from fastapi.testclient import TestClient

import regard
from regard.lens.map_answers import strongest_cells
from regard.lens.recording_api import Recording
from regard.models import Decoder, DecoderConfig
from regard.server.studio import map_questions
from regard.server.studio.catalogue import StudioCatalogue
from tests.studio_cases import close, get, look, numbers, sentence, studio_client

TOKENS, SITE, HEAD = 200, "decoder.0.self", 1


@pytest.fixture(scope="module")
def seen() -> Recording:
    torch.manual_seed(0)
    config = DecoderConfig(dim=16, heads=2, feedforward=16, layers=1, vocabulary=50, max_length=TOKENS)
    model = Decoder(config).eval()
    with torch.no_grad():
        model.blocks[0].self_attention.qkv.weight.mul_(4)  # weights that differ
        with regard.watch(model) as recording:
            model(torch.randint(50, (1, TOKENS)))
    return recording


@pytest.fixture(scope="module")
def long_client(seen: Recording, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder: Path = tmp_path_factory.mktemp("long")
    seen.pool(cell=8).save(folder / "pooled.regard")
    seen.save(folder / "plain.regard")
    names = [str(folder / f"{name}.regard") for name in ("pooled", "plain")]
    with studio_client(StudioCatalogue.of(names)) as client:
        yield client


@pytest.fixture
def pooled(long_client: TestClient) -> str:
    return str(look(long_client, "", "recording:pooled")["id"])


def test_a_long_map_is_described(long_client: TestClient) -> None:
    cells = [look(long_client, "", f"recording:{name}")["sites"][0]["pooled"] for name in ("pooled", "plain")]
    assert cells == [8, None]


@pytest.mark.parametrize("by", ["mass", "max", "mean"])
def test_coarse_tiles_begin_with_whole_cells(
    long_client: TestClient, pooled: str, seen: Recording, by: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(map_questions, "COMPUTED", 1)  # nothing of this need be computed
    asked = {"site": SITE, "head": HEAD, "rows": "5:181", "columns": "3:100", "height": 16, "width": 8, "by": by}
    tile, meta = numbers(long_client, f"looks/{pooled}/tile", **asked)
    assert (meta["cell"], meta["rows"], meta["columns"]) == ([16, 16], [0, 192], [0, 112])
    close(tile, seen.tile(SITE, HEAD, (0, 192), (0, 112), cell=16, pool=by))
    whole, meta = numbers(long_client, f"looks/{pooled}/tile", site=SITE, head=HEAD, height=25, width=25, by=by)
    assert whole.shape == (25, 25)
    close(whole, seen.tile(SITE, HEAD, cell=8, pool=by))


def test_what_was_not_pooled_is_computed_or_refused(
    long_client: TestClient, pooled: str, seen: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = look(long_client, "", "recording:plain")["id"]
    fine, _ = numbers(long_client, f"looks/{pooled}/tile", site=SITE, head=HEAD, rows="5:15", columns="3:9")
    close(fine, seen.weights(SITE, HEAD, (5, 15), (3, 9)))
    monkeypatch.setattr(map_questions, "COMPUTED", 1000)
    for path, fields in (("tile", {"height": 4, "bins": 3}), ("marginals", {"bins": 3}), ("strongest", {})):
        refused = long_client.get(f"/api/looks/{plain}/{path}", params={"site": SITE, "head": 0, **fields})
        assert "regard record --pool" in sentence(refused, 413)
    monkeypatch.setattr(map_questions, "CELLS", 10)
    refused = long_client.get(f"/api/looks/{plain}/weights", params={"site": SITE})
    assert "ask for tiles" in sentence(refused, 413)


def test_marginals_are_read(
    long_client: TestClient, pooled: str, seen: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(map_questions, "COMPUTED", 1)
    both, _ = numbers(long_client, f"looks/{pooled}/marginals", site=SITE, head=HEAD)
    close(both[0], seen.statistics(SITE).entropy[0, HEAD])
    close(both[1], seen.received(SITE)[0, HEAD])
    part, meta = numbers(
        long_client, f"looks/{pooled}/marginals", site=SITE, head=HEAD, bins=40, rows="50:90", columns="7:"
    )
    assert (meta["rows"], meta["row_cell"]) == ([50, 90], 1)
    assert torch.equal(part[0], both[0, 50:90])
    assert meta["columns"][0] == 7
    close(part[1, 0], both[1, 7 : 7 + meta["column_cell"]].mean())


@pytest.mark.parametrize("fields", [{}, {"all": True}, {"rows": "50:133", "columns": "3:77"}, {"count": 100}])
def test_the_strongest_cells_are_the_same(
    long_client: TestClient, pooled: str, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = look(long_client, "", "recording:plain")["id"]
    expected = get(long_client, f"looks/{plain}/strongest", site=SITE, head=HEAD, **fields)
    monkeypatch.setattr(strongest_cells, "FEW", 0)
    monkeypatch.setattr(map_questions, "COMPUTED", 1)
    found = get(long_client, f"looks/{pooled}/strongest", site=SITE, head=HEAD, **fields)
    least = expected[-1]["weight"] * 1.001  # of which others may be nearly as strong
    cells = [{(one["row"], one["column"]) for one in some if one["weight"] > least} for some in (found, expected)]
    assert cells[0] == cells[1]
    close([one["weight"] for one in found], torch.tensor([one["weight"] for one in expected]))
