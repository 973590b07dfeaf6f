"""Do words that often occur together come to have higher scores for each other?"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import Estimate, mean_of
from regard.claims.lab.fit import Fit, fit_pairs, loss_on
from regard.claims.lab.inner_steps import steps_of
from regard.claims.lab.pair_task import PairIds, PairTask, batch_of
from regard.claims.lab.paired_words import VERBS, PairedWords
from regard.claims.lab.shipped_reading import encoded, shipped
from regard.claims.lab.small_models import small_transformer
from regard.claims.measurement import BarPlot, Measurement, ResultTable
from regard.claims.setting import Setting
from regard.text.grammar import held_out_adjective
from regard.text.grammar.lexicon import describing, members

SMALL = 0.2  # of the spread of a row's scores: what statisticians call a small effect
SIZES = (10, 20)  # adjectives, and nouns
SENTENCES = (4_000, 40_000)
STEPS = (300, 1_000)
BATCH = (32, 128)
FRAMES = (2, 4)  # sentences in which each pair is asked
KINDS = ("animal", "object", "person", "property", "vehicle")  # of nouns, a seed each, in the model that ships
MOST = (12, 40)  # nouns and adjectives of a kind
ADJECTIVE, NOUN = 1, 2  # where both stand in "The lazy dog sees the old cat."
WAYS = ("adjective to noun", "noun to adjective")


class Trained(NamedTuple):
    """Of twins that learned with one half common and with the other: common less rare, in spreads of a row's scores."""

    before: float
    after: float
    forth: float  # from the adjective to its noun alone
    back: float
    common: float  # mean weight between the words of a common pair, after
    rare: float
    loss: float


class Natural(NamedTuple):
    """Of the model that ships: pairs it has seen less those it never has, in spreads of a row's scores."""

    seen_less_never: float
    known: int
    never: int


def centred(scores_K: Tensor) -> Tensor:
    """Scores less the mean of their row, which softmax does not see, over their spread."""
    return (scores_K - scores_K.mean(-1, keepdim=True)) / scores_K.std(-1, keepdim=True).clamp(min=1e-12)


@torch.no_grad()
def between(model: Any, words: PairedWords, task: PairTask, setting: Setting) -> tuple[Tensor, Tensor]:
    """(2 ways, adjectives, nouns) each: centred scores and weights, means of all heads of the encoder."""
    size, frames = words.size, setting.quick_or_full(*FRAMES)
    numbers = [(a, n) for a in range(size) for n in range(size)]
    scores: list[Tensor] = []
    weights: list[Tensor] = []
    for frame in range(frames):
        random = Random(f"frame {words.seed} {frame}")
        second, verb = (random.randrange(size), random.randrange(size)), random.choice(VERBS)
        pairs = [words.sentence(one, verb, second) for one in numbers]
        batch = batch_of([PairIds(task.source.encode(one.source), (), one) for one in pairs]).to(setting.device)
        with steps_of(model) as calls:
            model.encode(batch.source)
        steps = [one for some in calls.values() for one in some]
        scaled = centred(torch.stack([one.scaled.double() for one in steps]))  # (sites, B, H, Q, K)
        softmax = torch.stack([one.weights.double() for one in steps])
        for collected, all_cells in ((scores, scaled), (weights, softmax)):
            both = [all_cells[..., ADJECTIVE, NOUN], all_cells[..., NOUN, ADJECTIVE]]
            collected.append(torch.stack([one.mean((0, 2)) for one in both]).reshape(2, size, size).cpu())
    return torch.stack(scores).mean(0), torch.stack(weights).mean(0)


def common_less_rare(values_2AN: Tensor, words: PairedWords) -> Tensor:
    """(2): the mean over common pairs less that over rare ones."""
    mask = common_mask(words)
    return values_2AN[:, mask].mean(-1) - values_2AN[:, ~mask].mean(-1)


def common_mask(words: PairedWords) -> Tensor:
    mask = torch.zeros(words.size, words.size, dtype=torch.bool)
    for adjective, noun in words.common():
        mask[adjective, noun] = True
    return mask


def twins(setting: Setting, seed: int) -> Trained:
    """Two models from the same start; what is common for one is rare for the other, so that words cancel out."""
    words = PairedWords(setting.quick_or_full(*SIZES), seed)
    before, after, losses = list[Tensor](), list[Tensor](), list[float]()
    weights: list[tuple[float, float]] = []
    for language in (words, replace(words, swapped=True)):
        task = language.task(setting.quick_or_full(*SENTENCES))
        model = small_transformer(task, setting, seed).to(setting.device).eval()
        before.append(common_less_rare(between(model, language, task, setting)[0], language))
        steps, size = setting.quick_or_full(*STEPS), setting.quick_or_full(*BATCH)
        fit_pairs(model, task, Fit(steps, size, 3e-3, seed, setting.device))
        scores, both_weights = between(model, language, task, setting)
        after.append(common_less_rare(scores, language))
        mask = common_mask(language)
        weights.append((float(both_weights[:, mask].mean()), float(both_weights[:, ~mask].mean())))
        losses.append(loss_on(model, task.train[:500], setting.device))
    forth, back = torch.stack(after).mean(0).tolist()
    common, rare = (mean_of(some).value for some in zip(*weights, strict=True))
    return Trained(
        float(torch.stack(before).mean()), (forth + back) / 2, forth, back, common, rare, mean_of(losses).value
    )


