"""From the weights between tokens to those between words, and from these to links.

A target word can be read in two rows: where its tokens are the decoder's input ("input", known as Shift-Att), or one
earlier, where they are written ("output"). A head that was taught links looks at the end of the source where a word has
none, and is read so ("end").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from regard.errors import InputError, UnknownNameError
from regard.lens.alignment.word_spans import Split, WordTokens, words_of, written
from regard.lens.recording.forward import ForwardCall
from regard.text.scores.alignment_error import Link

Row = Literal["input", "output"]
ROWS: tuple[Row, ...] = ("input", "output")
MEAN, EVERYWHERE = "mean", "all"
END = ":end"


@dataclass(frozen=True)
class AttentionReading:
    """Where to look for an alignment: a site, some heads of it (their mean is taken; none: all), and a row.

    With `end`, a target word that looks more at what is no word of the source than at any word has no link. The site
    "all" stands for the mean of all heads of all sites: for comparisons, it should not be relied on.
    """

    site: str
    heads: tuple[int, ...]
    row: Row
    end: bool = False

    def __str__(self) -> str:
        return f"{self.site}:{'+'.join(map(str, self.heads)) or MEAN}:{self.row}{END if self.end else ''}"

    @classmethod
    def parse(cls, text: str) -> AttentionReading:
        """As it is written: "decoder.1.cross:2:input", "...:1+2:output" or "...:mean:input:end"."""
        site, heads, row = ["", "", *text.removesuffix(END).rsplit(":", 2)][-3:]
        if not site or row not in ROWS or not re.fullmatch(rf"{MEAN}|\d+(\+\d+)*", heads):
            raise InputError(
                "this says no place to read an alignment",
                found=f"{text!r}",
                do="site:heads:row, such as decoder.1.cross:2:input, or decoder.1.cross:mean:output",
            )
        return cls(site, () if heads == MEAN else tuple(map(int, heads.split("+"))), row, text.endswith(END))


class Pair(NamedTuple):
    """The words of a source, and those of a target as a decoder read it, its start included."""

    source: WordTokens
    target: WordTokens


class Votes(NamedTuple):
    """For every reading, the best source word of each target word and the best target word of each source word.

    (readings, target words) and (readings, source words); -1 where nothing was seen.
    """

    sources: Tensor
    targets: Tensor


def crossing(call: ForwardCall) -> dict[str, tuple[int, ...]]:
    """The sites that look from the target at the source, each with the numbers of its heads."""
    sites = {site: call.map(site).heads for site in call.sites if call.sides(site) == ("text", "source")}
    if not sites:
        raise InputError(
            "words are aligned by attention from one text to another, and there is none in this recording",
            found=f"sites {', '.join(call.sites[:8])}",
            do="record an encoder-decoder while it reads a source and a target",
        )
    return sites


def all_readings(sites: Mapping[str, tuple[int, ...]]) -> list[AttentionReading]:
    """All there are: of each site every head, every two heads together and all, then the mean of all sites."""
    return [*candidates(sites), *(AttentionReading(EVERYWHERE, (), row) for row in ROWS)]


def candidates(
    sites: Mapping[str, tuple[int, ...]],
    site: str | None = None,
    heads: tuple[int, ...] | None = None,
    row: str | None = None,
) -> list[AttentionReading]:
    """Those that can be chosen, with what is given already fixed; heads of () are all of a site together."""
    if row is not None and row not in ROWS:
        raise UnknownNameError("row", row, ROWS)
    if site is not None and site not in (*sites, EVERYWHERE):
        raise UnknownNameError("site that looks from one text at another", site, sites)
    if site == EVERYWHERE and heads:
        raise InputError(
            "heads are of one site, and all sites were asked for",
            found=f"heads {'+'.join(map(str, heads))}", do=f"give the site too: {next(iter(sites))}",
        )  # fmt: skip
    return [
        AttentionReading(where, some, each)
        for where in (sites if site is None else [site])
        for some in ([heads or ()] if heads is not None or where == EVERYWHERE else sets_of(sites[where]))
        for each in (ROWS if row is None else (row,))
    ]


def sets_of(heads: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Each head, each two of them, and all (which is written as none)."""
    return [*combinations(heads, 1), *(combinations(heads, 2) if len(heads) > 2 else ()), ()]


def pair_of(
    call: ForwardCall, batch: int = 0, words: Split | tuple[Sequence[str], Sequence[str]] | None = None
) -> Pair:
    """The words of both texts of a call, from the ids alone; `words` splits them, or gives (source, target) words."""
    if call.source is None or call.text is None:
        raise InputError("the texts of this call are not known", do="record a model that reads ids")
    split = (words, words) if words is None or callable(words) else words
    source, target = written(call.source, batch), written(call.text, batch)
    return Pair(words_of(source[1], source[0], split[0]), words_of(target[1], target[0], split[1]))


