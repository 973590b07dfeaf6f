"""The second table of `benchmarks.watch_matrix`: many more families, read as a user reads them, through `regard.watch`.

Whatever the model, its eager attention makes each weight by a softmax. Those are caught on their way and laid under
each other, step by step and beam by beam: so must the recording be. A model that has no eager attention is caught at
scaled_dot_product_attention, and its weights are written out from what that was given.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from rich.table import Table
from torch import Tensor
from torch.overrides import TorchFunctionMode

import regard
from benchmarks import watch_matrix as matrix
from benchmarks.dense import Kept, dense, far
from benchmarks.zoo import MORE
from regard.lens.assembly.recorder import Seen
from regard.lens.hooks import hold
from regard.lens.recording_api import Recording

SOFTMAXES = (F.softmax, torch.softmax, Tensor.softmax)


class Caught(TorchFunctionMode):
    """Every softmax over (..., rows, keys)."""

    def __init__(self) -> None:
        super().__init__()
        self.weights: list[Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func in SOFTMAXES and result.ndim > 2:
            self.weights.append(result)
        if func is F.scaled_dot_product_attention:
            self.weights.append(written_out(*args, **(kwargs or {})))
        return result


def written_out(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    options: Any = {"scale": scale, "mask": attn_mask, "causal": is_causal, "offset": 0 if is_causal else None}
    return dense(Seen("", query, key, value, value, options, ""))[0]


def compared(model: Any, padding: str, way: str) -> float:
    """The largest difference of one cell: of outputs, of weights call by call, and of the joined recording."""
    given, usual = matrix.inputs(model, padding), model.config._attn_implementation
    with torch.no_grad():
        model.set_attn_implementation("eager")
        with Caught() as caught:
            eager = matrix.ran(model, given, way)
        model.set_attn_implementation(usual)
        kept = Kept()
        with regard.watch(model) as recording, hold(model, kept):
            watched = matrix.ran(model, given, way)
    worst = matrix.outputs_apart(watched, eager, given, way)
    weights = [weights_of(seen, caught.weights) for seen in kept.seen]
    order = getattr(watched, "beam_indices", None)
    rows = [matrix.rows_of(seen, given.get("attention_mask")) for seen in kept.seen]
    for seen, one, real in zip(kept.seen, weights, rows, strict=True):
        shown = real[:, None, :, None]
        worst = max(worst, far(dense(seen)[0] * shown, one * shown))
    assert recording.badge.true, str(recording.badge)
    return max(worst, joined_apart(recording, by_site(kept, weights, rows), order))


def weights_of(seen: Seen, caught: list[Tensor]) -> Tensor:
    """The next softmax that is of this size: others, as of experts, are none of attention."""
    texts, heads, queries, _ = seen.query.shape
    keys = seen.key.shape[-2]
    while caught:
        weights = caught.pop(0)
        if weights.shape[-2] == queries and weights.shape[:-2].numel() == texts * heads and weights.shape[-1] >= keys:
            return weights.reshape(texts, heads, queries, -1)[..., :keys].double()
    raise AssertionError(f"eager attention has no softmax for {seen.site}")


Steps = dict[str, list[tuple[Seen, Tensor, Tensor]]]


def by_site(kept: Kept, weights: list[Tensor], rows: list[Tensor]) -> Steps:
    """What each site did, step by step; a layer used twice within one is two sites."""
    sites: Steps = {}
    counts: dict[str, int] = {}
    found = iter(zip(kept.seen, weights, rows, strict=True))
    for told in kept.told:
        if told[0] == "begin":
            counts = {}
        elif told[0] == "see":
            counts[told[1]] = counts.get(told[1], 0) + 1
            name = told[1] if counts[told[1]] == 1 else f"{told[1]}#{counts[told[1]]}"
            sites.setdefault(name, []).append(next(found))
    return sites


def joined_apart(recording: Recording, sites: Steps, order: Tensor | None) -> float:
    """How far the maps of the recording are from eager's rows, each text along its own beams."""
    assert recording.sites == list(sites)
    worst = 0.0
    for site, steps in sites.items():
        one = recording.last.map(site)
        for text in range(len(one.query)):
            expected, real = laid_out(steps, text, one.keys, order)
            found = torch.stack([recording.weights(site, head, batch=text) for head in one.heads])
            assert found.shape[1] == expected.shape[1], f"{site} has {found.shape[1]} rows, not {expected.shape[1]}"
            apart = (found - expected[..., : found.shape[-1]]) * real[:, None]
            worst = max(worst, far(apart, torch.zeros_like(apart)))
    return worst


def laid_out(
    steps: list[tuple[Seen, Tensor, Tensor]], text: int, keys: int, order: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The rows (heads, rows, keys) of one text from first to last, and which of them are a token's."""
    base = min(seen.first_key for seen, _, _ in steps)
    found, real = [], []
    for turn, (seen, weights, rows) in enumerate(steps):
        row = text
        if order is not None:
            beam = int(order[text, turn if len(steps) > 1 else 0])
            row = (
                beam * len(weights) // (len(order) * matrix.BEAMS)
            )  # an encoder reads each text once for all its beams
            if beam < 0:
                continue
        whole = weights.new_zeros(weights.shape[1], weights.shape[2], keys)
        start = seen.first_key - base
        whole[..., start : start + weights.shape[-1]] = weights[row][..., : keys - start]
        found.append(whole)
        real.append(rows[row])
    return torch.cat(found, 1), torch.cat(real)


def cells(name: str) -> dict[tuple[str, str], float]:
    found = {}
    for padding in matrix.PADDINGS:
        for way in matrix.WAYS:
            model = MORE[name]()
            if matrix.sensible(model, padding, way):
                found[padding, way] = compared(model, padding, way)
    return found


def second_table() -> tuple[Table, bool]:
    """All of it, and whether every number is small enough."""
    table = Table("model", "texts", *matrix.WAYS, title=f"watched against eager, largest difference ({matrix.BOUND})")
    fine = [matrix.tabulated(table, name, cells(name)) for name in MORE]
    return table, all(fine)
