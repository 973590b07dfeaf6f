"""Do eight heads make attention faster than one head as wide as all of them?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import Estimate, exactly
from regard.claims.lab.graph_depth import graph_depth
from regard.claims.lab.timing import in_turns, median_of, median_ratio
from regard.claims.measurement import Cell, LinePlot, Measurement, ResultTable, Series
from regard.claims.setting import Setting
from regard.models import TransformerConfig
from regard.models.layers import SelfAttention

HEADS = (1, 2, 4, 8, 16)
CLAIMED = 8
DIMS = (512,), (256, 512)  # of a word, quickly and in full
LENGTHS = (64, 512), (64, 512, 4096)
WORDS = 512, 16_384  # in a batch, whatever the length of its texts
ROUNDS = 31, 41
FASTER = 0.8  # of one head's time: less than that is a speed-up
TASKS = ("reading", "training")


class Case(NamedTuple):
    """One layer of attention, timed."""

    task: str
    dim: int
    length: int
    heads: int


def layer_of(dim: int, heads: int) -> SelfAttention:
    """The models' own: the same matrices for any number of heads."""
    torch.manual_seed(0)
    return SelfAttention(TransformerConfig(dim=dim, heads=heads), "encoder.0.self", causal=False)


def read(layer: SelfAttention, words: Tensor) -> Tensor:
    with torch.no_grad():
        return layer(words, None, None)  # type: ignore[no-any-return]


def train(layer: SelfAttention, words: Tensor) -> None:
    """Forward and backward."""
    layer.zero_grad(set_to_none=True)
    layer(words, None, None).square().mean().backward()


def ways(setting: Setting) -> dict[Case, Callable[[], object]]:
    """Every layer with what it reads; on a GPU in bfloat16, as one trains there."""
    runs = dict(zip(TASKS, (read, train), strict=True))
    dtype = torch.float32 if setting.device == "cpu" else torch.bfloat16
    cases: dict[Case, Callable[[], object]] = {}
    for dim in setting.quick_or_full(*DIMS):
        for length in setting.quick_or_full(*LENGTHS):
            batch = max(1, setting.quick_or_full(*WORDS) // length)
            words = torch.randn(batch, length, dim, generator=torch.Generator().manual_seed(setting.seeds[0]))
            words = words.to(setting.device, dtype)
            for heads in HEADS:
                layer = layer_of(dim, heads).to(setting.device, dtype)
                cases |= {Case(task, dim, length, heads): partial(run, layer, words) for task, run in runs.items()}
    return cases


def measure(setting: Setting) -> Measurement:
    times = in_turns(ways(setting), setting.quick_or_full(*ROUNDS), setting)
    numbers: dict[str, Estimate] = {}
    rows: list[tuple[Cell, ...]] = []
    lines: list[Series] = []
    for task in TASKS:
        for dim in setting.quick_or_full(*DIMS):
            for length in setting.quick_or_full(*LENGTHS):
                one, *others = (times[Case(task, dim, length, heads)] for heads in HEADS)
                ratios = dict(zip(HEADS[1:], (median_ratio(other, one) for other in others), strict=True))
                numbers[f"{task}_{dim}_{length}"] = ratios[CLAIMED]
                shown = [ratios[heads] if heads == CLAIMED else ratios[heads].value for heads in HEADS[1:]]
                rows.append((f"{task}, texts of {length:,}", dim, 1e3 * median_of(one).value, *shown))
                if task == TASKS[1]:
                    points = ((1.0, exactly(1.0)), *((float(heads), ratio) for heads, ratio in ratios.items()))
                    lines.append(Series(f"{dim} numbers, texts of {length:,}", points))
    columns = ("layer of attention", "numbers", "1 head, ms", *(f"{heads} heads" for heads in HEADS[1:]))
    title = f"Time beside one head of the same width, in batches of {setting.quick_or_full(*WORDS):,} words"
    plot = LinePlot("A step of training", "heads", "times one head's time", tuple(lines), log_x=True)
    return Measurement(numbers, (ResultTable(title, columns, tuple(rows)),), plot, remarks(setting))


def remarks(setting: Setting) -> tuple[str, ...]:
    words = torch.randn(1, 4, 64)
    chains = sorted({graph_depth(layer_of(64, heads)(words, None, None)) for heads in HEADS})
    depths = f"as long for every number of heads ({chains[0]} operations)" if len(chains) == 1 else f"{chains} long"
    return (
        f"Medians of {setting.quick_or_full(*ROUNDS)} rounds, in each of which all are timed in turn, and of ratios "
        "within a round.",
        "The products are as many for any number of heads; the exponentials of the softmax are as many times more as "
        "there are heads.",
        f"The chain of operations that wait for each other is {depths}: one head's words need not wait either.",
        "PyTorch's fused kernels for GPUs take heads of at most 256 numbers; a wider one falls to a slower kernel.",
    )


def holds(numbers: Numbers) -> bool:
    return all(one.below(FASTER) for one in numbers.values())


def fails(numbers: Numbers) -> bool:
    return all(one.above(FASTER) for one in numbers.values())


CLAIM = Claim(
    name="heads-for-speed",
    statement="Attention is split into eight heads to speed it up, since they work at the same time.",
    if_true="A layer with eight heads takes less time than with one head as wide as all eight.",
    if_false="It takes as long, or longer: one wide head works on all words at the same time too.",
    control="The same layer, with the same matrices, as one head.",
    measure=measure,
    rule=VerdictRule(
        f"eight heads surely take less than {FASTER:g} of one head's time, reading and training short and long texts",
        "they surely take more than that in all of these",
        holds,
        fails,
    ),
    seeds=1,
    full_seeds=1,
    tried=("With nine tenths of the time as the bound, the rounds of a busy machine could not always tell.",),
)
