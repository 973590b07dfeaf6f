"""A look that is kept: what every head did with one text, and the words that stand beside it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from torch import Tensor

from regard.lens.draw.page.legend import kind
from regard.lens.recording.forward import ForwardCall
from regard.server.refusals import Refusal
from regard.server.studio.schema import (
    AlignmentHeads,
    LookAnswer,
    SiteInfo,
    SiteKind,
    StudioTask,
    TextSide,
    TokenProbability,
)

TOKENS = 4096  # of a text that a look itself brings along
ModelKey = tuple[str, str | None]  # a model's name, and for a run the checkpoint


@dataclass
class StoredLook:
    """One call, with its texts as strings; `memory` holds what was computed from it and may be asked for again."""

    id: str
    model: str
    key: ModelKey | None  # None for a recording, which has no model
    text: str
    task: StudioTask
    call: ForwardCall
    source_ids: list[int] | None = None
    target_ids: list[int] | None = None  # with the start, and what was written last
    output: str | None = None
    next: list[TokenProbability] | None = None
    notes: tuple[str, ...] = ()
    alignment: AlignmentHeads | None = None
    memory: dict[Any, Any] = field(default_factory=dict)
    source: list[str] = field(init=False)
    target: list[str] = field(init=False)
    written: list[str] = field(init=False)

    def __post_init__(self) -> None:
        pair = self.call.source is not None
        whole, decoder = (self.call.source, self.call.text) if pair else (self.call.text, None)
        longest = max((self.call.extent(site)[1] for site in self.call.sites), default=0)
        self.source = [str(number) for number in range(longest)] if whole is None else words(whole.tokens())
        self.target = [] if decoder is None else words(decoder.tokens())
        self.written = [] if decoder is None else words(decoder.written())

    def side(self, side: TextSide) -> list[str]:
        return self.source if side == "source" else self.target

    def sides(self, site: str) -> tuple[TextSide, TextSide]:
        """Which text the rows of a site are, and which its columns; a model of one text has it as its source."""
        if self.call.source is None:
            return "source", "source"
        rows, columns = self.call.sides(site)
        return ("source" if rows == "source" else "target"), ("source" if columns == "source" else "target")

    def token(self, side: TextSide, position: int) -> str:
        tokens = self.side(side)
        return tokens[position] if position < len(tokens) else str(position)

    def check_site(self, site: str, head: int | None = None) -> None:
        """Refuse a site or a head that was not kept."""
        if site not in self.call.maps:
            some = ", ".join(self.call.sites[:8])
            raise Refusal(404, f"This look has no site {site[:60]!r}; it has {some}")
        if head is not None and head not in self.call.map(site).heads:
            known = ", ".join(map(str, self.call.map(site).heads))
            raise Refusal(404, f"{site} has no head {head} here; it has {known}")

    def remembered(self, key: Any, make: Callable[[], Any]) -> Any:
        """What was made before, or is made now: only in the thread of the models."""
        if key not in self.memory:
            self.memory[key] = make()
        return self.memory[key]

    @property
    def bytes(self) -> int:
        """What it holds, about."""
        own = (tensor for one in self.call.maps.values() for tensor in (one.query, one.key, one.lse, one.norms))
        pooled = (one.pooled.tensors().values() for one in self.call.maps.values() if one.pooled is not None)
        return sum(part.nbytes for part in (*own, *chain.from_iterable(pooled)) if isinstance(part, Tensor))

    def described(self) -> LookAnswer:
        """As the page gets it."""
        badge = self.call.badge
        return LookAnswer(
            id=self.id, model=self.model, text=self.text, output=self.output, task=self.task,
            source=self.source[:TOKENS], target=self.target[:TOKENS], written=self.written[:TOKENS],
            source_count=len(self.source), target_count=len(self.target),
            sites=[self.site(site) for site in self.call.sites], badge=str(badge), true=badge.true,
            next=self.next, notes=list(self.notes), alignment=self.alignment,
        )  # fmt: skip

    def site(self, site: str) -> SiteInfo:
        one, (queries, keys), (rows, columns) = self.call.map(site), self.call.extent(site), self.sides(site)
        named: SiteKind = kind(self.call, site)  # type: ignore[assignment]
        return SiteInfo(
            site=site, kind=named, heads=len(one.heads), head_numbers=list(one.heads), queries=queries, keys=keys,
            rows=rows, columns=columns, causal=one.terms.bound[1] == 0, writes=self.call.writes(site),
            values=one.norms is not None, pooled=None if one.pooled is None else one.pooled.cell,
        )  # fmt: skip


def words(tokens: list[Any]) -> list[str]:
    return [str(token) for token in tokens]


class LookShelf:
    """The latest looks, so many and so large at most: what was not asked for longest goes first."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self.most, self.most_bytes = most, most_bytes
        self.looks: OrderedDict[str, StoredLook] = OrderedDict()

    def get(self, number: str) -> StoredLook | None:
        look = self.looks.get(number)
        if look is not None:
            self.looks.move_to_end(number)
        return look

    def known(self, number: str) -> StoredLook:
        look = self.get(number)
        if look is None:
            raise Refusal(404, "This look is not kept any more: please let the model read the text again")
        return look

    def put(self, look: StoredLook) -> StoredLook:
        self.looks[look.id] = look
        self.looks.move_to_end(look.id)
        while len(self.looks) > 1 and (
            len(self.looks) > self.most or sum(one.bytes for one in self.looks.values()) > self.most_bytes
        ):
            self.looks.popitem(last=False)
        return look
