"""`with regard.watch(model) as seen: model(...)`: afterwards `seen` tells every weight that the model used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.errors import InputError, UnknownNameError, some
from regard.lens.assembly.recorder import Recorder
from regard.lens.assembly.storage import Keep
from regard.lens.hooks.opened import opened
from regard.lens.hooks.own_models import hold_ours, replaced
from regard.lens.recording_api import Recording
from regard.models import Recurrent, seams
from regard.tasks import Generator, Translator

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
    values: bool = False,
    spill: str | Path | None = None,
) -> Iterator[Recording]:
    """Record what every head does while the block runs; the recording can be read afterwards.

    model      one of ours, a task (a Translator, ...), a Hugging Face model, or any module on PyTorch's attention
    tokenizer  turns ids into strings; a task brings its own; without one, tokens are ids
    sites      which attention layers to keep: names, or patterns such as "decoder.*.cross"; all by default
    heads      which heads to keep, by number
    dtype      of the queries and keys kept; by default the model's own, which is exact
    device     where they are kept
    values     keep the norms of the values too, for weights times values
    spill      a folder: what is kept lies on its disk instead of in memory

    Nothing of size queries x keys is kept or made.
    """
    module, own_tokenizer = opened(model)
    keep = Keep(
        read_sites(sites), None if heads is None else tuple(heads), read_dtype(dtype), device, values,
        None if spill is None else Path(spill), own_tokenizer if tokenizer is None else tokenizer,
    )  # fmt: skip
    recorder = Recorder(keep)
    with ExitStack() as stack:
        stack.enter_context(hold(module, recorder))
        if isinstance(model, (Translator, Generator)):
            stack.enter_context(in_order(model, recorder))
        yield Recording(recorder)
    check_seen(module, recorder)


def hold(model: nn.Module, recorder: Recorder) -> AbstractContextManager[None]:
    """Our models by their seams, all others as `lens.holding` knows."""
    found = seams(model)
    if found:
        check_sites(recorder.keep, found)
        return hold_ours(model, recorder)
    if isinstance(model, Recurrent):
        raise InputError(
            "this model has no attention to watch",
            found=f"{type(model.cells).__name__}: the whole source in one vector",
            do="use a recurrent model with attention=True, or another family",
        )
    from regard.lens.hooks import hold as hold_others  # only then is Hugging Face's library asked for

    others: AbstractContextManager[None] = hold_others(model, recorder)
    return others


@contextmanager
def in_order(task: Any, recorder: Recorder) -> Iterator[None]:
    """After each search of a task, its maps are put in the order of the texts it found."""
    search = task.decode

    def decode(*args: Any, **kwargs: Any) -> Any:
        begun = len(recorder.entries)
        found = search(*args, **kwargs)
        for entry in recorder.entries[begun:]:  # one: a search reads its batch once
            if len(entry.turns) and entry.tracks:
                entry.follow([spoken(one) for one in found])
        return found

    with replaced(task, "decode", decode):
        yield


def spoken(found: Any) -> list[int]:
    """The ids of the best text that were read again: all but the last said."""
    if not found or isinstance(found[0], int):  # a generator's
        return list(found[:-1])
    best = found[0]
    return list(best.ids) if best.end is not None else list(best.ids[:-1])


def read_sites(sites: Sequence[str] | str | None) -> tuple[str, ...] | None:
    return None if sites is None else (sites,) if isinstance(sites, str) else tuple(sites)


def read_dtype(dtype: torch.dtype | str | None) -> torch.dtype | None:
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype
    if dtype not in DTYPES:
        raise UnknownNameError("dtype", dtype, DTYPES)
    return DTYPES[dtype]


def check_sites(keep: Keep, found: dict[str, Any]) -> None:
    """Every name or pattern must mean something."""
    for pattern in keep.sites or ():
        if not any(Keep((pattern,)).wants(site) for site in found):
            raise UnknownNameError("site", pattern, found)


def check_seen(model: nn.Module, recorder: Recorder) -> None:
    """Refuse to show nothing: if the model ran and no attention came through, say whose it was."""
    if not recorder.entries:
        return
    if not recorder.count:
        names = [
            f"{name} ({type(module).__name__})"
            for name, module in model.named_modules()
            if "attention" in type(module).__name__.lower() or "attn" in name.rpartition(".")[2].lower()
        ]
        raise InputError(
            f"{type(model).__name__} ran, and its attention did not come through",
            found=some(names) if names else "no module that looks like attention",
            do="watch a model of regard, one on Hugging Face's attention interface, or on "
            "torch.nn.functional.scaled_dot_product_attention",
        )
    if not any(entry.tracks for entry in recorder.entries):
        raise InputError(
            "none of the sites asked for came through",
            found=f"sites={list(recorder.keep.sites or ())}", do="watch without sites=, and read .sites",
        )  # fmt: skip
