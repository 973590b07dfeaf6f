"""The folder that HeadVis reads: Anthropic's viewer of attention heads, whose page needs files alone, and no server.

A head has the number of a layer there, and its own: our sites are its layers, in the order of the recording.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from regard.errors import FileError, InputError
from regard.lens.head_kinds import Tally
from regard.lens.headvis.sparse_maps import SparseMap, maps_by_head, rounded, texts_of
from regard.lens.recording.fidelity import together
from regard.lens.recording.forward import ForwardCall

INTERVALS, TEXTS = 10, 20  # of how strong texts are, and how many of each are shown
TOKENS = 50  # in a table of tokens
BINS = 20  # of the largest weights of all texts
METRICS = {  # HeadVis' name; ours, and what it is
    "self_attention_score": ("own", "Mean weight of a token on itself"),
    "previous_token_score": ("previous", "Mean weight on the token before"),
    "induction_score": ("induction", "Mean weight on the tokens that came after earlier occurrences of the same token"),
    "pattern_entropy": ("entropy", "Mean entropy of a row, in nats"),
    "qk_distance": ("distance", "Mean distance from the query to its keys, by weight"),
    "top_weight": ("top_weight", "Mean of the largest weight of a row"),
    "first_token_score": ("first", "Mean weight on the first token"),
}
PLOTS = {"qk_distance_histogram": "Q-K distance", "histogram": "Largest weight of each text"}
TABLES = {"top_query_tokens": "Top query tokens", "top_key_tokens": "Top key tokens"}
STATISTICS = {"n_texts": "Texts", "mean_max_activation": "Mean of their largest weights"}


@dataclass(frozen=True)
class HeadVisReport:
    """What was written: the folder, which site each layer is, and how much there is."""

    folder: Path
    layers: list[str]
    heads: int
    texts: int
    bytes: int


def write_headvis(calls: Sequence[ForwardCall], folder: str | Path, name: str) -> HeadVisReport:
    """Every head of these calls, each text of a batch by itself; the folder appears whole or not at all."""
    out = Path(folder)
    layers = list(dict.fromkeys(site for call in calls for site in call.maps))
    if not layers:
        raise InputError("nothing was recorded", found="no attention layer", do="record a text: regard record")
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise FileError(f"{out} is there already, and is no empty folder", do="name a new one")
    temporary = out.resolve().with_name(f".{out.resolve().name}.{os.getpid()}.part")
    try:
        heads = write_files(calls, layers, temporary, name)
        size = sum(path.stat().st_size for path in temporary.rglob("*") if path.is_file())
        if out.is_dir():
            out.rmdir()
        temporary.replace(out)
    except OSError as error:
        raise FileError(f"cannot write {out}", found=str(error), do="choose another folder, or make room") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return HeadVisReport(out, layers, len(heads), sum(1 for _ in texts_of(calls)), size)


def write_files(calls: Sequence[ForwardCall], layers: list[str], folder: Path, name: str) -> list[tuple[int, int]]:
    """All of them; which heads there are."""
    (folder / "heads").mkdir(parents=True)
    (folder / "attributions").mkdir()
    count = min(INTERVALS, *(sum(1 for _ in texts_of(calls, site)) for site in layers))  # none of them is empty
    heads: list[tuple[int, int]] = []
    for layer, site in enumerate(layers):
        for head, maps in sorted(maps_by_head(calls, site).items()):
            heads.append((layer, head))
            save(folder / "heads" / f"L{layer}H{head}.json", head_content(maps, count))
    rows = scatter(calls, layers, heads)
    save(folder / "scatter_data.json", rows)
    badge = together(one.badge for call in calls for one in call.maps.values())
    content = {"model_name": name, "sites": layers, "badge": str(badge), **config(heads, count), **metrics(rows)}
    save(folder / "config.json", content)
    save(folder / "server_config.json", {})  # no server to ask
    save(folder / "attributions" / "manifest.json", {})
    return heads


def save(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content, allow_nan=False, separators=(",", ":")), encoding="utf-8")


def head_content(maps: list[SparseMap], count: int) -> dict[str, Any]:
    """One head: texts from where it is weak to where it is strong, and what stands beside them."""
    largest = [one.largest for one in maps]
    return {
        "sequences": [sequence(one, interval) for interval, members in by_strength(maps, count) for one in members],
        "qk_distance_histogram": distances(maps),
        "top_query_tokens": token_weights(maps, 0), "top_key_tokens": token_weights(maps, 1),
        "histogram": {
            "bin_edges": [rounded(edge / BINS) for edge in range(BINS + 1)],
            "bin_values": torch.histc(torch.tensor(largest), BINS, 0.0, 1.0).int().tolist(),
        },
        "statistics": {"n_texts": len(maps), "mean_max_activation": rounded(sum(largest) / len(largest))},
    }  # fmt: skip


def sequence(one: SparseMap, interval: int) -> dict[str, Any]:
    return {
        "sequence_id": one.text, "interval": interval, "tokens": one.tokens, "attention_indices": one.cells,
        "attention_values": one.weights, "seq_len": len(one.tokens), "max_activation": rounded(one.largest),
    }  # fmt: skip


def by_strength(maps: list[SparseMap], count: int) -> list[tuple[int, list[SparseMap]]]:
    """Equal parts of the texts, from 1 for those where the head is weakest; of many, some spread over each part."""
    order = sorted(maps, key=lambda one: one.largest)
    edges = [len(order) * place // count for place in range(count + 1)]
    parts = [order[start:stop] for start, stop in pairwise(edges)]
    return [(place + 1, spread(part, TEXTS)) for place, part in enumerate(parts)]


def spread(members: list[SparseMap], most: int) -> list[SparseMap]:
    """So many of them at most, evenly from the first to the last."""
    size = min(most, len(members))
    return [members[place * (len(members) - 1) // max(1, size - 1)] for place in range(size)]


def distances(maps: list[SparseMap]) -> dict[str, list[int]]:
    """How far apart queries and keys are, over the weights that are kept: 0, 1, 2 to 3, 4 to 7, ..."""
    counts: Counter[int] = Counter()
    for one in maps:
        counts.update(abs(query - key).bit_length() for query, key in (divmod(c, len(one.tokens)) for c in one.cells))
    powers = range(max(counts, default=0) + 1)
    return {"bin_edges": [0, *(1 << power for power in powers)], "bin_values": [counts[power] for power in powers]}


def token_weights(maps: list[SparseMap], side: int) -> list[dict[str, Any]]:
    """The tokens that look most (side 0), or are looked at most (1), by the sum of their weights."""
    sums: Counter[str] = Counter()
    for one in maps:
        for cell, weight in zip(one.cells, one.weights, strict=True):
            sums[one.tokens[divmod(cell, len(one.tokens))[side]]] += weight  # type: ignore[assignment]
    return [{"token": token, "weight": rounded(weight)} for token, weight in sums.most_common(TOKENS)]


def scatter(calls: Sequence[ForwardCall], layers: list[str], heads: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """A row for each head; HeadVis takes from the first which metrics there are, so one that has all of them leads."""
    tally = Tally()
    for call in calls:
        tally.add(call)
    lines = {(line.site, line.head): line for line in tally.table().lines}
    rows: list[dict[str, Any]] = []
    for layer, head in heads:
        line = lines.get((layers[layer], head))
        numbers = {name: getattr(line, ours, math.nan) for name, (ours, _) in METRICS.items()}
        finite = {name: rounded(number) if math.isfinite(number) else None for name, number in numbers.items()}
        rows.append({"layer": layer, "head": head, **finite})
    return sorted(rows, key=lambda row: sum(number is None for number in row.values()))


def metrics(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Those that some head has; their names and what they are."""
    known = [name for name in METRICS if any(row[name] is not None for row in rows)]
    return {"metrics": known, "metric_descriptions": {name: METRICS[name][1] for name in known}}


def config(heads: list[tuple[int, int]], count: int) -> dict[str, Any]:
    """What HeadVis reads first. There is no cloud of vectors: a recording keeps queries and keys, but no values."""
    return {
        "heads": heads, "n_layers": 1 + max(layer for layer, _ in heads), "n_heads": 1 + max(head for _, head in heads),
        "n_intervals": count,
        "head_data_pattern": "L{layer}H{head}.json", "has_umap": False, "umap_heads": [],
        "custom_plots": [{"key": key, "label": label} for key, label in PLOTS.items()],
        "custom_tables": [{"key": key, "label": label} for key, label in TABLES.items()],
        "statistics_display": {key: {"label": label, "format": "default"} for key, label in STATISTICS.items()},
    }  # fmt: skip
