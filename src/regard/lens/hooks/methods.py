"""Methods of single modules, led through others for as long as somebody holds the module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from typing import Any

from torch import nn

Method = Callable[..., Any]
Around = Callable[[Method], Method]


class Chain:
    """Stands in a module in place of one method; the newest layer is outermost, and any may leave first."""

    def __init__(self, module: nn.Module, name: str) -> None:
        self.method: Method = getattr(module, name)
        self.own = name in module.__dict__  # else its class has it
        self.layers: list[Around] = []
        update_wrapper(self, self.method)  # transformers reads the names of its arguments

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        method = self.method
        for around in self.layers:
            method = around(method)
        return method(*args, **kwargs)


@contextmanager
def led(module: nn.Module, name: str, around: Around) -> Iterator[None]:
    """This method of this one module led through `around`; afterwards the module has what it had."""
    found = module.__dict__.get(name)
    chain = found if isinstance(found, Chain) else Chain(module, name)
    chain.layers.append(around)
    module.__dict__[name] = chain
    try:
        yield
    finally:
        chain.layers.remove(around)
        if not chain.layers and chain.own:
            module.__dict__[name] = chain.method
        elif not chain.layers:
            module.__dict__.pop(name, None)
