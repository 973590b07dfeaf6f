"""CUDA graphs without a GPU: what is captured is written down operation by operation, and replayed on the same tensors.

As with the real ones, capturing changes nothing; a replay runs no Python of ours, only what was written down, with each
number that was no tensor as it was then; it reads and writes the very tensors of the capture; and to wait for a number
while capturing is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from regard.models import layers

WAITING = {"aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::equal"}


def written(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    """The tensors that an operation writes to."""
    schema = func._schema.arguments
    values = [kwargs.get(argument.name) if index >= len(args) else args[index] for index, argument in enumerate(schema)]
    changed = [
        value
        for argument, value in zip(schema, values, strict=True)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    return [leaf for leaf in tree_leaves(changed) if isinstance(leaf, Tensor)]


def is_view(func: Any) -> bool:
    """Its result is memory that is there already."""
    return any(result.alias_info is not None and not result.alias_info.is_write for result in func._schema.returns)


class FakedGraph:
    """`torch.cuda.CUDAGraph`: a list of operations."""

    def __init__(self) -> None:
        self.operations: list[tuple[Any, tuple[Any, ...], dict[str, Any], list[Tensor]]] = []
        self.replays = 0
        self.capturing = False

    def pool(self) -> str:
        return "pool"

    @torch.no_grad()
    def replay(self) -> None:
        self.replays += 1
        for func, args, kwargs, results in self.operations:
            again = [leaf for leaf in tree_leaves(func(*args, **kwargs)) if isinstance(leaf, Tensor)]
            if not func._schema.is_mutable:
                for old, new in zip(results, again, strict=True):
                    old.copy_(new)


class Capture(TorchDispatchMode):
    """`torch.cuda.graph`: every operation of a with block goes into a graph, and none of them leaves a trace."""

    def __init__(self, graph: FakedGraph, pool: Any = None) -> None:
        super().__init__()
        self.graph = graph
        graph.capturing = True
        self.before: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}

    def __enter__(self) -> Any:
        self.rng = torch.get_rng_state()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.graph.capturing = False
        torch.set_rng_state(self.rng)
        for storage, content in self.before.values():
            storage.copy_(content)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func._schema.name in WAITING:
            raise RuntimeError(f"operation not permitted when stream is capturing: {func}")
        for tensor in written(func, args, kwargs):
            storage = tensor.untyped_storage()
            self.before.setdefault(storage.data_ptr(), (storage, storage.clone()))
        out = func(*args, **kwargs)
        if not is_view(func):
            results = [leaf for leaf in tree_leaves(out) if isinstance(leaf, Tensor)]
            self.graph.operations.append((func, args, kwargs, results))
        return out


class FakedStream:
    """`torch.cuda.Stream` where everything happens at once; `log` has what was asked of any, in order."""

    log: ClassVar[list[str]] = []

    def wait_stream(self, other: FakedStream) -> None:
        self.log.append("wait")


@contextmanager
def on_stream(stream: FakedStream) -> Iterator[None]:
    stream.log.append("work")
    yield


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> list[FakedGraph]:
    """Every graph that is captured from now on."""
    captured: list[FakedGraph] = []
    monkeypatch.setattr(FakedStream, "log", [])

    def graph() -> FakedGraph:
        captured.append(FakedGraph())
        return captured[-1]

    faked: dict[str, Callable[..., Any]] = {
        "CUDAGraph": graph, "graph": Capture, "Stream": FakedStream, "current_stream": FakedStream, "stream": on_stream,
    }  # fmt: skip
    for name, fake in faked.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    monkeypatch.setattr(layers, "recording", lambda tensor: any(graph.capturing for graph in captured))
    monkeypatch.setattr(Tensor, "pin_memory", lambda tensor: tensor.clone())
    return captured
