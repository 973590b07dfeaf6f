"""All of a score but q.k, in O(N) numbers: a mask of queries x keys is read as the band and the padding it is made of.

A bias that depends only on how far key and query stand apart is kept by its diagonals, 2N - 1 numbers a head. Whatever
is neither is kept as it is up to `LARGEST` numbers, and refused beyond.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.attention.inputs import ScoreOptions
from regard.attention.masks import Window, cut
from regard.attention.scores import NOWHERE, blocks
from regard.errors import InputError
from regard.lens.recording.mask_pattern import depends_on_distance, find_band

LARGEST = 1 << 24  # numbers of a mask or bias that follows no rule
UNROLLED = 1 << 22  # cells of a bias, kept by its diagonals, that are laid out at a time
DEEP = -1e9  # a number added to hide a cell, where -inf would have done


@dataclass(frozen=True)
class Terms:
    """What turns q.k into a score, for some queries over some keys; tensors have rank 4, sizes 1 where they repeat."""

    scale: float
    offset: int
    softcap: float | None = None
    causal: bool = False
    window: Window = (None, None)
    mask: Tensor | None = None  # (B, H, Q, K), booleans or numbers to add
    bias: Tensor | None = None  # (B, H, Q, K)
    diagonals: Tensor | None = None  # (H, Q + K - 1): the bias of key j for query i stands at j - i + Q - 1
    sinks: Tensor | None = None  # (H)

    def options(self, rows: slice, columns: slice, queries: int) -> ScoreOptions:
        """As `attend` takes them, for a rectangle cut out of all queries and keys."""
        bias = None if self.bias is None else cut(self.bias, rows, columns)
        if self.diagonals is not None:
            bias = unrolled(self.diagonals, rows, columns, queries)
        return {
            "mask": None if self.mask is None else cut(self.mask, rows, columns),
            "bias": bias,
            "offset": self.offset + rows.start - columns.start,
            "causal": self.causal, "window": self.window, "scale": self.scale, "softcap": self.softcap,
            "sinks": self.sinks,
        }  # fmt: skip

    def blocks(self, rows: slice, keys: int, cell: int = 1) -> Iterator[slice]:
        """Rows to work on at a time: all, unless a bias has to be laid out for them."""
        if self.diagonals is None or rows.stop <= rows.start:
            yield rows
            return
        fits = max(1, UNROLLED // max(1, len(self.diagonals) * keys * cell)) * cell
        yield from blocks(rows, fits)

    def pick(self, batch: slice | Tensor, heads: list[int]) -> Terms:
        """For some texts and heads only."""

        def part(term: Tensor | None) -> Tensor | None:
            if term is None:
                return None
            term = term if term.shape[0] == 1 else term[batch]
            return term if term.shape[1] == 1 else term[:, heads]

        diagonals = self.diagonals
        if diagonals is not None and len(diagonals) > 1:
            diagonals = diagonals[heads]
        sinks = None if self.sinks is None else self.sinks[heads]
        return replace(self, mask=part(self.mask), bias=part(self.bias), diagonals=diagonals, sinks=sinks)

    def at(self, rows: Tensor, columns: Tensor, queries: int) -> tuple[Tensor, Tensor | None]:
        """Of single cells of one text, (H or 1, n) each: which are visible, and what is added to their scores."""
        away = columns - rows - self.offset
        left, right = self.bound
        shown = torch.ones_like(away, dtype=torch.bool)[None]
        shown = shown if left is None else shown & (away >= -left)
        shown = shown if right is None else shown & (away <= right)
        added = [] if self.diagonals is None else [self.diagonals[:, columns - rows + queries - 1]]
        for term in (self.mask, self.bias):
            if term is not None:
                i, j = (
                    at if size > 1 else torch.zeros_like(at)
                    for at, size in zip((rows, columns), term.shape[2:], strict=True)
                )
                cells = term[0][:, i, j]
                shown = shown & cells if term.dtype == torch.bool else shown
                added += [] if term.dtype == torch.bool else [cells]
        return shown, sum(added[1:], start=added[0]) if added else None

    def trim(self, keys: int, queries: int) -> Terms:
        """Over the first so many keys only."""
        everywhere, first = slice(None), slice(0, keys)
        mask, bias = (None if term is None else cut(term, everywhere, first) for term in (self.mask, self.bias))
        diagonals = None if self.diagonals is None else self.diagonals[:, : queries + keys - 1]
        return replace(self, mask=mask, bias=bias, diagonals=diagonals)

    def stored(self, store: Callable[[Tensor], Tensor]) -> Terms:
        """With copies of its tensors."""
        terms = (self.mask, self.bias, self.diagonals, self.sinks)
        mask, bias, diagonals, sinks = (None if term is None else store(term) for term in terms)
        return replace(self, mask=mask, bias=bias, diagonals=diagonals, sinks=sinks)

    @property
    def sees(self) -> str:
        """The kind of mask, for people."""
        left, right = self.window
        banded = left is not None or right not in (None, 0)
        kinds = [
            "causal" if self.causal or right == 0 else "",
            "window" if banded else "",
            "" if self.mask is None else "padding" if self.mask.shape[2] == 1 else "mask",
        ]
        return " + ".join(kind for kind in kinds if kind) or "none"

    @property
    def bound(self) -> Window:
        """The window, causal taken in."""
        return (self.window[0], 0) if self.causal else self.window


def unrolled(diagonals_HN: Tensor, rows: slice, columns: slice, queries: int) -> Tensor:
    """The bias (1, H, rows, columns) that these diagonals stand for."""
    i = torch.arange(rows.start, rows.stop, device=diagonals_HN.device)
    j = torch.arange(columns.start, columns.stop, device=diagonals_HN.device)
    return diagonals_HN[:, j - i[:, None] + queries - 1][None]


def terms_of(site: str, query: Tensor, key: Tensor, options: ScoreOptions, *, compact: bool = False) -> Terms:
    """The terms of one attention, in as few numbers as they can be; `compact`: its mask is from `compact_mask`."""
    queries, keys = query.shape[-2], key.shape[-2]
    offset, scale, window = options.get("offset"), options.get("scale"), options.get("window")
    terms = Terms(
        scale=1.0 / math.sqrt(query.shape[-1]) if scale is None else float(scale),
        offset=keys - queries if offset is None else offset,
        softcap=options.get("softcap"),
        causal=options.get("causal", False),
        window=(None, None) if window is None else (window[0], window[1]),
        sinks=options.get("sinks"),
    )
    mask = options.get("mask")
    if mask is not None and not compact:
        mask = without_zeros(rank_four(mask))
    return with_bias(site, with_mask(site, terms, mask), options.get("bias"), queries)


def without_zeros(mask: Tensor) -> Tensor | None:
    """Boolean where it only hides; None where it hides nothing."""
    if mask.dtype != torch.bool and bool(((mask == 0) | (mask == NOWHERE)).all()):
        mask = mask == 0
    return None if mask.dtype == torch.bool and bool(mask.all()) else mask


def with_mask(site: str, terms: Terms, mask: Tensor | None) -> Terms:
    if mask is None:
        return terms
    mask = rank_four(mask)
    if mask.dtype == torch.bool and mask.shape[2] > 1:
        band = find_band(mask, terms.offset, fixed=terms.bound != (None, None))
        if band is not None:
            left, right = narrower(terms.window[0], band.left), narrower(terms.bound[1], band.right)
            window = (left, None if right == 0 else right)
            terms, mask = replace(terms, offset=band.offset, causal=right == 0, window=window), band.rest
            if bool(mask.all()):
                return terms
    return replace(terms, mask=bounded(site, "mask", mask))


def with_bias(site: str, terms: Terms, bias: Tensor | None, queries: int) -> Terms:
    if bias is None:
        return terms
    bias = rank_four(bias)
    if bias.shape[0] == 1 and bias.shape[2] == queries > 1 and bias.shape[3] > 1 and depends_on_distance(bias):
        past = bias[0, :, 1:, 0].flip(-1)
        return replace(terms, diagonals=torch.cat([past, bias[0, :, 0]], -1))
    return replace(terms, bias=bounded(site, "bias", bias))


def hidden(mask: Tensor) -> Tensor:
    """Which cells a mask hides: False, or a number to add so low that nothing is left."""
    return ~mask if mask.dtype == torch.bool else mask <= max(DEEP, torch.finfo(mask.dtype).min / 2)


def rank_four(term: Tensor) -> Tensor:
    """With every dim there, of size 1 where it only repeats; the very tensor, where that is so."""
    if term.ndim == 4 and not term.requires_grad and 0 not in term.stride():
        return term
    term = term.detach().reshape((1,) * (4 - term.ndim) + term.shape)
    for dim, stride in enumerate(term.stride()):
        if stride == 0 and term.shape[dim] > 1:
            term = term.narrow(dim, 0, 1)
    return term


def bounded(site: str, name: str, term: Tensor) -> Tensor:
    """The term, if it is small enough to keep as it is."""
    if term.numel() > LARGEST:
        raise InputError(
            f"the {name} of {site} follows no rule, and is too large to keep",
            found=f"{tuple(term.shape)}, {term.numel():,} numbers; at most {LARGEST:,}",
            do="leave this site out with watch(sites=...), or watch a shorter text",
        )
    return term


def narrower(one: int | None, other: int | None) -> int | None:
    bounds = [bound for bound in (one, other) if bound is not None]
    return min(bounds, default=None)


def compact_mask(mask: Tensor) -> Tensor | None:
    """A mask that a model drew itself: without repeats, boolean where it only hides, None where it hides nothing."""
    mask = without_repeats(mask)
    if mask.dtype != torch.bool and only_hides(mask):
        mask = mask == 0
    return None if mask.dtype == torch.bool and bool(mask.all()) else mask


def without_repeats(mask: Tensor) -> Tensor:
    """With size 1 along every dim in which all is the same."""
    for dim in range(mask.ndim):
        if mask.shape[dim] > 1:
            first = mask.narrow(dim, 0, 1)
            mask = first if mask.stride(dim) == 0 or bool((mask == first).all()) else mask
    return mask


def only_hides(mask: Tensor) -> bool:
    """Is an additive mask made of 0 and -inf, or 0 and finfo.min?

    A row of nothing but finfo.min is not empty: its keys share it. Such a mask stays as it is.
    """
    if mask.requires_grad:
        return False
    shown, hidden = mask == 0, mask == float("-inf")
    if bool((shown | hidden).all()):
        return True
    lowest = mask <= torch.finfo(mask.dtype).min / 2
    return bool((shown | lowest).all()) and bool(shown.any(-1).all())
