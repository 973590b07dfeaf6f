"""What does watching cost? `python -m benchmarks.watch_speed [--device cuda] [--quick] [--write]`

A Llama-shaped model of Hugging Face's with random weights (about 1B on a GPU, small on a CPU), side by side: its plain
forward; watched, what is kept on the device; watched, kept on the CPU; and eager attention with `output_attentions`,
where its weights fit. The badge is read each time, so its check and every copy are in the figure. First comes whether
the weights are right: against eager attention in float32, and by the badge at every length. Ends with status 1 if not.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

import regard
from benchmarks.report import markdown, provenance, write_section

VOCABULARY = 32_000
CHECKED = 256  # tokens of the text that eager attention reads too
EXACT = 1e-5  # of a weight, in float32
COLUMNS = ("tokens", "way", "time", "of the plain forward", "at most", "peak memory")
TARGETS = {"kept on the device": 1.3, "kept on the CPU": 2.0}


@dataclass(frozen=True)
class Size:
    """A model, and the texts it reads."""

    hidden: int
    wide: int
    layers: int
    heads: int
    served: int
    dtype: torch.dtype
    tokens: tuple[int, ...]


SIZES = {
    "cuda": Size(2048, 8192, 16, 32, 8, torch.bfloat16, (2048, 16_384, 131_072)),
    "cpu": Size(512, 1024, 4, 8, 2, torch.float32, (512, 2048)),
}


def llama(size: Size, device: str, dtype: torch.dtype | None = None) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=size.hidden, intermediate_size=size.wide, num_hidden_layers=size.layers,
        num_attention_heads=size.heads, num_key_value_heads=size.served, max_position_embeddings=max(size.tokens),
    )  # fmt: skip
    with torch.device(device):
        model = LlamaForCausalLM(config)
    return model.to(dtype or size.dtype).eval()


def drawn(tokens: int, device: str) -> Tensor:
    return torch.randint(VOCABULARY, (1, tokens), generator=torch.Generator().manual_seed(tokens)).to(device)


def read(model: Any, ids: Tensor, **options: Any) -> Any:
    """A forward whose logits are those of the last token: of all they would be larger than all else."""
    return model(ids, logits_to_keep=1, **options)


def watched(model: Any, ids: Tensor, keep: str) -> Any:
    """A watched forward, and its badge: so the check is done and every copy has arrived."""
    with regard.watch(model, device=keep) as recording:
        read(model, ids)
    return recording.badge


def largest_difference(size: Size, device: str) -> float:
    """Of any weight, between a recording and eager attention, both in float32."""
    model, ids = llama(size, device, torch.float32), drawn(CHECKED, device)
    with regard.watch(model, device=device) as recording:
        read(model, ids)
    model.set_attn_implementation("eager")
    eager = read(model, ids, output_attentions=True).attentions
    return max(
        (recording.weights(site) - weights[0]).abs().max().item()
        for site, weights in zip(recording.sites, eager, strict=True)
    )


def eager_bytes(size: Size, tokens: int) -> int:
    """What `output_attentions` keeps: every weight of every layer."""
    return size.layers * size.heads * tokens**2 * size.dtype.itemsize


def free_bytes(device: str) -> int:
    return torch.cuda.mem_get_info()[0] if device == "cuda" else 1 << 30


def ways(size: Size, device: str, model: Any, ids: Tensor) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "plain", lambda: read(model, ids)
    if device != "cpu":
        yield "kept on the device", lambda: watched(model, ids, device)
    yield "kept on the CPU", lambda: watched(model, ids, "cpu")
    if 3 * eager_bytes(size, ids.shape[1]) < free_bytes(device):
        yield "output_attentions", lambda: read(model, ids, output_attentions=True)


def seconds(run: Callable[[], Any], device: str, runs: int) -> tuple[float, Any]:
    """The median of some runs after two to warm up, and what the last gave."""
    times, found = [], None
    for _ in range(runs + 2):
        found = None  # an older recording gives its memory back first
        synchronize(device)
        begin = time.perf_counter()
        found = run()
        synchronize(device)
        times.append(time.perf_counter() - begin)
    return statistics.median(times[2:]), found


def synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def peak(run: Callable[[], Any], device: str) -> str:
    """Device memory above what was held before."""
    if device != "cuda":
        return ""
    gc.collect()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    return f"{(torch.cuda.max_memory_allocated() - before) / 2**20:,.0f} MiB"


def rows_of(size: Size, device: str, model: Any, tokens: int, runs: int) -> Iterator[tuple[list[str], bool]]:
    """A row for each way, and whether what it gave is true."""
    ids, base, names = drawn(tokens, device), 0.0, []
    for name, run in ways(size, device, model, ids):
        model.set_attn_implementation("eager" if name == "output_attentions" else "sdpa")
        took, found = seconds(run, device, runs)
        base, right = base or took, not isinstance(found, regard_badge()) or (found.true and found.compared)
        aim = f"{TARGETS[name]:.1f}" if name in TARGETS and device == "cuda" else ""
        names.append(name)
        yield [f"{tokens:,}", name, f"{took * 1e3:,.1f} ms", f"{took / base:.2f}", aim, peak(run, device)], right
    if "output_attentions" not in names:
        needed = f"would keep {eager_bytes(size, tokens) / 2**30:,.0f} GiB"
        yield [f"{tokens:,}", "output_attentions", needed, "", "", ""], True


def regard_badge() -> type:
    from regard.lens.recording.fidelity import Badge

    return Badge


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=list(SIZES))
    parser.add_argument("--quick", action="store_true", help="the shortest text, three runs")
    parser.add_argument("--write", action="store_true", help="put the table into RESULTS.md")
    arguments = parser.parse_args()
    device, size, runs = arguments.device, SIZES[arguments.device], 3 if arguments.quick else 10
    with torch.no_grad():
        apart = largest_difference(size, device)
        true, rows, model = apart <= EXACT, [], llama(size, device)
        for tokens in size.tokens[:1] if arguments.quick else size.tokens:
            for row, right in rows_of(size, device, model, tokens, runs):
                rows.append(row)
                true &= right
    parameters = sum(part.numel() for part in model.parameters())
    told = f"largest difference of a weight from eager attention in float32: {apart:.1e} ({CHECKED} tokens)"
    title = f"Llama-shaped, {parameters / 1e9:.2f}B, {size.dtype}, median of {runs} runs"
    table = Table(*COLUMNS, title=title)
    for row in rows:
        table.add_row(*row)
    Console(width=120).print(table)
    print(f"{told}\n{provenance(device)}\n{'every badge is true' if true else 'NOT TRUE'}")
    if arguments.write:
        lines = [provenance(device), "", f"{title}; the badge's check and all copies included; {told}.", ""]
        write_section("What does watching cost?", [*lines, *markdown(COLUMNS, rows)])
    sys.exit(not true)


if __name__ == "__main__":
    main()
