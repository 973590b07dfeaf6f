"""What to show of a call when nobody says: the head that tells tokens apart best, and whatever else there is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

import torch

from regard.errors import InputError, nearest, some
from regard.lens.recording.forward import ForwardCall

PART = re.compile("[₁-₉][₀-₉]*$")  # the number of a part, as in 🙂₂
CELLS = 1 << 27  # weights that are looked at to choose; where there are more, the last layer is taken as it is


@dataclass(frozen=True)
class HeadChoice:
    """One head, and why it: nothing where it was asked for."""

    site: str
    head: int
    why: str = ""


def choose(call: ForwardCall, site: str | None = None, head: int | None = None, batch: int = 0) -> HeadChoice:
    """The head to show among those that a site's name, a part of it or a pattern, and a head's number allow."""
    sites = list(call.maps) if site is None else find_sites(call, site)
    able = [name for name in sites if head is None or head in call.map(name).heads]
    if not able:
        call.pick(sites[-1], head, batch)  # says which heads there are
    if len(able) == 1 and head is not None:
        why = "the only site of that name" if site is not None else "the only site with that head"
        return HeadChoice(able[0], head, "" if site == able[0] or len(call.maps) == 1 else why)
    crossing = [name for name in able if call.crosses(name)]
    if site is None and crossing:  # what a translator is looked at for
        able = crossing[-1:]
    cells = sum(call.map(name).lse[0].numel() * call.map(name).keys for name in able)
    if cells > CELLS:
        last = call.map(able[-1])
        return HeadChoice(able[-1], last.heads[-1] if head is None else head, "the last there is")
    scores = [
        (score, name, number)
        for name in able
        for number, score in zip(call.map(name).heads, mutual_information(call, name, batch), strict=True)
        if head is None or number == head
    ]
    _, name, number = max(scores, key=lambda one: one[0])
    among = "the last cross-attention" if site is None and crossing else "those asked for" if site else "all"
    return HeadChoice(name, number, f"of {among}, the head whose rows differ most")


def mutual_information(call: ForwardCall, site: str, batch: int) -> list[float]:
    """For each head how much a key tells of the query that looks at it, in nats: the entropy of the mean row, less the
    mean entropy of a row.

    It is 0 where all rows are alike, however sharp, and large where each token looks at another.
    """
    one = call.pick(site, None, batch)
    rows = (~one.missing[0]).sum(-1).clamp(min=1).double()  # of each head
    mean_HK = one.received()[0].double() / rows[:, None]
    spread = -torch.special.xlogy(mean_HK, mean_HK).sum(-1)
    information: list[float] = (spread - one.statistics().entropy[0].double().sum(-1) / rows).nan_to_num(0.0).tolist()
    return information


def find_sites(call: ForwardCall, name: str) -> list[str]:
    """The sites that a name means: exactly, as a pattern such as "decoder.*.cross", by their kind, or by a part of it.

    Kinds are "self" and "cross", and where there are two texts "encoder" and "decoder", whatever a model calls them.
    """
    if name in call.maps:
        return [name]
    sites = [site for site in call.maps if fnmatchcase(site, name)]
    sites = sites or [site for site in call.maps if name.lower() in kinds(call, site)]
    sites = sites or [site for site in call.maps if name.lower() in site.lower()]
    if not sites:
        guess = nearest(name, sorted({*call.maps, *(part for site in call.maps for part in site.split("."))}))
        raise InputError(
            f"there is no site {name!r}",
            do=f"{f'did you mean {guess!r}? ' if guess else ''}known: {some(call.sites, 12)}",
        )
    return sites


def kinds(call: ForwardCall, site: str) -> set[str]:
    """What a site is, in the words that people choose it by."""
    names = {"cross" if call.crosses(site) else "self"}
    if call.source is not None:
        names.add("encoder" if call.sides(site)[0] == "source" else "decoder")
    return names


def find_token(labels: list[str], wanted: str) -> list[int]:
    """Where a token stands among labels: by its number, or wherever it is written so."""
    if wanted.removeprefix("-").isdecimal() and wanted not in labels:
        place = int(wanted)
        if not -len(labels) <= place < len(labels):
            raise InputError("there is no such token", found=f"{wanted}, of {len(labels)}", do="count from 0")
        return [place % len(labels)]
    plain = wanted.strip()
    exact = [place for place, one in enumerate(labels) if one == plain]
    alike = [place for place, one in enumerate(labels) if one.lower() == plain.lower()]
    parts = [place for place, one in enumerate(labels) if PART.sub("", one) == plain]  # of one character
    if exact or alike or parts:
        return exact or alike or parts
    guess = nearest(plain, sorted(set(labels)))
    raise InputError(
        f"there is no token {wanted!r}",
        found=f"{len(labels)} tokens: {' '.join(labels[:12])}{' …' if len(labels) > 12 else ''}",
        do=f"did you mean {guess!r}?" if guess else "give one of them, or its number from 0",
    )
