"""What stands between a model that is held and the recording: one attention call, and the recorder it is told to.

Whoever holds a model (our seams, Hugging Face's interface, PyTorch's function) tells three things: that a call of the
whole model begins, what each attention computed, and that the call has ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.attention.inputs import ScoreOptions
from regard.lens.assembly.builder import Entry
from regard.lens.assembly.storage import Keep
from regard.lens.torch_names import in_backward


@dataclass(frozen=True)
class Seen:
    """One attention call, as it was computed; its tensors need live only during the call."""

    site: str
    query: Tensor  # (B, H, Q, D)
    key: Tensor  # (B, J, K, D), key heads not expanded
    value: Tensor  # (B, J, K, V)
    output: Tensor  # (B, H, Q, V), what the model really used
    options: ScoreOptions  # as `attend` takes them
    implementation: str  # for people: "regard", "sdpa"
    first_key: int = 0  # the position of key 0 in the text, when a sliding cache has dropped earlier keys
    dropout: float = 0.0  # with dropout the output is not that of the weights alone, and is not compared


@dataclass
class Recorder:
    """What a watch fills.

    Calls nest: the outermost `begin_call` opens an entry of the recording, each one inside it is a turn of the same
    entry (the forwards of one `generate`), whose rows are joined to those before.
    """

    keep: Keep = field(default_factory=Keep)
    entries: list[Entry] = field(default_factory=list)
    count: int = 0  # attention calls that came through, kept or not
    current: Entry | None = None
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

    def open(self) -> Entry:
        """A new entry."""
        self.entries.append(Entry(self.keep))
        return self.entries[-1]

    @contextmanager
    def inside(self, entry: Entry) -> Iterator[None]:
        """What is seen within belongs to this entry, which may have been begun earlier."""
        before = self.current, self.depth
        self.current, self.depth = entry, self.depth + 1
        try:
            yield
        finally:
            self.current, self.depth = before

    @torch.no_grad()
    def see(self, seen: Seen) -> None:
        """Keep what this call's weights are made from."""
        self.count += 1
        if in_backward():
            return  # gradient checkpointing runs the forward again on the way back: that was seen before
        if self.current is None:
            self.current = self.open()  # a part of the model, called by itself
            self.current.begin(None, None)
        if self.keep.wants(seen.site):
            with torch.autocast(seen.query.device.type, enabled=False):  # what the model may round, we may not
                self.current.see(seen)
