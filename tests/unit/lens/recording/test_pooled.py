"""A pooled map beside a recorded one: the same tiles, read instead of computed, here and from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.errors import InputError
from regard.lens.recording.map import Map
from regard.lens.recording.pooled import PooledMap, cell_for
from regard.lens.recording_api import Recording
from regard.models import Decoder, DecoderConfig

TOKENS, SITE = 70, "decoder.1.self"


@pytest.fixture(scope="module")
def seen() -> Recording:
    torch.manual_seed(0)
    config = DecoderConfig(dim=16, heads=4, feedforward=16, layers=2, vocabulary=50, max_length=TOKENS)
    model = Decoder(config).eval()
    with torch.no_grad(), regard.watch(model) as recording:
        model(torch.randint(50, (1, TOKENS)))
    return recording


@pytest.mark.parametrize("pool", ["mass", "max", "mean"])
@pytest.mark.parametrize(
    ("rows", "columns", "cell"),
    [(None, None, 8), ((16, 64), (0, 32), (16, 8)), ((8, 70), (64, 70), 24), (None, (0, 64), (8, 64))],
)
def test_coarse_tiles_are_read(seen: Recording, pool: Any, rows: Any, columns: Any, cell: Any) -> None:
    pooled = seen.pool(cell=8)
    expected = seen.tile(SITE, 2, rows, columns, cell=cell, pool=pool)
    found = pooled.tile(SITE, 2, rows, columns, cell=cell, pool=pool)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(pooled.tile(SITE, [3, 0], rows, columns, cell, pool),
                               seen.tile(SITE, [3, 0], rows, columns, cell, pool), rtol=1e-5, atol=1e-6)  # fmt: skip


def test_they_are_read_and_not_computed(seen: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    pooled = seen.pool([SITE], cell=8)
    monkeypatch.setattr("regard.lens.recording.map.tile", None)
    assert pooled.tile(SITE, 0, cell=16).shape == (5, 5)
    for rows, columns, cell in (((1, 9), None, 8), (None, (0, 9), 8), (None, None, 4), (None, None, (8, 12))):
        with pytest.raises(TypeError):
            pooled.tile(SITE, 0, rows, columns, cell=cell)
    with pytest.raises(TypeError):
        pooled.tile(SITE, 0, cell=8, by="value")
    with pytest.raises(TypeError):
        pooled.tile("decoder.0.self", 0, cell=8)


def test_rows_and_columns_are_told_too(seen: Recording) -> None:
    one = seen.pool(cell=16).last.pick(SITE, 1, 0).pooled
    assert isinstance(one, PooledMap)
    torch.testing.assert_close(one.entropy[0, 0], seen.statistics(SITE).entropy[0, 1], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(one.received[0, 0], seen.received(SITE)[0, 1], rtol=1e-4, atol=1e-5)


def test_a_file_keeps_them(seen: Recording, tmp_path: Path) -> None:
    pooled = seen.pool([SITE], cell=8)
    pooled.save(tmp_path / "pooled.regard")
    again = Recording.load(tmp_path / "pooled.regard")
    before, after = pooled.last.map(SITE).pooled, again.last.map(SITE).pooled
    assert before is not None
    assert after is not None
    assert after.cell == 8
    for name, tensor in before.tensors().items():
        assert torch.equal(tensor, after.tensors()[name])
    assert again.last.map("decoder.0.self").pooled is None
    assert torch.equal(again.weights(SITE), seen.weights(SITE))


def test_the_cell_is_chosen_by_the_length(seen: Recording) -> None:
    assert [cell_for(tokens) for tokens in (10, 32_768, 32_769, 100_000)] == [8, 8, 16, 32]
    assert seen.pool().last.map(SITE).pooled.cell == 8  # type: ignore[union-attr]


def test_a_bias_of_distances_is_not_pooled(seen: Recording) -> None:
    one = seen.last.map(SITE)
    terms = one.terms.__class__(**{**vars(one.terms), "diagonals": torch.zeros(1, 2 * TOKENS - 1)})
    with pytest.raises(InputError, match="not pooled"):
        Map(**{**vars(one), "terms": terms}).with_pooled()
