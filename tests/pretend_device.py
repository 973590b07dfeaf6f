"""A pretend GPU: tensors whose numbers lie on the CPU and that say they lie on "cuda", where there is none.

    with PretendDevice() as gpu:
        model = model.to("cuda")
        model(ids.to("cuda"))
    gpu.launches, gpu.waits

It refuses what a GPU refuses: tensors of two devices in one operation (single numbers may mix, and indices may come
from the CPU). It counts what costs time there: kernels launched, and moments at which the CPU waits for the device (a
number read, a mask as an index, a copy that is not asynchronous).
"""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend
from torch.utils import backend_registration
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_flatten, tree_map

aten = torch.ops.aten
DEVICE = torch.device("privateuseone", 0)
COPIES = {aten._to_copy.default, aten.copy_.default}
INDEXING = {aten.index.Tensor, aten.index_put_.default, aten.index_put.default, aten._index_put_impl_.default}
READING = {
    aten._local_scalar_dense.default, aten.equal.default, aten.nonzero.default, aten.masked_select.default,
    aten.is_nonzero.default, aten._unique2.default, aten.repeat_interleave.Tensor,
}  # fmt: skip
METADATA = {
    aten.detach.default, aten.alias.default, aten._unsafe_view.default, aten.empty.memory_format,
    aten.empty_like.default,
    aten.empty_strided.default, aten.new_empty.default, aten.new_empty_strided.default, aten.lift_fresh.default,
    aten._fused_sdp_choice.default, aten.is_pinned.default, aten._local_scalar_dense.default, aten.set_.source_Tensor,
    aten.record_stream.default,
}  # fmt: skip


class OnDevice(Tensor):
    """Numbers on the CPU that say they lie elsewhere."""

    numbers: Tensor

    @staticmethod
    def __new__(cls, numbers: Tensor) -> OnDevice:
        made: OnDevice = Tensor._make_wrapper_subclass(
            cls, numbers.shape, numbers.stride(), numbers.storage_offset(), dtype=numbers.dtype, device=DEVICE,
            requires_grad=False,
        )  # fmt: skip
        made.numbers = numbers
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        raise RuntimeError(f"{func} after the pretend device was put away")

    def record_stream(self, stream: Any) -> None:
        pass

    def tolist(self) -> Any:
        return self.cpu().tolist()

    def __repr__(self) -> str:  # type: ignore[override]
        return f"OnDevice({self.numbers!r})"


class Stream:
    """One that is always done."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def wait_stream(self, other: Any) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def record_event(self, event: Any = None) -> Any:
        return Event()

    def synchronize(self) -> None:
        pass


class Event:
    """It has happened."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def record(self, stream: Any = None) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def query(self) -> bool:
        return True


class Hook(torch._C._acc.PrivateUse1Hooks):
    """What PyTorch asks of a backend; to the rest of the tests there is none."""

    def is_available(self) -> bool:
        return False

    def has_primary_context(self, index: int) -> bool:
        return True

    def is_built(self) -> bool:
        return True


class Backend:
    """What it asks of the module of a backend."""

    def is_available(self) -> bool:
        return False

    def is_initialized(self) -> bool:
        return True

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed_all(self, seed: int) -> None:
        pass

    def current_device(self) -> int:
        return 0

    def device_count(self) -> int:
        return 1

    Stream, Event = Stream, Event

    def current_stream(self, device: Any = None) -> Stream:
        return Stream()

    def stream(self, stream: Stream) -> AbstractContextManager[None]:
        return nullcontext()

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16]


@cache
def register() -> torch.library.Library:
    """PyTorch's place for devices that it does not know, once in a process; its SDPA is one kernel, as on a GPU."""
    backend_registration._setup_privateuseone_for_python_backend(backend_module=Backend(), hook=Hook())
    library = torch.library.Library("aten", "IMPL")
    library.impl("scaled_dot_product_attention", sdpa, "PrivateUse1")
    return library


def inside(thing: Any) -> Any:
    return thing.numbers if isinstance(thing, OnDevice) else thing


def outside(thing: Any) -> Any:
    return OnDevice(thing) if isinstance(thing, Tensor) and not isinstance(thing, OnDevice) else thing


