"""The lse of the forward that ran, from SDPA's kernels on a GPU: which is called, how, and when it is not believed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend

from regard.attention import attend, sdpa_kernels
from regard.attention.attend import attend_with_lse
from regard.attention.logsumexp import logsumexp
from regard.attention.sdpa_kernels import device_kernel, rows_alone
from regard.attention.torch_names import DEVICE_KERNELS
from tests import pretend_device
from tests.bounds import weights_apart
from tests.pretend_device import DEVICE, PretendDevice

BACKENDS = {name: getattr(SDPBackend, name) for name in DEVICE_KERNELS}
KINDS: dict[str, dict[str, Any]] = {
    "all of it": {}, "causal": {"causal": True}, "scaled": {"scale": 0.3},
    "padded": {"mask": torch.arange(12) < torch.tensor([12, 7])[:, None, None, None]},
    "window": {"causal": True, "window": (3, 0)},
}  # fmt: skip


@pytest.fixture(autouse=True)
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pretend device has kernels, and none of them was looked at before."""
    monkeypatch.setattr(sdpa_kernels, "DEVICES", (DEVICE.type,))
    monkeypatch.setattr(sdpa_kernels, "TRUSTED", set())
    monkeypatch.setattr(sdpa_kernels, "REFUSED", set())


@pytest.fixture(params=BACKENDS)
def gpu(request: pytest.FixtureRequest) -> Iterator[PretendDevice]:
    with torch.no_grad(), PretendDevice(BACKENDS[request.param]) as device:
        yield device


def drawn(dtype: torch.dtype, heads: int = 4, served: int = 4, dim: int = 8) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    sizes = ((2, heads, 12, dim), (2, served, 12, dim), (2, served, 12, dim))
    query, key, value = (torch.randn(size, generator=generator).to(dtype) for size in sizes)
    return query, key, value


def there(options: dict[str, Any]) -> dict[str, Any]:
    return {name: part.to(DEVICE) if isinstance(part, Tensor) else part for name, part in options.items()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_output_and_lse_come_from_one_kernel(gpu: PretendDevice, kind: str, dtype: torch.dtype) -> None:
    tensors, options = drawn(dtype), KINDS[kind]
    exact = logsumexp(*(part.double() for part in tensors[:2]), **options)
    moved = [part.to(DEVICE) for part in tensors]
    plain = attend(*moved, **there(options))
    gpu.reset()
    output, lse = attend_with_lse(*moved, **there(options))
    assert any("_scaled_dot_product" in name for name in gpu.kernels)
    assert torch.equal(output.cpu(), plain.cpu())
    assert lse is not None
    assert lse.dtype == torch.float32  # in half precision too: the numbers that it sums are
    bound = weights_apart(tensors[0].float(), tensors[1].float(), options.get("scale", 8**-0.5))
    torch.testing.assert_close(lse.cpu().double(), exact, atol=bound, rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_query_heads_may_share_a_key_head(gpu: PretendDevice, dtype: torch.dtype, causal: bool) -> None:
    query, key, value = drawn(dtype, heads=6, served=2)
    _, lse = attend_with_lse(query.to(DEVICE), key.to(DEVICE), value.to(DEVICE), causal=causal)
    assert lse is not None
    exact = logsumexp(query.double(), key.double(), causal=causal)
    bound = weights_apart(query.float(), key.float(), 8**-0.5)
    torch.testing.assert_close(lse.cpu().double(), exact, atol=bound, rtol=1e-6)


def test_a_kind_is_compared_once_and_then_nothing_is_waited_for(gpu: PretendDevice) -> None:
    moved = [part.to(DEVICE) for part in drawn(torch.bfloat16)]
    gpu.reset()
    attend_with_lse(*moved, causal=True)
    assert gpu.waits
    gpu.reset()
    attend_with_lse(*moved, causal=True)
    assert not gpu.waits
    assert gpu.launches == 1


@pytest.mark.parametrize("wrong", ["output", "lse", "shape", "dtype", "failing"])
def test_what_is_not_the_same_is_not_used_and_said_once(
    gpu: PretendDevice, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = pretend_device.with_lse

    def lying(query: Tensor, *others: Any) -> Any:
        output, lse = honest(query, *others)
        if wrong == "failing":
            raise RuntimeError("no kernel for this")
        return {
            "output": (output + 0.01, lse), "lse": (output, lse + 0.01), "shape": (output, lse.mT),
            "dtype": (output, lse.double()),
        }[wrong]  # fmt: skip

    moved = [part.to(DEVICE) for part in drawn(torch.float32)]
    plain = attend(*moved)
    monkeypatch.setattr(pretend_device, "sdpa_output", lambda *inputs: honest(*inputs)[0])
    monkeypatch.setattr(pretend_device, "with_lse", lying)
    with pytest.warns(UserWarning, match="second pass"):
        output, lse = attend_with_lse(*moved)
    assert torch.equal(output.cpu(), plain.cpu())
    assert lse is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        output, lse = attend_with_lse(*moved)
    assert torch.equal(output.cpu(), plain.cpu())
    assert lse is None


def test_where_there_is_no_room_to_compare_sdpa_serves(gpu: PretendDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparing takes more memory than SDPA alone; with more room the next call compares again."""

    def too_much(*_: Any) -> bool:
        raise torch.OutOfMemoryError("CUDA out of memory")

    moved = [part.to(DEVICE) for part in drawn(torch.float32)]
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error")
        patch.setattr(sdpa_kernels, "agrees", too_much)
        output, lse = attend_with_lse(*moved)
    assert lse is None
    assert torch.equal(output.cpu(), attend(*moved).cpu())
    assert attend_with_lse(*moved)[1] is not None


def test_where_sdpa_takes_another_path_there_is_no_lse() -> None:
    with torch.no_grad(), PretendDevice(SDPBackend.MATH):
        moved = [part.to(DEVICE) for part in drawn(torch.float32)]
        output, lse = attend_with_lse(*moved)
        assert lse is None
        assert torch.equal(output.cpu(), attend(*moved).cpu())


def test_other_devices_are_let_be(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device_kernel(drawn(torch.float32), None, False, 0.3) is None
    monkeypatch.setattr(sdpa_kernels, "DEVICES", ("cuda",))
    with torch.no_grad(), PretendDevice():
        query, key, value = (part.to(DEVICE) for part in drawn(torch.float32))
        assert device_kernel((query, key, value), None, False, 0.3) is None


@pytest.mark.parametrize("kernel", DEVICE_KERNELS)
@pytest.mark.parametrize("queries", [1, 32, 37])
def test_pytorch_s_own_shapes_are_understood(kernel: str, queries: int) -> None:
    """As its rules for the true kernels give them, which need no GPU."""
    query = torch.empty(2, 4, queries, 64, device="meta", dtype=torch.bfloat16)
    key = torch.empty(2, 4, 50, 64, device="meta", dtype=torch.bfloat16)
    output, lse = DEVICE_KERNELS[kernel]((query, key, key), None, False, 0.125)
    assert output.shape == query.shape
    assert rows_alone(lse, query).shape == query.shape[:-1]
