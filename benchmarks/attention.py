"""What do statistics cost, and what does each path hold in memory? `python -m benchmarks.attention [--device cuda]`

One run, peers side by side: PyTorch's SDPA (the output alone), `attend` (the same through our door), `attend` with
statistics, the second pass `received`, and the plain way that builds the N x N weights. Ratios are the point.

`--long` asks it of one causal head of 64 at 16,384 and 100,000 tokens on a CPU (`benchmarks/long_texts.py`).
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from rich.console import Console
from rich.table import Table
from torch import Tensor

from benchmarks.long_texts import compare_long
from regard.attention import attend, received

SHAPES = {
    "cpu": ((1, 8, 2048, 64), (1, 1, 16384, 64)),
    "cuda": ((4, 16, 8192, 64), (2, 16, 16384, 128), (1, 8, 65536, 128)),
}
DENSE = 1 << 31  # cells beyond which the plain way is not tried


@dataclass(frozen=True)
class Way:
    name: str
    run: Callable[[Tensor, Tensor, Tensor, bool], object]


def plain(query: Tensor, key: Tensor, value: Tensor, causal: bool) -> Tensor:
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), float("-inf"))
    return scores.softmax(-1) @ value


WAYS = (
    Way("SDPA", lambda q, k, v, causal: F.scaled_dot_product_attention(q, k, v, is_causal=causal)),
    Way("attend", lambda q, k, v, causal: attend(q, k, v, causal=causal)),
    Way("attend, statistics", lambda q, k, v, causal: attend(q, k, v, causal=causal, see="stats")),
    Way("received", lambda q, k, v, causal: received(q, k, torch.zeros_like(q[..., 0]).float(), causal=causal)),
    Way("plain, dense weights", plain),
)


def seconds(run: Callable[[], object], device: str, runs: int) -> float:
    """The median of some runs, after one to warm up."""
    times = []
    for _ in range(runs + 1):
        synchronize(device)
        begin = time.perf_counter()
        run()
        synchronize(device)
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:])


def synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def peak(run: Callable[[], object], device: str) -> str:
    """Device memory above what was held before; on a CPU the tests measure it instead."""
    if device != "cuda":
        return ""
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    return f"{(torch.cuda.max_memory_allocated() - before) / 2**20:,.0f} MiB"


def compare(shape: tuple[int, ...], causal: bool, dtype: torch.dtype, device: str, runs: int) -> Iterator[list[str]]:
    """A row for each way: its name, time, time over SDPA's, and peak memory."""
    query, key, value = (torch.randn(shape, device=device, dtype=dtype) for _ in range(3))
    base = None
    for way in WAYS:
        if way.run is not plain or query.shape[:3].numel() * key.shape[2] <= DENSE:
            run = partial(way.run, query, key, value, causal)
            took = seconds(run, device, runs)
            base = took if base is None else base
            yield [way.name, f"{took * 1e3:,.1f} ms", f"{took / base:.2f}", peak(run, device)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=list(SHAPES))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--long", action="store_true", help="one causal head of up to 100,000 tokens, on a CPU")
    parser.add_argument("--busy", type=int, default=0, help="with --long: other programs that keep a core busy")
    arguments = parser.parse_args()
    if arguments.long:
        compare_long(arguments.runs, arguments.busy)
        return
    device = arguments.device
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    table = Table(title=f"attention, {dtype}, median of {arguments.runs} runs")
    for column in ("batch x heads x N x dim", "causal", "way", "time", "of SDPA", "peak memory"):
        table.add_column(column, justify="right")
    for shape in SHAPES[device]:
        for causal in (False, True):
            for row in compare(shape, causal, dtype, device, arguments.runs):
                table.add_row(" x ".join(map(str, shape)), str(causal), *row)
    Console(width=120).print(table)
    where = (
        torch.cuda.get_device_name() if device == "cuda" else f"{platform.machine()}, {torch.get_num_threads()} threads"
    )
    print(f"torch {torch.__version__}, {where}")


if __name__ == "__main__":
    main()
