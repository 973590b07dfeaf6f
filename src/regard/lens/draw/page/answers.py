"""Exact numbers for a page that asks for them while it is looked at: weights, tiles and cells of a map."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from torch import Tensor

from regard.errors import InputError, UnknownNameError
from regard.lens.map_answers.cell_facts import cell_facts
from regard.lens.map_answers.marginals import binned, marginals
from regard.lens.map_answers.strongest_cells import StrongestCells
from regard.lens.map_answers.tile_extent import Extent, aligned, cell_for
from regard.lens.recording.forward import ForwardCall

LARGEST = 1 << 22  # numbers of one answer
MOST = 200  # cells in a list
Answered = tuple[dict[str, Any], bytes]
Question = Mapping[str, Any]


def answers(call: ForwardCall, batch: int = 0) -> Callable[[Question], Answered]:
    """From a question to what is said of it, as JSON can hold it, and numbers as little-endian float32, row after row.

    Each has a "site", and but for weights of all heads a "head"; "what" is one of:

    weights    of a head, of all; "by": "value" for products with the norms of the values
    tile       "rows" and "columns" (start, stop) in at most "size" (high, wide) cells, by "pool": mass, max or mean
    marginals  row entropy and received attention in so many "bins"
    strongest  "count" cells of "rows" and "columns"; with the diagonal and the first key where "all" is true
    cell       why the cell of "row" and "column" is what it is
    """
    known = {"weights": weights, "tile": tile, "marginals": margins, "strongest": strongest, "cell": cell}

    def answer(question: Question) -> Answered:
        what = str(question.get("what"))
        if what not in known:
            raise UnknownNameError("question", what, known)
        return known[what](call, batch, question)

    return answer


def weights(call: ForwardCall, batch: int, question: Question) -> Answered:
    """(heads, queries, keys), or (queries, keys) of one head."""
    site, head = str(question["site"]), question.get("head")
    rows, columns = call.extent(site, batch)
    check_size(rows * columns * (len(call.map(site).heads) if head is None else 1))
    return packed(call.weights(site, head, batch=batch, by=question.get("by", "weight")))


def tile(call: ForwardCall, batch: int, question: Question) -> Answered:
    """(height, width); what it says is the size of a cell, and where the tile begins and ends."""
    site, head = str(question["site"]), int(question["head"])
    sizes = call.extent(site, batch)
    rows, columns = extent(question["rows"], sizes[0]), extent(question["columns"], sizes[1])
    high, wide = map(int, question["size"])
    check_size(high * wide)
    cells = cell_for(rows[1] - rows[0], high), cell_for(columns[1] - columns[0], wide)
    rows, columns = aligned(call.pick(site, head, batch).pooled, (rows, columns), cells, sizes)
    numbers = call.tile(site, head, rows, columns, cells, question.get("pool", "mass"), batch)
    return packed(numbers, cell=cells, rows=rows, columns=columns)


def margins(call: ForwardCall, batch: int, question: Question) -> Answered:
    """(2, bins): the mean entropy of rows, and what columns received."""
    both = marginals(call, str(question["site"]), int(question["head"]), batch)
    numbers, cells = binned(both, max(1, int(question["bins"])))
    return packed(numbers, row_cell=cells[0], column_cell=cells[1])


def strongest(call: ForwardCall, batch: int, question: Question) -> Answered:
    """Rows, columns and weights."""
    site, head, count = str(question["site"]), int(question["head"]), min(MOST, int(question["count"]))
    high, wide = call.extent(site, batch)
    rows, columns = extent(question.get("rows"), high), extent(question.get("columns"), wide)
    cells = StrongestCells(call, site, head, count, bool(question.get("all")), batch).within(rows, columns)
    return {"cells": cells}, b""


def cell(call: ForwardCall, batch: int, question: Question) -> Answered:
    """Its score, product by product."""
    site, head, row, column = (
        str(question["site"]),
        int(question["head"]),
        int(question["row"]),
        int(question["column"]),
    )
    for place, length in zip((row, column), call.extent(site, batch), strict=True):
        extent((place, place + 1), length)
    facts = cell_facts(call, site, head, row, column, batch)
    return {"facts": {**asdict(facts), "products": facts.products}}, b""


def extent(asked: Any, length: int) -> Extent:
    """(start, stop), cut to what there is; all of it where nothing is asked."""
    first, last = (0, length) if asked is None else (int(asked[0]), min(int(asked[1]), length))
    if not 0 <= first < last:
        raise InputError("there is nothing between these positions", found=str(asked), do=f"count from 0 to {length}")
    return first, last


def check_size(numbers: int) -> None:
    if numbers > LARGEST:
        raise InputError("this is too large for one answer", found=f"{numbers:,}", do=f"ask for {LARGEST:,} or fewer")


def packed(numbers: Tensor, **meta: Any) -> Answered:
    data = numbers.detach().float().cpu().numpy().astype(np.dtype("<f4"))
    return {"shape": list(data.shape), "meta": meta}, data.tobytes()
