"""What do statistics, column sums and pooled maps cost on a GPU? `python -m benchmarks.kernels --device cuda`

Correctness first: a sample of rows against the plain steps in float64. Then one table, everything in the same run: SDPA
by each of its backends, FlexAttention, the plain way that builds the N x N weights, and ours. `--quick` takes few
sizes, `--sweep` times other block sizes than those of `launch_config`, `--write` puts the table into RESULTS.md. On a
CPU it checks and times the blockwise pass over small sizes, which shows that the script works and nothing else.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from benchmarks.attention_ways import Inputs, Shape, eager, ways
from benchmarks.report import markdown, provenance, write_section
from regard.attention import attend, received, tile
from regard.attention.kernels import choose, launch_config, launches, trial
from regard.attention.kernels.launch_config import LaunchConfig

SHAPES: dict[str, tuple[Shape, ...]] = {
    "cuda": ((8, 16, 2048, 64), (8, 16, 2048, 128), (4, 16, 8192, 64), (4, 16, 8192, 128), (2, 16, 16384, 64),
             (2, 16, 16384, 128), (1, 8, 65536, 128), (1, 4, 131072, 64), (1, 4, 131072, 128)),
    "quick": ((4, 16, 8192, 64), (2, 16, 16384, 128)),
    "cpu": ((1, 2, 512, 64),),
}  # fmt: skip
DENSE = 1 << 31  # cells beyond which the N x N weights are not built
MAP = {"cuda": (131072, 1024), "cpu": (1024, 64)}  # tokens, and cells to a side of their pooled map
COLUMNS = ("batch x heads x N x dim", "causal", "way", "time", "of best SDPA", "peak memory", "of its peak")
SWEEP = (
    LaunchConfig(128, 64, 8, 3, 128),
    LaunchConfig(128, 64, 8, 2, 128),
    LaunchConfig(128, 64, 8, 3),
    LaunchConfig(128, 64, 4, 3),
    LaunchConfig(128, 128, 8, 2),
    LaunchConfig(64, 64, 4, 3),
    LaunchConfig(64, 128, 4, 2),
    LaunchConfig(128, 32, 4, 3),
)


# ---- correctness ----------------------------------------------------------------------------------------------------


def check(device: str, dtype: torch.dtype) -> list[str]:
    """The largest differences from float64, relative where numbers are beyond 1; it ends where they are too large."""
    lines = []
    length = 3000 if device == "cuda" else 300
    for dim in (64, 128):
        for causal in (False, True):
            inputs = Inputs.draw((1, 4, length, dim), causal, device, dtype)
            lines.append(f"dim {dim}, {'causal' if causal else 'not causal'}: {compare(inputs)}")
    return lines


def compare(inputs: Inputs) -> str:
    output, seen = attend(inputs.query, inputs.key, inputs.value, causal=inputs.causal, see="stats")
    wide = (tensor.double() for tensor in (inputs.query, inputs.key, inputs.value, inputs.lse))
    exact, weights = eager(Inputs(*wide, causal=inputs.causal))
    plain, _ = eager(inputs)
    cells = weights.unflatten(-1, (-1, 100)).unflatten(-3, (-1, 100))
    second = {"causal": inputs.causal, "lse": seen.lse}
    rows = torch.randperm(output.shape[-2], device=output.device)[:64]
    pairs = {
        "output": (output[..., rows, :], exact[..., rows, :]),
        "entropy": (seen.entropy[..., rows], -torch.special.xlogy(weights, weights).sum(-1)[..., rows]),
        "top weight": (seen.top_weight[..., rows], weights.amax(-1)[..., rows]),
        "received": (received(inputs.query, inputs.key, **second), weights.sum(-2)),
        "tile": (tile(inputs.query, inputs.key, cell=100, **second), cells.sum((-3, -1))),
    }
    gaps = {name: largest(one.double() - other) / max(1.0, largest(other)) for name, (one, other) in pairs.items()}
    bounds = dict.fromkeys(gaps, 5e-5) | {"output": 2 * largest(plain - exact) + 4 * torch.finfo(output.dtype).eps}
    for name, gap in gaps.items():
        if not gap <= bounds[name]:
            raise SystemExit(f"{name} is off by {gap:.2g}, more than {bounds[name]:.2g}: nothing wrong is timed")
    return ", ".join(f"{name} {gap:.1e}" for name, gap in gaps.items())


def largest(tensor: Tensor) -> float:
    return tensor.abs().max().item()


# ---- time and memory ------------------------------------------------------------------------------------------------


def seconds(run: Callable[[], object], device: str, runs: int) -> float:
    """The median of some runs, after two to warm up; on a GPU by its own clock."""
    times = []
    for _ in range(runs + 2):
        if device == "cuda":
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            run()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) / 1e3)
        else:
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
    return statistics.median(times[2:])


def peak(run: Callable[[], object], device: str) -> int:
    """Bytes of device memory while it runs, the inputs included."""
    if device != "cuda":
        return 0
    torch.cuda.reset_peak_memory_stats()
    run()
    return torch.cuda.max_memory_allocated()


def rows_of(shape: Shape, causal: bool, device: str, dtype: torch.dtype, runs: int) -> Iterator[list[str]]:
    inputs = Inputs.draw(shape, causal, device, dtype)
    measured: dict[str, tuple[float, int]] = {}
    for name, way in ways(device):
        if name == "eager with weights" and inputs.cells > DENSE:
            continue
        run = partial(way, inputs)
        try:
            measured[name] = seconds(run, device, runs), peak(run, device)
        except RuntimeError as problem:  # a backend that does not take this, or memory that is too small
            yield [label(shape), str(causal), name, f"{type(problem).__name__}", "", "", ""]
    best = min((taken for name, taken in measured.items() if name.startswith("SDPA")), default=(0.0, 0))
    for name, (took, held) in measured.items():
        ratio = f"{took / best[0]:.2f}" if best[0] else ""
        share = f"{held / best[1]:.2f}" if best[1] else ""
        yield [label(shape), str(causal), name, f"{took * 1e3:,.2f} ms", ratio, f"{held / 2**20:,.0f} MiB", share]


def map_rows(device: str, dtype: torch.dtype, runs: int) -> Iterator[list[str]]:
    """A pooled map of one head over a whole text."""
    tokens, cells = MAP[device]
    for dim in (64, 128):
        shape = (1, 1, tokens, dim)
        inputs = Inputs.draw(shape, False, device, dtype)
        for causal in (False, True):
            run = partial(tile, inputs.query, inputs.key, inputs.lse, cell=tokens // cells, causal=causal)
            took, held = seconds(run, device, runs), peak(run, device)
            name = f"map of {cells} x {cells}"
            yield [label(shape), str(causal), name, f"{took * 1e3:,.2f} ms", "", f"{held / 2**20:,.0f} MiB", ""]


def sweep(device: str, dtype: torch.dtype, runs: int) -> Iterator[list[str]]:
    """The forward pass with other blocks: what belongs into `launch_config.ROWS`."""
    for shape in SHAPES["quick" if device == "cuda" else "cpu"]:
        usual = launch_config.ROWS[shape[-1]]
        for causal in (False, True):
            inputs = Inputs.draw(shape, causal, device, dtype)
            run = partial(attend, inputs.query, inputs.key, inputs.value, causal=causal, see="stats")
            for config in SWEEP:
                launch_config.ROWS[shape[-1]] = config
                took = f"{seconds(run, device, runs) * 1e3:,.2f} ms"
                failed = not all(trial.VERDICTS.values())
                trial.VERDICTS.clear()
                yield [label(shape), str(causal), str(tuple(config)), "failed" if failed else took, "", "", ""]
        launch_config.ROWS[shape[-1]] = usual


def label(shape: Shape) -> str:
    return " x ".join(map(str, shape))


def served(device: str) -> str:
    """Which way ours went."""
    if device not in choose.DEVICES or not choose.found_triton():
        return "ours by the blockwise pass: kernels serve a GPU with Triton"
    failed = [str(kind) for kind, verdict in trial.VERDICTS.items() if not verdict]
    return f"ours by the blockwise pass for {', '.join(failed)}" if failed else f"ours by {launches.__name__}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    parser.add_argument("--runs", type=int, default=10)
    for name in ("quick", "sweep", "write"):
        parser.add_argument(f"--{name}", action="store_true")
    arguments = parser.parse_args()
    device, runs = arguments.device, arguments.runs
    if arguments.write and device != "cuda":
        parser.error("--write is for a GPU's figures: a CPU's say nothing of kernels")
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    differences = check(device, dtype)
    print("\n".join(["Largest differences from float64:", *differences]))
    rows = []
    if arguments.sweep:
        rows = list(sweep(device, dtype, runs))
    else:
        for shape in SHAPES["quick" if arguments.quick and device == "cuda" else device]:
            for causal in (False, True):
                rows += rows_of(shape, causal, device, dtype, runs)
        rows += map_rows(device, dtype, runs)
    table = Table(*COLUMNS, title=f"attention, {dtype}, median of {runs} runs")
    for row in rows:
        table.add_row(*row)
    Console(width=140).print(table)
    print(provenance(device), served(device))
    if arguments.write:
        notes = [provenance(device), f"{dtype}, median of {runs} runs; {served(device)}."]
        found = ["Largest differences from float64, 64 rows: " + "; ".join(differences) + "."]
        write_section("What do statistics cost on a GPU?", [*notes, *found, "", *markdown(COLUMNS, rows)])


if __name__ == "__main__":
    main()
