"""Does "it" look at the noun that it stands for, and is it by that look that il or elle is chosen?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import Estimate, exactly, mean_of
from regard.claims.lab.fit import Fit, fit_pairs
from regard.claims.lab.it_pairs import PATTERNS, ItPair, it_pairs, it_task
from regard.claims.lab.it_reading import (
    Codecs,
    ItBatch,
    SiteHead,
    choice,
    heads_of,
    it_batch,
    looked_from,
    looks,
    patched_choices,
    readable,
    run_of,
)
from regard.claims.lab.pair_task import PAD, START, PairTask, grammar_pairs
from regard.claims.lab.shipped_reading import encoded, shipped
from regard.claims.lab.small_models import small_transformer
from regard.claims.measurement import BarPlot, Cell, Measurement, ResultTable
from regard.claims.setting import Setting
from regard.lens.effect import effect
from regard.lens.intervene import intervene
from regard.text.grammar import lecture

KINDS = ("shipped", "trained")
QUICK_PATTERNS = ("it-cross", "it-explore", "it-fit")
PAIRS = (60, 300)  # asked of each model, quick and full
STEPS = (500, 2_500)
BATCH = (32, 256)
SENTENCES = (6_000, 100_000)
FULL_SIZE = {"dim": 128, "heads": 4, "feedforward": 256, "encoder_layers": 2, "decoder_layers": 3, "dropout": 0.05}
LOOKS, FLIPS = 0.9, 0.5  # of all sentences
NO_LOOK, NO_FLIP = 0.6, 0.1
STRONGEST = 8  # patches of the lecture's own sentence that are shown


class Outcome(NamedTuple):
    """Of one model: heads chosen on every second pair of sentences, numbers of the others; shares of sentences."""

    right: float  # in which il or elle is right
    look_head: SiteHead
    looks: float  # "it" looks more at the noun that is meant than at the other, by the encoder's head that does it most
    leans: float  # a noun gets more when it is meant than when the other is, by the encoder's head that does it most
    cross_looks: float  # the row that says il or elle looks more at its noun, by the decoder's head that does it most
    flip_head: SiteHead
    flips: float  # the other sentence's output of one head makes the model say the other pronoun
    control: float  # the same head's output from a sentence that says something else of the same noun
    silent: float  # il or elle is still right without that head
    on: tuple[float, float, float]  # that head's weight on the noun that is meant, the other, and what is said of it


def looking_most(
    run: Any, batch: ItBatch, chosen: Tensor, *, cross: bool = False, same: bool = False
) -> tuple[SiteHead, float]:
    """Of the encoder's heads, or of cross-attention's, the one that most often prefers the noun that is meant.

    `same`: to the same noun in the sentence that means the other; the batch has each pair both ways.
    """
    shares: dict[SiteHead, Tensor] = {}
    for site in run.sites:
        if site.endswith("cross") if cross else site.startswith("encoder"):
            antecedent, rival = looks(run, batch, site)
            rival = rival.roll(len(batch.row) // 2, -1) if same else rival
            shares.update({(site, head): row for head, row in enumerate(antecedent > rival)})
    best = max(shares, key=lambda head: float(shares[head][chosen].double().mean()))
    return best, float(shares[best][~chosen].double().mean())


def weights_on(run: Any, batch: ItBatch, head: SiteHead) -> tuple[float, float, float]:
    """Where a head of cross-attention looks; nothing is known of others, whose keys are the translation's."""
    if not head[0].endswith("cross"):
        return math.nan, math.nan, math.nan
    weights = looked_from(run, batch, head[0])[:, head[1]]
    meant, other, reason = (
        float((weights * some).sum(-1).mean()) for some in (batch.antecedent, batch.rival, batch.reason)
    )
    return meant, other, reason


