"""One call of a recording while it is being filled: what was read at each turn, and what every site did with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.errors import InputError
from regard.lens.assembly.concat import concat
from regard.lens.assembly.site_steps import SiteSteps
from regard.lens.assembly.step import AttentionCapture, step_of
from regard.lens.assembly.watch_options import WatchOptions
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording.tokens import Text, Token, side_of


@dataclass
class CallBuilder:
    """A forward call, or the turns of a generation."""

    options: WatchOptions
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
    call: ForwardCall | None = None  # built when it is asked for

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
        self.moved, self.times, self.call = None, {}, None

    def fork(self) -> CallBuilder:
        """What was read before the first turn, and what every site did with it, for another text to go on from."""
        return CallBuilder(self.options, self.pad, given=self.given, steps=dict(self.before_turns))

    def end(self, order: Tensor | None = None) -> None:
        """Nothing more comes."""
        if not self.turns:
            self.turn(self.given)
        if order is not None:
            self.order = order.detach().cpu().long()
        self.call = None

    def add(self, capture: AttentionCapture) -> None:
        """One attention more."""
        step = step_of(capture, self.options)
        step.turn = max(len(self.turns) - 1, 0)
        self.call = None
        times = self.times.get(capture.site, 0)
        if times:
            last = self.steps[numbered(capture.site, times)]
            if last.continued(step):  # a recurrent decoder looks once for each word it reads
                last.add(step, self.options)
                return
        self.times[capture.site] = times + 1
        site = numbered(capture.site, times + 1)
        self.steps.setdefault(site, SiteSteps(site)).add(step, self.options)

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

    def paths(self, sizes: Sequence[int]) -> Tensor:
        """(texts, turns): as ordered, else the histories of the rows that are there at the end."""
        if self.order is not None:
            return self.order
        rows = torch.arange(sizes[-1])
        path = [rows]
        for parents in reversed(self.parents[1:]):
            rows = rows if parents is None else parents[rows]
            path.append(rows)
        return torch.stack(path[::-1], 1)

    def sizes(self) -> list[int]:
        """How many rows the batch had at each turn; an encoder may have read each text once for several beams."""
        sizes = [0] * max(len(self.turns), 1)
        for site in self.steps.values():
            for step in site.steps:
                sizes[step.turn] = max(sizes[step.turn], step.texts)
        return [size or max(sizes) for size in sizes]

    def done(self) -> ForwardCall:
        """As it can be read."""
        if self.call is None:
            sizes = self.sizes()
            paths = self.paths(sizes)
            maps = {name: concat(name, site.steps, self.path_of_site(site, paths, sizes)) for name, site in
                    self.steps.items()}  # fmt: skip
            self.call = ForwardCall(maps, self.text(paths), self.source_text(paths, sizes[0]))
        return self.call

    def path_of_site(self, site: SiteSteps, paths: Tensor, sizes: Sequence[int]) -> Tensor:
        """The path through the steps of one site."""
        steps = site.steps
        if self.order is None and all(parents is None for parents in self.parents):
            return torch.arange(steps[0].texts)[:, None].expand(-1, len(steps))
        several = len(self.turns) > 1  # else nobody said where turns begin, and each step is one
        columns = []
        for number, step in enumerate(steps):
            turn = step.turn if several or len(steps) == 1 else number
            rows = paths[:, turn] if turn < paths.shape[1] else torch.full_like(paths[:, 0], -1)
            columns.append(torch.where(rows < 0, rows, rows * step.texts // max(sizes[step.turn], 1)))
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
        tokenizer = side_of(self.options.tokenizer, "source" if self.source is None else "target")
        return Text(rows, self.pad, tokenizer, after=self.after)

    def source_text(self, paths: Tensor, size: int) -> Text | None:
        if self.source is None:
            return None
        rows = paths[:, 0] * len(self.source) // max(size, 1)
        return Text(self.source[rows].tolist(), self.pad, side_of(self.options.tokenizer, "source"))


def numbered(site: str, number: int) -> str:
    """A layer that is used again within one turn is another site."""
    return site if number == 1 else f"{site}#{number}"


def copied(ids: Tensor | None) -> Tensor | None:
    return None if ids is None or ids.is_floating_point() or ids.ndim != 2 else ids.detach().cpu().clone()