def word_weights(call: ForwardCall, site: str, pair: Pair, row: Row, batch: int = 0) -> Tensor:
    """(heads, target words, source words): over the tokens of a target word the mean, of a source word the sum."""
    weights = call.tile(site, None, batch=batch)
    return gathered(weights, pair, row)


def gathered(weights_HQK: Tensor, pair: Pair, row: Row) -> Tensor:
    queries, keys = weights_HQK.shape[-2:]
    rows = membership(pair.target, queries, 0 if row == "input" else -1)
    rows = rows / rows.sum(0).clamp(min=1)
    columns = membership(pair.source, keys, 0)
    return rows.to(weights_HQK).T @ (weights_HQK @ columns.to(weights_HQK))


def membership(text: WordTokens, length: int, shift: int) -> Tensor:
    """(length, words): 1 where a row or column belongs to a word; `shift` moves a token to the row before it."""
    matrix = torch.zeros(length, len(text.words))
    for position, owner in enumerate(text.owners):
        if owner >= 0 and 0 <= position + shift < length:
            matrix[position + shift, owner] = 1
    return matrix


def votes(call: ForwardCall, pair: Pair, readings: Sequence[AttentionReading], batch: int = 0) -> Votes:
    """What each reading says of one text of the batch; each site is made once, and let go."""
    best_words: dict[AttentionReading, tuple[Tensor, Tensor]] = {}
    total: dict[Row, Tensor] = {}
    for site in sites_for(call, readings):
        weights = call.tile(site, None, batch=batch)
        for row in ROWS:
            by_word = gathered(weights, pair, row)
            total[row] = total[row] + by_word.sum(0) if row in total else by_word.sum(0)
            here = [one for one in readings if (one.site, one.row) == (site, row)]
            means = mixtures(call.map(site).heads, here).to(by_word)
            mixed = without_unlinked(torch.tensordot(means, by_word, 1), here)
            best_words |= dict(zip(here, zip(*best(mixed), strict=True), strict=True))
    best_words |= {one: best(total[one.row]) for one in readings if one.site == EVERYWHERE}
    return Votes(*(torch.stack([best_words[one][side] for one in readings]).short().cpu() for side in (0, 1)))


def without_unlinked(weights: Tensor, readings: Sequence[AttentionReading]) -> Tensor:
    """Of (readings, target words, source words) nothing is left of a word that has no link, where it is read so."""
    if not any(one.end for one in readings) or not weights.numel():
        return weights
    elsewhere = 1 - weights.sum(-1, keepdim=True)
    asked = torch.tensor([one.end for one in readings], device=weights.device)[:, None, None]
    return weights.masked_fill(asked & (elsewhere > weights.amax(-1, keepdim=True)), 0)


def mixtures(heads: tuple[int, ...], readings: Sequence[AttentionReading]) -> Tensor:
    """(readings, heads): how much of each head a reading takes."""
    shares = torch.zeros(len(readings), len(heads))
    for number, one in enumerate(readings):
        for head in one.heads or heads:
            if head not in heads:
                raise InputError(
                    f"head {head} of {one.site} is not there",
                    found=f"heads {', '.join(map(str, heads))}",
                    do="choose among them; they count from 0",
                )
            shares[number, heads.index(head)] = 1 / len(one.heads or heads)
    return shares


def sites_for(call: ForwardCall, readings: Sequence[AttentionReading]) -> list[str]:
    """The sites that some readings need."""
    known, wanted = crossing(call), {one.site for one in readings}
    for site in sorted(wanted - {EVERYWHERE}):
        candidates(known, site, ())  # refuses one that is not there
    return [site for site in known if site in wanted or EVERYWHERE in wanted]


def best(weights: Tensor) -> tuple[Tensor, Tensor]:
    """Of (..., target words, source words) the best source word of each target word, and the reverse."""
    return strongest(weights), strongest(weights.mT)


def strongest(weights: Tensor) -> Tensor:
    """Where the largest of the last dimension stands; -1 where all are 0, or there are none."""
    if not weights.shape[-1]:
        return torch.full(weights.shape[:-1], -1)
    most, index = weights.max(-1)
    return torch.where(most > 0, index, -1)


def links(sources: Iterable[int]) -> list[Link]:
    """The best source word of each target word as links, in order of the source."""
    return sorted((int(source), target) for target, source in enumerate(sources) if source >= 0)
