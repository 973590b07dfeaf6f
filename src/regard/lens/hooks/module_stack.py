"""Which module is being called: the site of an attention is the innermost, and modules that had none are noticed."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from torch import nn

from regard.errors import InputError
from regard.lens.torch_names import in_backward

ATTENTION = re.compile(r"(?<!fl)atten|attn|mha$", re.IGNORECASE)  # not Flatten
HELPER = re.compile(r"(output|projection|proj|dropout|norm|bias|embeddings?|mask|gate|mlp)$", re.IGNORECASE)
WEIGHTLESS = re.compile(r"linear|lightning|delta", re.IGNORECASE)  # sums over the past without a softmax: no weights
NAMED = 4  # so many modules an error lists


def looks_like_attention(module: nn.Module) -> bool:
    """By the name of its class, has it weights to show?"""
    name = type(module).__name__
    return bool(ATTENTION.search(name)) and not HELPER.search(name) and not WEIGHTLESS.search(name)


def recomputing() -> bool:
    """Are we inside a backward pass? There gradient checkpointing runs forwards again that were seen before."""
    return in_backward()


@dataclass
class Frame:
    """One module being called."""

    module: nn.Module
    name: str
    suspect: bool  # its class is called an attention
    within: str | None  # the suspect around it
    seen: int = 0  # attentions that came through, those of its parts included


@dataclass
class Stack:
    """The modules being called, outermost first, and what came through since the outermost began."""

    names: dict[int, str]
    frames: list[Frame] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    silent: dict[str, tuple[str, str | None]] = field(default_factory=dict)  # name -> its class, the suspect around it

    def push(self, module: nn.Module) -> None:
        around = next((frame.name for frame in reversed(self.frames) if frame.suspect), None)
        name = self.names[id(module)]
        self.frames.append(Frame(module, name, looks_like_attention(module), around))

    def pop(self, module: nn.Module) -> None:
        """Back to what was being called before this module; modules that an exception left are dropped with it."""
        if all(frame.module is not module for frame in self.frames):
            return
        while True:
            frame = self.frames.pop()
            if self.frames:
                self.frames[-1].seen += frame.seen
            if frame.suspect and not frame.seen:
                self.silent[frame.name] = (type(frame.module).__name__, frame.within)
            if frame.module is module:
                return

    def site(self, module: nn.Module | None) -> str:
        """The name under which an attention is told, which is thereby counted."""
        if self.frames:
            self.frames[-1].seen += 1
        name = self.name(module)
        self.counts[name] += 1
        return name

    def name(self, module: nn.Module | None) -> str:
        """Of the given module, or the innermost being called; the model itself goes by its class."""
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