class PretendDevice(TorchDispatchMode):
    """While it is entered "cuda" can be used; `choice` is the kernel that SDPA is to take there."""

    def __init__(self, choice: SDPBackend = SDPBackend.FLASH_ATTENTION) -> None:
        super().__init__()
        self.choice = choice
        self.kernels: Counter[str] = Counter()
        self.waiting: Counter[str] = Counter()
        self.patches = ExitStack()

    @property
    def launches(self) -> int:
        return self.kernels.total()

    @property
    def waits(self) -> int:
        return self.waiting.total()

    def reset(self) -> None:
        self.kernels.clear()
        self.waiting.clear()

    def __enter__(self) -> PretendDevice:
        register()
        self.patches.callback(torch._C._set_only_lift_cpu_tensors, torch._C._only_lift_cpu_tensors())
        torch._C._set_only_lift_cpu_tensors(True)  # torch.tensor(..., device=...) makes numbers here, then moves them
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.patches.close()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        tensors = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, Tensor)]
        here = any(isinstance(tensor, OnDevice) for tensor in tensors)
        named = kwargs.get("device")
        goal = here if named is None else torch.device(named).type == DEVICE.type
        kwargs.pop("pin_memory", None)
        if not here and not goal:
            return func(*args, **kwargs)
        self.check(func, tensors)
        self.count(func, tensors, args, kwargs, here=here, goal=goal)
        if named is not None:
            kwargs["device"] = torch.device("cpu")
        compute = KERNELS.get(func, func)
        if func is aten._fused_sdp_choice.default:
            masked = self.choice == SDPBackend.FLASH_ATTENTION and len(args) > 3 and args[3] is not None
            return (SDPBackend.EFFICIENT_ATTENTION if masked else self.choice).value
        found = compute(*tree_map(inside, args), **tree_map(inside, kwargs))
        if func is aten.copy_.default:
            return args[0]
        if func is aten._to_copy.default and not goal:
            return found
        found = tree_map(outside, found)
        return return_and_correct_aliasing(func, args, kwargs, found) if here else found

    def check(self, func: Any, tensors: list[Tensor]) -> None:
        """As CUDA does: all tensors there, but for single numbers, copies, and indices."""
        strangers = [one for one in tensors if not isinstance(one, OnDevice) and one.ndim]
        there = any(isinstance(one, OnDevice) for one in tensors)
        if not there or not strangers or func in COPIES:
            return
        if func in INDEXING and isinstance(tensors[0], OnDevice) and all(one.dtype in INDICES for one in strangers):
            self.waiting[f"{func}: indices from the CPU"] += 1
            return
        raise RuntimeError(f"expected all tensors to be on the same device, but {func} got the device and the CPU")

    def count(self, func: Any, tensors: list[Tensor], args: Any, kwargs: Any, *, here: bool, goal: bool) -> None:
        name = str(func)
        masked = func in INDEXING and any(one.dtype in (torch.bool, torch.uint8) for one in tensors[1:])
        crossing = func is aten._to_copy.default and here != goal
        crossing |= func is aten.copy_.default and len({isinstance(one, OnDevice) for one in tensors}) > 1
        patient = kwargs.get("non_blocking") or (func is aten.copy_.default and len(args) > 2 and args[2])
        if func in READING or masked or (crossing and not patient):
            self.waiting[name] += 1
        if not (func.is_view or func in METADATA):
            self.kernels[name] += 1


INDICES = (torch.long, torch.int, torch.bool, torch.uint8)


def with_lse(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, causal: bool, scale: float | None) -> Any:
    """The output in the query's dtype and the lse in float32, as the kernels document them."""
    times = query.shape[1] // key.shape[1]
    wide = torch.promote_types(query.dtype, torch.float32)
    q, k, v = query.to(wide), *(part.to(wide).repeat_interleave(times, 1) for part in (key, value))
    scores = (q @ k.mT) * (query.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if bias is None else scores + bias
    if causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), float("-inf"))
    return (scores.softmax(-1) @ v).to(query.dtype), scores.logsumexp(-1).float()


def sdpa(query: Any, key: Any, value: Any, mask: Any = None, dropout: float = 0.0, causal: bool = False,
         *, scale: float | None = None, enable_gqa: bool = False) -> Any:  # fmt: skip
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill(~mask, float("-inf"))
    return sdpa_output(query, key, value, mask, causal, scale)


def sdpa_output(*inputs: Any) -> Tensor:
    return with_lse(*inputs)[0]  # type: ignore[no-any-return]


def flash(query: Any, key: Any, value: Any, dropout: float = 0.0, causal: bool = False, debug: bool = False,
          *, scale: float | None = None) -> Any:  # fmt: skip
    output, lse = with_lse(query, key, value, None, causal, scale)
    none = torch.empty(0)
    return output, lse, none, none, query.shape[2], key.shape[2], none, none, none


def efficient(query: Any, key: Any, value: Any, bias: Any, compute: bool, dropout: float = 0.0, causal: bool = False,
              *, scale: float | None = None) -> Any:  # fmt: skip
    output, lse = with_lse(query, key, value, bias, causal, scale)
    padded = torch.nn.functional.pad(lse, (0, -lse.shape[-1] % 32), value=float("inf"))
    return output, padded if compute else lse[..., :0], torch.empty(0), torch.empty(0)


def cudnn(query: Any, key: Any, value: Any, bias: Any, compute: bool, dropout: float = 0.0, causal: bool = False,
          debug: bool = False, *, scale: float | None = None) -> Any:  # fmt: skip
    output, lse = with_lse(query, key, value, bias, causal, scale)
    none = torch.empty(0)
    return output, lse[..., None], none, none, query.shape[2], key.shape[2], none, none, none


KERNELS: dict[Any, Any] = {
    aten.scaled_dot_product_attention.default: sdpa,
    aten._scaled_dot_product_flash_attention.default: flash,
    aten._scaled_dot_product_efficient_attention.default: efficient,
    aten._scaled_dot_product_cudnn_attention.default: cudnn,
}
