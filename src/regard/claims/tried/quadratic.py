"""Do the time and the memory of attention grow with the square of a text's length, however it is computed?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import Estimate, exactly
from regard.claims.lab.attention_backends import WAYS, by_backend
from regard.claims.lab.energy import joules_of
from regard.claims.lab.live_bytes import peak_bytes
from regard.claims.lab.timing import growth, in_turns, median_of, power
from regard.claims.measurement import Cell, LinePlot, Measurement, ResultTable, Series
from regard.claims.setting import Setting, one_run

LENGTHS = (256, 512, 1024, 2048, 4096)
FULL_LENGTHS = (1024, 2048, 4096, 16_384, 32_768, 65_536)
FULL_DENSE = 4096  # the longest at which all weights of all heads are still kept
HEADS, DIM = (1, 8), 64  # how many heads, quickly and in full; numbers of each
ROUNDS = 7, 11
ABOUT_SQUARE, ABOUT_PROPORTION = 1.5, 1.25  # powers of the length: more than the first, less than the second
MEBIBYTE = 2.0**20


class Case(NamedTuple):
    backend: str
    length: int


def cases_of(setting: Setting) -> dict[str, list[Case]]:
    lengths = setting.quick_or_full(LENGTHS, FULL_LENGTHS)
    longest = setting.quick_or_full(max(LENGTHS), FULL_DENSE)
    return {
        backend: [Case(backend, length) for length in lengths if backend != "steps" or length <= longest]
        for backend in WAYS
    }


def inputs_of(setting: Setting, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value of one text; on a GPU in bfloat16, as one uses them there."""
    rng = torch.Generator().manual_seed(setting.seeds[0])
    dtype = torch.float32 if setting.device == "cpu" else torch.bfloat16
    shape = (setting.quick_or_full(*HEADS), length, DIM)
    query, key, value = (torch.randn(shape, generator=rng).to(setting.device, dtype)[None] for _ in range(3))
    return query, key, value


@torch.no_grad()
def attend_by(backend: str, inputs: tuple[Tensor, Tensor, Tensor]) -> None:
    by_backend(backend, *inputs)


def memory_of(setting: Setting, case: Case) -> int:
    """Bytes held at most beyond the inputs, the output among them."""
    inputs = inputs_of(setting, case.length)
    attend_by(case.backend, inputs)  # what is only needed once, such as a kernel's choice, is none of its memory
    return peak_bytes(partial(attend_by, case.backend, inputs), inputs)


def measure(setting: Setting) -> Measurement:
    cases = cases_of(setting)
    every = [case for some in cases.values() for case in some]
    inputs = {case.length: inputs_of(setting, case.length) for case in every}
    runs = {case: partial(attend_by, case.backend, inputs[case.length]) for case in every}
    memory = {case: one_run(setting, memory_of, case) for case in every}
    times = in_turns(runs, setting.quick_or_full(*ROUNDS), setting)
    numbers: dict[str, Estimate] = {}
    rows: list[tuple[Cell, ...]] = []
    for backend, some in cases.items():
        last = some[-2:]
        numbers[f"time_{backend}"] = growth({case.length: times[case] for case in last})
        numbers[f"memory_{backend}"] = exactly(power({case.length: memory[case] for case in last}))
        ms = 1e3 * median_of(times[last[1]]).value
        rows.append(
            (WAYS[backend], last[1].length, ms, numbers[f"time_{backend}"], memory[last[1]] / MEBIBYTE,
             numbers[f"memory_{backend}"])
        )  # fmt: skip
    columns = ("way", "keys", "ms", "power of time", "MiB", "power of memory")
    heads = setting.quick_or_full(*HEADS)
    title = f"{heads} head{'s' if heads > 1 else ''} of {DIM}, by the two longest texts of each way"
    lines = tuple(
        Series(WAYS[backend], tuple((float(case.length), exactly(memory[case] / MEBIBYTE)) for case in some))
        for backend, some in cases.items()
    )
    plot = LinePlot("Memory beyond the inputs", "keys", "MiB", lines, log_x=True, log_y=True)
    return Measurement(
        numbers, (ResultTable(title, columns, tuple(rows)), time_table(cases, times)), plot, remarks(setting, runs)
    )


def time_table(cases: dict[str, list[Case]], times: dict[Case, list[float]]) -> ResultTable:
    """How long each length takes by each way."""
    lengths = sorted({case.length for some in cases.values() for case in some})

    def shown(case: Case) -> Cell:
        return 1e3 * median_of(times[case]).value if case in times else "-"

    rows = tuple((length, *(shown(Case(backend, length)) for backend in WAYS)) for length in lengths)
    return ResultTable("Milliseconds by length", ("keys", *WAYS.values()), rows)


def remarks(setting: Setting, runs: Mapping[Case, Callable[[], object]]) -> tuple[str, ...]:
    rounds = setting.quick_or_full(*ROUNDS)
    memory = "as the allocator tells" if setting.device != "cpu" else "of all tensors that are alive at once"
    return (
        f"Medians of {rounds} rounds, in each of which all are timed in turn; memory is the most that is held at a "
        f"time, {memory}.",
        f"In a layer of {8 * DIM:,} numbers a word, its feed-forward part four times as wide, the matrices take as "
        f"many products as attention at {6 * 8 * DIM:,} words: in shorter texts the square is the smaller part.",
        energy_remark(setting, runs),
    )


def energy_remark(setting: Setting, runs: Mapping[Case, Callable[[], object]]) -> str:
    """By the fused way, the only one that many use; if anything here counts joules."""
    last = cases_of(setting)["fused"][-2:]
    spent = {}
    for case in last:
        joules = joules_of(runs[case], setting.device)
        if joules is None:
            return "This machine does not tell what energy it uses."
        spent[case.length] = joules
    words = ", ".join(f"{joules:.3g} J for {length:,} keys" for length, joules in spent.items())
    return f"Energy, the fused way: {words}; it grows with the power {power(spent):.2f} of the length."


def holds(numbers: Numbers) -> bool:
    return all(one.above(ABOUT_SQUARE) for one in numbers.values())


def fails(numbers: Numbers) -> bool:
    return numbers["time_fused"].below(ABOUT_PROPORTION) and numbers["memory_fused"].below(ABOUT_PROPORTION)


CLAIM = Claim(
    name="quadratic",
    statement="What attention costs grows with the square of the text's length, in time and in memory.",
    if_true="Twice the text takes about four times the time and four times the memory, however it is computed.",
    if_false="Some way of computing the very same takes only as many times more as the text is longer.",
    control="Three ways to the same output: all weights kept, a block of them at a time, and PyTorch's fused kernel.",
    measure=measure,
    rule=VerdictRule(
        f"time and memory of all three ways grow with a power of the length that is surely above {ABOUT_SQUARE:g}",
        f"time and memory of the fused way surely grow with one below {ABOUT_PROPORTION:g}",
        holds,
        fails,
    ),
    seeds=1,
    full_seeds=1,
)
