"""Is a training step of our Transformer as fast as torch.nn.Transformer's? `python -m benchmarks.models`

Both get the same size, dropout, masks and threads, with embeddings and a tied output layer around torch's stacks; a
step is forward, loss, backward and Adam. They run in turn, so that whatever else the machine does hits both alike, and
the medians of the runs are compared.
"""

from __future__ import annotations

import argparse
import math
import platform
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from regard.models import Transformer, TransformerConfig
from regard.models.layers import sinusoids

SIZES = {
    "tiny": {"dim": 128, "heads": 4, "feedforward": 256, "layers": 4, "batch": 32, "length": 32},
    "base, 2 layers": {"dim": 512, "heads": 8, "feedforward": 2048, "layers": 2, "batch": 16, "length": 48},
}
VOCABULARY, DROPOUT = 4000, 0.1


class Peer(nn.Module):
    """torch.nn.Transformer with what it leaves to its user: embeddings, positions and the output layer."""

    def __init__(self, dim: int, heads: int, feedforward: int, layers: int, vocabulary: int = VOCABULARY) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, dim)
        nn.init.normal_(self.table.weight, std=dim**-0.5)
        self.stacks = nn.Transformer(dim, heads, layers, layers, feedforward, DROPOUT, batch_first=True)
        self.stacks.encoder.norm = self.stacks.decoder.norm = None  # the paper's post-norm stacks have no more
        self.stacks.encoder.enable_nested_tensor = False

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        pad, length = source == 0, target.shape[1]
        later = torch.ones(length, length, dtype=torch.bool, device=target.device).triu(1)
        out = self.stacks(
            self.embed(source), self.embed(target), tgt_mask=later, tgt_is_causal=True,
            src_key_padding_mask=pad, memory_key_padding_mask=pad,
        )  # fmt: skip
        return F.linear(out, self.table.weight)

    def embed(self, ids: Tensor) -> Tensor:
        x = self.table(ids) * math.sqrt(self.table.embedding_dim)
        places = sinusoids(torch.arange(ids.shape[1], device=ids.device), x.shape[-1]).to(x.dtype)
        return F.dropout(x + places, DROPOUT, self.training)


def ours(dim: int, heads: int, feedforward: int, layers: int) -> Transformer:
    return Transformer(
        TransformerConfig(
            dim=dim, heads=heads, feedforward=feedforward, encoder_layers=layers, decoder_layers=layers,
            source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY, dropout=DROPOUT, attention_dropout=DROPOUT,
            feedforward_dropout=DROPOUT,
        )
    )  # fmt: skip


def batch(size: int, length: int, device: str) -> tuple[Tensor, Tensor]:
    """Sources of different lengths, padded on the right, and full targets."""
    torch.manual_seed(0)
    source = torch.randint(3, VOCABULARY, (size, length))
    lengths = torch.randint(length // 2, length + 1, (size, 1))
    source = source.masked_fill(torch.arange(length) >= lengths, 0)
    return source.to(device), torch.randint(3, VOCABULARY, (size, length + 1)).to(device)


def training_step(model: nn.Module, source: Tensor, target: Tensor) -> Callable[[], float]:
    """A function that takes one step and gives its seconds."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def step() -> float:
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        logits = model(source, target[:, :-1])
        F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten()).backward()
        optimizer.step()
        if source.is_cuda:
            torch.cuda.synchronize()
        return time.perf_counter() - begin

    return step


def compare(name: str, runs: int, device: str) -> tuple[float, float]:
    """The median seconds of a step, ours and theirs."""
    size = dict(SIZES[name])
    source, target = batch(size.pop("batch"), size.pop("length"), device)
    steps = [training_step(model(**size).to(device).train(), source, target) for model in (ours, Peer)]
    for step in steps * 2:
        step()
    times: list[list[float]] = [[], []]
    for _ in range(runs):
        for kept, step in zip(times, steps, strict=True):
            kept.append(step())
    return statistics.median(times[0]), statistics.median(times[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    torch.set_flush_denormal(True)
    table = Table(title=f"one training step, median of {arguments.runs} alternating runs")
    for column in ("size", "regard", "torch.nn.Transformer", "theirs / ours"):
        table.add_column(column, justify="right")
    for name in SIZES:
        mine, theirs = compare(name, arguments.runs, arguments.device)
        table.add_row(name, f"{mine * 1e3:.1f} ms", f"{theirs * 1e3:.1f} ms", f"{theirs / mine:.2f}")
    Console().print(table)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {platform.machine()}, {arguments.device}")


if __name__ == "__main__":
    main()
