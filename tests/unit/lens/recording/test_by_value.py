"""By "value": each weight times the norm of what it brings, exactly, pooled or not; drawn, a share of the largest."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from regard.errors import InputError, UnknownNameError
from regard.lens.draw.heat import View, heats
from regard.lens.recording_api import Recording
from tests.oracle import tile as dense_tile
from tests.unit.lens.recording.test_maps import OPTIONS, B, H, J, Made, N, apart, inputs, record, truth

SITE = "made.0.self"


def norms_of(given: tuple[Tensor, ...]) -> Tensor:
    """(B, H, N): each query head has the values of its key head."""
    return given[3].double().norm(dim=-1).repeat_interleave(H // given[3].shape[1], 1)


@pytest.mark.parametrize("name", OPTIONS)
def test_numbers_are_the_dense_product(name: str) -> None:
    given, options = inputs(), OPTIONS[name]
    seen, norms = record(Made(**options), given), norms_of(given)
    expected = truth(*given[1:], **options).weights * norms[..., None, :]
    bound = (apart(given, options) + 1e-6) * norms.max().item()
    for batch in range(B):
        near = {"atol": bound, "rtol": 0.0}
        torch.testing.assert_close(seen.weights(SITE, batch=batch, by="value").double(), expected[batch], **near)
        torch.testing.assert_close(seen.row(SITE, 2, -3, batch, by="value").double(), expected[batch, 2, -3], **near)
        part = seen.weights(SITE, [3, 0], (2, 7), slice(-6, -1), batch, by="value").double()
        torch.testing.assert_close(part, expected[batch][[3, 0], 2:7, -6:-1], **near)


@pytest.mark.parametrize("pool", ["mass", "max", "mean"])
@pytest.mark.parametrize("name", OPTIONS)
def test_tiles_pool_the_products(name: str, pool: Any) -> None:
    given, options = inputs(), OPTIONS[name]
    seen, norms = record(Made(**options), given), norms_of(given)
    products = truth(*given[1:], **options).weights * norms[..., None, :]
    expected = dense_tile(products.numpy(), (1, N), (0, N - 1), (4, 3), pool)
    found = seen.tile(SITE, rows=(1, N), columns=(0, -1), cell=(4, 3), pool=pool, batch=1, by="value")
    bound = 12 * (apart(given, options) + 1e-6) * norms.max().item()
    torch.testing.assert_close(found.double(), torch.from_numpy(expected[1]), atol=bound, rtol=0)


def test_values_of_nothing_bring_nothing_and_empty_rows_stay_empty() -> None:
    ids, query, key, value = inputs()
    value[:, :, 4] = 0.0
    mask = torch.ones(B, 1, N, N, dtype=torch.bool)
    mask[0, :, 2] = False
    seen = record(Made(mask=mask), (ids, query, key, value))
    found = seen.weights(SITE, by="value")
    assert not found[:, :, 4].any()
    assert not found[:, 2].any()
    assert found.isfinite().all()
    assert not record(Made(), (ids, query, key, 0 * value)).weights(SITE, by="value").any()
    seen.to_svg(site=SITE, by="value")


def test_rows_of_a_mask_far_down_share_as_they_do() -> None:
    """Where a whole row lies at -1e9 its lse is computed again, from the scores alone."""
    mask = torch.zeros(B, 1, N, N)
    mask[:, :, 3] = -1e9
    given = inputs()
    seen = record(Made(mask=mask), given)
    torch.testing.assert_close(
        seen.weights(SITE, by="value").double(), seen.weights(SITE).double() * norms_of(given)[0, :, None]
    )


def test_the_values_must_have_been_kept(tmp_path: Path) -> None:
    seen = record(Made(), inputs(), values=False)
    for ask in (
        lambda: seen.weights(SITE, 0, by="value"),
        lambda: seen.row(SITE, 0, 0, by="value"),
        lambda: seen.tile(SITE, by="value"),
        lambda: seen.to_csv(tmp_path / "x.csv", SITE, 0, by="value"),
        lambda: seen.to_svg(site=SITE, by="value"),
        lambda: seen.to_html(by="value"),
        lambda: seen.show(by="value"),
    ):
        with pytest.raises(InputError, match=r"the values were not kept(.|\n)*values=True"):
            ask()
    for ask in (lambda: seen.weights(SITE, by="valu"), lambda: seen.to_html(by="valu")):
        with pytest.raises(UnknownNameError, match="did you mean 'value'"):
            ask()


# Pictures


def test_a_picture_shows_shares_of_the_head_s_largest_norm() -> None:
    given = inputs()
    seen, norms = record(Made(causal=True), given), norms_of(given)
    assert not seen.last.map(SITE).projected
    shown = heats(seen.last, View(SITE, by="value"), (N, N))
    products = seen.weights(SITE, by="value")
    for head, one in enumerate(shown):
        largest = norms[0, head].max().item()
        torch.testing.assert_close(one.cells_RC, products[head] / largest)
        assert one.cells_RC.max() <= 1
        assert one.largest == pytest.approx(largest)
    (pooled,) = heats(seen.last, View(SITE, 1, by="value"), (4, 4))
    expected = seen.tile(SITE, 1, cell=3, by="value") / norms[0, 1].max() / torch.tensor([3, 3, 3, 2])[:, None]
    torch.testing.assert_close(pooled.cells_RC, expected.float())


def test_the_scale_is_that_of_keys_which_padding_does_not_hide() -> None:
    ids, query, key, value = inputs()
    value[1, :, -1] = 1000.0
    seen = record(Made(**OPTIONS["padding right"]), (ids, query, key, value))
    assert float(seen.last.largest_norms(SITE, 0, 1)) < 100
    assert float(record(Made(), (ids, query, key, value)).last.largest_norms(SITE, 0, 1)) > 1000


def test_pictures_and_tables_say_what_they_show(tmp_path: Path) -> None:
    given = inputs()
    seen, norms = record(Made(causal=True), given), norms_of(given)
    one = seen.to_svg(site=SITE, head=1, by="value")
    assert f"weight times |v|, of the largest {norms[0, 1].max():.3g}" in one
    assert "weight times |v|, of each head&#x27;s largest" in seen.to_svg(site=SITE, by="value")
    assert "times" not in seen.to_svg(site=SITE)
    seen.to_png(tmp_path / "one.png", SITE, 1, by="value")
    seen.to_csv(tmp_path / "one.csv", SITE, 1, by="value")
    with (tmp_path / "one.csv").open() as file:
        lines = list(csv.reader(file))
    assert "weight times |v|;" in lines[0][0]
    found = torch.tensor([[float(cell) for cell in line[1:]] for line in lines[1:]])
    torch.testing.assert_close(found, seen.weights(SITE, 1, by="value"))


# Files


def test_norms_are_in_the_file(tmp_path: Path) -> None:
    seen = record(Made(), inputs())
    seen.save(tmp_path / "one.regard")
    again = Recording.load(tmp_path / "one.regard")
    one, other = seen.last.map(SITE), again.last.map(SITE)
    assert one.norms is not None
    assert other.norms is not None
    assert torch.equal(one.norms, other.norms)
    assert other.projected is one.projected is False


def older(path: Path, change: Any) -> Path:
    """The same file as another version would have written it: `change` gets its tensors and its calls."""
    with safe_open(path, framework="pt") as file:
        metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    calls = json.loads(metadata["calls"])
    change(tensors, calls)
    written = path.with_name("older.regard")
    save_file(tensors, written, metadata={**metadata, "calls": json.dumps(calls)})
    return written


def test_files_with_one_norm_a_key_head_can_be_read(tmp_path: Path) -> None:
    given = inputs()
    seen = record(Made(), given)
    seen.save(tmp_path / "one.regard")

    def change(tensors: dict[str, Tensor], calls: list[dict[str, Any]]) -> None:
        tensors["0.0.norms"] = given[3].norm(dim=-1)
        assert tensors["0.0.norms"].shape == (B, J, N)
        del calls[0]["sites"][0]["projected"]

    again = Recording.load(older(tmp_path / "one.regard", change))
    assert not again.last.map(SITE).projected
    torch.testing.assert_close(again.weights(SITE, by="value"), seen.weights(SITE, by="value"))
    assert "|v|" in again.to_svg(site=SITE, by="value")


def test_files_without_norms_say_so(tmp_path: Path) -> None:
    record(Made(), inputs()).save(tmp_path / "one.regard")

    def change(tensors: dict[str, Tensor], calls: list[dict[str, Any]]) -> None:
        del tensors["0.0.norms"], calls[0]["sites"][0]["projected"]

    again = Recording.load(older(tmp_path / "one.regard", change))
    assert again.weights(SITE).shape == (H, N, N)
    with pytest.raises(InputError, match="the values were not kept"):
        again.weights(SITE, by="value")
