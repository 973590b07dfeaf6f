"""The weights of a page as bytes: round(255 w), and what the strongest keys of each row need to be exact.

A row is stored heads first, and only as far as its query may look. What is exact of a row are its strongest keys: each
by its place when the row's bytes are sorted (so where the bytes tell the order, the places are 0, 1, 2, ... and cost
nothing), with what rounding took from it in 14 bits: it is off by 0.00000012 at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.scores import blocks
from regard.lens.draw.page.plan import POOL, Plate
from regard.lens.recording.forward import ForwardCall

LEVELS = 255
ROUNDING = 0.5 / LEVELS  # the largest error of a byte
KEYS = 5  # of each row that are exact
PARTS = 1 << 14  # into which one level is cut for them
NORM_PARTS = (1 << 16) - 1  # into which the largest norm of a head is
BLOCK = 1 << 22  # weights that exist at a time


@dataclass(frozen=True)
class Cells:
    """One plate as numbers."""

    levels: bytes
    places_RHK: Tensor  # of the strongest keys, among the sorted bytes of their row; no keys where cells are pooled
    parts_RHK: Tensor  # what their bytes leave out
    broken: int  # weights that are no number between 0 and 1: not shown as they are


def cells(call: ForwardCall, plate: Plate, batch: int) -> Cells:
    """All weights of a plate, some rows at a time; by "value" where it is pooled so."""
    high = plate.cell[0] * max(1, BLOCK // max(1, len(plate.heads) * plate.columns * plate.cell[0]))
    parts = [cells_of(call, plate, batch, part) for part in blocks(slice(0, plate.rows), high)]
    return Cells(
        b"".join(part.levels for part in parts),
        torch.cat([part.places_RHK for part in parts]),
        torch.cat([part.parts_RHK for part in parts]),
        sum(part.broken for part in parts),
    )


def cells_of(call: ForwardCall, plate: Plate, batch: int, rows: slice) -> Cells:
    weights_HRC = weights_of(call, plate, batch, rows)
    broken = int(((weights_HRC > 1.0 + ROUNDING) | weights_HRC.isnan()).sum())
    weights_HRC = weights_HRC.nan_to_num(0.0)
    levels_HRC = (LEVELS * weights_HRC).round().clamp(max=LEVELS).to(torch.uint8)
    top = weights_HRC.topk(0 if plate.pooled else min(KEYS, plate.columns), -1)
    ranks = levels_HRC.sort(dim=-1, descending=True, stable=True).indices.argsort(-1)
    beyond = LEVELS * top.values.double() - levels_HRC.gather(-1, top.indices).double()
    parts = ((beyond + 0.5) * PARTS).round().clamp(0, PARTS - 1).int()
    by_row = levels_HRC.transpose(0, 1).contiguous()
    stored = [by_row] if plate.pooled else [
        row[:, : reach_of(call, plate, place)] for place, row in enumerate(by_row, start=rows.start)
    ]  # fmt: skip
    return Cells(
        b"".join(part.numpy().tobytes() for part in stored),
        ranks.gather(-1, top.indices).transpose(0, 1), parts.transpose(0, 1), broken,
    )  # fmt: skip


def weights_of(call: ForwardCall, plate: Plate, batch: int, rows: slice) -> Tensor:
    """(heads, cells down, cells across), on the CPU; by "value", shares of each head's largest norm."""
    heads = None if plate.heads == call.map(plate.site).heads else plate.heads
    tile = call.tile(plate.site, heads, rows, cell=plate.cell, pool=POOL, batch=batch, by=plate.by)
    if plate.by == "value":
        tile = tile / call.largest_norms(plate.site, heads, batch)[:, None, None]
    return tile.cpu()


def norm_parts(call: ForwardCall, plate: Plate, batch: int) -> Tensor:
    """(heads, columns): the norm of each value, as so many 65535ths of its head's largest."""
    one = call.pick(plate.site, plate.heads, batch)
    assert one.norms is not None
    shares = one.norms[0, :, : plate.columns] / call.largest_norms(plate.site, plate.heads, batch)[:, None]
    return (NORM_PARTS * shares.nan_to_num(0.0)).round().clamp(0, NORM_PARTS).int().cpu()


def reach_of(call: ForwardCall, plate: Plate, row: int) -> int:
    """How many columns of a row can hold anything."""
    ahead = bound(call, plate.site)
    return plate.columns if ahead is None else min(max(0, row + ahead), plate.columns)


def bound(call: ForwardCall, site: str) -> int | None:
    """Query i may look at the keys before `i + bound`; None if there is no such limit."""
    terms = call.map(site).terms
    right = terms.bound[1]
    return None if right is None else terms.offset + right + 1
