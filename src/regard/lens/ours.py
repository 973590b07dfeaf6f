"""Holding a model of ours: its seams tell what attention computed, its methods where a text begins and goes on.

The model's outputs stay exactly what they were: the next function in the seam is called as it is, and everything else
is computed beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor, nn
from torch.utils.weak import WeakTensorKeyDictionary

from regard.lens.capture import Recorder, Seen
from regard.lens.entry import Entry
from regard.models import Decoder, Recurrent, Transformer, seams
from regard.models.layers import Cache
from regard.models.recurrent import State

Method = Callable[..., Any]


@contextmanager
def hold_ours(model: nn.Module, recorder: Recorder) -> Iterator[None]:
    """Let the recorder know what this model does for the length of a with block."""
    with ExitStack() as stack:
        for seam in seams(model).values():
            stack.enter_context(seam.held(telling(recorder), innermost=True))
        for name, method in methods(model, recorder, stack).items():
            stack.enter_context(replaced(model, name, method))
        yield


def telling(recorder: Recorder) -> Callable[..., Tensor]:
    """A hook that tells the recorder what went by."""

    def hook(
        site: str, call: Callable[..., Tensor], query: Tensor, key: Tensor, value: Tensor, **options: Any
    ) -> Tensor:
        output = call(query, key, value, **options)
        score: Any = {name: option for name, option in options.items() if name not in ("dropout", "see")}
        recorder.see(Seen(site, query, key, value, output, score, "regard", dropout=options.get("dropout", 0.0)))
        return output

    return hook


@contextmanager
def replaced(owner: Any, name: str, method: Method) -> Iterator[None]:
    """One method of one object (not of its class), until the block ends."""
    before = vars(owner).get(name)
    setattr(owner, name, method)
    try:
        yield
    finally:
        delattr(owner, name)
        if before is not None:
            setattr(owner, name, before)


def methods(model: nn.Module, recorder: Recorder, stack: ExitStack) -> dict[str, Method]:
    """Those of the model that begin or go on with a text."""
    if isinstance(model, Transformer):
        return TransformerReader(model, recorder, stack).methods
    if isinstance(model, Decoder):
        return DecoderReader(model, recorder, stack).methods
    if isinstance(model, Recurrent):
        return RecurrentReader(model, recorder).methods
    names = [name for name in ("forward", "encode") if hasattr(model, name)]
    return {name: reading(getattr(model, name), recorder, pad_of(model)) for name in names}


def reading(method: Method, recorder: Recorder, pad: int | None) -> Method:
    """A method that reads one text, given first."""

    def read(*args: Any, **kwargs: Any) -> Any:
        if recorder.depth:
            return method(*args, **kwargs)
        entry = recorder.open()
        entry.pad = pad
        ids = next((given for given in (*args, *kwargs.values()) if isinstance(given, Tensor)), None)
        with recorder.inside(entry):
            entry.turn(ids)
            return method(*args, **kwargs)

    return read


def pad_of(model: nn.Module) -> int | None:
    pad = getattr(getattr(model, "config", None), "pad", None)
    return pad if isinstance(pad, int) else None


class Caches:
    """Which entry each cache belongs to; its `select`, by which beams move, is held too."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack
        self.entries: WeakKeyDictionary[Any, Entry] = WeakKeyDictionary()

    def entry(self, cache: Cache | None, make: Callable[[], Entry]) -> Entry:
        """The entry that was begun with this cache, or one made now."""
        if cache is None:
            return make()
        if cache not in self.entries:
            self.entries[cache] = make()
            self.follow(cache, self.entries[cache])
        return self.entries[cache]

    def follow(self, cache: Any, entry: Entry) -> None:
        move = getattr(cache, "select", None)
        if move is None:
            return

        def select(index: Tensor, **options: Any) -> None:
            entry.select(index)
            move(index, **options)

        self.stack.enter_context(replaced(cache, "select", select))


