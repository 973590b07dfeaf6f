"""The adapter for our models: their seams tell what attention computed, their methods where a text begins and goes on.

The model's outputs stay exactly what they were: the next function in the seam is called as it is, and everything else
is computed beside it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor, nn
from torch.utils.weak import WeakTensorKeyDictionary

from regard.errors import InputError
from regard.lens.assembly.recorder import CallSteps, Recorder
from regard.lens.hooks.modules import Around, Method, unwrap, wrap, wrapped
from regard.lens.hooks.session import Session
from regard.models import Decoder, Recurrent, Transformer
from regard.models.layers import Cache
from regard.models.recurrent import State
from regard.models.seam import Seam


@contextmanager
def own_model(session: Session) -> Iterator[None]:
    """Every seam of its model leads to the session, and the model's methods say which text is read."""
    with ExitStack() as stack:
        for module in session.model.modules():
            if isinstance(seam := getattr(module, "seam", None), Seam):
                stack.enter_context(seam.hooked(at_seam(session, module), innermost=session.hook is None))
        for name, around in methods(session, stack).items():
            stack.enter_context(wrapped(session.model, name, around))
        yield


def at_seam(session: Session, module: nn.Module) -> Callable[..., Tensor]:
    out = getattr(module, "out", None)
    return partial(session.attend, projection=out.weight.detach() if isinstance(out, nn.Linear) else None)


class Calls:
    """Which call of the recording each forward, cache and state belongs to."""

    def __init__(self, session: Session, recorder: Recorder, stack: ExitStack) -> None:
        self.session, self.recorder, self.stack = session, recorder, stack
        pad = getattr(getattr(session.model, "config", None), "pad", None)
        self.pad = pad if isinstance(pad, int) else None
        self.caches: WeakKeyDictionary[Any, CallSteps] = WeakKeyDictionary()

    def open(self) -> CallSteps:
        call = self.recorder.open()
        call.pad = self.pad
        return call

    def of_cache(self, cache: Cache | None, make: Callable[[], CallSteps]) -> CallSteps:
        """The call that was begun with this cache, whose beams are followed; without a cache, a new one each time."""
        if cache is None:
            return make()
        if cache not in self.caches:
            self.caches[cache] = make()
            if hasattr(cache, "select"):
                self.follow_beams(cache, partial(followed_select, self.caches[cache]))
        return self.caches[cache]

    def follow_beams(self, cache: Cache, around: Around) -> None:
        """Until the session ends, or nobody uses the cache any more."""
        method, unused = wrap(cache, "select", around), weakref.ref(cache)
        self.stack.callback(lambda: None if (used := unused()) is None else unwrap(used, method, around))

    def outermost(self, read: Callable[..., Any]) -> Around:
        """A method that reads a text, `read(method, ...)`; called by another such method it is a part of that call."""

        def around(method: Method) -> Method:
            @wraps(method)
            def reading(*args: Any, **kwargs: Any) -> Any:
                with self.session.exclusive():
                    if self.recorder.depth:
                        return method(*args, **kwargs)
                    return read(method, *args, **kwargs)

            return reading

        return around


def one_thread(session: Session, method: Method) -> Method:
    """Where heads are changed nothing is recorded; but a change knows its position, and serves one text at a time."""

    @wraps(method)
    def alone(*args: Any, **kwargs: Any) -> Any:
        with session.exclusive():
            return method(*args, **kwargs)

    return alone


def followed_select(call: CallSteps, method: Method) -> Method:
    """The cache's `select`, by which beams move, told to the call that it belongs to."""

    def select(index: Tensor, *args: Any, **kwargs: Any) -> Any:
        call.select(index)
        return method(index, *args, **kwargs)

    return select


def methods(session: Session, stack: ExitStack) -> dict[str, Around]:
    """Those of the model that begin or go on with a text, as they are while the session lasts."""
    model = session.model
    if session.recorder is None:
        readers = ("forward", "encode", "decode", "start", "advance")
        return {name: partial(one_thread, session) for name in readers if hasattr(model, name)}
    assert isinstance(session.recorder, Recorder)
    calls = Calls(session, session.recorder, stack)
    if isinstance(model, Transformer):
        reader: Any = TransformerCalls(calls)
        return {name: calls.outermost(getattr(reader, name)) for name in ("forward", "encode", "decode")}
    if isinstance(model, Decoder):
        return {"forward": calls.outermost(partial(read_decoder, calls))}
    if isinstance(model, Recurrent):
        reader = RecurrentCalls(calls)
        return {name: calls.outermost(getattr(reader, name)) for name in ("start", "advance")}
    names = [name for name in ("forward", "encode") if hasattr(model, name)]
    return {name: calls.outermost(partial(read_one_text, calls)) for name in names}


