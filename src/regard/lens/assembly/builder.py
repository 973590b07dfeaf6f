"""One entry of a recording while it is being filled: what was read at each turn, and what every site did with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.errors import InputError
from regard.lens.assembly.concat import join
from regard.lens.assembly.site_steps import Track
from regard.lens.assembly.step import part_of
from regard.lens.assembly.storage import Keep
from regard.lens.recording.forward import Call
from regard.lens.recording.tokens import Text, Token, side_of

if TYPE_CHECKING:
    from regard.lens.assembly.recorder import Seen


@dataclass
class Entry:
    """A forward, or the turns of a generation."""

    keep: Keep
    pad: int | None = None  # the id that fills up, where it is known
    after: list[Token | None] | None = None  # what follows each text, where it is known
    given: Tensor | None = None  # ids told before any turn
    source: Tensor | None = None  # ids (B, N) of the text that an encoder read, where a decoder has its own
    turns: list[Tensor | None] = field(default_factory=list)  # ids (B, T) that each turn read
    tracks: dict[str, Track] = field(default_factory=dict)
    met: dict[str, int] = field(default_factory=dict)  # how many tracks of a site this turn has come to
    parents: list[Tensor | None] = field(default_factory=list)  # where each row of a turn stood in the turn before
    moved: Tensor | None = None  # the same, since the last turn
    order: Tensor | None = None  # (texts, turns): the row of each text at each turn, -1 after its end
    call: Call | None = None  # made when it is asked for

    def begin(self, ids: Tensor | None, target: Tensor | None) -> None:
        """The first thing told. Whether more turns come is not known yet."""
        self.given = copied(ids)
        if target is not None:
            self.turn(ids, target)

    def turn(self, ids: Tensor | None, target: Tensor | None = None) -> None:
        """The model reads on: `target` where there is a source too."""
        if target is not None:
            self.source = self.source if ids is None else copied(ids)
            self.source = self.given if self.source is None else self.source
        self.turns.append(copied(ids if target is None else target))
        self.parents.append(self.moved)
        self.moved, self.met, self.call = None, {}, None

    def end(self, order: Tensor | None = None) -> None:
        """Nothing more comes."""
        if not self.turns:
            self.turn(self.given)
        if order is not None:
            self.order = order.detach().cpu().long()
        self.call = None

    def see(self, seen: Seen) -> None:
        part = part_of(seen, self.keep)
        part.turn = max(len(self.turns) - 1, 0)
        number = self.met.get(seen.site, 0)
        if number:
            last = self.tracks[numbered(seen.site, number)]
            if last.continued(part):  # a recurrent decoder looks once for each word it reads
                last.add(part, self.keep)
                return
        self.met[seen.site] = number + 1
        site = numbered(seen.site, number + 1)
        self.tracks.setdefault(site, Track(site)).add(part, self.keep)
        self.call = None

    def select(self, index: Tensor) -> None:
        """The batch goes on with other rows: row b comes from row index[b]."""
        index = index.detach().cpu()
        self.moved = index if self.moved is None else self.moved[index]

    def follow(self, texts: Sequence[Sequence[int]], roots: Sequence[int] | None = None) -> None:
        """Put the map in the order of these texts (the ids said), each begun in row `roots` of the first turn."""
        starts = range(len(texts)) if roots is None else roots
        paths = [self.path_of(text, root) for text, root in zip(texts, starts, strict=True)]
        longest = max(map(len, paths), default=0)
        self.order = torch.tensor([path + [-1] * (longest - len(path)) for path in paths], dtype=torch.long)
        self.call = None

    def path_of(self, text: Sequence[int], root: int) -> list[int]:
        """The rows of the batch in which this text was read, word by word."""
        path = [root]
        for token, ids, parents in zip(text, self.turns[1:], self.parents[1:], strict=False):
            assert ids is not None
            rows = torch.arange(len(ids)) if parents is None else parents
            here = ((rows == path[-1]) & (ids[:, -1] == token)).nonzero()[:, 0]
            if not len(here):
                raise InputError(
                    "this text was not read while the model was watched",
                    found=f"token {token} at place {len(path) - 1} of {list(text)[:8]}",
                    do="give the ids that the search returned, without start and end",
                )
            path.append(int(here[0]))
        return path

    def paths(self) -> Tensor:
        """(texts, turns): as ordered, else the histories of the rows that are there at the end."""
        if self.order is not None:
            return self.order
        turns = max(len(self.turns), 1)
        rows = torch.arange(self.size(turns - 1))
        path = [rows]
        for parents in reversed(self.parents[1:]):
            rows = rows if parents is None else parents[rows]
            path.insert(0, rows)
        return torch.stack(path, 1)

    def size(self, turn: int) -> int:
        """How many rows the batch had at a turn; an encoder may have read each text once for several beams."""
        parts = [part for track in self.tracks.values() for part in track.parts]
        return max(
            (part.texts for part in parts if part.turn == turn), default=max((p.texts for p in parts), default=0)
        )

    def done(self) -> Call:
        """As it can be read."""
        if self.call is None:
            paths = self.paths()
            maps = {site: join(site, track.parts, self.path_for(track, paths)) for site, track in self.tracks.items()}
            self.call = Call(maps, self.text(paths), self.source_text(paths))
        return self.call

    def path_for(self, track: Track, paths: Tensor) -> Tensor:
        """The path through the parts of one site."""
        if self.order is None and all(parents is None for parents in self.parents):
            return torch.arange(track.parts[0].texts)[:, None].expand(-1, len(track.parts))
        told = len(self.turns) > 1  # else nobody said where turns begin, and each part is one
        columns = []
        for number, part in enumerate(track.parts):
            turn = part.turn if told or len(track.parts) == 1 else number
            rows = paths[:, turn] if turn < paths.shape[1] else torch.full_like(paths[:, 0], -1)
            columns.append(torch.where(rows < 0, rows, rows * part.texts // max(self.size(part.turn), 1)))
        path = torch.stack(columns, 1)
        if bool((path[:, 0] < 0).any()):
            raise InputError(
                "a text ended before the last step, and its rows were computed anew at each",
                found="beams without a cache", do="generate with use_cache=True",
            )  # fmt: skip
        return path

    def text(self, paths: Tensor) -> Text | None:
        pieces = [ids for ids in self.turns if ids is not None]
        if not pieces or len(pieces) != len(self.turns):
            return None
        rows = []
        for path in paths.tolist():
            read = [ids[row].tolist() for ids, row in zip(pieces, path, strict=False) if row >= 0]
            rows.append([number for piece in read for number in piece])
        tokenizer = side_of(self.keep.tokenizer, "source" if self.source is None else "target")
        return Text(rows, self.pad, tokenizer, after=self.after)

    def source_text(self, paths: Tensor) -> Text | None:
        if self.source is None:
            return None
        rows = paths[:, 0] * len(self.source) // max(self.size(0), 1)
        return Text(self.source[rows].tolist(), self.pad, side_of(self.keep.tokenizer, "source"))


def numbered(site: str, number: int) -> str:
    """A layer that is used again within one turn is another site."""
    return site if number == 1 else f"{site}#{number}"


def copied(ids: Tensor | None) -> Tensor | None:
    return None if ids is None or ids.is_floating_point() or ids.ndim != 2 else ids.detach().cpu().clone()
