"""From all steps of a call to what can be read: one map a site, each text along its own path of batch rows."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.errors import InputError
from regard.lens.assembly.concat import concat
from regard.lens.assembly.recorder import CallSteps
from regard.lens.assembly.site_steps import SiteSteps
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording.tokens import Text, side_of


def follow(call: CallSteps, texts: Sequence[Sequence[int]], roots: Sequence[int] | None = None) -> None:
    """Put the map in the order of these texts (their ids), each begun in row `roots` of the first turn."""
    call.settle()
    starts = range(len(texts)) if roots is None else roots
    paths = [path_of(call, text, root) for text, root in zip(texts, starts, strict=True)]
    longest = max(map(len, paths), default=0)
    call.order = torch.tensor([path + [-1] * (longest - len(path)) for path in paths], dtype=torch.long)
    call.result = None


def path_of(call: CallSteps, text: Sequence[int], root: int) -> list[int]:
    """The rows of the batch in which this text was read, word by word."""
    path = [root]
    for token, ids, parents in zip(text, call.turns[1:], call.parents[1:], strict=False):
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


def paths_of(call: CallSteps, sizes: Sequence[int]) -> Tensor:
    """(texts, turns): as ordered, else the histories of the rows that are there at the end."""
    if call.order is not None:
        return call.order
    rows = torch.arange(sizes[-1])
    path = [rows]
    for parents in reversed(call.parents[1:]):
        rows = rows if parents is None else parents[rows]
        path.append(rows)
    return torch.stack(path[::-1], 1)


def batch_sizes(call: CallSteps) -> list[int]:
    """How many rows the batch had at each turn; an encoder may have read each text once for several beams."""
    sizes = [0] * max(len(call.turns), 1)
    for site in call.steps.values():
        for step in site.steps:
            sizes[step.turn] = max(sizes[step.turn], step.texts)
    return [size or max(sizes) for size in sizes]


def built(call: CallSteps) -> ForwardCall:
    """As it can be read."""
    if call.result is None:
        call.settle()
        sizes = batch_sizes(call)
        paths = paths_of(call, sizes)
        maps = {name: concat(name, site.steps, path_of_site(call, site, paths, sizes)) for name, site in
                call.steps.items()}  # fmt: skip
        call.result = ForwardCall(maps, text_of(call, paths), source_of(call, paths, sizes[0]))
    return call.result


def path_of_site(call: CallSteps, site: SiteSteps, paths: Tensor, sizes: Sequence[int]) -> Tensor:
    """The path through the steps of one site."""
    steps = site.steps
    if call.order is None and all(parents is None for parents in call.parents):
        return torch.arange(steps[0].texts)[:, None].expand(-1, len(steps))
    several = len(call.turns) > 1  # else nobody said where turns begin, and each step is one
    columns = []
    for number, step in enumerate(steps):
        turn = step.turn if several or len(steps) == 1 else number
        rows = paths[:, turn] if turn < paths.shape[1] else torch.full_like(paths[:, 0], -1)
        columns.append(torch.where(rows < 0, rows, rows * step.texts // max(sizes[step.turn], 1)))
    path = torch.stack(columns, 1)
    sizes_of_steps = torch.tensor([step.texts for step in steps])
    if bool((path[:, 0] < 0).any()) or bool((path >= sizes_of_steps).any()):
        raise InputError(
            "a text ended before the last step, and its rows were computed anew at each",
            found="beams without a cache", do="generate with use_cache=True",
        )  # fmt: skip
    return path


def text_of(call: CallSteps, paths: Tensor) -> Text | None:
    turns = call.turns or [call.given]  # an encoder alone has read what was given, and nobody goes on from it
    pieces = [ids for ids in turns if ids is not None]
    if not pieces or len(pieces) != len(turns):
        return None
    rows = []
    for path in paths.tolist():
        read = [ids[row].tolist() for ids, row in zip(pieces, path, strict=False) if row >= 0]
        rows.append([number for piece in read for number in piece])
    tokenizer = side_of(call.pending.storage.options.tokenizer, "source" if call.source is None else "target")
    return Text(rows, call.pad, tokenizer, after=call.after)


def source_of(call: CallSteps, paths: Tensor, size: int) -> Text | None:
    if call.source is None:
        return None
    rows = paths[:, 0] * len(call.source) // max(size, 1)
    return Text(call.source[rows].tolist(), call.pad, side_of(call.pending.storage.options.tokenizer, "source"))
