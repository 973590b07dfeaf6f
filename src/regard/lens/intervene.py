"""`with regard.intervene(model, silence=("decoder.1.cross", 2)): ...`: what the model does when a head is changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.torch_names import COMPILED
from regard.errors import InputError, KindError, UnknownNameError
from regard.lens.hooks.attach import attach, module_of
from regard.lens.hooks.changes import AttentionInputs, Change, Forbid, Mean, Means, Pin, Sharpen, Silence
from regard.lens.recording.forward import CROSS
from regard.models import seams

Place = tuple[str, int | None]  # a site's name or a pattern, a head's number or None for all
Edge = tuple[str, int | None, int | None, int | None]  # and a row and a key, each None for all
Pinned = tuple[str, int | None, int | None, int]  # and a row, or None for all, and the key it looks at
Sharpened = tuple[str, int | None, int | None, float]  # and a row, or None for all, and the factor
EXAMPLES = {
    "silence": '("decoder.1.cross", 2)',
    "mean": '("decoder.1.cross", 2)',
    "forbid": '("decoder.1.cross", 2, 5, 0)',
    "pin": '("decoder.1.cross", 2, 5, 0)',
    "sharpen": '("decoder.1.cross", 2, 5, 4.0)',
}


@contextmanager
def intervene(
    model: Any,
    *,
    silence: Place | Sequence[Place] = (),
    mean: Place | Sequence[Place] = (),
    forbid: Edge | Sequence[Edge] = (),
    pin: Pinned | Sequence[Pinned] = (),
    sharpen: Sharpened | Sequence[Sharpened] = (),
    means: Means | None = None,
) -> Iterator[None]:
    """Change what heads do while the block runs; afterwards the model is as it was. Blocks nest.

    silence  (site, head): the head's output becomes 0
    mean     (site, head): its output becomes its mean, over all rows it computes for a text, or as `means` says
    forbid   (site, head, row, key): the query of that row may not look at that key
    pin      (site, head, row, key): it looks at that key and at nothing else
    sharpen  (site, head, row, factor): its scores are multiplied by the factor, before a softcap if it has one
    means    what `regard.lens.intervene.means(model)` found, for `mean`

    Each takes one such tuple or a list of them. A site is a name or a pattern such as "decoder.*.cross"; None stands
    for every head, row or key. Rows and keys are positions in their texts as the model reads them, padding included,
    for all texts of a batch. What the model itself hides stays hidden: a row pinned there sees nothing. A watch of the
    same model sees attention as it is changed, but for `silence` and `mean`, which act on what it gives. A change of
    a site that never came is refused when the block ends; one of a row or key too, unless a text was generated, which
    may end before it.
    """
    groups = ((Silence, silence, 2), (Forbid, forbid, 4), (Pin, pin, 4), (Sharpen, sharpen, 4))
    changes: list[Change] = [Mean(site, head, means) for site, head in several("mean", mean, 2)]
    changes += [kind(*one) for kind, given, size in groups for one in several(kind.__name__.lower(), given, size)]
    module, _ = module_of(model)
    check_sites(module, changes)
    changer = Changer(changes, decoding(module))
    with attach(module, hook=changer):
        yield
    changer.check()


def several(name: str, given: Any, size: int) -> list[Any]:
    """One tuple or a list of them, each with as many parts as this change has."""
    alone = isinstance(given, str) or not isinstance(given, Iterable)
    alone = alone or (isinstance(given, tuple) and bool(given) and isinstance(given[0], str))
    many = [given] if alone else list(given)
    for one in many:
        if not isinstance(one, (tuple, list)) or len(one) != size or not isinstance(one[0], str):
            raise KindError(f"{name} takes tuples of {size} parts", found=f"{one!r}", do=f"{name}={EXAMPLES[name]}")
        check_numbers(name, one)
    return many


def check_numbers(name: str, one: Sequence[Any]) -> None:
    """Heads, rows and keys are counted from 0; a pin needs its key, and scores a factor that is a number."""
    parts = dict(zip(("head", "row", "factor" if name == "sharpen" else "key"), one[1:], strict=False))
    for part, value in parts.items():
        if part == "factor":
            right = isinstance(value, (int, float)) and math.isfinite(value)
        elif value is None:
            right = (name, part) != ("pin", "key")
        else:
            right = hasattr(value, "__index__") and not isinstance(value, bool) and value >= 0
        if not right:
            do = "a finite number" if part == "factor" else "a whole number, counted from 0, or None for all"
            do = "a whole number, counted from 0" if (name, part) == ("pin", "key") else do
            raise KindError(f"this is no {part} for {name}", found=f"{value!r} in {tuple(one)!r}", do=f"give {do}")


def check_sites(model: nn.Module, changes: Sequence[Change]) -> None:
    """In our models every site is known beforehand."""
    sites = seams(model)
    for change in changes:
        if sites and not any(change.concerns(site) for site in sites):
            raise UnknownNameError("site", change.site, sites)


def decoding(model: nn.Module) -> set[str]:
    """The sites of PyTorch's own decoder that look at another text, which their name does not say."""
    layers = (name for name, part in model.named_modules() if isinstance(part, nn.TransformerDecoderLayer))
    return {f"{name.replace(COMPILED, '')}.multihead_attn".removeprefix(".") for name in layers}