def read_one_text(calls: Calls, method: Method, *args: Any, **kwargs: Any) -> Any:
    """A method that reads one text, given first."""
    ids = next((given for given in (*args, *kwargs.values()) if isinstance(given, Tensor)), None)
    with calls.recorder.inside(calls.open()) as call:
        call.turn(ids)
        return method(*args, **kwargs)


def read_decoder(
    calls: Calls, method: Method, ids_BN: Tensor, mask_BK: Tensor | None = None, cache: Cache | None = None,
    *rest: Any, **more: Any,
) -> Any:  # fmt: skip
    """A decoder-only model goes on with a text as long as it is given the same cache."""
    with calls.recorder.inside(calls.of_cache(cache, calls.open)) as call:
        call.turn(ids_BN)
        return method(ids_BN, mask_BK, cache, *rest, **more)


class TransformerCalls:
    """An encoder-decoder: a source that is encoded once belongs to every target that is decoded from its memory."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.sources: Any = WeakTensorKeyDictionary()  # memory -> the call that encoded it

    def forward(self, method: Method, source_BN: Tensor, target_BT: Tensor, *rest: Any, **more: Any) -> Any:
        with self.calls.recorder.inside(self.calls.open()) as call:
            call.turn(source_BN, target_BT)
            return method(source_BN, target_BT, *rest, **more)

    def encode(self, method: Method, source_BN: Tensor, *rest: Any, **more: Any) -> Any:
        with self.calls.recorder.inside(self.calls.open()) as call:
            call.begin(source_BN, None)
            memory = method(source_BN, *rest, **more)
        self.sources[memory] = call
        return memory

    def decode(
        self, method: Method, target_BT: Tensor, memory: Tensor, mask: Tensor | None = None,
        cache: Cache | None = None, *rest: Any, **more: Any,
    ) -> Any:  # fmt: skip
        with self.calls.recorder.inside(self.calls.of_cache(cache, partial(self.target_of, memory))) as call:
            call.turn(None, target_BT)
            return method(target_BT, memory, mask, cache, *rest, **more)

    def target_of(self, memory: Tensor) -> CallSteps:
        """The call that encoded this memory, for its first target; for each other a new one with the same source."""
        call: CallSteps | None = self.sources.get(memory)
        if call is None:
            return self.calls.open()
        return self.calls.recorder.fork(call) if call.turns else call


class FollowedState(State):
    """A recurrent decoder's state that knows its call and how far it was, and tells it when beams move."""

    call: CallSteps
    turns: int

    @classmethod
    def of(cls, state: State, call: CallSteps) -> FollowedState:
        followed = cls(*state)
        followed.call, followed.turns = call, len(call.turns)
        return followed

    def select(self, index: Tensor) -> State:
        self.call.select(index)
        return FollowedState.of(super().select(index), self.call)


class RecurrentCalls:
    """A recurrent model goes on with a text as long as it is given the state that the text has come to."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls

    def start(self, method: Method, source_BN: Tensor, *rest: Any, **more: Any) -> State:
        with self.calls.recorder.inside(self.calls.open()) as call:
            call.begin(source_BN, None)
            return FollowedState.of(method(source_BN, *rest, **more), call)

    def advance(self, method: Method, target_BT: Tensor, state: State, *rest: Any, **more: Any) -> tuple[Tensor, State]:
        with self.calls.recorder.inside(self.target_of(state)) as call:
            call.turn(None, target_BT)
            logits, after = method(target_BT, state, *rest, **more)
        return logits, FollowedState.of(after, call)

    def target_of(self, state: State) -> CallSteps:
        """The call that this state belongs to; from the start, each target after the first has its own."""
        if not isinstance(state, FollowedState):
            return self.calls.open()
        if state.turns == len(state.call.turns):
            return state.call
        if state.turns:
            raise InputError(
                "this state has gone on before, and a recording follows one text",
                found=f"a state after {state.turns} calls of advance; the text has had {len(state.call.turns)}",
                do="go on from the newest state, or begin again with model.start",
            )
        return self.calls.recorder.fork(state.call)
