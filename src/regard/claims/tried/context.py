"""Does the vector of a word come to hold its sense, layer by layer?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import Estimate, difference, mean_of
from regard.claims.lab.it_pairs import it_pairs
from regard.claims.lab.pair_task import tatoeba
from regard.claims.lab.two_senses import Sensed, translated, written
from regard.claims.lab.word_vectors import folds_of, layer_vectors, parting, read_share, shuffled_labels
from regard.claims.measurement import LinePlot, Measurement, ResultTable, Series
from regard.claims.setting import Setting

READ, GAINED, UNREAD = 0.8, 0.2, 0.6  # of all sentences; chance is one half
PAIRS = (200, 400)  # of sentences with an "it", a seed, quick and full
MOST, LEAST = 100, 12  # sentences of a sense, from a corpus
MODELS = {"sense": "en-fr", "it": "grammar"}
WORDS = {"sense": "a word of two senses (en-fr)", "it": "“it”: which of two nouns (grammar)"}


class Outcome(NamedTuple):
    """Of one word in many sentences, by layer, the first before any."""

    read: tuple[float, ...]  # how often its sense is read right
    shuffled: tuple[float, ...]  # the same when senses are dealt out by chance
    same: tuple[float, ...]  # mean cosine of two sentences of one sense
    different: tuple[float, ...]


def outcome(name: str, sensed: Sequence[Sensed], folds: torch.Tensor, seed: int, device: str) -> Outcome:
    vectors = torch.stack([layer_vectors(name, text, word, device) for text, word, _ in sensed], 1).cpu()
    labels = torch.tensor([sense for *_, sense in sensed])
    mixed = shuffled_labels(labels, seed)
    apart = [parting(one, labels) for one in vectors]
    return Outcome(
        tuple(read_share(one, labels, folds) for one in vectors),
        tuple(read_share(one, mixed, folds) for one in vectors),
        tuple(same for same, _ in apart),
        tuple(different for _, different in apart),
    )


def senses(setting: Setting) -> dict[str, list[Sensed]]:
    """By word; in the full form from Tatoeba, where the French tells the sense."""
    if not setting.full:
        return written()
    sets = tatoeba(setting.folder("tatoeba-en-fr"))
    return translated([pair for some in sets.values() for pair in some], MOST, LEAST)


def pronouns(setting: Setting, seed: int) -> list[Sensed]:
    """Pairs of sentences that differ in what is said of "it": subject or object is meant."""
    return [
        (one.source, one.pronouns[0].source, sense)
        for pair in it_pairs(setting.quick_or_full(*PAIRS), 5_000 + seed)
        for sense, one in enumerate((pair.subject, pair.thing))
    ]


def run(setting: Setting, case: tuple[str, str | int]) -> Outcome:
    kind, which = case
    if isinstance(which, str):
        sensed = senses(setting)[which]
        half = len(sensed) // 2
        return outcome(MODELS[kind], sensed, folds_of(half).repeat(2), setting.seeds[0], setting.device)
    sensed = pronouns(setting, which)  # both sentences of a pair are in one fold
    folds = folds_of(len(sensed) // 2).repeat_interleave(2)
    return outcome(MODELS[kind], sensed, folds, which, setting.device)


def measure(setting: Setting) -> Measurement:
    names = sorted(senses(setting))
    cases: list[tuple[str, str | int]] = [
        *(("sense", name) for name in names),
        *(("it", seed) for seed in setting.seeds),
    ]
    results = dict(zip(cases, setting.each(run, cases), strict=True))
    by_kind = {kind: [results[case] for case in cases if case[0] == kind] for kind in MODELS}
    numbers: dict[str, Estimate] = {}
    for kind, some in by_kind.items():
        tops, bottoms = [one.read[-1] for one in some], [one.read[0] for one in some]
        numbers[f"{kind}_read"] = mean_of(tops)
        numbers[f"{kind}_gained"] = difference(tops, bottoms)
        numbers[f"{kind}_shuffled"] = mean_of([one.shuffled[-1] for one in some])
        numbers[f"{kind}_parted"] = difference([one.same[-1] for one in some], [one.different[-1] for one in some])
    tables = [layer_table(WORDS[kind], some) for kind, some in by_kind.items()]
    each = ResultTable(
        "Word by word: the sense is read right",
        ("word", "before any layer", "after the last", "sentences"),
        tuple((name, results["sense", name].read[0], results["sense", name].read[-1], len(known)) for name, known in
              sorted(senses(setting).items())),
    )  # fmt: skip
    curves = tuple(
        Series(WORDS[kind], tuple((float(layer), one) for layer, one in enumerate(by_layer(some, "read"))))
        for kind, some in by_kind.items()
    )
    plot = LinePlot("How often the sense is read from the word's own vector", "layers", "share right", curves)
    remarks = (
        "It is read by ridge regression from the vectors of other sentences; chance is one half. Intervals are over "
        "words for words of two senses, and over seeds, which draw sentences, for “it”.",
        "Before any layer a vector holds the word and its position, and nothing of its neighbours.",
    )
    return Measurement(numbers, (*tables, each), plot, remarks)


def by_layer(some: Sequence[Outcome], name: str) -> list[Estimate]:
    return [mean_of(values) for values in zip(*(getattr(one, name) for one in some), strict=True)]


def layer_table(title: str, some: Sequence[Outcome]) -> ResultTable:
    columns = ("layers", "sense read right", "senses shuffled", "cosine, same sense", "cosine, other sense")
    parts = [by_layer(some, name) for name in Outcome._fields]
    rows = tuple((layer, *estimates) for layer, estimates in enumerate(zip(*parts, strict=True)))
    return ResultTable(title, columns, rows)


def holds(numbers: Numbers) -> bool:
    return all(numbers[f"{kind}_read"].above(READ) and numbers[f"{kind}_gained"].above(GAINED) for kind in MODELS)


def fails(numbers: Numbers) -> bool:
    return all(numbers[f"{kind}_read"].below(UNREAD) for kind in MODELS)


CLAIM = Claim(
    name="context",
    statement="Layer by layer attention writes the context into a word's vector: the same word in two sentences parts, "
    "and its sense can be read.",
    if_true="Before any layer the sense cannot be read from the word's vector; after the last it can in nearly all "
    "sentences, for words of two senses and for what “it” stands for.",
    if_false="The vectors of a word stay alike, or part in ways that tell nothing of its sense.",
    control="The same reading before any layer, and of senses that are dealt out by chance.",
    measure=measure,
    rule=VerdictRule(
        f"both for words of two senses and for “it” the sense is surely read in over {READ:.0%} of sentences after the "
        f"last layer, and surely {GAINED:.0%} more often than before the first",
        f"it is surely read in under {UNREAD:.0%} for both",
        holds,
        fails,
    ),
    seeds=5,
    data=("tatoeba-en-fr",),
)
