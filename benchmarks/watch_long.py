"""A long text watched in little memory: `python -m benchmarks.watch_long [--tokens 32768]`.

One layer, 4 heads of 64, a vocabulary of 1,000, on a CPU: ours, and Hugging Face's Llama and GPT-2 of that shape. Each
runs in a process of its own, which tells how much memory it took above that of the import, how long the slowest of some
256 x 256 tiles took, how far they are from float64, and whether the saved file gives the same numbers. Ends with status
1 when that is more than 1.5 GB or one second, or not the same.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import regard
from regard.lens.recording_api import Recording

DIM, HEADS, VOCABULARY, WIDE = 256, 4, 1_000, 1_024
SIDE, PLACES = 256, 10  # of the tiles, and how many are looked at
MEMORY, SECONDS, EXACT = 1.5e9, 1.0, 1e-5


def ours(tokens: int) -> Any:
    from regard.models import Decoder, DecoderConfig

    return Decoder(
        DecoderConfig(dim=DIM, heads=HEADS, feedforward=WIDE, layers=1, vocabulary=VOCABULARY, max_length=tokens)
    )


def llama(tokens: int) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY, hidden_size=DIM, intermediate_size=WIDE, num_hidden_layers=1,
            num_attention_heads=HEADS, max_position_embeddings=tokens,
        )
    )  # fmt: skip


def gpt2(tokens: int) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(
        GPT2Config(vocab_size=VOCABULARY, n_embd=DIM, n_inner=WIDE, n_layer=1, n_head=HEADS, n_positions=tokens)
    )


MODELS: dict[str, Callable[[int], Any]] = {"regard Decoder": ours, "Llama": llama, "GPT-2": gpt2}


def memory(which: str) -> int:
    """Bytes of this process, as Linux tells them: VmRSS now, VmHWM at most until now."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{which}:"))


def measured(name: str, tokens: int, file: Path) -> dict[str, Any]:
    """Everything about one model, in this process; its memory is told truly only in a fresh one."""
    MODELS[name](SIDE)  # what it imports is not counted
    before = memory("VmRSS")
    torch.manual_seed(0)
    model, ids = MODELS[name](tokens).eval(), torch.randint(VOCABULARY, (1, tokens))
    started = time.perf_counter()
    with torch.no_grad(), regard.watch(model) as seen:
        model(ids)
    watched, seconds = memory("VmHWM") - before, time.perf_counter() - started
    slowest, furthest, same = looked_at(seen, file)
    return {
        "watched": watched, "peak": memory("VmHWM") - before, "forward": seconds, "tile": slowest, "apart": furthest,
        "file": file.stat().st_size, "same": same, "true": seen.badge.true,
    }  # fmt: skip


def looked_at(seen: Recording, file: Path) -> tuple[float, float, bool]:
    """The slowest tile, the largest difference from float64, and whether the file says the same."""
    (site,) = seen.sites
    seen.save(file)
    again = Recording.load(file)
    slowest, furthest, same = 0.0, 0.0, seen.tokens == again.tokens and seen.badge == again.badge
    for head, row, column in places(seen.last.map(site).queries):
        rows, columns = (row, row + SIDE), (column, column + SIDE)
        started = time.perf_counter()
        tile = seen.weights(site, head, rows, columns)
        slowest = max(slowest, time.perf_counter() - started)
        same &= torch.equal(tile, again.weights(site, head, rows, columns))
        furthest = max(furthest, float((tile - truth(seen, site, head, rows)[:, slice(*columns)]).abs().max()))
    return slowest, furthest, same


def places(tokens: int) -> list[tuple[int, int, int]]:
    """Heads and upper left corners: the first tile, the last, the last row of tiles' first, and some by chance."""
    end = tokens - SIDE
    fixed = [(0, 0), (end, end), (end, 0), (end // 2, end // 2)]
    drawn = torch.randint(end + 1, (PLACES - len(fixed), 2), generator=torch.Generator().manual_seed(1)).tolist()
    corners = fixed + [(max(pair), min(pair)) for pair in drawn]  # below the diagonal, where there is something
    return [(number % HEADS, row, column) for number, (row, column) in enumerate(corners)]


def truth(seen: Recording, site: str, head: int, rows: tuple[int, int]) -> Tensor:
    """The weights of some rows over all keys in float64, causal, written out."""
    one = seen.last.map(site).pick(0, head)
    scores = one.query[0, 0, slice(*rows)].double() @ one.key[0, 0].double().T * (DIM // HEADS) ** -0.5
    hidden = torch.arange(one.keys) > torch.arange(*rows)[:, None]
    return scores.masked_fill(hidden, float("-inf")).softmax(-1)


def in_a_fresh_process(name: str, tokens: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.watch_long", "--model", name, "--tokens", str(tokens)]
        done = subprocess.run([*command, "--file", f"{folder}/long.regard"], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def fine(found: dict[str, Any]) -> bool:
    within = found["peak"] < MEMORY and found["tile"] < SECONDS and found["apart"] < EXACT
    return within and found["same"] and found["true"]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=32_768)
    parser.add_argument("--model", choices=MODELS)
    parser.add_argument("--file", type=Path)
    asked = parser.parse_args()
    if asked.model is not None:
        print(json.dumps(measured(asked.model, asked.tokens, asked.file)))
        return 0
    found = {name: in_a_fresh_process(name, asked.tokens) for name in MODELS}
    show(found, asked.tokens)
    return int(not all(fine(one) for one in found.values()))


def show(found: dict[str, dict[str, Any]], tokens: int) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("model", "memory, watched", "and read", "forward", "slowest tile", "from float64", "file", "opens as",
                  title=f"one layer, 4 heads of 64, {tokens:,} tokens; memory above the import")  # fmt: skip
    for name, one in found.items():
        table.add_row(
            name, f"{one['watched'] / 1e6:.0f} MB", f"{one['peak'] / 1e6:.0f} MB", f"{one['forward']:.1f} s",
            f"{one['tile'] * 1e3:.0f} ms", f"{one['apart']:.0e}", f"{one['file'] / 1e6:.0f} MB",
            "the same" if one["same"] else "ANOTHER",
        )  # fmt: skip
    Console(width=120).print(table)


if __name__ == "__main__":
    sys.exit(main())
