"""How fast does `regard train` train, beside Marian and torch.nn.Transformer? `python -m benchmarks.training`

The same batches of real text, bucketed by length, go through the update of `regard train` and through a plain loop
around each peer: forward, cross-entropy with label smoothing, backward, clipping, fused AdamW. All begin with the same
weights, and their losses are compared before anything is timed. `--pipeline` measures the input alone: reading, padding
and collating from prepared ids, without a model.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from rich.console import Console
from torch import nn

from benchmarks.models import DROPOUT
from benchmarks.report import markdown, provenance, write_section
from benchmarks.training_peers import PEERS, SMOOTHING, Take, loss_of, plain_loop
from regard.text.batches import Spec, ahead
from regard.training.data.loaders import loaders_for
from regard.training.data.prepare import Preparation
from regard.training.data.prepared_text import PreparedText
from regard.training.data.task_batches import BatchLoader, TaskBatch
from regard.training.data.transfer import Transfer
from regard.training.optim.workers import Workers
from regard.training.plan.planning import ProbeSetup
from regard.training.plan.probe import spread
from regard.training.recipe.recipe import Recipe, read_recipe
from regard.training.report.events import silent
from regard.training.run.run_builder import RunBuilder, half_precision
from regard.training.run.train_options import TrainOptions

SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"preset": "tiny", "vocabulary": 4000, "batch_tokens": 2048},
    "base": {"preset": "base", "vocabulary": 32000, "batch_tokens": 16384},
}
STEPS = {"cpu": 6, "cuda": 200}  # batches of a round
ROUNDS = 5
FAR = 1e-4  # of a loss, by which two may differ in float32


def recipe_for(size: str, data: Path | None) -> Recipe:
    """Pairs of a folder (pairs.tsv, or train.en and train.fr), or the built-in language."""
    how = SIZES[size]
    text: Any = "grammar:train:20000"
    if data is not None:
        pair = [{"source": "train.en", "target": "train.fr"}]
        text = "pairs.tsv" if any(data.glob("pairs.tsv*")) else pair
    dropout = {"dropout": DROPOUT, "attention_dropout": DROPOUT, "feedforward_dropout": DROPOUT}
    return read_recipe(
        {
            "data": {"train": text, "languages": ["en", "fr"], "longest": 256},
            "tokenizer": {"vocabulary": how["vocabulary"]},
            "model": {"preset": how["preset"], **dropout},
            "training": {"batch_tokens": how["batch_tokens"], "smoothing": SMOOTHING, "workers": 1},
        }
    )


@dataclass
class Bench:
    """A recipe, its text and a device."""

    recipe: Recipe
    prepared: PreparedText
    device: torch.device
    losses: dict[str, float] = field(default_factory=dict)

    def setup(self, compiled: bool) -> ProbeSetup:
        """What `regard train` works with."""
        options = TrainOptions(Path(), Path(), False, self.device, None, silent)
        training = self.recipe.training.model_copy(update={"compile": compiled})
        torch.manual_seed(0)
        builder = RunBuilder(options, Workers(), self.prepared)
        return builder.probe_setup(self.recipe.model_copy(update={"training": training}))

    def half(self) -> bool:
        return half_precision(self.recipe.training.precision, self.device)

    def batches(self, loader: BatchLoader, specs: list[Spec]) -> Iterator[TaskBatch]:
        """As the loop of a run gets them."""
        return Transfer.to(self.device)(ahead(specs, loader.build, 1))


def our_update(setup: ProbeSetup) -> Take:
    setup.update.schedule_position = lambda step: 1.0
    return lambda batch: setup.update(batch, 1)


def same_losses(bench: Bench, models: dict[str, nn.Module], batch: TaskBatch) -> None:
    """In float32, without dropout; nothing is timed unless all say the same."""
    for name, model in models.items():
        model.eval()
        with torch.no_grad():
            logits = model(*(batch.tensors[key].to(bench.device) for key in ("source", "target")))
        labels = {key: tensor.to(bench.device) for key, tensor in batch.tensors.items()}
        bench.losses[name] = float(loss_of(logits, batch._replace(tensors=labels)))
        model.train()
    ours = bench.losses["regard"]
    wrong = {name: loss for name, loss in bench.losses.items() if abs(loss - ours) > FAR * ours}
    if wrong:
        raise SystemExit(f"losses differ, nothing is timed: {bench.losses}")


class Speed(NamedTuple):
    """Tokens (source and target, without padding) a second; what was held at most, in GiB, where it is known."""

    tokens: float
    memory: float | None
    warm_up: float


def contenders(bench: Bench, compiled: bool) -> Iterator[tuple[str, Take, float]]:
    """Each with its name and what was allocated before it came."""
    ending = ", compiled" if compiled else ""
    setup = bench.setup(compiled)
    held = torch.cuda.memory_allocated() if bench.device.type == "cuda" else 0
    yield f"regard train{ending}", our_update(setup), held - weights(setup.update.model)
    for name, make in PEERS.items():
        held = torch.cuda.memory_allocated() if bench.device.type == "cuda" else 0
        model = make(bench.setup(False).update.model.cpu()).to(bench.device).train()
        yield f"{name}{ending}", plain_loop(model, bench.device, bench.half(), compiled), held


def weights(model: nn.Module) -> int:
    return sum(weight.numel() * weight.element_size() for weight in model.parameters())


def timed(bench: Bench, take: Take, batches: Iterator[TaskBatch]) -> tuple[float, float]:
    """Tokens and seconds of one round."""
    begun, tokens = time.perf_counter(), 0
    for batch in batches:
        loss = take(batch)
        tokens += batch.tokens
    if not bool(loss.isfinite()):  # waits for the device, too
        raise SystemExit("a loss is not a number")
    return float(tokens), time.perf_counter() - begun


def compare(bench: Bench, steps: int, rounds: int) -> dict[str, Speed]:
    """All contenders in turns, so that whatever else the machine does hits all alike."""
    loader = bench.setup(False).loader
    every = loader.epoch(0)
    specs = [every[place] for place in spread(len(every), steps)]
    ours = bench.setup(False).update.model
    models = {"regard": ours, **{name: make(ours.cpu()).to(bench.device) for name, make in PEERS.items()}}
    same_losses(bench, {name: model.to(bench.device) for name, model in models.items()}, loader.build(specs[0]))
    del models, ours
    takes: dict[str, Take] = {}
    warm: dict[str, tuple[float, float | None]] = {}
    on_gpu = bench.device.type == "cuda"
    for compiled in (False, True) if on_gpu else (False,):
        for name, take, held in contenders(bench, compiled):
            if on_gpu:
                torch.cuda.reset_peak_memory_stats()
            _, seconds = timed(bench, take, bench.batches(loader, specs))
            warm[name] = seconds, (torch.cuda.max_memory_allocated() - held) / 2**30 if on_gpu else None
            takes[name] = take
    rates: dict[str, list[float]] = {name: [] for name in takes}
    for _ in range(rounds):
        for name, take in takes.items():
            tokens, seconds = timed(bench, take, bench.batches(loader, specs))
            rates[name].append(tokens / seconds)
    return {name: Speed(statistics.median(rates[name]), warm[name][1], warm[name][0]) for name in takes}


def training_lines(bench: Bench, speeds: dict[str, Speed]) -> list[str]:
    ours = max(speed.tokens for name, speed in speeds.items() if name.startswith("regard"))
    best = max(speed.tokens for name, speed in speeds.items() if not name.startswith("regard"))
    rows = [
        (
            name, f"{speed.tokens:,.0f}", f"{speed.tokens / best:.2f}",
            "-" if speed.memory is None else f"{speed.memory:.1f} GiB", f"{speed.warm_up:.1f} s",
        )
        for name, speed in speeds.items()
    ]  # fmt: skip
    losses = ", ".join(f"{name} {loss:.5f}" for name, loss in bench.losses.items())
    columns = "", "tokens/s (source + target)", "of the best peer", "memory", "first round"
    return [
        provenance(bench.device.type), "", f"Loss of a batch before training, same weights: {losses}.", "",
        *markdown(columns, rows), "", f"The best of ours is {ours / best:.2f} x the best peer.",
    ]  # fmt: skip


def pipeline_lines(bench: Bench) -> list[str]:
    """How many shapes an epoch has, how much of it is padding, and how fast batches come."""
    config = bench.setup(False).config
    rows = []
    for fixed in (False, True):
        loader, _ = loaders_for(bench.recipe, bench.prepared, config, fixed=fixed)
        begun = time.perf_counter()
        specs = loader.epoch(0)
        shapes, tokens, cells = set(), 0, 0
        for batch in ahead(specs, loader.build, 1):
            tokens += batch.tokens
            sides = batch.tensors["source"], batch.tensors["target"]
            shapes.add(tuple(side.shape for side in sides))
            cells += sum(side.numel() for side in sides)
        seconds = time.perf_counter() - begun
        name = "few shapes, as on a GPU" if fixed else "as on a CPU"
        counts = f"{len(specs)}", f"{len(shapes)}", f"{1 - tokens / cells:.1%}", f"{tokens / seconds:,.0f}"
        rows.append((name, *counts))
    columns = "batches", "in an epoch", "shapes", "padding", "tokens/s (source + target)"
    measured = f"{provenance(bench.device.type)} {len(bench.prepared.sources):,} pairs."
    return [measured, "", *markdown(columns, rows)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--size", choices=SIZES)
    parser.add_argument("--data", type=Path, help="a folder with pairs.tsv, or with train.en and train.fr")
    parser.add_argument("--pipeline", action="store_true", help="the input alone")
    parser.add_argument("--steps", type=int, help="batches of a round")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--write", action="store_true", help="put the table into RESULTS.md")
    asked = parser.parse_args()
    torch.set_flush_denormal(True)
    warnings.filterwarnings("ignore", message=".*nested.tensor", category=UserWarning)  # of nn.Transformer
    recipe = recipe_for(asked.size or ("base" if asked.device == "cuda" else "tiny"), asked.data)
    with tempfile.TemporaryDirectory() as folder:
        prepared = Preparation(recipe, asked.data or Path(), Path(folder), False, silent).run(None)
        bench = Bench(recipe, prepared, torch.device(asked.device))
        if asked.pipeline:
            title, lines = "Is the input ever the limit?", pipeline_lines(bench)
        else:
            steps = asked.steps or STEPS[asked.device]
            title, lines = "How fast does regard train?", training_lines(bench, compare(bench, steps, asked.rounds))
    Console(soft_wrap=True).print("\n".join(lines), highlight=False)
    if asked.write:
        write_section(title, lines)


if __name__ == "__main__":
    main()
