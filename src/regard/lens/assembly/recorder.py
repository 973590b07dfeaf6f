"""What a watch fills: the calls of a recording, each begun, gone on with and ended as the hooks say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.lens.assembly.builder import CallBuilder
from regard.lens.assembly.step import AttentionCapture
from regard.lens.assembly.watch_options import WatchOptions


@dataclass
class Recorder:
    """All calls of one watch.

    Calls nest: the outermost `begin_call` opens a call of the recording, each one inside it is a turn of the same (the
    forward calls of one `generate`), whose rows come after those before.
    """

    options: WatchOptions = field(default_factory=WatchOptions)
    builders: list[CallBuilder] = field(default_factory=list)
    count: int = 0  # attention calls that came through, kept or not
    current: CallBuilder | None = None
    depth: int = 0

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
        self.depth -= 1
        if self.depth == 0 and self.current is not None:
            self.current.end(order)
            self.current = None

    def open(self) -> CallBuilder:
        """A new call."""
        self.builders.append(CallBuilder(self.options))
        return self.builders[-1]

    def fork(self, builder: CallBuilder) -> CallBuilder:
        """A new call with the same source as this one had before its first turn."""
        self.builders.append(builder.fork())
        return self.builders[-1]

    @contextmanager
    def inside(self, builder: CallBuilder) -> Iterator[CallBuilder]:
        """What is captured within belongs to this call, which may have been begun earlier."""
        before = self.current, self.depth
        self.current, self.depth = builder, self.depth + 1
        try:
            yield builder
        finally:
            self.current, self.depth = before

    @torch.no_grad()
    def capture(self, capture: AttentionCapture) -> None:
        """Keep what this attention's weights are made from."""
        self.count += 1
        if self.current is None:
            self.current = self.open()  # a part of the model, called by itself
            self.current.begin(None, None)
        if self.options.wants(capture.site):
            with torch.autocast(capture.query.device.type, enabled=False):  # what the model may round, we may not
                self.current.add(capture)
