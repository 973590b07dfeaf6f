"""One session: whoever watches or changes a model, from the first forward call inside the block to its release.

Three adapters (our seam, Hugging Face's interface, PyTorch's functions) lead every attention of a model to `dispatch`
or to `Session.attend`, and say where its calls begin, go on and end. All that is the same for all models is here: one
thread at a time, calls and their turns, hooks in order, and release in any order.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from regard.attention import attend
from regard.attention.torch_names import COMPILED, in_backward, past_own_mode, unwatched
from regard.errors import InputError
from regard.lens.assembly.step import AttentionCapture
from regard.lens.hooks.attention_call import AttentionCall, Kernel, score_options
from regard.lens.hooks.modules import ModuleStack, looks_like_attention, refuse
from regard.models.seam import Attend, Hook

SESSIONS: tuple[Session, ...] = ()  # innermost first; a new tuple whenever one comes or goes, since threads read it
REGISTER = threading.Lock()
COMPUTING = threading.local()  # is an attention being computed in this thread? What it calls itself is no other


class CallListener(Protocol):
    """What a recorder offers: see `regard.lens.assembly.recorder.Recorder`."""

    def begin_call(self, ids: Tensor | None = None, *, target: Tensor | None = None) -> None: ...
    def end_call(self, *, order: Tensor | None = None) -> None: ...
    def capture(self, capture: AttentionCapture) -> None: ...


class Session:
    """One watch of a model (with a recorder), or one change of it (with a hook)."""

    def __init__(self, model: nn.Module, recorder: CallListener | None = None, hook: Hook | None = None) -> None:
        self.model, self.recorder, self.hook = model, recorder, hook
        self.stack = ModuleStack({id(part): name.replace(COMPILED, "") for name, part in model.named_modules()})
        self.thread, self.lock = threading.get_ident(), threading.RLock()
        self.generating = False
        self.tokens_read = 0  # of the text that this generation writes
        self.beam_orders: list[Tensor] = []  # one for each search that has ended
        self.late = False  # is a part of the model being called by itself, of which the recorder does not know yet?
        self.alone = False  # is one, of which it knows?
        self.mode: AbstractContextManager[Any] | None = None  # PyTorch's functions caught, while one is

    @property
    def called(self) -> bool:
        """Is a module of this model being called, in this thread?"""
        return bool(self.stack.frames) and self.thread == threading.get_ident()

    def computed_again(self) -> bool:
        """Does gradient checkpointing compute what was captured before? What was changed is to be changed again."""
        return self.hook is None and in_backward()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """While a text is being read, no other thread may use the model: nobody could tell whose attention it is."""
        if not self.lock.acquire(blocking=False):
            raise InputError(
                "two threads use this model at once while it is watched or changed",
                do="let them take turns, or give each a copy of the model",
            )
        try:
            yield
        finally:
            self.lock.release()

    def attend(
        self, site: str, compute: Attend, query: Tensor, key: Tensor, value: Tensor,
        *, call: AttentionCall | None = None, projection: Tensor | None = None, **options: Any,
    ) -> Tensor:  # fmt: skip
        """Between the model and what computes its attention; `compute` is the next in line."""
        with self.exclusive():
            if self.hook is not None:
                return self.hook(site, compute, query, key, value, **options)
            compute = Kernel() if compute is attend else compute
            output = compute(query, key, value, **options)
            if self.recorder is not None and not in_backward():
                self.begin_late()
                lse = compute.lse if isinstance(compute, Kernel) else None
                with unwatched():  # our own mode, and those of others, need not look at what we do
                    self.recorder.capture(captured(site, (query, key, value, output), lse, options, call, projection))
            return output

    def begin_late(self) -> None:
        """The first attention of a part that is called by itself begins a call."""
        if not self.late or self.recorder is None:
            return
        if self.generating:
            self.next_text()
        else:
            self.recorder.begin_call()
            self.alone = True
        self.late = False

    @contextmanager
    def reading(self, module: nn.Module, ids: Tensor | None, target: Tensor | None, *, cached: bool) -> Iterator[None]:
        """A forward call of the model, or of one within it that reads a text."""
        if self.recorder is not None:
            with unwatched():
                self.recorder.begin_call(self.new_ids(ids, cached), target=self.new_ids(target, cached))
        try:
            self.thread = threading.get_ident()
            self.stack.push(module)
            yield
            self.stack.pop(module)
            self.check_complete(whole=True)
        finally:
            self.stack.clear()
            if self.recorder is not None:
                self.recorder.end_call()

    @contextmanager
    def writing(self, source: Tensor | None, beam_orders: list[Tensor]) -> Iterator[None]:
        """A generation, whose forward calls are its turns; `beam_orders` gets one when a search has ended."""
        assert self.recorder is not None
        self.generating, self.tokens_read, self.beam_orders = True, 0, beam_orders
        self.recorder.begin_call(source)
        try:
            yield
        finally:
            self.generating = False
            self.recorder.end_call(order=beam_orders.pop() if beam_orders else None)

    def next_text(self) -> None:
        """While generating, after words were read, another text begins: it is another call of the recording.

        So Whisper hears a long recording: piece by piece, the encoder anew for each.
        """
        if self.recorder is not None and self.tokens_read:
            self.recorder.end_call(order=self.beam_orders.pop() if self.beam_orders else None)
            self.recorder.begin_call()
            self.tokens_read = 0

    def new_ids(self, ids: Tensor | None, cached: bool) -> Tensor | None:
        """The ids that are new at this turn: without a cache each turn reads the whole text again."""
        if ids is None or not self.generating:
            return ids
        known = self.tokens_read if not cached and ids.shape[1] > self.tokens_read else 0
        self.tokens_read += ids.shape[1] - known
        return ids[:, known:]

    def enter(self, module: nn.Module) -> bool:
        """A module of the model is called. Is it the outermost? By itself it is a call of its own once it attends."""
        with self.exclusive():
            outermost = not self.stack.frames
            if outermost:
                self.late, self.thread = True, threading.get_ident()
                self.lock.acquire()  # until it has returned
            self.stack.push(module)
        return outermost

    def leave(self, module: nn.Module, *, failed: bool) -> bool:
        """It has returned, or failed. Was it the outermost?"""
        self.stack.pop(module)
        if self.stack.frames:
            return False
        try:
            if not failed:
                self.check_complete(whole=False)
        finally:
            self.stack.clear()
            if self.alone and self.recorder is not None:
                self.recorder.end_call()
            self.late = self.alone = False
            self.lock.release()
        return True

    def check_complete(self, *, whole: bool) -> None:
        """The end of a pass through the model or a part of it: refused if attention ran that nobody could see."""
        missing = self.stack.missing()
        if missing or (whole and not self.stack.counts):
            raise refuse(self.model, missing)


def captured(
    site: str, tensors: tuple[Tensor, ...], lse: Tensor | None, options: dict[str, Any], call: AttentionCall | None,
    projection: Tensor | None,
) -> AttentionCapture:  # fmt: skip
    """What a recorder gets of one attention: as it was computed, after all changes."""
    query, key, value, output = (tensor.detach() for tensor in tensors)
    if query.dtype == torch.float32 and torch.is_autocast_enabled(query.device.type):
        rounded = torch.get_autocast_dtype(query.device.type)  # on their way into the kernel
        query, key, lse = query.to(rounded), key.to(rounded), None
    score = score_options(options)
    return AttentionCapture(
        site, query, key, value, output, score, "regard" if call is None else call.implementation,
        first_key=options.get("first_key", 0), dropout=options.get("dropout", 0.0),
        lse=None if lse is None else lse.detach(), projection=projection if call is None else call.projection,
        compact=call is not None and score.get("mask") is call.options.get("mask"),
    )  # fmt: skip


def dispatch(call: AttentionCall, module: nn.Module | None) -> tuple[Tensor, AttentionCall]:
    """The output (B, H, Q, V) of a call, through every session of this module's model.

    Without a module, of those whose model is being called. And the call as it was computed in the end.
    """
    kernel = Kernel(call)
    compute: Attend = kernel
    for session in SESSIONS:
        if session.called if module is None else id(module) in session.stack.names:
            site = session.stack.site(module) if in_backward() else session.stack.count(module)
            compute = partial(session.attend, site, compute, call=call) if session.hook is None else partial(
                session.attend, site, compute)  # fmt: skip
    options: dict[str, Any] = {**call.options, "dropout": call.dropout}
    if call.first_key:
        options["first_key"] = call.first_key  # for hooks that count positions, as a cache forgets its first keys
    with computing():
        output: Tensor = compute(call.query, call.key, call.value, **options)
    assert kernel.call is not None
    return output, kernel.call


@contextmanager
def computing() -> Iterator[None]:
    """What happens within is part of an attention that is known already."""
    before, COMPUTING.now = is_computing(), True
    try:
        with past_own_mode():  # which looks at nothing now
            yield
    finally:
        COMPUTING.now = before


def is_computing() -> bool:
    return getattr(COMPUTING, "now", False)


def innermost_module() -> nn.Module:
    """The module that is being called in this thread, of a model with a session."""
    return next(session.stack.frames[-1].module for session in SESSIONS if session.called)


def attention_around(module: nn.Module) -> nn.Module | None:
    """The attention module that is being called and called this one, if there is such: BERT's has two parts."""
    for session in SESSIONS:
        modules = [frame.module for frame in session.stack.frames]
        if module in modules[1:]:
            caller = modules[modules.index(module) - 1]
            return caller if looks_like_attention(caller) else None
    return None


def is_calling() -> bool:
    """Is a module of a model with a session being called in this thread?"""
    return any(session.called for session in SESSIONS)


@contextmanager
def registered(session: Session) -> Iterator[None]:
    """`dispatch` knows the session; one that only watches stands next to the attention, hooks outside of it."""
    global SESSIONS
    with REGISTER:
        SESSIONS = (session, *SESSIONS) if session.hook is None else (*SESSIONS, session)
    try:
        yield
    finally:
        with REGISTER:
            SESSIONS = tuple(one for one in SESSIONS if one is not session)