class Changer:
    """A hook that makes the changes, the first given innermost, and knows which sites it met and what it changed."""

    def __init__(self, changes: Sequence[Change], crossing: Collection[str] = ()) -> None:
        self.changes, self.met, self.effective = list(changes), set[str](), set[int]()
        self.stepped = False  # row by row, as a text is generated: it may end before a row that was meant
        self.crossing = crossing  # sites that look at another text, besides those whose name says so
        self.position: int | None = None  # in its own text, of the first row that the decoder computes now

    def __call__(
        self, site: str, call: Callable[..., Tensor], query: Tensor, key: Tensor, value: Tensor, **options: Any
    ) -> Tensor:
        self.met.add(site)
        mine = [change for change in self.changes if change.concerns(site)]
        first = self.first(site, query, key, options)
        if not mine:
            return call(query, key, value, **options)
        inputs = AttentionInputs(site, query, key, options, first, options.get("first_key", 0))  # type: ignore[arg-type]
        for change in mine:
            before, inputs = inputs, change.ask(inputs)
            if inputs is not before or isinstance(change, (Silence, Mean)):
                self.effective.add(id(change))
        output = call(inputs.query, inputs.key, value, **inputs.options)
        for change in mine:
            output = change.answer(inputs, output)
        return output

    def first(self, site: str, query: Tensor, key: Tensor, options: dict[str, Any]) -> int | None:
        """The position of the first query. Looking at another text says nothing of it, but the layer before did."""
        if site in self.crossing or any(sign in site.lower() for sign in CROSS):
            return self.position
        offset = options.get("offset")
        if offset is None and other_text(query, key, options):
            return self.position or 0
        offset = key.shape[-2] - query.shape[-2] if offset is None else offset
        self.position = offset + options.get("first_key", 0)
        self.stepped |= query.shape[-2] == 1
        return self.position

    def check(self) -> None:
        """Refuse to have done nothing: a change of a site that the model does not have, or of a row that never came."""
        for change in self.changes:
            if self.met and not any(change.concerns(site) for site in self.met):
                raise UnknownNameError("site", change.site, sorted(self.met))
            if self.met and id(change) not in self.effective and not self.stepped:
                raise InputError(
                    "a change of this block changed nothing", found=f"{change}: no such row or key came",
                    do="rows and keys count from 0; look how long the text is",
                )  # fmt: skip


def other_text(query: Tensor, key: Tensor, options: dict[str, Any]) -> bool:
    """Several rows that may all look at every key, of which there are more or fewer: not those of their own text."""
    mask = options.get("mask")
    drawn = options.get("causal") or options.get("window") or (mask is not None and mask.shape[-2] > 1)
    return query.shape[-2] > 1 and key.shape[-2] != query.shape[-2] and not drawn


@contextmanager
def means(model: Any) -> Iterator[dict[tuple[str, int], Tensor]]:
    """The mean output of every head over all rows that the model computes in the block, for `intervene(mean=...)`.

    Rows of padding count too: run texts of one length, or one by one.
    """
    module, _ = module_of(model)
    head_means: dict[tuple[str, int], Tensor] = {}
    sums: dict[str, Tensor] = {}
    counts: dict[str, int] = {}

    @torch.no_grad()
    def add(site: str, output: Tensor) -> None:
        total = output.detach().double().sum((0, -2))  # (H, V)
        sums[site] = sums[site] + total if site in sums else total
        counts[site] = counts.get(site, 0) + output.shape[0] * output.shape[-2]

    def hook(
        site: str, call: Callable[..., Tensor], query: Tensor, key: Tensor, value: Tensor, **options: Any
    ) -> Tensor:
        output = call(query, key, value, **options)
        add(site, output)
        return output

    with attach(module, hook=hook):
        yield head_means
    for site, total in sums.items():
        head_means.update({(site, head): row / counts[site] for head, row in enumerate(total)})
