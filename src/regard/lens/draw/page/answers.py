"""Exact numbers for a page that asks for them while it is looked at: rows, tiles and cells of a map."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from torch import Tensor

from regard.errors import InputError
from regard.lens.draw.page.plan import POOL
from regard.lens.recording.forward import ForwardCall

LARGEST = 1 << 20  # weights of one answer


def answers(call: ForwardCall, batch: int = 0) -> Callable[[Mapping[str, Any]], bytes]:
    """From a question to weights as little-endian float32, row after row."""

    def answer(question: Mapping[str, Any]) -> bytes:
        return as_bytes(weights(call, batch, question))

    return answer


def weights(call: ForwardCall, batch: int, question: Mapping[str, Any]) -> Tensor:
    """`{"site", "head", "row"}` asks for a row, `{"site", "head", "rows", "columns"}` for a tile of (start, stop),
    `{"site", "head", "cell"}` for the whole map in cells of so many queries x keys. With `"by": "value"`, products.
    """
    site, head, by = str(question.get("site")), int(question.get("head", -1)), question.get("by", "weight")
    if "row" in question:
        return call.row(site, head, int(question["row"]), batch, by=by)
    if "cell" in question:
        down, across = map(int, question["cell"])
        return call.tile(site, head, cell=(down, across), pool=POOL, batch=batch, by=by)
    rows, columns = ((int(start), int(stop)) for start, stop in (question["rows"], question["columns"]))
    if (rows[1] - rows[0]) * (columns[1] - columns[0]) > LARGEST:
        raise InputError(
            "this tile is too large", found=f"{rows} x {columns}", do=f"ask for {LARGEST:,} weights or fewer"
        )
    return call.weights(site, head, rows, columns, batch, by=by)


def as_bytes(weights: Tensor) -> bytes:
    return weights.float().cpu().numpy().astype(np.dtype("<f4")).tobytes()
