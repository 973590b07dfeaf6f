"""`with regard.watch(model) as recording: model(...)`: afterwards `recording` has every weight that the model used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.errors import InputError, UnknownNameError
from regard.lens.assembly.recorder import Recorder
from regard.lens.assembly.watch_options import WatchOptions
from regard.lens.hooks.attach import module_of, record
from regard.lens.hooks.modules import looks_like_attention, refuse
from regard.lens.recording_api import Recording

DTYPES = {"float64": torch.float64, "float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


@contextmanager
def watch(
    model: Any,
    tokenizer: Any = None,
    *,
    sites: Sequence[str] | str | None = None,
    heads: Sequence[int] | None = None,
    dtype: torch.dtype | str | None = None,
    device: str | torch.device = "cpu",
    values: bool = True,
    spill: str | Path | None = None,
) -> Iterator[Recording]:
    """Record what every head does while the block runs; the recording can be read afterwards.

    model      one of ours, a task (a Translator, ...), a Hugging Face model, or any module on PyTorch's attention
    tokenizer  turns ids into strings; a task brings its own; without one, tokens are ids
    sites      which attention layers to keep: names, or patterns such as "decoder.*.cross"; all by default
    heads      which heads to keep, by number
    dtype      of the queries and keys kept; by default the model's own, which is exact
    device     where they are kept
    values     keep one number more a key and head, the norm of its value through W_O, for weights `by="value"`
    spill      a folder: what is kept lies on its disk instead of in memory

    Nothing of size queries x keys is kept or made.
    """
    module, own_tokenizer = module_of(model)
    options = WatchOptions(
        read_sites(sites), None if heads is None else tuple(heads), read_dtype(dtype), device, values,
        None if spill is None else Path(spill), own_tokenizer if tokenizer is None else tokenizer,
    )  # fmt: skip
    with record(model, options) as recorder:
        yield Recording(recorder)
    check_attended(module, recorder)


def read_sites(sites: Sequence[str] | str | None) -> tuple[str, ...] | None:
    return None if sites is None else (sites,) if isinstance(sites, str) else tuple(sites)


def read_dtype(dtype: torch.dtype | str | None) -> torch.dtype | None:
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype
    if dtype not in DTYPES:
        raise UnknownNameError("dtype", dtype, DTYPES)
    return DTYPES[dtype]


def check_attended(model: nn.Module, recorder: Recorder) -> None:
    """Refuse to show nothing: if the model ran and no attention came through, say whose it was."""
    if not recorder.calls:
        return
    if not recorder.count:
        suspects = {name: part for name, part in model.named_modules() if looks_like_attention(part)}
        raise refuse(model, {name: type(part).__name__ for name, part in suspects.items()})
    if not any(call.steps for call in recorder.calls):
        raise InputError(
            "none of the sites asked for came through",
            found=f"sites={list(recorder.options.sites or ())}", do="watch without sites=, and read .sites",
        )  # fmt: skip
