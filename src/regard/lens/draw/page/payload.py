"""What a page is drawn from: a description in JSON, and three deflated strings of bytes."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np

from regard.lens.draw.page.cells import KEYS, Cells, cells, norm_parts
from regard.lens.draw.page.legend import describe, headline
from regard.lens.draw.page.plan import Plate, plan
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording.map import By
from regard.lens.recording.tokens import Row

ROOM = 696_000  # deflated bytes: as letters, with the code beside them, just under a megabyte
FEWER = (KEYS, 3, 1)  # exact keys a row: as many as there is room for, at least one; none, if then the norms fit
VERSION = 1
# Level, memory and strategy of zlib. Noise is smallest without a search for repetitions, and where rows differ in short
# blocks (of little memory), each with a code of its own.
FOR_LEVELS = ((6, 9, zlib.Z_DEFAULT_STRATEGY), (6, 9, zlib.Z_HUFFMAN_ONLY), (6, 7, zlib.Z_HUFFMAN_ONLY))
EMPTY = 8  # bytes of nothing, deflated
FOR_EXACT = ((9, 7, zlib.Z_FILTERED),)


class PageOptions(TypedDict, total=False):
    """What a page opens with: a site, and with it a head; the text of the batch; its title, by default the text;
    which tokens stand beside the rows of a decoder; weights, or what they bring.
    """

    title: str | None
    site: str | None
    head: int | None
    batch: int
    row: Row
    by: By


@dataclass(frozen=True)
class Payload:
    """The same for a page, a notebook and a widget."""

    description: dict[str, Any]
    levels: bytes  # deflated: every weight as a byte
    exact: bytes  # deflated: the strongest keys of each row
    norms: bytes  # deflated: of each value, as a part of the largest, in 16 bits

    @property
    def json(self) -> str:
        """Plain ASCII that may stand inside a script element: no token can end it."""
        return json.dumps(self.description, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def payload(call: ForwardCall, **options: Unpack[PageOptions]) -> Payload:
    """Of every head of a call."""
    title, site, head, batch = options.get("title"), options.get("site"), options.get("head"), options.get("batch", 0)
    by = options.get("by", "weight")
    plates = plan(call, batch, site, head, by)
    numbers = [cells(call, plate, batch) for plate in plates]
    levels = deflated(b"".join(part.levels for part in numbers), FOR_LEVELS)
    norms = deflated(norm_planes(call, plates, batch), FOR_EXACT)
    keys, exact = fitting(numbers, ROOM - len(levels) - len(norms), FEWER if len(norms) <= EMPTY else (*FEWER, 0))
    each = [0 if plate.pooled or part.broken else keys for plate, part in zip(plates, numbers, strict=True)]
    description = describe(call, plates, batch, each)
    for one, part in zip(description["maps"], numbers, strict=True):
        one["broken"] = part.broken
    start = {"site": site, "head": call.pick(site, head, batch).heads[0]} if site is not None else None
    first = {
        "version": VERSION,
        "title": title or headline(call, batch),
        "open": start,
        "row": options.get("row", "output"),
        "by": by,
    }
    return Payload({**first, **description}, levels, exact, norms)


def deflated(data: bytes, ways: Sequence[tuple[int, int, int]]) -> bytes:
    """As `DecompressionStream("deflate")` reads it, in the smallest of some ways."""
    packers = (zlib.compressobj(level, zlib.DEFLATED, 15, memory, strategy) for level, memory, strategy in ways)
    return min((packer.compress(data) + packer.flush() for packer in packers), key=len)


def fitting(plates: Sequence[Cells], room: int, fewer: Sequence[int]) -> tuple[int, bytes]:
    """How many keys of a row are exact, and their bytes."""
    for keys in fewer:
        packed = deflated(planes([part for part in plates if not part.broken], keys), FOR_EXACT)
        if len(packed) <= room:
            break
    return keys, packed


def planes(plates: Sequence[Cells], keys: int) -> bytes:
    """All places and all parts, each as its low and its high bytes: alike stands beside alike."""
    numbers = [
        np.concatenate([part[..., :keys].numpy().astype("<u2").ravel() for part in parts] or [np.zeros(0, "<u2")])
        for parts in ([part.places_RHK for part in plates], [part.parts_RHK for part in plates])
    ]
    return b"".join(map(low_and_high, numbers))


def norm_planes(call: ForwardCall, plates: Sequence[Plate], batch: int) -> bytes:
    """The norms of all maps that the page can multiply by them: those that are not pooled."""
    known = [plate for plate in plates if not plate.pooled and call.map(plate.site).norms is not None]
    parts = [norm_parts(call, plate, batch).numpy().astype("<u2").ravel() for plate in known]
    return low_and_high(np.concatenate(parts or [np.zeros(0, "<u2")]))


def low_and_high(numbers: np.ndarray[Any, Any]) -> bytes:
    return b"".join(half.astype("u1").tobytes() for half in (numbers & 255, numbers >> 8))
