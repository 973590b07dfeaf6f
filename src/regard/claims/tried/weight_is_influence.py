"""Do the weights of cross-attention, as percentages, say how much each word of the source matters?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import Estimate, mean_of, rank_correlation
from regard.claims.lab.pair_task import multi30k
from regard.claims.lab.shipped_reading import ReadSentence, read_translated, shipped
from regard.claims.measurement import BarPlot, Measurement, ResultTable
from regard.claims.setting import Setting
from regard.lens.watch import watch
from regard.models import seams
from regard.text.grammar import sentences

MODELS = ("grammar", "en-fr")
HIGH, LOW = 0.8, 0.5  # rank correlations
COUNTS = (25, 200)  # sentences a seed, quick and full
FEWEST = 5  # words of a sentence that is asked for their order
WORDS = {
    "weight": "weights, mean of all layers and heads",
    "value": "weights times the norms of what is brought",
    "rollout": "weights followed down through the encoder (rollout)",
    "hidden": "control: the word hidden, and the others where they were",
    "other": "control: weights of another word of the translation",
}


class Readings(NamedTuple):
    """Of one sentence, (rows of the decoder, source words) each: what is said to be influence, and what is."""

    weight: Tensor
    value: Tensor
    rollout: Tensor
    hidden: Tensor  # what hiding the word does, where positions stay
    influence: Tensor  # what leaving it out does


class Agreement(NamedTuple):
    """Of one set of sentences: mean rank correlations with what leaving out does; and two shares."""

    weight: float
    value: float
    rollout: float
    hidden: float
    other: float
    top: float  # how often the word of the largest weight is the one that matters most
    beside: float  # weight that goes to punctuation and the end of the sentence, to no word


@contextmanager
def hidden_keys(model: nn.Module, kept_BN: Tensor) -> Iterator[None]:
    """No attention sees these ids of the source; all others keep their positions."""

    def hook(
        site: str, call: Callable[..., Tensor], query: Tensor, key: Tensor, value: Tensor, **options: Any
    ) -> Tensor:
        of_source = site.startswith("encoder") or site.endswith("cross")
        return call(query, key, value, **({**options, "mask": kept_BN[:, None, None]} if of_source else options))

    with ExitStack() as stack:
        for seam in seams(model).values():
            stack.enter_context(seam.hooked(hook, innermost=True))
        yield


@torch.no_grad()
def divergences(model: nn.Module, one: ReadSentence, *, left_out: bool) -> Tensor:
    """(T, W): how far what each row says is from what it says without each word, as Kullback and Leibler have it.

    A word that is left out is gone, as if nobody had written it; one that is hidden leaves a gap.
    """
    count = len(one.words)
    remaining = ~one.members
    source, target = one.source.expand(count, -1), one.target.expand(count, -1)
    whole = model(one.source, one.target).double().log_softmax(-1)  # (1, T, vocabulary)
    if left_out:
        without = model(source, target, remaining)
    else:
        with hidden_keys(model, remaining):
            without = model(source, target, torch.ones_like(remaining))
    without = without.double().log_softmax(-1)
    divergence: Tensor = (whole.exp() * (whole - without)).sum(-1)
    return divergence.mT


@torch.no_grad()
def readings(model: Any, one: ReadSentence) -> Readings:
    with watch(model) as recording:
        model(one.source, one.target)
    crosses = [site for site in recording.sites if site.endswith("cross")]
    members = one.members.double().mT.cpu()  # (N, W)

    def summed(by: Any) -> Tensor:
        each = [recording.weights(site, by=by).double().mean(0) for site in crosses]
        return torch.stack(each).mean(0)

    weight, value = summed("weight"), summed("value")
    rollout = torch.stack([recording.rollout(token).double() for token in range(one.source.shape[1])])
    hidden, influence = (divergences(model, one, left_out=left_out).cpu() for left_out in (False, True))
    return Readings(weight @ members, value @ members, weight @ rollout @ members, hidden, influence)


def agreement(models_readings: Sequence[tuple[ReadSentence, Readings]]) -> Agreement:
    """Over all rows of all sentences."""
    agreements: dict[str, list[float]] = {name: [] for name in Agreement._fields}
    for one, read in models_readings:
        words = one.word_positions
        influence = read.influence[:, words]
        for row, wanted in enumerate(influence.tolist()):
            for name in ("weight", "value", "rollout", "hidden"):
                agreements[name].append(rank_correlation(getattr(read, name)[row, words].tolist(), wanted))
            another = (row + len(influence) // 2) % len(influence)
            agreements["other"].append(rank_correlation(read.weight[another, words].tolist(), wanted))
            agreements["top"].append(float(read.weight[row, words].argmax() == influence[row].argmax()))
            agreements["beside"].append(1 - float(read.weight[row, words].sum()))
    return Agreement(**{name: known_mean(values) for name, values in agreements.items()})


def known_mean(values: Sequence[float]) -> float:
    """Without rows where all words are alike, of which there is no order."""
    return mean_of([value for value in values if value == value]).value


def texts_of(setting: Setting, name: str, seed: int) -> list[str]:
    """The built-in language; for the translator of English in the full form, captions of Multi30k."""
    count = setting.quick_or_full(*COUNTS)
    if setting.full and name == "en-fr":
        return Random(seed).sample([source for source, _ in multi30k(setting.folder("multi30k"))["test"]], count)
    return [one.source for one in sentences("test", count, 1_000 + seed)]


def run(setting: Setting, case: tuple[str, int]) -> Agreement:
    name, seed = case
    model = shipped(name, setting.device).model
    read = read_translated(name, texts_of(setting, name, seed), setting.device)
    return agreement([(one, readings(model, one)) for one in read if len(one.word_positions) >= FEWEST])


def measure(setting: Setting) -> Measurement:
    cases = [(name, seed) for name in MODELS for seed in setting.seeds]
    results = dict(zip(cases, setting.each(run, cases), strict=True))

    def estimate(name: str, field: str) -> Estimate:
        return mean_of([getattr(results[name, seed], field) for seed in setting.seeds])

    correlations = ResultTable(
        "Rank correlation with what leaving each word out does to the next word's probabilities",
        ("by", *MODELS),
        tuple((text, *(estimate(name, field) for name in MODELS)) for field, text in WORDS.items()),
    )
    shares = ResultTable(
        "Shares",
        ("of", *MODELS),
        (
            ("rows whose largest weight is on the word that matters most", *(estimate(name, "top") for name in MODELS)),
            ("weight on punctuation and the sentence's end", *(estimate(name, "beside") for name in MODELS)),
        ),
    )
    short = {
        "weight": "weights",
        "value": "with values",
        "rollout": "rollout",
        "hidden": "hidden",
        "other": "another's",
    }
    bars = tuple((f"{name}: {text}", estimate(name, field)) for name in MODELS for field, text in short.items())
    plot = BarPlot("How well each says what leaving a word out does", "rank correlation", bars, ("claimed", HIGH))
    numbers = {
        f"{field}_{name.replace('-', '_')}": estimate(name, field) for name in MODELS for field in ("weight", "value")
    }
    remarks = (
        "The seeds draw sentences: the two models are those that ship. Each is read with its own translation, and "
        "every row of its decoder is asked for the order of the source words.",
        "A word that is left out is gone from encoder and decoder; a word that is hidden leaves a gap. That these two "
        "agree shows how much order there is to be found.",
    )
    return Measurement(numbers, (correlations, shares), plot, remarks)


def holds(numbers: Numbers) -> bool:
    return numbers["weight_grammar"].above(HIGH) and numbers["weight_en_fr"].above(HIGH)


def fails(numbers: Numbers) -> bool:
    return numbers["weight_grammar"].below(LOW) and numbers["weight_en_fr"].below(LOW)


CLAIM = Claim(
    name="weight-is-influence",
    statement="The attention weights, as percentages, say how much influence each word of the sentence has.",
    if_true="Ordered by their weights the words stand in the same order as by what leaving each of them out does.",
    if_false="A word that gets much weight can be left out without much change, and one with little weight cannot.",
    control="The same weights against what leaving out does to another word of the translation, which is the least; "
    "and a second way to take a word away, which is the most that can be expected.",
    measure=measure,
    rule=VerdictRule(
        f"in both models the weights' mean rank correlation with what leaving out does is surely above {HIGH:g}",
        f"it is surely below {LOW:g} in both",
        holds,
        fails,
    ),
    seeds=5,
    data=("multi30k",),
)
