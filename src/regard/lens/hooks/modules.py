"""The modules of a model: which is being called, what it was given to read, and methods that others stand around."""

from __future__ import annotations

import inspect
import re
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, update_wrapper
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import InputError

ATTENTION = re.compile(r"(?<!fl)atten|attn|mha$", re.IGNORECASE)  # not Flatten
HELPER = re.compile(r"(output|projection|proj|dropout|norm|bias|embeddings?|mask|gate|mlp)$", re.IGNORECASE)
WEIGHTLESS = re.compile(r"linear|lightning|delta", re.IGNORECASE)  # sums over the past without a softmax: no weights
NAMED = 4  # so many modules an error lists
NO_IDS = re.compile(r"mask|position|type|label|target", re.IGNORECASE)  # arguments of whole numbers that are no text
WHOLE = (torch.int64, torch.int32, torch.int16, torch.uint8)

Method = Callable[..., Any]
Around = Callable[[Method], Method]
WRAPPING = threading.Lock()


@dataclass
class ModuleFrame:
    """One module being called."""

    module: nn.Module
    name: str
    suspect: bool  # its class is called an attention
    within: str | None  # the suspect around it
    attentions: int = 0  # that came through, those of its parts included


@dataclass
class ModuleStack:
    """The modules being called, outermost first, and what came through since the outermost began.

    The site of an attention is the innermost of them; attention modules that had none are noticed.
    """

    names: dict[int, str]
    frames: list[ModuleFrame] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    silent: dict[str, tuple[str, str | None]] = field(default_factory=dict)  # name -> its class, the suspect around it

    def push(self, module: nn.Module) -> None:
        around = next((frame.name for frame in reversed(self.frames) if frame.suspect), None)
        name = self.names[id(module)]
        self.frames.append(ModuleFrame(module, name, looks_like_attention(module), around))

    def pop(self, module: nn.Module) -> None:
        """Back to what was being called before this module; modules that an exception left are dropped with it."""
        if all(frame.module is not module for frame in self.frames):
            return
        while True:
            frame = self.frames.pop()
            if self.frames:
                self.frames[-1].attentions += frame.attentions
            if frame.suspect and not frame.attentions:
                self.silent[frame.name] = (type(frame.module).__name__, frame.within)
            if frame.module is module:
                return

    def count(self, module: nn.Module | None) -> str:
        """The site of an attention, which is thereby counted."""
        if self.frames:
            self.frames[-1].attentions += 1
        site = self.site(module)
        self.counts[site] += 1
        return site

    def site(self, module: nn.Module | None) -> str:
        """The name of the given module, or of the innermost being called; the model itself goes by its class."""
        module = self.frames[-1].module if module is None else module
        return self.names[id(module)] or type(module).__name__

    def clear(self) -> None:
        self.frames.clear()
        self.counts.clear()
        self.silent.clear()

    def missing(self) -> dict[str, str]:
        """Attention modules that ran and let nothing be seen, by name: the outermost, helpers of others left out."""
        return {
            name: kind
            for name, (kind, around) in self.silent.items()
            if around is None or (around not in self.silent and around not in self.counts)
        }


def looks_like_attention(module: nn.Module) -> bool:
    """By the name of its class, has it weights to show?"""
    return named_like_attention(type(module).__name__)


def only_calculates(module: nn.Module) -> bool:
    """Is it one of PyTorch's own without parts, such as a linear layer? No attention begins in it."""
    alone = not any(True for _ in module.children())
    return alone and type(module).__module__.startswith("torch.nn.modules.") and not looks_like_attention(module)


@cache
def named_like_attention(name: str) -> bool:
    return bool(ATTENTION.search(name)) and not HELPER.search(name) and not WEIGHTLESS.search(name)


def refuse(model: nn.Module, missing: dict[str, str]) -> InputError:
    """What to say of a model whose attention cannot be seen."""
    name = type(model).__name__
    if not missing:
        return InputError(
            f"no attention of {name} came through",
            found="no call of scaled_dot_product_attention, nn.MultiheadAttention or transformers' attention interface",
            do="write its attention with one of these, or with regard.attend",
        )
    listed = [f"{site} ({kind})" for site, kind in list(missing.items())[:NAMED]]
    more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    return InputError(
        f"{name} computes attention itself, where it cannot be seen",
        found=f"no attention came through from {', '.join(listed)}{more}",
        do="use a model on transformers' attention interface, or one that calls scaled_dot_product_attention",
    )