def outcome(model: Any, pairs: Sequence[ItPair], codecs: Codecs, device: str) -> Outcome:
    """Everything about one model. Each pair is asked both ways: il into elle, and elle into il."""
    both = [*pairs, *(pair.other_way for pair in pairs)]
    batch, other, again = (
        it_batch([getattr(pair, mine) for pair in both], [getattr(pair, theirs) for pair in both], codecs).to(device)
        for mine, theirs in (("subject", "thing"), ("thing", "subject"), ("subject_again", "thing"))
    )
    run, other_run, again_run = (run_of(model, one) for one in (batch, other, again))
    chosen = (torch.arange(len(both), device=device) % len(pairs)) % 2 == 0
    with torch.no_grad():
        odds = choice(model, batch)
    right, heads = odds > 0, heads_of(run)
    flipped = patched_choices(model, batch, other_run, heads) < 0
    best = max(range(len(heads)), key=lambda place: share(flipped[place], right & chosen))
    look_head, looked = looking_most(run, batch, chosen)
    _, leaning = looking_most(run, batch, chosen, same=True)
    _, cross_looked = looking_most(run, batch, chosen, cross=True)
    controls = patched_choices(model, batch, again_run, [heads[best]])[0] < 0
    silenced = silent_choice(model, batch, heads[best]) > 0
    asked = right & ~chosen
    return Outcome(
        float(right.double().mean()), look_head, looked, leaning, cross_looked, heads[best],
        share(flipped[best], asked), share(controls, asked), share(silenced, asked),
        weights_on(run, batch, heads[best]),
    )  # fmt: skip


def share(which: Tensor, among: Tensor) -> float:
    """Of those among which it is asked; none where there is nothing to ask."""
    return float(which[among].double().mean()) if bool(among.any()) else 0.0


@torch.no_grad()
def silent_choice(model: Any, batch: ItBatch, head: SiteHead) -> Tensor:
    with intervene(model, silence=head):
        return choice(model, batch)


def shipped_codecs() -> Codecs:
    translator = shipped("grammar")

    def source(text: str) -> tuple[list[int], list[int]]:
        ids, _, owners = encoded(translator, text)
        return ids[0].tolist(), owners.tolist()

    config = translator.config
    return Codecs(source, lambda text: translator.tokenizer.encode([text])[0], config.start or 0, config.pad or 0)


def task_codecs(task: PairTask) -> Codecs:
    def source(text: str) -> tuple[list[int], list[int]]:
        ids = list(task.source.encode(text))
        return ids, list(range(len(ids)))

    return Codecs(source, lambda text: list(task.target.encode(text)), START, PAD)


