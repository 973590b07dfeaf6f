"""Do the kernels serve? The one place that decides it, for `attend`, `received` and `tile` alike."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import TypeVar

import torch
from torch import Tensor

from regard.attention.kernels.operands import padded, traits_of, unit_of
from regard.attention.kernels.trial import Kind, distrust, trusted
from regard.attention.scores import HALVES, Scores

DEVICES = {"cuda"}
PLAIN = (Tensor, torch.nn.Parameter)
DTYPES = (*HALVES, torch.float32)
WIDEST = 256  # the largest dim of a head whose blocks fit the memory of a multiprocessor
OLDEST = (8, 0)  # compute capability: older ones have no bfloat16
FAR = 1 << 29  # positions are counted in 32 bits
GRID = 1 << 24  # two terms are added up before, where their sum has no more cells than this

Result = TypeVar("Result")


def by_kernel(scores: Scores, compute: Callable[[], Result], value: Tensor | None = None) -> Result | None:
    """What `compute` gives, where the kernels serve and were right so far; None where the blockwise pass must.

    Nobody is worse off for their being there: when a kernel cannot be compiled or launched, or its first answers are
    not those of the blockwise pass, a warning says so, once, and that pass serves from then on.
    """
    if not serves(scores, value):
        return None
    width = 0 if value is None else value.shape[-1]
    dim = padded(max(scores.query_BJGQD.shape[-1], width))
    kind = Kind(scores.device, scores.dtype, dim, traits_of(scores))
    try:
        if not trusted(kind):
            return None
        return compute()
    except torch.OutOfMemoryError:
        raise
    except Exception as problem:
        distrust(kind, f"{type(problem).__name__}: {problem}")
        return None


def serves(scores: Scores, value: Tensor | None = None) -> bool:
    """Can the kernels compute exactly this?"""
    if scores.device.type not in DEVICES or scores.dtype not in DTYPES or torch.compiler.is_compiling():
        return False
    vectors = [tensor for tensor in (scores.query_BJGQD, scores.key_BJKD, value) if tensor is not None]
    others = [tensor for tensor in (*scores.terms, scores.sinks_JG, scores.rule.sight.mask) if tensor is not None]
    if any(type(tensor) not in PLAIN for tensor in (*vectors, *others)):
        return False  # a subclass may have no memory to point to
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (*vectors, *others)):
        return False
    if not found_triton() or not capable(scores.device):
        return False
    return in_reach(scores) and all(holds(tensor) for tensor in vectors)


def in_reach(scores: Scores) -> bool:
    """Do all numbers fit those of a kernel: 32 bits for positions, and float32 for what scales?"""
    sight, unit = scores.rule.sight, unit_of(scores.rule, bool(scores.terms))
    bounds = sight.queries, sight.keys, abs(sight.offset), sight.left or 0, sight.right or 0
    ordinary = all(1e-30 < number < 1e30 for number in (unit.inner, unit.outer, unit.unit))
    few = len(scores.terms) < 2 or scores.cells <= GRID
    added = [term for term in (*scores.terms, sight.mask) if term is not None]
    near = all(abs(term.stride(-1)) * sight.keys < 1 << 31 for term in added)
    return max(bounds) < FAR and ordinary and few and near


def holds(vectors: Tensor) -> bool:
    """Are these vectors short enough, and near enough to each other for addresses of 32 bits within a block?"""
    return vectors.shape[-1] <= WIDEST and abs(vectors.stride(-2)) < 1 << 22 and abs(vectors.stride(-1)) < 1 << 22


@cache
def found_triton() -> bool:
    return find_spec("triton") is not None


@cache
def capable(device: torch.device) -> bool:
    if device.type != "cuda":
        return True
    return torch.version.cuda is not None and torch.cuda.get_device_capability(device) >= OLDEST
