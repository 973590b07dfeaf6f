"""Who holds what: the models being held, and an attention call led through all who hold its model.

Each holder stands between the model and `attend` as a hook of `regard.models.seam` does, the newest outermost: it gets
the site, the next in line and the arguments, and gives back the output. One that records tells its recorder.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from torch import Tensor, nn

from regard.attention import attend
from regard.attention.inputs import ScoreOptions
from regard.lens.capture import Seen
from regard.lens.holding.call import Call, unchanged
from regard.lens.holding.stack import Stack, recomputing, refuse
from regard.models.seam import Attend, Hook


class Listener(Protocol):
    """What a recorder offers: see `regard.lens.capture.Recorder`."""

    def begin_call(self, ids: Tensor | None = None, *, target: Tensor | None = None) -> None: ...
    def end_call(self, *, order: Tensor | None = None) -> None: ...
    def see(self, seen: Seen) -> None: ...


class Grip:
    """One hold on one model."""

    def __init__(self, model: nn.Module, recorder: Listener | None, hook: Hook | None) -> None:
        self.model, self.recorder, self.hook = model, recorder, hook
        self.stack = Stack({id(module): name for name, module in model.named_modules()})
        self.thread = threading.get_ident()
        self.generating = False
        self.read = 0  # tokens of the text that this generation has read
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
        if self.late:
            self.recorder.begin_call()
            self.late = False
        query, key, value, output = (tensor.detach() for tensor in tensors)
        options: ScoreOptions = {name: more[name] for name in ScoreOptions.__annotations__ if name in more}  # type: ignore[assignment]
        self.recorder.see(
            Seen(
                site, query, key, value, output, options, call.implementation,
                first_key=call.first_key, dropout=more.get("dropout", 0.0),
            )
        )  # fmt: skip

    def fresh(self, ids: Tensor | None, kwargs: dict[str, Any]) -> Tensor | None:
        """The ids that are new at this turn: without a cache each turn reads the whole text again."""
        if ids is None or not self.generating:
            return ids
        known = self.read if kwargs.get("past_key_values") is None and ids.shape[1] > self.read else 0
        self.read += ids.shape[1] - known
        return ids[:, known:]

    def enter(self, module: nn.Module) -> None:
        """A part of the model is called, perhaps by itself: then it is a call of its own once it attends."""
        if not self.stack.frames and not self.generating:
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


GRIPS: list[Grip] = []
BUSY = threading.local()  # is an attention being computed in this thread? What it calls itself is no other attention


def computing() -> bool:
    return getattr(BUSY, "now", False)


@contextmanager
def busy() -> Iterator[None]:
    before, BUSY.now = computing(), True
    try:
        yield
    finally:
        BUSY.now = before


def lead(call: Call, module: nn.Module | None) -> Tensor:
    """The output (B, H, Q, V) of a call, through everyone who holds this module or, without one, is calling one."""
    compute: Attend = partial(plainly, call)
    for grip in GRIPS:
        if grip.called if module is None else id(module) in grip.stack.names:
            site = grip.stack.name(module) if recomputing() else grip.stack.site(module)
            compute = partial(grip.stand, call, site, compute)
    with busy():
        output: Tensor = compute(call.query, call.key, call.value, **call.options, dropout=call.dropout)
    return output


def plainly(call: Call, query: Tensor, key: Tensor, value: Tensor, **more: Any) -> Tensor:
    """As the model would have computed it; by `attend` once a hook has changed something."""
    compute = call.compute if unchanged(call, query, key, value, more) else attend
    output: Tensor = compute(query, key, value, **more)
    return output


def calling() -> bool:
    """Is a module of a held model being called in this thread?"""
    return any(grip.called for grip in GRIPS)


@contextmanager
def gripped(grip: Grip) -> Iterator[None]:
    GRIPS.append(grip)
    try:
        yield
    finally:
        newest = next(place for place in reversed(range(len(GRIPS))) if GRIPS[place] is grip)
        del GRIPS[newest]