class WrappedMethod:
    """Stands in an object in place of one method; the newest layer is outermost, and any may leave first."""

    def __init__(self, owner: Any, name: str) -> None:
        self.own: Method | None = owner.__dict__.get(name)  # what to put back; None: nothing
        self.owner, self.name = weakref.ref(owner), name  # weakly, so that a cache goes when nobody uses it
        self.lent: Method | None = None if hasattr(type(owner), name) else getattr(owner, name)  # of what it wraps
        self.layers: tuple[Around, ...] = ()  # a new one whenever one comes or goes: another thread may be calling
        update_wrapper(self, self.method)  # transformers reads the names of its arguments
        vars(self).pop("__wrapped__")  # it would hold the owner

    @property
    def method(self) -> Method:
        """As the object has it without us."""
        fixed, owner = self.own or self.lent, self.owner()
        assert owner is not None
        method: Method = getattr(type(owner), self.name).__get__(owner) if fixed is None else fixed
        return method

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.method)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        method = self.method
        for around in self.layers:
            method = around(method)
        return method(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """A copy of a watched object is not watched."""
        return (getattr, (self.owner(), self.name)) if self.own is None else (itself, (self.own,))


def itself(method: Method) -> Method:
    return method


def wrap(owner: Any, name: str, around: Around) -> WrappedMethod:
    """This method of this one object goes through `around` from now on."""
    with WRAPPING:
        present = owner.__dict__.get(name)
        method = present if isinstance(present, WrappedMethod) else WrappedMethod(owner, name)
        method.layers = (*method.layers, around)
        owner.__dict__[name] = method
        return method


def unwrap(owner: Any, method: WrappedMethod, around: Around) -> None:
    """It does not any more; after the last the object has what it had, unless somebody has put another there since."""
    with WRAPPING:
        newest = max(place for place, layer in enumerate(method.layers) if layer is around)
        method.layers = (*method.layers[:newest], *method.layers[newest + 1 :])
        if method.layers or owner.__dict__.get(method.name) is not method:
            return
        if method.own is not None:
            owner.__dict__[method.name] = method.own
        else:
            owner.__dict__.pop(method.name)


@contextmanager
def wrapped(owner: Any, name: str, around: Around) -> Iterator[None]:
    """The same for the length of a with block."""
    method = wrap(owner, name, around)
    try:
        yield
    finally:
        unwrap(owner, method, around)


def read_ids(
    model: nn.Module, forward: Method, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Tensor | None, Tensor | None]:
    """(ids, target ids) of a call: of an encoder-decoder the source's and the target's, else the ids alone."""
    arguments = by_name(forward, args, kwargs)
    ids, target = arguments.get("input_ids"), arguments.get("decoder_input_ids")
    if target is None and arguments.get("decoder_inputs_embeds") is None and callable(shift := shift_of(model)):
        labels = arguments.get("labels")
        target = shift(ids if labels is None else labels) if are_ids(ids if labels is None else labels) else None
    if ids is None and "input_ids" not in arguments:
        ids = next((thing for thing in without_name(model, arguments) if are_ids(thing)), None)
    return ids if are_ids(ids) else None, target if are_ids(target) else None


def without_name(model: nn.Module, arguments: dict[str, Any]) -> Iterator[Any]:
    """What may be ids though it is not called so: what a wrapper hands on, or any argument of a model of one's own."""
    for name, thing in arguments.items():
        if isinstance(thing, tuple):
            yield from thing
        elif not hasattr(model, "config") and not NO_IDS.search(name):
            yield thing


def by_name(forward: Method, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """All arguments by name."""
    try:
        bound = inspect.signature(forward).bind_partial(*args, **kwargs)
    except (TypeError, ValueError):  # the model itself will say what is wrong
        return dict(kwargs)
    return {**bound.arguments, **kwargs}


def shift_of(model: nn.Module) -> Any:
    """How an encoder-decoder makes its decoder's input from labels, or from its source as BART does."""
    config = getattr(model, "config", None)
    return getattr(model, "prepare_decoder_input_ids_from_labels", None) if is_encoder_decoder(config) else None


def is_encoder_decoder(config: Any) -> bool:
    return bool(getattr(config, "is_encoder_decoder", False))


def are_ids(thing: Any) -> bool:
    return isinstance(thing, Tensor) and thing.ndim == 2 and thing.dtype in WHOLE
