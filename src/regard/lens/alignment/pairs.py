"""Many pairs of texts aligned by a translator, some side by side: the target is not searched for but read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import torch
from torch import nn

from regard.decoding.finite import check_finite
from regard.errors import InputError
from regard.lens.alignment.choice import PairVotes
from regard.lens.alignment.links import EVERYWHERE, AttentionReading, Pair, Votes, all_readings, votes
from regard.lens.alignment.word_spans import Split, WordTokens, decoded, words_of
from regard.lens.assembly.builder import built
from regard.lens.assembly.watch_options import WatchOptions
from regard.lens.hooks.attach import record
from regard.lens.recording.forward import CROSS, ForwardCall
from regard.lens.recording.tokens import side_of
from regard.models import seams
from regard.tasks import Translator
from regard.tasks.eval_mode import eval_mode
from regard.tasks.text_ids import check_batch, encode
from regard.text.tokenizer import padded

ProgressCallback = Callable[[int, int], None]
SIDE_BY_SIDE = 32  # pairs, where nobody says how many: all their logits are held
TextOrWords = str | Sequence[str]  # a text, or its words


class EncodedPair(NamedTuple):
    """Source ids, the ids that the decoder reads, and the words of both."""

    source: list[int]
    target: list[int]
    pair: Pair


def align_pairs(
    translator: Translator,
    sources: Sequence[TextOrWords],
    targets: Sequence[TextOrWords],
    readings: Sequence[AttentionReading] | None = None,
    *,
    words: Split | None = None,
    on_progress: ProgressCallback | None = None,
) -> PairVotes:
    """What each reading (all there are, by default) says of each pair.

    A text is split into words at white space, or as `words` says; words already split may be given in its place.
    Only one batch is held at a time.
    """
    if len(sources) != len(targets):
        raise InputError("there must be as many sources as targets", found=f"{len(sources):,} and {len(targets):,}")
    check_batch(translator.batch)
    rows = [encode_pair(translator, *pair, words) for pair in zip(sources, targets, strict=True)]
    check_lengths(translator, rows)
    order = sorted(range(len(rows)), key=lambda number: -len(rows[number].source) - len(rows[number].target))
    asked = all_readings(cross_sites(translator.model)) if readings is None else list(readings)
    votes_of: dict[int, Votes] = {}
    size = translator.batch or SIDE_BY_SIDE
    for first in range(0, len(order), size):
        numbers = order[first : first + size]
        batch_votes = read_batch(translator, [rows[number] for number in numbers], asked)
        votes_of |= dict(zip(numbers, batch_votes, strict=True))
        if on_progress is not None:
            on_progress(len(votes_of), len(rows))
    return PairVotes(asked, [row.pair for row in rows], [votes_of[number] for number in range(len(rows))])


def encode_pair(translator: Translator, source: TextOrWords, target: TextOrWords, words: Split | None) -> EncodedPair:
    """A pair as the model reads it: the target after its start, and without its end."""
    config, theirs = translator.model.config, translator.generation
    source_ids, source_words = tokens(translator, source, "source", words)
    ids, target_words = tokens(translator, target, "target", words)
    ids = ids[:-1] if ids and ids[-1] == config.end else ids
    start = config.start if theirs is None or theirs.start is None else theirs.start
    return EncodedPair(source_ids, [start, *ids], Pair(source_words, target_words.after(1)))


def tokens(
    translator: Translator, text: TextOrWords, side: Literal["source", "target"], words: Split | None
) -> tuple[list[int], WordTokens]:
    """The ids of a text, and which word each belongs to."""
    whole = text if isinstance(text, str) else " ".join(text)
    given = words if isinstance(text, str) else text
    codec, config = side_of(translator.tokenizer, side), translator.model.config
    (ids,) = encode(codec, [whole], config.source_vocabulary if side == "source" else config.target_vocabulary)
    if hasattr(codec, "spans"):
        return ids, words_of(codec.spans(whole), whole, given)
    decoded_text, spans = decoded(codec, ids)
    return ids, words_of(spans, decoded_text, given)


def check_lengths(translator: Translator, rows: Sequence[EncodedPair]) -> None:
    """A model that has learned its positions has no more of them."""
    for number, row in enumerate(rows, 1):
        length = max(len(row.source), len(row.target))
        if translator.learned is not None and length > translator.learned:
            raise InputError(
                f"pair {number} is longer than this model can read",
                found=f"{length:,} tokens, where at most {translator.learned:,} fit",
                do="leave it out, or split it",
            )


def fits(translator: Translator, source: str, target: str) -> bool:
    """Can the model read this pair?"""
    if translator.learned is None:
        return True
    row = encode_pair(translator, source, target, None)
    return max(len(row.source), len(row.target)) <= translator.learned


def read_batch(translator: Translator, rows: list[EncodedPair], readings: list[AttentionReading]) -> list[Votes]:
    """What the readings say of some pairs that are read side by side."""
    wanted = {one.site for one in readings}
    sites = cross_sites(translator.model) if EVERYWHERE in wanted else wanted
    call = forced(translator, rows, sorted(sites))
    return [votes(call, row.pair, readings, number) for number, row in enumerate(rows)]


@torch.no_grad()
def forced(translator: Translator, rows: Sequence[EncodedPair], sites: Sequence[str]) -> ForwardCall:
    """What some sites do while the model reads the pairs side by side, the targets as they are given."""
    model, pad = translator.model, translator.model.config.pad or 0
    device = next(model.parameters()).device
    source, target = padded([row.source for row in rows], pad), padded([row.target for row in rows], pad)
    with eval_mode(model), record(model, WatchOptions(tuple(sites), device=device, values=False)) as recorder:
        logits = model(source.ids.to(device), target.ids.to(device), source.mask.to(device))
    check_finite(logits, model, target.mask.to(device))
    return built(recorder.calls[-1])


def cross_sites(model: nn.Module) -> dict[str, tuple[int, ...]]:
    """The sites of a model that look from the target at the source, each with the numbers of its heads."""
    sites = [site for site in seams(model) if any(sign in site for sign in CROSS)]
    if not sites:
        raise InputError(
            "this model has no attention from the target to the source",
            found=type(getattr(model, "cells", model)).__name__,
            do="align with a model that has: a Transformer, or a recurrent one with attention = true",
        )
    heads = getattr(model.config, "heads", 1)  # a recurrent decoder looks once
    return {site: tuple(range(heads)) for site in sites}
