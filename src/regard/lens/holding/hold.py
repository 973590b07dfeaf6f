"""`hold`: every attention of a model, shown to a recorder or led through a hook, for the length of a with block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

from torch import nn

from regard.lens.holding.generation import generates, held_generate
from regard.lens.holding.grip import Grip, Listener, gripped
from regard.lens.holding.interface import switched
from regard.lens.holding.mode import Mode, slow_path
from regard.lens.holding.stack import recomputing
from regard.lens.holding.texts import read_texts
from regard.models.seam import Hook


@contextmanager
def hold(model: nn.Module, recorder: Listener | None = None, *, hook: Hook | None = None) -> Iterator[None]:
    """Take hold of every attention of `model`.

    A recorder is told of each call of the model and of each attention in it. A hook, as `regard.models.seam` knows it,
    stands between the model and its attention and may change it. Holds nest, the newest outermost; at the end the
    model is as it was.
    """
    grip = Grip(model, recorder, hook)
    with ExitStack() as stack:
        stack.enter_context(gripped(grip))
        stack.enter_context(switched(model))
        stack.enter_context(slow_path())
        stack.enter_context(wrapped(model, "forward", held_forward(grip, model.forward)))
        for part in model.modules():
            if generates(part):
                generate: Any = part.generate
                stack.enter_context(wrapped(part, "generate", held_generate(grip, part, generate)))
            if part is not model:
                stack.enter_context(followed(grip, part))
        stack.enter_context(Mode())
        yield


def held_forward(grip: Grip, forward: Callable[..., Any]) -> Callable[..., Any]:
    """The whole model's forward: one call, or within `generate` one turn of it."""

    @wraps(forward)
    def told(*args: Any, **kwargs: Any) -> Any:
        if grip.stack.frames or recomputing():
            return forward(*args, **kwargs)
        recorder = grip.recorder
        if recorder is not None:
            ids, target = read_texts(grip.model, forward, args, kwargs)
            recorder.begin_call(grip.fresh(ids, kwargs), target=grip.fresh(target, kwargs))
        try:
            grip.stack.push(grip.model)
            result = forward(*args, **kwargs)
            grip.stack.pop(grip.model)
            grip.finish(whole=True)
            return result
        finally:
            grip.stack.clear()
            if recorder is not None:
                recorder.end_call()

    return told


@contextmanager
def followed(grip: Grip, module: nn.Module) -> Iterator[None]:
    """The stack knows while this module is being called."""

    def enter(module: nn.Module, args: Any) -> None:
        if not recomputing():
            grip.enter(module)

    def leave(module: nn.Module, args: Any, output: Any) -> None:
        if not recomputing():
            grip.leave(module, failed=output is None)

    hooks = module.register_forward_pre_hook(enter), module.register_forward_hook(leave, always_call=True)
    try:
        yield
    finally:
        for handle in hooks:
            handle.remove()


@contextmanager
def wrapped(model: nn.Module, name: str, instead: Callable[..., Any]) -> Iterator[None]:
    """A method of this one model exchanged, and put back."""
    before = model.__dict__.get(name)
    model.__dict__[name] = instead
    try:
        yield
    finally:
        if before is None:
            model.__dict__.pop(name, None)
        else:
            model.__dict__[name] = before