@torch.no_grad()
def shipped_scores(adjective: str, noun: str, device: str) -> float:
    """Centred, both ways, mean of all heads of the encoder, in "The lazy dog is here."."""
    translator = shipped("grammar", device)
    source, _, owners = encoded(translator, f"The {adjective} {noun} is in the garden.", device)
    with steps_of(translator.model) as calls:
        translator.model.encode(source)  # type: ignore[operator]
    scaled = centred(torch.stack([steps.scaled[0].double() for (steps,) in calls.values()]))  # (sites, H, N, N)
    one, other = ((owners == place).nonzero()[:, 0] for place in (ADJECTIVE, NOUN))
    ways = [scaled[..., rows[:, None], columns].mean() for rows, columns in ((one, other), (other, one))]
    return float(torch.stack(ways).mean())


def natural(setting: Setting, seed: int) -> Natural:
    """Of adjectives and nouns of a kind a tenth never stood together in what the model learned from."""
    kind, most = KINDS[seed % len(KINDS)], setting.quick_or_full(*MOST)
    random = Random(f"natural {seed}")
    nouns = random.sample(members(kind), min(most, len(members(kind))))
    known = [one for one in describing(kind) if not one.predicative]
    adjectives = random.sample(known, min(most, len(known)))
    scores = torch.tensor(
        [[shipped_scores(one.lemma, noun.lemma, setting.device) for noun in nouns] for one in adjectives],
        dtype=torch.float64,
    )
    never = torch.tensor([[held_out_adjective(one.lemma, noun.lemma) for noun in nouns] for one in adjectives])
    return Natural(seen_less_never(scores, never), int((~never).sum()), int(never.sum()))


def seen_less_never(scores_AN: Tensor, never_AN: Tensor) -> float:
    """What is left of the difference when every adjective and every noun has its own mean: by least squares."""
    rows, columns = scores_AN.shape
    one_row, one_column = torch.eye(rows).double(), torch.eye(columns).double()
    known = [
        one_row.repeat_interleave(columns, 0),
        one_column.repeat(rows, 1),
        (~never_AN).double().reshape(-1, 1),
    ]
    solved = torch.linalg.lstsq(torch.cat(known, 1), scores_AN.reshape(-1, 1), driver="gelsd").solution
    return float(solved[-1, 0])


def run(setting: Setting, case: tuple[str, int]) -> Trained | Natural:
    kind, seed = case
    return twins(setting, seed) if kind == "trained" else natural(setting, seed)


def measure(setting: Setting) -> Measurement:
    cases = [(kind, seed) for kind in ("trained", "shipped") for seed in setting.seeds]
    results = dict(zip(cases, setting.each(run, cases), strict=True))

    def estimate(kind: str, name: str) -> Estimate:
        return mean_of([getattr(results[kind, seed], name) for seed in setting.seeds])

    numbers = {
        "common_less_rare": estimate("trained", "after"), "seen_less_never": estimate("shipped", "seen_less_never")
    }  # fmt: skip
    often, counts = PairedWords(2, 0).often, [results["shipped", seed] for seed in setting.seeds]
    table = ResultTable(
        "How much higher the scores of an adjective and its noun are, in spreads of a row's scores",
        ("", "difference"),
        (
            (f"pairs {often} times as common, less rare ones: before training", estimate("trained", "before")),
            ("after it", numbers["common_less_rare"]),
            (f"  {WAYS[0]} alone", estimate("trained", "forth")),
            (f"  {WAYS[1]} alone", estimate("trained", "back")),
            ("in the model that ships: pairs it has seen, less those it never has", numbers["seen_less_never"]),
        ),
    )
    weights = ResultTable(
        "Mean weight between the two words, after training",
        ("common pairs", "rare pairs", "loss, nats a word"),
        ((estimate("trained", "common"), estimate("trained", "rare"), estimate("trained", "loss")),),
    )
    bars = (
        ("before training", estimate("trained", "before")),
        ("after: common less rare", numbers["common_less_rare"]),
        ("that ships: seen less never", numbers["seen_less_never"]),
    )
    plot = BarPlot("Higher scores for what was seen together", "spreads", bars, ("a small effect", SMALL))
    remarks = (
        "Each seed trains twins from one start: what is common for one is rare for the other, so that the words "
        "themselves cancel out, and before training the difference is nothing but rounding.",
        f"The model that ships never learned {sum(getattr(one, 'never', 0) for one in counts)} of the pairs that are "
        f"asked, and did learn {sum(getattr(one, 'known', 0) for one in counts)}; each adjective and each noun has its "
        "own mean taken off.",
    )
    return Measurement(numbers, (table, weights), plot, remarks)


def holds(numbers: Numbers) -> bool:
    return numbers["common_less_rare"].above(SMALL) and numbers["seen_less_never"].above(SMALL)


def fails(numbers: Numbers) -> bool:
    return numbers["common_less_rare"].below(SMALL) and numbers["seen_less_never"].below(SMALL)


CLAIM = Claim(
    name="seen-together",
    statement="Words that often occur together in training get a higher score for each other.",
    if_true="After training the scores between an adjective and a noun are higher where the two were common together "
    "than where they were rare, and higher for pairs that were seen than for pairs that never were.",
    if_false="Scores depend on what the words are, and not on how often they stood side by side.",
    control="A twin from the same start for which common and rare are exchanged; every word is as frequent in both.",
    measure=measure,
    rule=VerdictRule(
        f"both differences are surely above {SMALL:g} of the spread of a row's scores",
        f"both are surely below {SMALL:g}",
        holds,
        fails,
    ),
    seeds=5,
)
