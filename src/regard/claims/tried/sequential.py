"""Where do words wait for each other: in training and in decoding, in recurrent networks and in the Transformer?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import exactly
from regard.claims.lab.families import FAMILIES, translator
from regard.claims.lab.fit import pair_loss
from regard.claims.lab.graph_depth import graph_depth
from regard.claims.lab.pair_task import UNKNOWN, PairBatch, PairTask, grammar_pairs
from regard.claims.lab.timing import growth, in_turns, median_of
from regard.claims.measurement import Cell, LinePlot, Measurement, ResultTable, Series
from regard.claims.setting import Setting
from regard.decoding import stepper_for
from regard.models import Recurrent, Transformer

LENGTHS = (8, 32, 128), (16, 64, 256, 1024)  # words of source and target, quickly and in full
ROUNDS = 9, 11
CHAINED = (4, 8, 16, 32)  # words of the texts whose chains are counted, which is exact
SENTENCES = 200  # of the built-in language, for a vocabulary
NOT, PROPORTION = 0.25, 0.75  # powers of the length: less is no growth, more is growth in proportion
SHORT = {"2014": "LSTM, 2014", "2015": "GRU with attention, 2015", "2017": "Transformer, 2017"}
TASKS = ("training", "decoding")
RECURRENT = FAMILIES[:2]

Model = Transformer | Recurrent


def drawn_batch(task: PairTask, length: int, seed: int, device: str) -> PairBatch:
    """One pair of so many drawn words on each side."""
    rng = torch.Generator().manual_seed(seed)
    source, target, labels = (
        torch.randint(UNKNOWN + 1, some.size, (1, length), generator=rng)
        for some in (task.source, task.target, task.target)
    )
    return PairBatch(source, target, labels).to(device)


def train_step(model: Model, batch: PairBatch) -> None:
    """Forward and backward; what an optimiser does then is the same for every length."""
    model.zero_grad(set_to_none=True)
    pair_loss(model, batch).backward()


@torch.no_grad()
def decode(model: Model, batch: PairBatch) -> None:
    """As many words as the source has, each chosen before the next is asked for."""
    stepper, ids = stepper_for(model, batch.source)
    for _ in range(batch.source.shape[1]):
        ids = stepper.advance(ids).argmax(-1, keepdim=True)


def chains(model: Model, batch: PairBatch) -> dict[str, int]:
    """Operations that wait for each other. In decoding every call waits for the word that the last one chose."""
    first, ids = stepper_for(model, batch.source)
    with torch.no_grad():
        other, _ = stepper_for(model, batch.source)  # whose calls do not hang on how the source was read
    once, each = (graph_depth(stepper.advance(ids)) for stepper in (first, other))
    later = batch.source.shape[1] - 1
    return {"training": graph_depth(pair_loss(model, batch)), "decoding": once + later * each}


def chains_of(setting: Setting, task: PairTask) -> dict[tuple[str, str], dict[int, int]]:
    """For every task and family, by length. In float64 on a CPU: no library makes a whole LSTM one operation there."""
    counted: dict[tuple[str, str], dict[int, int]] = {}
    for family in FAMILIES:
        model = translator(family, task, Setting(seeds=setting.seeds), setting.seeds[0]).double()
        for length in CHAINED:
            for name, count in chains(model, drawn_batch(task, length, setting.seeds[0], "cpu")).items():
                counted.setdefault((name, family), {})[length] = count
    return counted


def times_of(setting: Setting, task: PairTask) -> dict[tuple[str, str, int], list[float]]:
    """Seconds of every task, family and length, round by round."""
    runs: dict[str, Callable[[Model, PairBatch], None]] = {"training": train_step, "decoding": decode}
    models = {family: translator(family, task, setting, setting.seeds[0]) for family in FAMILIES}
    lengths = setting.quick_or_full(*LENGTHS)
    ways: dict[tuple[str, str, int], Callable[[], object]] = {}
    for family, model in models.items():
        model.to(setting.device)
        for length in lengths:
            batch = drawn_batch(task, length, setting.seeds[0], setting.device)
            ways |= {(name, family, length): partial(run, model, batch) for name, run in runs.items()}
    return in_turns(ways, setting.quick_or_full(*ROUNDS), setting)


def measure(setting: Setting) -> Measurement:
    task = grammar_pairs(SENTENCES)
    counted, times = chains_of(setting, task), times_of(setting, task)
    lengths = setting.quick_or_full(*LENGTHS)
    numbers = {f"chain_{name}_{family}": exactly(chain_growth(one)) for (name, family), one in counted.items()}
    rows: list[tuple[Cell, ...]] = []
    lines: list[Series] = []
    for name in TASKS:
        for family in FAMILIES:
            by_length = {length: times[name, family, length] for length in lengths}
            numbers[f"{name}_{family}"] = grows = growth(by_length)
            medians = {length: median_of([1e3 * one for one in seconds]) for length, seconds in by_length.items()}
            chain = counted[name, family]
            ends = f"{chain[CHAINED[0]]:,} to {chain[CHAINED[-1]]:,}"
            rows.append((name, SHORT[family], ends, *(medians[n].value for n in (lengths[0], lengths[-1])), grows))
            if name == "training":
                lines.append(Series(SHORT[family], tuple((float(n), one) for n, one in medians.items())))
    columns = (
        "what", "of", f"chain, {CHAINED[0]} to {CHAINED[-1]} words", f"ms, {lengths[0]} words",
        f"ms, {lengths[-1]} words", "power",
    )  # fmt: skip
    table = ResultTable(
        "One pair of sentences: a step of training, and decoding as many words as it has", columns, tuple(rows)
    )
    plot = LinePlot("A step of training, one pair of sentences", "words", "ms", tuple(lines), log_x=True, log_y=True)
    return Measurement(numbers, (table,), plot, remarks(setting))


def chain_growth(by_length: dict[int, int]) -> float:
    """From the two longest."""
    (_, shorter), (_, longer) = sorted(by_length.items())[-2:]
    return (longer - shorter) / shorter


def remarks(setting: Setting) -> tuple[str, ...]:
    rounds = setting.quick_or_full(*ROUNDS)
    return (
        f"Chain: operations that wait for each other. Times are medians of {rounds} rounds, in each of which all are "
        "measured in turn; power: of the length, with which time grows. All models have as many parameters.",
        "What need not wait is done at once only by hardware with room for it: on a few cores the Transformer does "
        "its words one after another too, and its time grows with what there is to compute.",
    )


def holds(numbers: Numbers) -> bool:
    waits = all(numbers[f"chain_training_{family}"].above(PROPORTION) for family in RECURRENT)
    at_once = all(numbers[f"chain_{name}_2017"].below(NOT) for name in TASKS)
    sooner = all(numbers["training_2017"].high < numbers[f"training_{family}"].low for family in RECURRENT)
    return waits and at_once and sooner


def fails(numbers: Numbers) -> bool:
    at_once = all(numbers[f"chain_training_{family}"].below(NOT) for family in RECURRENT)
    return at_once or numbers["chain_training_2017"].above(PROPORTION)


CLAIM = Claim(
    name="sequential",
    statement="A recurrent network must go word by word, where the Transformer takes all words at once.",
    if_true="Its chain of operations that wait for each other is as long for long texts as for short ones, in training "
    "and in decoding; the recurrent networks' chains grow with the text, and their time faster than its own.",
    if_false="The Transformer's chain grows in proportion too, or the recurrent networks' does not.",
    control="Two recurrent translators of as many parameters, one without and one with attention, on the same words.",
    measure=measure,
    rule=VerdictRule(
        "with the text the recurrent chains grow in proportion and the Transformer's not, in training and in decoding, "
        "and its training time surely grows with a smaller power of the length",
        "in training the recurrent chains do not grow with the text, or the Transformer's does in proportion",
        holds,
        fails,
    ),
    seeds=1,
    full_seeds=1,
    tried=(
        "Time alone does not tell on one CPU: an LSTM that a library runs as one operation is quicker there than a "
        "Transformer that waits for nothing, so the chain is counted.",
    ),
)
