"""What a watch fills: the calls of a recording, each begun, gone on with and ended as the hooks say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.lens.assembly.pending import Pending
from regard.lens.assembly.site_steps import SiteSteps
from regard.lens.assembly.step import AttentionCapture, step_of
from regard.lens.assembly.watch_options import Storage, WatchOptions
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording.tokens import Token


@dataclass
class CallSteps:
    """What is known of one call so far: what was read at each turn, and what every site did with it."""

    pending: Pending
    pad: int | None = None  # the id that fills up, where it is known
    after: list[Token | None] | None = None  # what follows each text, where it is known
    given: Tensor | None = None  # ids that came before any turn
    source: Tensor | None = None  # ids (B, N) of the text that an encoder read, where a decoder has its own
    turns: list[Tensor | None] = field(default_factory=list)  # ids (B, T) that each turn read
    steps: dict[str, SiteSteps] = field(default_factory=dict)  # by site
    before_turns: dict[str, SiteSteps] = field(default_factory=dict)  # those of the encoder, before the first turn
    times: dict[str, int] = field(default_factory=dict)  # how often this turn has come to a site
    parents: list[Tensor | None] = field(default_factory=list)  # where each row of a turn stood in the turn before
    moved: Tensor | None = None  # the same, since the last turn
    order: Tensor | None = None  # (texts, turns): the row of each text at each turn, -1 after its end
    result: ForwardCall | None = None  # built when it is asked for

    def begin(self, ids: Tensor | None, target: Tensor | None) -> None:
        """The first that is known. Whether more turns come is not known yet."""
        self.given = copied(ids)
        if target is not None:
            self.turn(ids, target)

    def turn(self, ids: Tensor | None, target: Tensor | None = None) -> None:
        """The model reads on: `target` where there is a source too."""
        if not self.turns:
            self.before_turns = dict(self.steps)
        if target is not None:
            self.source = self.source if ids is None else copied(ids)
            self.source = self.given if self.source is None else self.source
        self.turns.append(copied(ids if target is None else target))
        self.parents.append(self.moved)
        self.moved, self.times, self.result = None, {}, None

    def fork(self) -> CallSteps:
        """What was read before the first turn, and what every site did with it, for another text to go on from."""
        return CallSteps(self.pending, self.pad, given=self.given, steps=dict(self.before_turns))

    def settle(self) -> None:
        """All that was kept can be read; ids and rows are on the CPU."""
        self.pending.settle()
        self.turns, self.parents = ([on_cpu(one) for one in each] for each in (self.turns, self.parents))
        self.given, self.source = on_cpu(self.given), on_cpu(self.source)

    def end(self, order: Tensor | None = None) -> None:
        """Nothing more comes."""
        if not self.turns:
            self.turn(self.given)
        if order is not None:
            self.order = order.detach().cpu().long()
        self.result = None

    def add(self, capture: AttentionCapture) -> None:
        """One attention more."""
        step = step_of(capture, self.pending.storage.options, self.pending.numbers)
        step.turn = max(len(self.turns) - 1, 0)
        self.result = None
        times = self.times.get(capture.site, 0)
        if capture.site in self.steps:
            self.pending.ready()  # what is there is looked at, to put the new after it
        if times:
            last = self.steps[numbered(capture.site, times)]
            if last.continued(step):  # a recurrent decoder looks once for each word it reads
                last.add(step, self.pending)
                return
        self.times[capture.site] = times + 1
        site = numbered(capture.site, times + 1)
        self.steps.setdefault(site, SiteSteps(site)).add(step, self.pending)

    def select(self, index: Tensor) -> None:
        """The batch goes on with other rows: row b comes from row index[b]."""
        index = index.detach()
        self.moved = index if self.moved is None else self.moved[index]


def numbered(site: str, number: int) -> str:
    """A layer that is used again within one turn is another site."""
    return site if number == 1 else f"{site}#{number}"


def on_cpu(ids: Tensor | None) -> Tensor | None:
    return None if ids is None else ids.cpu()


def copied(ids: Tensor | None) -> Tensor | None:
    """A copy where they are: they are read when the model is done."""
    return None if ids is None or ids.is_floating_point() or ids.ndim != 2 else ids.detach().clone()


@dataclass
class Recorder:
    """All calls of one watch.

    Calls nest: the outermost `begin_call` opens a call of the recording, each one inside it is a turn of the same (the
    forward calls of one `generate`), whose rows come after those before.
    """

    options: WatchOptions = field(default_factory=WatchOptions)
    pending: Pending = field(init=False)
    calls: list[CallSteps] = field(default_factory=list)
    count: int = 0  # attention calls that came through, kept or not
    current: CallSteps | None = None
    depth: int = 0

    def __post_init__(self) -> None:
        self.pending = Pending(Storage(self.options))

    def begin_call(self, ids: Tensor | None = None, *, target: Tensor | None = None) -> None:
        """The model begins to read: `ids` (B, N), or with a target the source's; each turn tells only what is new."""
        if self.current is None or self.depth == 0:
            self.current = self.open()
            self.current.begin(ids, target)
        else:
            self.current.turn(ids, target)
        self.depth += 1

    def end_call(self, *, order: Tensor | None = None) -> None:
        """The outermost call has ended; `order` is `beam_indices`: (texts, turns), the batch row of each turn or -1."""
        self.pending.work()  # the model may soon write over its keys and values
        self.depth -= 1
        if self.depth == 0 and self.current is not None:
            self.current.end(order)
            self.current = None

    def open(self) -> CallSteps:
        """A new call."""
        self.calls.append(CallSteps(self.pending))
        return self.calls[-1]

    def fork(self, call: CallSteps) -> CallSteps:
        """A new call with the same source as this one had before its first turn."""
        self.calls.append(call.fork())
        return self.calls[-1]

    @contextmanager
    def inside(self, call: CallSteps) -> Iterator[CallSteps]:
        """What is captured within belongs to this call, which may have been begun earlier."""
        before = self.current if self.depth else None, self.depth
        self.current, self.depth = call, self.depth + 1
        try:
            yield call
        finally:
            self.current, self.depth = before

    @torch.no_grad()
    def capture(self, capture: AttentionCapture) -> None:
        """Keep what this attention's weights are made from."""
        self.count += 1
        if self.current is None or (not self.depth and capture.site in self.current.steps):
            self.pending.work()  # nobody says when such a call ends, and now its keys and values may change
            self.current = self.open()  # a part of the model, called by itself, or once more
            self.current.begin(None, None)
        if self.options.wants(capture.site):
            with torch.autocast(capture.query.device.type, enabled=False):  # what the model may round, we may not
                self.current.add(capture)
