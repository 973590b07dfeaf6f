"""One hold on one model: which of its parts is being called, which text it reads, and who is told of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from regard.attention.inputs import ScoreOptions
from regard.errors import InputError
from regard.lens.assembly.recorder import Seen
from regard.lens.hooks.attention_call import Call
from regard.lens.hooks.module_stack import Stack, recomputing, refuse
from regard.lens.torch_names import COMPILED, unwatched
from regard.models.seam import Attend, Hook


class Listener(Protocol):
    """What a recorder offers: see `regard.lens.assembly.recorder.Recorder`."""

    def begin_call(self, ids: Tensor | None = None, *, target: Tensor | None = None) -> None: ...
    def end_call(self, *, order: Tensor | None = None) -> None: ...
    def see(self, seen: Seen) -> None: ...


class Grip:
    """One hold on one model."""

    def __init__(self, model: nn.Module, recorder: Listener | None, hook: Hook | None) -> None:
        self.model, self.recorder, self.hook = model, recorder, hook
        self.stack = Stack({id(part): name.replace(COMPILED, "") for name, part in model.named_modules()})
        self.thread, self.lock = threading.get_ident(), threading.RLock()
        self.generating = False
        self.read = 0  # tokens of the text that this generation has read
        self.orders: list[Tensor] = []  # of its beams, one for each search that has ended
        self.late = False  # is a part of the model being called by itself, of which the recorder does not know yet?

    @property
    def called(self) -> bool:
        return bool(self.stack.frames) and self.thread == threading.get_ident()

    def stand(
        self, call: Call, site: str, compute: Attend, query: Tensor, key: Tensor, value: Tensor, **more: Any
    ) -> Tensor:
        """Between the model and what computes its attention."""
        if self.hook is not None:
            return self.hook(site, compute, query, key, value, **more)
        output = compute(query, key, value, **more)
        if not recomputing():
            self.tell(call, site, (query, key, value, output), more)
        return output

    def tell(self, call: Call, site: str, tensors: tuple[Tensor, ...], more: dict[str, Any]) -> None:
        if self.recorder is None:
            return
        if self.late and self.generating:
            self.next_text()
        elif self.late:
            self.recorder.begin_call()
        self.late = False
        query, key, value, output = (tensor.detach() for tensor in tensors)
        if query.dtype == torch.float32 and torch.is_autocast_enabled(query.device.type):
            rounded = torch.get_autocast_dtype(query.device.type)  # on their way into the kernel
            query, key = query.to(rounded), key.to(rounded)
        options: ScoreOptions = {name: more[name] for name in ScoreOptions.__annotations__ if name in more}  # type: ignore[assignment]
        with unwatched():  # our own mode, and those of others, need not look at what we do
            self.recorder.see(
                Seen(
                    site, query, key, value, output, options, call.implementation,
                    first_key=call.first_key, dropout=more.get("dropout", 0.0),
                )
            )  # fmt: skip

    @contextmanager
    def reading(
        self, module: nn.Module, ids: Tensor | None, target: Tensor | None, given: dict[str, Any]
    ) -> Iterator[None]:
        """A call of the model, or of one within it that reads a text: told when it begins and when it has ended."""
        if self.recorder is not None:
            self.recorder.begin_call(self.fresh(ids, given), target=self.fresh(target, given))
        try:
            self.stack.push(module)
            yield
            self.stack.pop(module)
            self.finish(whole=True)
        finally:
            self.stack.clear()
            if self.recorder is not None:
                self.recorder.end_call()

    @contextmanager
    def writing(self, source: Tensor | None, orders: list[Tensor]) -> Iterator[None]:
        """A generation, whose readings are its turns; `orders` gets that of its beams when a search has ended."""
        assert self.recorder is not None
        self.generating, self.read, self.orders = True, 0, orders
        self.recorder.begin_call(source)
        try:
            yield
        finally:
            self.generating = False
            self.recorder.end_call(order=orders.pop() if orders else None)

    def next_text(self) -> None:
        """While generating, after words were read, another text begins: it is another call of the recording.

        So Whisper hears a long recording: piece by piece, the encoder anew for each.
        """
        if self.recorder is not None and self.read:
            self.recorder.end_call(order=self.orders.pop() if self.orders else None)
            self.recorder.begin_call()
            self.read = 0

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While a text is being read, no other thread may use the model: nobody could tell whose attention it is."""
        if not self.lock.acquire(blocking=False):
            raise InputError(
                "two threads use this model at once while it is held",
                do="let them take turns, or hold a copy of the model in each",
            )
        try:
            yield
        finally:
            self.lock.release()

    def fresh(self, ids: Tensor | None, given: dict[str, Any]) -> Tensor | None:
        """The ids that are new at this turn: without a cache each turn reads the whole text again."""
        if ids is None or not self.generating:
            return ids
        known = self.read if given.get("past_key_values") is None and ids.shape[1] > self.read else 0
        self.read += ids.shape[1] - known
        return ids[:, known:]

    @contextmanager
    def passing(self, module: nn.Module) -> Iterator[None]:
        """A part of the model is called, perhaps by itself."""
        self.enter(module)
        failed = True
        try:
            yield
            failed = False
        finally:
            self.leave(module, failed=failed)

    def enter(self, module: nn.Module) -> None:
        """By itself, a part of the model is a call of its own once it attends."""
        if not self.stack.frames:
            self.late = True
        self.stack.push(module)

    def leave(self, module: nn.Module, *, failed: bool) -> None:
        self.stack.pop(module)
        if self.stack.frames:
            return
        begun = bool(self.stack.counts) and not self.generating and self.recorder is not None
        try:
            if not failed:
                self.finish(whole=False)
        finally:
            self.late = False
            self.stack.clear()
            if begun and self.recorder is not None:
                self.recorder.end_call()

    def finish(self, *, whole: bool) -> None:
        """The end of a pass through the model or a part of it: refused if attention ran that nobody could see."""
        missing = self.stack.missing()
        if missing or (whole and not self.stack.counts):
            raise refuse(self.model, missing)
