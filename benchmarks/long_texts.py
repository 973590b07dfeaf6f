"""What do all statistics of one causal head cost beside its output and lse alone? See `benchmarks/attention.py`.

The peer is PyTorch's flash kernel for CPUs. Before anything is timed, every statistic of some rows is compared with the
dense weights in float64; its error may be twice that of dense float32. Then the ways take turns. Other programs can be
kept running beside (`--busy 2`), each of which holds a core as long as the scheduler lets it.
"""

from __future__ import annotations

import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from regard.attention import Statistics, attend, received
from regard.attention.torch_names import flash_with_lse

LENGTHS = (16_384, 100_000)
DIM = 64
SAMPLE = 64  # rows that are checked
ROUNDINGS = 4  # of the answer itself, free of charge: where dense float32 happens to be exact


def compare_long(runs: int, busy: int) -> None:
    table = Table(
        title=f"one causal head of {DIM}, float32, median of {runs} runs in turn, {busy} busy programs beside"
    )
    for column in ("tokens", "way", "time", "CPU time", "of flash", "error of its budget"):
        table.add_column(column, justify="right")
    for length in LENGTHS:
        query, key, value = (torch.randn(1, 1, length, DIM) for _ in range(3))
        output, seen = attend(query, key, value, causal=True, see="stats")
        share = error(query, key, value, output, seen)
        assert share <= 1.0, f"an error of {share:.2f} times what is allowed"
        ways: dict[str, Callable[[], object]] = {
            "flash: output, lse": partial(flash_with_lse, query, key, value, None, True, DIM**-0.5),
            "attend, all statistics": partial(attend, query, key, value, causal=True, see="stats"),
            "received": partial(received, query, key, seen.lse, causal=True),
        }
        with busy_programs(busy):
            times = in_turn(ways, runs)
        flash = times["flash: output, lse"][0]
        for way, (wall, processor) in times.items():
            checked = f"{share:.2f}" if "statistics" in way else ""
            row = f"{wall:,.2f} s", f"{processor:,.2f} s", f"{wall / flash:.2f}", checked
            table.add_row(f"{length:,}", way, *row)
    Console(width=120).print(table)
    print(f"torch {torch.__version__}, {platform.machine()}, {torch.get_num_threads()} threads")


def in_turn(ways: dict[str, Callable[[], object]], runs: int) -> dict[str, tuple[float, float]]:
    """Seconds by the clock and of the processor, for each way; one after the other, again and again."""
    times: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for _ in range(runs):
        for way, run in ways.items():
            begin = time.perf_counter(), time.process_time()
            run()
            times[way].append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    return {
        way: (statistics.median(w for w, _ in each), statistics.median(p for _, p in each))
        for way, each in times.items()
    }


@contextmanager
def busy_programs(count: int) -> Iterator[None]:
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def error(query: Tensor, key: Tensor, value: Tensor, output: Tensor, seen: Statistics) -> float:
    """The largest error of any field as a share of its budget, over some rows."""
    rows = torch.cat([torch.tensor([0, 1, query.shape[-2] - 1]), torch.randint(query.shape[-2], (SAMPLE - 3,))])
    exact, plain = (
        dense(*(part[0, 0].to(dtype) for part in (query, key, value)), rows) for dtype in (torch.float64, torch.float32)
    )
    shares = []
    for name, expected in exact.items():
        if name != "top_key":
            given = (output if name == "output" else getattr(seen, name))[0, 0, rows]
            free = ROUNDINGS * torch.finfo(torch.float32).eps * expected.abs().max()
            shares.append((given - expected).abs().max() / (2 * (plain[name] - expected).abs().max() + free))
    assert torch.equal(seen.top_key[0, 0, rows], exact["top_key"])
    return float(torch.stack(shares).max())


def dense(query: Tensor, key: Tensor, value: Tensor, rows: Tensor) -> dict[str, Tensor]:
    """Output and statistics of these rows, as the textbook computes them."""
    keys = torch.arange(len(key))
    scores = (query[rows] @ key.T * DIM**-0.5).masked_fill(keys > rows[:, None], float("-inf"))
    weights = scores.softmax(-1)
    top_weight, top_key = weights.max(-1)
    return {
        "output": weights @ value,
        "lse": scores.logsumexp(-1),
        "entropy": torch.special.entr(weights).sum(-1),
        "top_weight": top_weight,
        "top_key": top_key,
        "distance": (weights * (rows[:, None] - keys).abs()).sum(-1),
        "self_weight": weights.gather(-1, rows[:, None])[:, 0],
        "first_weight": weights[:, 0],
    }