class DecoderReader:
    """A decoder-only model goes on with a text as long as it is given the same cache."""

    def __init__(self, model: Decoder, recorder: Recorder, stack: ExitStack) -> None:
        self.recorder, self.read, self.caches = recorder, model.forward, Caches(stack)
        self.pad = pad_of(model)
        self.methods: dict[str, Method] = {"forward": self.forward}

    def forward(self, ids_BN: Tensor, mask_BK: Tensor | None = None, cache: Cache | None = None) -> Tensor:
        entry = self.caches.entry(cache, self.recorder.open)
        entry.pad = self.pad
        with self.recorder.inside(entry):
            entry.turn(ids_BN)
            return self.read(ids_BN, mask_BK, cache)


class TransformerReader:
    """An encoder-decoder: a source read once belongs to every target that is decoded from what it said."""

    def __init__(self, model: Transformer, recorder: Recorder, stack: ExitStack) -> None:
        self.recorder, self.caches, self.pad = recorder, Caches(stack), pad_of(model)
        self.plain: dict[str, Method] = {"forward": model.forward, "encode": model.encode, "decode": model.decode}
        self.methods: dict[str, Method] = {"forward": self.forward, "encode": self.encode, "decode": self.decode}
        self.sources: Any = WeakTensorKeyDictionary()  # what an encoder said -> its entry

    def open(self) -> Entry:
        entry = self.recorder.open()
        entry.pad = self.pad
        return entry

    def forward(self, source_BN: Tensor, target_BT: Tensor, source_mask: Tensor | None = None) -> Tensor:
        entry = self.open()
        with self.recorder.inside(entry):
            entry.turn(source_BN, target_BT)
            logits: Tensor = self.plain["forward"](source_BN, target_BT, source_mask)
        return logits

    def encode(self, source_BN: Tensor, mask: Tensor | None = None) -> Tensor:
        if self.recorder.depth:
            inner: Tensor = self.plain["encode"](source_BN, mask)
            return inner
        entry = self.open()
        entry.begin(source_BN, None)
        with self.recorder.inside(entry):
            memory: Tensor = self.plain["encode"](source_BN, mask)
        self.sources[memory] = entry
        return memory

    def decode(
        self, target_BT: Tensor, memory: Tensor, mask: Tensor | None = None, cache: Cache | None = None
    ) -> Tensor:
        if self.recorder.depth:
            inner: Tensor = self.plain["decode"](target_BT, memory, mask, cache)
            return inner
        entry = self.caches.entry(cache, lambda: self.sources.get(memory) or self.open())
        with self.recorder.inside(entry):
            entry.turn(None, target_BT)
            logits: Tensor = self.plain["decode"](target_BT, memory, mask, cache)
        return logits


class Followed(State):
    """A recurrent decoder's state that knows which entry it belongs to, and tells it when beams move."""

    entry: Entry

    @classmethod
    def of(cls, state: State, entry: Entry) -> Followed:
        followed = cls(*state)
        followed.entry = entry
        return followed

    def select(self, index: Tensor) -> State:
        self.entry.select(index)
        return Followed.of(super().select(index), self.entry)


class RecurrentReader:
    """A recurrent model goes on with a text as long as it is given the state that the text has come to."""

    def __init__(self, model: Recurrent, recorder: Recorder) -> None:
        self.recorder, self.pad = recorder, pad_of(model)
        self.plain_start, self.plain_advance = model.start, model.advance
        self.methods: dict[str, Method] = {"start": self.start, "advance": self.advance}

    def start(self, source_BN: Tensor, source_mask: Tensor | None = None) -> State:
        entry = self.recorder.open()
        entry.pad = self.pad
        entry.begin(source_BN, None)
        with self.recorder.inside(entry):
            return Followed.of(self.plain_start(source_BN, source_mask), entry)

    def advance(self, target_BT: Tensor, state: State) -> tuple[Tensor, State]:
        entry = state.entry if isinstance(state, Followed) else self.recorder.open()
        with self.recorder.inside(entry):
            entry.turn(None, target_BT)
            logits, after = self.plain_advance(target_BT, state)
        return logits, Followed.of(after, entry)
