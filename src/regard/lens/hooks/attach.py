"""`attach`: every attention of a model leads to a session, for the length of a with block, whoever wrote the model."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from typing import Any

from torch import nn

from regard.attention.torch_names import COMPILED
from regard.errors import InputError, KindError, UnknownNameError
from regard.lens.assembly.builder import follow
from regard.lens.assembly.recorder import Recorder
from regard.lens.assembly.watch_options import WatchOptions
from regard.lens.hooks.modules import Method, only_calculates, read_ids, wrapped
from regard.lens.hooks.session import CallListener, Session, registered
from regard.lens.hooks.shared_settings import slow_path, uncompiled
from regard.models import Recurrent, seams
from regard.models.seam import Hook
from regard.tasks import Generator, Translator


@contextmanager
def attach(model: nn.Module, recorder: CallListener | None = None, *, hook: Hook | None = None) -> Iterator[None]:
    """Take hold of every attention of `model`.

    A recorder is told of each call of the model and of each attention in it. A hook, as `regard.models.seam` knows it,
    stands between the model and its attention and may change it. Sessions nest, the newest outermost, and end in any
    order; at the end the model is as it was.
    """
    model = getattr(model, COMPILED.removesuffix("."), model) if seams(model) else model
    session = Session(model, recorder, hook)
    with uncompiled():
        if seams(model):
            from regard.lens.hooks.own_models import own_model

            with own_model(session):
                yield
            return
        if isinstance(model, Recurrent):
            raise InputError(
                f"this model has no attention to {'watch' if hook is None else 'change'}",
                found=f"{type(model.cells).__name__}: the whole source in one vector",
                do="use a recurrent model with attention=True, or another family",
            )
        with others_model(session):
            yield


@contextmanager
def others_model(session: Session) -> Iterator[None]:
    """A model of Hugging Face's, or any on PyTorch's functions."""
    from regard.lens.hooks.attention_interface import attention_interface  # only then is their library asked for

    with ExitStack() as stack:
        for context in (registered(session), attention_interface(session.model), slow_path()):
            stack.enter_context(context)
        for module in session.model.modules():
            if generates(module):
                from regard.lens.hooks.generate import watched_generate

                stack.enter_context(wrapped(module, "generate", partial(watched_generate, session, module)))
            if module is session.model or generates(module):
                stack.enter_context(wrapped(module, "forward", partial(watched_forward, session, module)))
            elif not only_calculates(module):
                stack.enter_context(followed(session, module))
        yield


def generates(module: nn.Module) -> bool:
    """Has it the `generate` of transformers?"""
    return callable(getattr(module, "generate", None)) and getattr(module, "generation_config", None) is not None


def watched_forward(session: Session, module: nn.Module, forward: Method) -> Method:
    """The forward of a model that reads a text: one call, or within `generate` one turn of it."""
    from regard.lens.hooks.torch_functions import AttentionMode

    @wraps(forward)
    def watched(*args: Any, **kwargs: Any) -> Any:
        if session.computed_again():
            return forward(*args, **kwargs)
        with session.exclusive():
            if not session.stack.frames:
                ids, target = read_ids(module, forward, args, kwargs)
                cached = kwargs.get("past_key_values") is not None
                with session.reading(module, ids, target, cached=cached), AttentionMode():
                    return forward(*args, **kwargs)
            session.enter(module)  # it is a part of the model that is being called
            failed = True
            try:
                output = forward(*args, **kwargs)
                failed = False
                return output
            finally:
                session.leave(module, failed=failed)

    return watched


@contextmanager
def followed(session: Session, module: nn.Module) -> Iterator[None]:
    """The session knows while this module is being called."""
    handles = (
        module.register_forward_pre_hook(EnterHook(session)),
        module.register_forward_hook(LeaveHook(session), always_call=True),
    )
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


class EnterHook:
    """Before the forward of a module. A copy of the module has none of ours: what is in its place does nothing."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def __call__(self, module: nn.Module, args: Any) -> None:
        if not self.session.computed_again() and self.session.enter(module):
            from regard.lens.hooks.torch_functions import AttentionMode

            mode: Any = AttentionMode()
            self.session.mode = mode.__enter__()

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return no_hook, ()


class LeaveHook(EnterHook):
    """After it, also where it has failed."""

    def __call__(self, module: nn.Module, args: Any, output: Any = None) -> None:
        if self.session.computed_again() or not self.session.called:  # another thread, which was refused, comes by too
            return
        mode = self.session.mode if len(self.session.stack.frames) == 1 else None
        if mode is not None:
            self.session.mode = None
            mode.__exit__(None, None, None)
        self.session.leave(module, failed=output is None)


def no_hook() -> Method:
    """A hook that does nothing."""
    return nothing


def nothing(*_: Any) -> None:
    pass


@contextmanager
def record(model: Any, options: WatchOptions) -> Iterator[Recorder]:
    """What `watch` does, without the checks at its end: a recorder of all calls of a module or a task."""
    module, _ = module_of(model)
    recorder = Recorder(options)
    if sites := seams(module):
        check_sites(options, sites)
    with ExitStack() as stack:
        stack.enter_context(attach(module, recorder))
        if isinstance(model, (Translator, Generator)):
            stack.enter_context(wrapped(model, "decode", partial(in_order, recorder)))
        yield recorder


def check_sites(options: WatchOptions, sites: Collection[str]) -> None:
    """Every name or pattern must mean something."""
    for pattern in options.sites or ():
        if not any(WatchOptions((pattern,)).wants(site) for site in sites):
            raise UnknownNameError("site", pattern, sites)


def in_order(recorder: Recorder, decode: Method) -> Method:
    """After each search of a task, its maps are put in the order of the texts it found."""

    def ordered(*args: Any, **kwargs: Any) -> Any:
        begun = len(recorder.calls)
        outputs = decode(*args, **kwargs)
        for call in recorder.calls[begun:]:  # one: a search reads its batch once
            if call.turns and call.steps:
                follow(call, [read_again(output) for output in outputs])
        return outputs

    return ordered


def read_again(output: Any) -> list[int]:
    """The ids of the best text that the decoder read in its turn: all but the last."""
    if not output or isinstance(output[0], int):  # a generator's
        return list(output[:-1])
    best = output[0]
    return list(best.ids) if best.end is not None else list(best.ids[:-1])


def module_of(model: Any) -> tuple[nn.Module, Any]:
    """What is given as a model, a module or a task around one: the module, and the tokenizer that comes with it."""
    if isinstance(model, nn.Module):
        return model, None
    inner = getattr(model, "model", None)
    if not isinstance(inner, nn.Module):
        raise KindError(
            "only a model has attention to look at",
            found=f"{type(model).__module__}.{type(model).__qualname__}",
            do="give a torch module, or what regard.load(FOLDER) gives",
        )
    return inner, getattr(model, "tokenizer", None)