def run(setting: Setting, case: tuple[str, int]) -> Outcome:
    kind, seed = case
    patterns = PATTERNS if setting.full or kind == "shipped" else QUICK_PATTERNS
    if kind == "shipped":
        model, codecs = shipped("grammar", setting.device).model, shipped_codecs()
    else:
        count = setting.quick_or_full(*SENTENCES)
        task = grammar_pairs(count) if setting.full else it_task(count // 4, QUICK_PATTERNS)
        codecs = task_codecs(task)
        model = small_transformer(task, setting, seed, **setting.quick_or_full({}, FULL_SIZE))
        steps, batch = setting.quick_or_full(*STEPS), setting.quick_or_full(*BATCH)
        fit_pairs(model, task, Fit(steps, batch, 3e-3, seed, setting.device))
    model.eval()
    pairs = readable(it_pairs(setting.quick_or_full(*PAIRS), 1_000 + seed, patterns=patterns), codecs)
    return outcome(model, pairs, codecs, setting.device)


def lecture_table() -> ResultTable:
    """The animal that was too tired, patched with the street that was too wide: where it matters, head by head."""
    tired, wide = lecture()[:2]
    model, codecs = shipped("grammar").model, shipped_codecs()
    here, there = it_batch([tired], [wide], codecs), it_batch([wide], [tired], codecs)
    with torch.no_grad():
        own, other = float(choice(model, here)), -float(choice(model, there))
    patched = effect(
        model, lambda one: choice(one, here)[0], change="patch", source=run_of(model, there), top=4 * STRONGEST
    )
    rows: list[tuple[Cell, ...]] = []
    for line in patched.strongest(STRONGEST):
        assert line.position is not None
        text = position_words(line.site, here, line.position)
        rows.append((f"{line.site} {line.head}", text, (line.change or 0.0) / (other - own)))
    title = f"“{tired.source}”: from il (0) to the elle of “too wide” (1), by one head at one word"
    return ResultTable(title, ("head", "at", "moved"), tuple(rows))


def position_words(site: str, batch: ItBatch, position: int) -> str:
    """What a row of a site has read."""
    tokens = shipped("grammar").tokenizer
    if not site.startswith("encoder") and position == 0:
        return "start"
    ids = batch.source if site.startswith("encoder") else batch.target
    return tokens.decode([int(ids[0, position])]).strip() or "end"


def measure(setting: Setting) -> Measurement:
    cases = [(kind, seed) for kind in KINDS for seed in setting.seeds]
    results = dict(zip(cases, setting.each(run, cases), strict=True))
    outcomes = {kind: [results[kind, seed] for seed in setting.seeds] for kind in KINDS}

    def estimate(kind: str, name: str) -> Estimate:
        return mean_of([getattr(one, name) for one in outcomes[kind]])

    numbers = {f"{name}_{kind}": estimate(kind, name) for kind in KINDS for name in ("looks", "flips", "control")}
    trained = outcomes["trained"]
    numbers["seeds_with_one_head"] = exactly(sum(one.flips > FLIPS for one in trained) / len(trained))
    lines = {
        "right": "il or elle is right",
        "looks": "“it” looks more at its noun than at the other: best head of the encoder",
        "leans": "a noun gets more from “it” when it is meant than when the other is: best head",
        "cross_looks": "il or elle looks more at its noun: best head of cross-attention",
        "flips": "one head's output from the other sentence turns il into elle, or back",
        "control": "the same head's, from a sentence about the same noun (control)",
        "silent": "il or elle is right without that head",
    }
    shares = ResultTable(
        "Shares of sentences; heads are chosen on others",
        ("", "the model that ships", f"{len(trained)} trained here"),
        tuple((text, *(estimate(kind, name) for kind in KINDS)) for name, text in lines.items()),
    )
    each = ResultTable(
        "Seed by seed: the head that turns il into elle most, and where it looks when il or elle is said",
        ("model", "head", "turns", "right without it", "at its noun", "at the other", "at what is said of it"),
        tuple(
            (f"{kind} {seed}", head_name(one.flip_head), one.flips, one.silent, *one.on)
            for kind in KINDS
            for seed, one in zip(setting.seeds, outcomes[kind], strict=True)
        ),
    )
    bars = tuple(
        (f"{kind}: {text}", estimate(kind, name))
        for kind in KINDS
        for name, text in (("looks", "looks at its noun"), ("flips", "one head turns it"), ("control", "control"))
    )
    plot = BarPlot("What one head does with “it”", "share of sentences", bars, ("chance of a look", 0.5))
    remarks = (
        f"One head alone turns more than half of the sentences in {sum(one.flips > FLIPS for one in trained)} of "
        f"{len(trained)} models that differ in nothing but their seed.",
        "Of the model that ships the seeds draw sentences; of the others they draw the first weights and the batches.",
        "That a head looks at a noun is seen in its weights; that it matters is seen when its output is exchanged.",
    )
    return Measurement(numbers, (shares, each, lecture_table()), plot, remarks)


def head_name(head: SiteHead) -> str:
    return f"{head[0]} {head[1]}"


def holds(numbers: Numbers) -> bool:
    return all(
        numbers[f"looks_{kind}"].above(LOOKS)
        and numbers[f"flips_{kind}"].above(FLIPS)
        and numbers[f"control_{kind}"].below(NO_FLIP)
        for kind in KINDS
    )


def fails(numbers: Numbers) -> bool:
    return all(numbers[f"looks_{kind}"].below(NO_LOOK) or numbers[f"flips_{kind}"].below(NO_FLIP) for kind in KINDS)


CLAIM = Claim(
    name="it",
    statement="In “The animal didn't cross the street because it was too tired”, a head lets “it” look at the animal, "
    "and so the translator says il or elle.",
    if_true="Some head's weights from “it” prefer the noun that is meant, in nearly all sentences, and one head's "
    "output taken from “it was too wide” makes the model say elle.",
    if_false="No head prefers the right noun, or none by itself changes what is said.",
    control="The same head's output from a sentence that says another thing of the same noun, which should change "
    "nothing; the look's chance is one half, the heads are chosen on other sentences.",
    measure=measure,
    rule=VerdictRule(
        f"in the model that ships and over those trained here, “it” surely looks more at its noun in over {LOOKS:.0%} "
        f"of sentences by its best head, one head surely turns over {FLIPS:.0%}, and the control under {NO_FLIP:.0%}",
        f"in both either the look is surely right in under {NO_LOOK:.0%}, or one head surely turns under {NO_FLIP:.0%}",
        holds,
        fails,
    ),
    seeds=5,
    full_seeds=10,
)
