"""`hold`: every attention of a model, shown to a recorder or led through a hook, for the length of a with block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from typing import Any

from torch import nn

from regard.lens.hooks.attention_interface import switched
from regard.lens.hooks.generate import generates, held_generate
from regard.lens.hooks.input_ids import read_texts
from regard.lens.hooks.leading import gripped
from regard.lens.hooks.methods import led
from regard.lens.hooks.module_stack import recomputing
from regard.lens.hooks.session import Grip, Listener
from regard.lens.hooks.torch_functions import Mode
from regard.lens.hooks.torch_settings import slow_path, uncompiled
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
        for context in (gripped(grip), switched(model), slow_path(), uncompiled()):
            stack.enter_context(context)
        for part in model.modules():
            if generates(part):
                stack.enter_context(led(part, "generate", partial(held_generate, grip, part)))
            if part is model or generates(part):
                stack.enter_context(led(part, "forward", partial(held_forward, grip, part)))
            else:
                stack.enter_context(followed(grip, part))
        stack.enter_context(Mode())
        yield


def held_forward(grip: Grip, module: nn.Module, forward: Callable[..., Any]) -> Callable[..., Any]:
    """The forward of a model that reads a text: one call, or within `generate` one turn of it."""

    @wraps(forward)
    def told(*args: Any, **kwargs: Any) -> Any:
        if recomputing():
            return forward(*args, **kwargs)
        with grip.alone():
            if grip.stack.frames:  # it is a part of the model that is being called
                with grip.passing(module):
                    return forward(*args, **kwargs)
            with grip.reading(module, *read_texts(module, forward, args, kwargs), kwargs):
                return forward(*args, **kwargs)

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
