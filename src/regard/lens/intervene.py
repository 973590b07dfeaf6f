"""`with regard.intervene(model, silence=("decoder.1.cross", 2)): ...`: what the model does when a head is changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.torch_names import in_backward
from regard.errors import InputError, KindError, UnknownNameError
from regard.lens.hooks.activations import PARTS, Activations, SiteActivations
from regard.lens.hooks.attach import attach, module_of
from regard.lens.hooks.attention_inputs import RowPositions
from regard.lens.hooks.changer import Changer
from regard.lens.hooks.changes import Change, Forbid, Mean, Means, Pin, Sharpen, Silence
from regard.lens.hooks.patch import Patch
from regard.models import Recurrent, seams

Place = tuple[str, int | None]  # a site's name or a pattern, a head's number or None for all
Edge = tuple[str, int | None, int | None, int | None]  # and a row and a key, each None for all
Pinned = tuple[str, int | None, int | None, int]  # and a row, or None for all, and the key it looks at
Sharpened = tuple[str, int | None, int | None, float]  # and a row, or None for all, and the factor
Positions = int | Sequence[int] | Mapping[int, int] | None  # the same in both runs, or {here: there}; None for all
Patched = tuple[str, int | None, str, Positions]  # a site, a head or None for all, a part, and where
EXAMPLES = {
    "silence": '("decoder.1.cross", 2)',
    "mean": '("decoder.1.cross", 2)',
    "forbid": '("decoder.1.cross", 2, 5, 0)',
    "pin": '("decoder.1.cross", 2, 5, 0)',
    "sharpen": '("decoder.1.cross", 2, 5, 4.0)',
    "patch": '("decoder.1.cross", 2, "output", 5), source=run',
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
    patch: Patched | Sequence[Patched] = (),
    means: Means | None = None,
    source: Activations | None = None,
) -> Iterator[None]:
    """Change what heads do while the block runs; afterwards the model is as it was. Blocks nest.

    silence  (site, head): the head's output becomes 0
    mean     (site, head): its output becomes its mean, over all rows it computes for a text, or as `means` says
    forbid   (site, head, row, key): the query of that row may not look at that key
    pin      (site, head, row, key): it looks at that key and at nothing else
    sharpen  (site, head, row, factor): its scores are multiplied by the factor, before a softcap if it has one
    patch    (site, head, part, positions): its "output", "query", "key", "value" or "weights" become those of `source`
    means    what `regard.lens.intervene.means(model)` found, for `mean`
    source   what `regard.lens.intervene.activations(model)` kept of another run, for `patch`

    Each takes one such tuple or a list of them. A site is a name or a pattern such as "decoder.*.cross"; None stands
    for every head, row or key. Rows and keys are positions in their texts as the model reads them, padding included,
    for all texts of a batch. What the model itself hides stays hidden: a row pinned there sees nothing. A watch of the
    same model sees attention as it is changed, but for `silence`, `mean`, and patches of outputs and weights, which act
    on what it gives. A change of a site that never came is refused when the block ends; one of a row or key too, unless
    a text was generated, which may end before it.

    Positions of a patch are rows, or keys for "key" and "value": one, several, or {here: there} where the runs have
    them at different positions; None takes all, from a run of the same length. Weights are mixed with this run's
    values. A patch comes before other changes of the block: what it brings is then silenced, sharpened and so on.
    """
    groups = ((Silence, silence, 2), (Forbid, forbid, 4), (Pin, pin, 4), (Sharpen, sharpen, 4))
    changes: list[Change] = patches(several("patch", patch, 4), source)
    changes += [Mean(site, head, means) for site, head in several("mean", mean, 2)]
    changes += [kind(*one) for kind, given, size in groups for one in several(kind.__name__.lower(), given, size)]
    module, _ = module_of(model)
    check_sites(module, changes)
    changer = Changer(changes, module)
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
    numbers = one[1:2] if name == "patch" else one[1:]
    parts = dict(zip(("head", "row", "factor" if name == "sharpen" else "key"), numbers, strict=False))
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


def patches(given: Sequence[Patched], source: Activations | None) -> list[Change]:
    """A change for each position."""
    if given and not isinstance(source, Activations):
        raise KindError(
            "a patch is taken from another run", found=f"source={source!r:.80}",
            do="with regard.lens.intervene.activations(model) as run: model(...); then give source=run",
        )  # fmt: skip
    for _, _, part, _ in given:
        if part not in PARTS:
            raise UnknownNameError("part", str(part), PARTS)
    return [
        Patch(site, head, part, here, there, source)  # type: ignore[arg-type]
        for site, head, part, positions in given
        for here, there in position_pairs(positions)
    ]


def position_pairs(positions: Positions) -> list[tuple[int, int]] | list[tuple[None, None]]:
    """Where to, and where from."""
    if positions is None:
        return [(None, None)]
    one = [positions] if not isinstance(positions, Iterable) else positions
    pairs = list(one.items()) if isinstance(one, Mapping) else [(position, position) for position in one]
    numbers = [number for pair in pairs for number in pair]
    if not pairs or not all(hasattr(number, "__index__") and not isinstance(number, bool) for number in numbers):
        right = False
    else:
        right = all(number >= 0 for number in numbers)
    if not right:
        raise KindError(
            "these are no positions", found=f"{positions!r:.80}",
            do="give a whole number counted from 0, a list of them, {here: there}, or None for all",
        )  # fmt: skip
    return [(int(here), int(there)) for here, there in pairs]


def check_sites(model: nn.Module, changes: Sequence[Change]) -> None:
    """In our models every site is known beforehand."""
    sites = seams(model)
    for change in changes:
        if sites and not any(change.concerns(site) for site in sites):
            raise UnknownNameError("site", change.site, sites)


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


@contextmanager
def activations(model: Any) -> Iterator[Activations]:
    """What every head asks, holds, brings and gives in one call of the model in the block, for `intervene(source=...)`.

    The model reads its whole text, or both of its texts, in that call. Weights are not kept: they are made again from
    queries and keys where a patch asks for them.
    """
    module, _ = module_of(model)
    if isinstance(module, Recurrent):
        raise InputError(
            "the activations of a recurrent model cannot be kept", found="it computes its rows one by one",
            do="take a model whose attention computes all rows of a text at once",
        )  # fmt: skip
    run, positions = Activations(), RowPositions(module)

    def hook(
        site: str, call: Callable[..., Tensor], query: Tensor, key: Tensor, value: Tensor, **options: Any
    ) -> Tensor:
        output = call(query, key, value, **options)
        if not in_backward():
            inputs = positions.inputs(site, query, key, value, options)
            if site in run.sites or inputs.first not in (0, None):
                raise InputError(
                    "the activations kept are those of one call of the model, over whole texts",
                    found=f"{site} computes further rows",
                    do="call the model once within the block, without a cache; what was generated, as a text to read",
                )
            run.sites[site] = SiteActivations.of(inputs, output)
        return output

    with attach(module, hook=hook):
        yield run
