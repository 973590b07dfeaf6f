"""A map of 100,000 tokens to look at: `python -m benchmarks.long_map [--out map.regard]`; `regard studio map.regard`.

One causal head reads sentences of the built-in language, and each word looks back at its like and its neighbours: it is
made so, not trained. Told are the seconds and the memory of recording it, the pooled map included, in a process of its
own; then how long the studio's API takes for what a person asks on the way from the whole to one weight. Ends with
status 1 when recording takes more than 60 seconds or 1 GB, or a fine tile more than 300 milliseconds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor

from benchmarks.report import markdown, provenance, write_section
from benchmarks.watch_long import memory

DIM, SIDE, SITE = 64, 256, "decoder.0.self"
LIKE, NEAR = 3.0, 1.5  # how much a word's vector is its own, and how strongly it looks
ROUNDS = 5  # tiles of each size
SECONDS, MEMORY, TILE = 60.0, 1e9, 0.3
TITLE = "How long does a map of 100,000 tokens take?"


def text(tokens: int) -> list[str]:
    """Words of different sentences of the built-in language."""
    from regard.text.grammar import sentences

    words = [word for one in sentences("train", tokens // 5, 7) for word in one.source.split()]
    assert len(words) >= tokens
    return words[:tokens]


def model(vocabulary: int, tokens: int) -> Any:
    """One layer whose keys are what it reads, and whose queries are the same, more strongly."""
    from regard.models import Decoder, DecoderConfig

    torch.manual_seed(0)
    sizes: dict[str, Any] = {"dim": DIM, "heads": 1, "feedforward": DIM, "layers": 1}
    made = Decoder(DecoderConfig(**sizes, vocabulary=vocabulary, max_length=tokens, positions="sinusoidal")).eval()
    with torch.no_grad():
        made.embedding.table.weight.normal_(std=LIKE)
        weight = made.blocks[0].self_attention.qkv.weight
        weight[: 2 * DIM] = torch.cat([torch.eye(DIM) * NEAR, torch.eye(DIM)])
    return made


def last_logits(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """What comes next is not asked for: the logits of every position would take more room than the map."""
    return torch.nn.functional.linear(x[..., -1:, :], weight, bias)


def record(tokens: int, file: Path) -> dict[str, Any]:
    """The recording in a file, what it took, and the largest difference from the model's output."""
    import regard

    words = text(tokens)
    names = sorted(set(words))
    numbers = {word: number for number, word in enumerate(names)}
    ids, made = torch.tensor([[numbers[word] for word in words]]), model(len(names), tokens)
    before, started = memory("VmRSS"), time.perf_counter()
    with torch.no_grad(), regard.watch(made, lambda number: f" {names[number]}") as seen:
        made(ids, project=last_logits)
    watched = time.perf_counter() - started
    pooled = seen.pool()
    computed = time.perf_counter() - started
    pooled.save(file)
    return {
        "watched": watched, "pooled": computed - watched, "seconds": time.perf_counter() - started,
        "memory": memory("VmHWM") - before, "file": file.stat().st_size, "true": seen.badge.true,
        "cell": pooled.last.map(SITE).pooled.cell,
    }  # fmt: skip


def asked(file: Path) -> list[tuple[str, float, int]]:
    """What a person asks of the studio, the slowest of some rounds in seconds, and the bytes of an answer."""
    from fastapi.testclient import TestClient

    from regard.server.studio.catalogue import StudioCatalogue
    from regard.server.studio.studio_app import create_studio

    with TestClient(create_studio(StudioCatalogue.of([str(file)])), base_url="http://127.0.0.1") as client:
        started = time.perf_counter()
        look = client.post("/api/looks", json={"model": f"recording:{file.stem}"}).json()
        rows = [("opened", time.perf_counter() - started, len(json.dumps(look)))]
        size = look["sites"][0]["queries"]
        rows += [slowest(client, look["id"], *question) for question in questions(size)]
    return rows


def questions(size: int) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """By name, path and fields: tiles of every zoom at places drawn by chance, and what stands beside them."""
    random, found = Random(0), []
    cell = 1
    while cell * SIDE < 2 * size:
        places = [sorted((random.randrange(size), random.randrange(size))) for _ in range(ROUNDS)]
        fields = [
            {"rows": span(row, cell, size), "columns": span(column, cell, size), "dtype": "float16", "by": by}
            for (column, row), by in zip(places, ("mass", "max", "mean", "mass", "max"), strict=True)
        ]
        found.append((f"tile of {SIDE} x {SIDE}, cells of {cell}", "tile", fields))
        cell *= 2
    found.append(("row entropy, received attention", "marginals", [{}]))
    found.append(("20 strongest cells", "strongest", [{}, {"all": True}]))
    found.append(("a cell explained", "cell", [{"row": size - 1 - n, "column": n} for n in range(ROUNDS)]))
    return found


def span(start: int, cell: int, size: int) -> str:
    """A tile's rows or columns, as the page asks for them: from a multiple of a tile on."""
    first = start // (cell * SIDE) * cell * SIDE
    return f"{first}:{min(first + cell * SIDE, size)}"


def slowest(client: Any, look: str, name: str, path: str, fields: list[dict[str, Any]]) -> tuple[str, float, int]:
    seconds, size = 0.0, 0
    for one in fields:
        started = time.perf_counter()
        answer = client.get(f"/api/looks/{look}/{path}", params={"site": SITE, "head": 0, **one})
        seconds = max(seconds, time.perf_counter() - started)
        assert answer.status_code == 200, answer.text
        size = max(size, len(answer.content))
    return name, seconds, size


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=100_000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
    parser.add_argument("--record", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.record:
        print(json.dumps(record(options.tokens, options.out)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        file = options.out or Path(folder) / "map.regard"
        command = [sys.executable, "-m", "benchmarks.long_map", "--record", "--tokens", str(options.tokens)]
        told = json.loads(subprocess.run([*command, "--out", str(file)], check=True, stdout=subprocess.PIPE).stdout)
        answers = asked(file)
    lines = described(options.tokens, told, answers)
    print("\n".join(lines))
    if options.write:
        write_section(TITLE, [provenance("cpu"), "", *lines])
    fine = max(seconds for name, seconds, _ in answers if name.endswith("cells of 1"))
    return int(told["seconds"] > SECONDS or told["memory"] > MEMORY or fine > TILE or not told["true"])


def described(tokens: int, told: dict[str, Any], answers: list[tuple[str, float, int]]) -> list[str]:
    """What it took, in words and in a table."""
    spent = f"{told['watched']:.1f} s the forward, watched, and {told['pooled']:.1f} s the map pooled to cells of"
    recorded = (
        f"One causal head of {DIM}, {tokens:,} tokens: recorded in {told['seconds']:.1f} s ({spent} {told['cell']})"
    )
    room = f"with {told['memory'] / 1e6:,.0f} MB; a file of {told['file'] / 1e6:,.0f} MB."
    rows = [[name, f"{1000 * seconds:,.0f} ms", f"{size / 1000:,.0f} kB"] for name, seconds, size in answers]
    return [f"{recorded} {room}", "", *markdown(["asked of the studio", "slowest", "answer"], rows)]


if __name__ == "__main__":
    raise SystemExit(main())
