"""The three kernels as functions of `Scores`: what `tiled`, `lse_of`, `received` and `tile` compute, launched.

The only file that launches; Triton is imported by the first launch, and by nothing else in the package.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.kernels.launch_config import LaunchConfig, launch_config
from regard.attention.kernels.operands import (
    ColumnFlags,
    Flags,
    RowFlags,
    Side,
    Strided,
    TileFlags,
    flags_of,
    one_term,
    operands_of,
    padded,
    shifts_of,
    strided,
)
from regard.attention.masks import Sight
from regard.attention.scores import LogSum, Scores, both
from regard.attention.statistics import first_shown

SPAN = 32  # blocks across that one program of `tile` does: few enough to fill the device, enough to load ahead
LARGE = 32  # cells from this size on are pooled in blocks of their own size
NOTHING = Strided(None)


def rows_with_statistics(scores: Scores, value_BJKV: Tensor) -> tuple[Tensor, ...]:
    """The output, grouped by key head, then the fields of `Statistics`: what `tiled(..., full=True)` gives."""
    scores = one_term(scores)
    *lead, queries, _ = scores.query_BJGQD.shape
    width = value_BJKV.shape[-1]
    output = value_BJKV.new_empty(*lead, queries, width)
    lse, entropy, top, distance, own, first = (row_numbers(scores) for _ in range(6))
    fields = lse, entropy, top, row_numbers(scores, torch.int64), distance, own, first
    launch_rows(scores, value_BJKV if width else None, output, fields)
    return output, *fields


def rows_output(scores: Scores, value_BJKV: Tensor) -> Tensor:
    """The output alone, grouped by key head: what `tiled(..., full=False)` gives first."""
    scores = one_term(scores)
    output = value_BJKV.new_empty(*scores.query_BJGQD.shape[:-1], value_BJKV.shape[-1])
    if output.numel():
        launch_rows(scores, value_BJKV, output, (row_numbers(scores), row_numbers(scores)))
    return output


def rows_lse(scores: Scores) -> LogSum:
    """The lse of every row, in two parts: what `lse_of` gives."""
    scores = one_term(scores)
    fields = row_numbers(scores), row_numbers(scores)
    launch_rows(scores, None, None, fields)
    return LogSum(*fields)


def launch_rows(scores: Scores, value: Tensor | None, output: Tensor | None, fields: tuple[Tensor, ...]) -> None:
    from regard.attention.kernels.row_kernel import row_pass

    full, width = len(fields) > 2, 0 if value is None else value.shape[-1]
    first = first_keys(scores) if full or width else NOTHING
    config = launch_config("rows", scores, width)
    flags = flags_of(scores, config.block_m, config.block_n)
    row_flags = RowFlags(**asdict(flags), FULL=full, MIX=width > 0, FIRST=first.pointer is not None, VALUE_DIM=width,
                         BLOCK_V=padded(width))  # fmt: skip
    batch = scores.query_BJGQD.shape[:-4]
    values = NOTHING if value is None else strided(value.unsqueeze(-3), batch)
    blocks = -(-scores.rule.sight.queries // config.block_m)
    launch(row_pass, blocks, scores, (values, first, output, fields), row_flags, config)


def columns_received(scores: Scores, sums: LogSum, weigh_BJGQ: Tensor | None) -> Tensor:
    """The column sums of the weights, (B..., J, G, keys)."""
    from regard.attention.kernels.column_kernel import column_pass

    scores, keys = one_term(scores), scores.rule.sight.keys
    output = sums.top.new_empty(*sums.top.shape[:-1], keys)
    config = launch_config("columns", scores)
    flags = ColumnFlags(**asdict(flags_of(scores, config.block_m, config.block_n)), WEIGH=weigh_BJGQ is not None)
    weigh = NOTHING if weigh_BJGQ is None else strided(weigh_BJGQ[..., None], scores.query_BJGQD.shape[:-4])
    shifts = shifts_of(sums, bool(scores.terms), config.block_m)
    launch(column_pass, -(-keys // config.block_n), scores, (shifts, weigh, output), flags, config)
    return output


def tile_pooled(scores: Scores, sums: LogSum, down: Side, across: Side, pool: str, weigh_BJGK: Tensor | None) -> Tensor:
    """The sums ("mass", "mean") or largest ("max") of a rectangle's cells, (B..., J, G, cells down, cells across)."""
    from regard.attention.kernels.tile_kernel import tile_pass

    scores = one_term(scores)
    output = sums.top.new_zeros(*sums.top.shape[:-1], down.bins, across.bins)  # where the band hides all, it stays so
    config = launch_config("tiles" if min(down.cell, across.cell) >= LARGE else "cells", scores)
    flags = flags_of(scores, config.block_m, config.block_n)
    cells = min(power(down.cell), config.block_m), min(power(across.cell), config.block_n)
    merge = down.cell > cells[0] or across.cell > cells[1]
    tile_flags = TileFlags(**asdict(flags), WEIGH=weigh_BJGK is not None, CELL_M=cells[0], CELL_N=cells[1],
                           LARGEST=pool == "max", MERGE=merge)  # fmt: skip
    weigh = NOTHING if weigh_BJGK is None else strided(weigh_BJGK[..., None, :], scores.query_BJGQD.shape[:-4])
    high = -(-down.bins // (config.block_m // cells[0]))
    wide = -(-across.bins // (SPAN * (config.block_n // cells[1])))
    across = across._replace(span=SPAN)
    shifts = shifts_of(sums, bool(scores.terms), 1)
    launch(tile_pass, high * wide, scores, (shifts, weigh, output, down, across), tile_flags, config)
    return output


def launch(
    kernel: Any, blocks: int, scores: Scores, given: tuple[Any, ...], flags: Flags, config: LaunchConfig
) -> None:
    """One program for each block of each head; none where there is nothing to compute."""
    programs = blocks * scores.query_BJGQD.shape[:-2].numel()
    if not programs:
        return
    limit = {} if config.registers is None else {"maxnreg": config.registers}
    on_device = torch.cuda.device(scores.device) if scores.device.type == "cuda" else nullcontext()
    with on_device:  # Triton launches on the current device, whichever its arguments lie on
        kernel[programs,](operands_of(scores), *given, FLAGS=flags, num_warps=config.warps, num_stages=config.stages,
                          **limit)  # fmt: skip


def first_keys(scores: Scores) -> Strided:
    """The first key that masks show to each row, -1 where these and the band show none; nothing without masks."""
    sight = scores.rule.sight
    added = [term for term in (*scores.terms, sight.mask) if term is not None]
    if not added:
        return NOTHING
    everything = slice(0, sight.keys)
    if any(term.shape[-2] > 1 for term in added) or not sight.keys:
        first = torch.cat([first_of_rows(scores, rows, everything) for rows in scores.row_blocks()], -1)
    else:
        shown = both(sight.mask, scores.shown(slice(0, 1), everything))
        assert shown is not None
        first = first_by_counts(sight, shown.squeeze(-2).expand(*shown.shape[:-2], sight.keys))
    return strided(first[..., None], scores.query_BJGQD.shape[:-4])


def first_of_rows(scores: Scores, rows: slice, everything: slice) -> Tensor:
    visible = scores.visible(rows, everything)
    assert visible is not None
    return torch.where(visible.any(-1), first_shown(scores, rows), -1)


def first_by_counts(sight: Sight, shown: Tensor) -> Tensor:
    """The same where one mask (..., keys) serves all rows: how many keys it shows up to each finds rows without one."""
    counts = F.pad(shown.int().cumsum(-1), (1, 0))
    position = torch.arange(sight.queries, device=shown.device) + sight.offset
    begin = position * 0 if sight.left is None else (position - sight.left).clamp(0, sight.keys)
    end = position * 0 + sight.keys if sight.right is None else (position + sight.right + 1).clamp(0, sight.keys)
    lit = counts[..., end] > counts[..., begin]
    return torch.where(lit, shown.to(torch.uint8).argmax(-1, keepdim=True), -1)


def row_numbers(scores: Scores, dtype: torch.dtype = torch.float32) -> Tensor:
    return scores.query_BJGQD.new_empty(scores.query_BJGQD.shape[:-1], dtype=dtype)


def power(cell: int) -> int:
    """The power of two that holds a cell's side."""
    return 1 << (cell - 1).bit_length()
