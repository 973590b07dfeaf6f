"""Triton's interpreter on a CPU, for running kernels without a GPU: to be imported before anything imports Triton.

Kernels then take blocks of 16 x 32, so that small cases cross several, and serve tensors on the CPU.
"""

from __future__ import annotations

import os

os.environ["TRITON_INTERPRET"] = "1"

from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter

from regard.attention.kernels import choose, launch_config, trial
from regard.attention.kernels.launch_config import LaunchConfig

plain_cast, plain_dot = interpreter.InterpreterBuilder.cast_impl, interpreter.InterpreterBuilder.create_dot
plain_tensor = interpreter._patch_lang_tensor


def cast(builder: Any, source: Any, kind: Any) -> Any:
    """Between float32 and bfloat16 as a GPU rounds: to the nearest. The interpreter cuts bits off."""
    pair = source.dtype.scalar, kind.scalar
    if pair == (tl.float32, tl.bfloat16):
        rounded = torch.from_numpy(np.ascontiguousarray(source.data)).bfloat16().view(torch.uint16).numpy()
        return interpreter.TensorHandle(rounded, tl.bfloat16)
    if pair == (tl.bfloat16, tl.float32):
        return interpreter.TensorHandle((source.data.astype(np.uint32) << 16).view(np.float32), tl.float32)
    return plain_cast(builder, source, kind)


def dot(builder: Any, one: Any, other: Any, *rest: Any) -> Any:
    """Half precision multiplied and summed in float32. The interpreter would multiply the bits of bfloat16."""
    wide = [part if part.dtype.scalar == tl.float32 else builder.cast_impl(part, tl.float32) for part in (one, other)]
    return plain_dot(builder, *wide, *rest)


def fma(builder: Any, one: Any, other: Any, added: Any) -> Any:
    """Rounded once, as its name promises."""
    product = one.data.astype(np.float64) * other.data.astype(np.float64)
    return interpreter.TensorHandle((product + added.data).astype(np.float32), tl.float32)


def patch_tensor(tensor: Any, scope: Any) -> None:
    """Bounds of loops are arrays of one number, of which NumPy 2.4 makes no whole number by itself."""
    plain_tensor(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda number: int(number.handle.data.item()))


interpreter.InterpreterBuilder.cast_impl = cast
interpreter.InterpreterBuilder.create_dot = dot
interpreter.InterpreterBuilder.create_fma = fma
interpreter._patch_lang_tensor = patch_tensor
# Two thirds of the time otherwise: sums looked at for overflow, and the language patched again for every function.
interpreter.interpreter_builder.options = interpreter.InterpreterOptions(sanitize_overflow=False)
interpreter._patch_lang(tl.zeros.fn)  # which stands among tl.core's own names
interpreter._patch_lang(cast)
interpreter._patch_lang = lambda function: interpreter._LangPatchScope()
np.seterr(all="ignore")  # a GPU says nothing of log2(0) or 0 / 0, whose results are not taken

choose.DEVICES.add("cpu")
# As on a GPU, blocks of the forward pass are higher than wide, and those of the second passes wider.
SMALL = {
    "rows": LaunchConfig(32, 16, 4, 2),
    "columns": LaunchConfig(16, 32, 4, 2),
    "tiles": LaunchConfig(16, 32, 4, 2),
    "cells": LaunchConfig(32, 16, 4, 2),
}
for tables in (launch_config.HALF_TABLES, launch_config.SINGLE_TABLES):
    tables.update({kernel: dict.fromkeys(tables[kernel], config) for kernel, config in SMALL.items()})


def trust() -> None:
    """Without a trial, which has a test of its own."""
    choose.trusted = lambda kind: trial.VERDICTS.get(kind, True)
