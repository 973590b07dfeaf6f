"""The full form of every claim, in miniature on a pretend GPU: what would mix devices there, or read text that is not
asked for, breaks here."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import regard
from regard.attention import sdpa_kernels
from regard.claims import NAMES
from regard.claims.claim_names import claim_named
from regard.claims.lab import families, fit, lengths, shipped_reading, small_models, text_stacks, variants
from regard.claims.lab.it_pairs import it_task
from regard.claims.setting import Setting
from regard.decoding import Limits
from regard.models import recurrent
from tests.label_cases import tiny_reviews
from tests.pretend_device import DEVICE, KERNELS, PretendDevice
from tests.tiny_corpora import tiny_multi30k

TINY = {"dim": 16, "heads": 2, "feedforward": 16, "encoder_layers": 1, "decoder_layers": 1}
STACK = {"dim": 16, "heads": 2, "feedforward": 16, "layers": 2, "dropout": 0.1}
TWO = dict.fromkeys(families.FAMILIES, 2)
# What is made small of each: names of its file, and values for them.
SMALL: dict[str, dict[str, Any]] = {
    "softmax": {"ROWS": (20, 20)}, "zero-score": {"ROWS": (10, 10), "SENTENCES": (2, 2)}, "mask": {"DRAWS": (2, 2)},
    "sizes": {"DIMS": ((64,), (64,))}, "permutation": {"TEXTS": (4, 4)},
    "sinusoids": {"POSITIONS": (2_000, 2_000)}, "lookup": {"REGISTERS": (20, 20)},
    "order-and-length": {"FULL_STEPS": TWO}, "long-sentences": {"FULL_STEPS": TWO},
    "long-range": {"FULL_STEPS": TWO, "FULL_SENTENCES": 600, "FULL_TESTS": 4},
    "sequential": {"LENGTHS": ((2, 4), (2, 3)), "ROUNDS": (1, 1), "CHAINED": (3, 6)},
    "better": {"FULL_LONG": TWO, "FULL_SHORT": 2, "ROUNDS": 1, "TIMED": 1},
    "scales": {"FULL_DIMS": (8, 16, 24), "FULL_STEPS": 2, "FULL_TEXTS": (1 / 4, 1 / 2, 1.0)},
    "sqrt-d": {"STARTS": (8, 16), "FULL_DIMS": (8, 16), "FULL": (2, 4, 1e-3)},
    "heads": {"HEADS": (1, 2), "SEVERAL": (2,)},
    "heads-for-speed": {"DIMS": ((16,), (16,)), "LENGTHS": ((4,), (4,)), "WORDS": (8, 8), "ROUNDS": (1, 1)},
    "head-roles": {"LINKS": (4, 4)},
    "it": {"PAIRS": (6, 6), "STEPS": (2, 2), "BATCH": (4, 4), "FULL_SIZE": TINY,
           "grammar_pairs": lambda count: it_task(20)},
    "seen-together": {"SIZES": (4, 4), "SENTENCES": (60, 60), "STEPS": (2, 2), "BATCH": (4, 4), "MOST": (4, 4)},
    "weight-is-influence": {"COUNTS": (2, 2)}, "qkv": {},
    "residuals": {"FULL_DEPTHS": (1, 2), "FULL_STEPS": 2, "FULL": TINY}, "positions": {"FULL_STEPS": 2, "SIZES": TINY},
    "feed-forward": {}, "encoder-decoder-only": {"FULL": (2, 4, 1e-3), "FULL_STEPS": {"1000": 2, "all": 2}},
    "pre-training": {"FULL": (2, 4, 1e-3), "FULL_STEPS": (2, 2, 2, 2)}, "context": {"PAIRS": (4, 4), "LEAST": 2},
    "overfit": {"FULL_DIMS": (8, 16), "FULL_STEPS": 2, "LITTLE": 4},
    "quadratic": {"FULL_LENGTHS": (16, 32, 64), "FULL_DENSE": 32, "ROUNDS": (1, 1)},
    "one-mechanism": {"FULL": (2, 4, 1e-3)},
}  # fmt: skip
ALIKE: dict[Any, dict[str, Any]] = {
    small_models: {"FULL": TINY}, text_stacks: {"FULL": STACK}, families: {"FULL_BATCH": 4},
    variants: {"FULL": (2, 8, 1e-3)}, fit: {"Limits": lambda _, ends: Limits(4, ends)},
    lengths: {"SHORT": 18, "BOUNDS": (12, 18, 24, 100)},
}  # fmt: skip


def side_by_side(x_BND: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """In place of packed sequences, which know no pretend device: all words, padding among them."""
    return x_BND, torch.arange(x_BND.shape[1], device=x_BND.device).expand(x_BND.shape[:2])


def lstm_cell(read: Tensor, kept: Tensor, cell: Tensor, *biases: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What a GPU has one kernel for: new state, new cell, and what its gradient would need."""
    enter, forget, candidate, leave = sum((read, kept, *biases)).chunk(4, -1)  # type: ignore[union-attr]
    cell = forget.sigmoid() * cell + enter.sigmoid() * candidate.tanh()
    return leave.sigmoid() * cell.tanh(), cell, read


def gru_cell(read: Tensor, kept: Tensor, state: Tensor, *biases: Tensor) -> tuple[Tensor, Tensor]:
    one, other = (sum(both).chunk(3, -1) for both in zip((read, kept), biases or (0, 0), strict=True))  # type: ignore[union-attr]
    reset, update = ((a + b).sigmoid() for a, b in zip(one[:2], other[:2], strict=True))
    return (1 - update) * (one[2] + reset * other[2]).tanh() + update * state, read


def ones_behind(loss: Tensor, *_: Any, **__: Any) -> None:
    """Instead of gradients, which a pretend device has none of: a one for each number that the loss hangs on."""
    waiting, known = [loss.grad_fn], set[Any]()
    while waiting:
        node: Any = waiting.pop()
        if node is None or node in known:
            continue
        known.add(node)
        if hasattr(node, "variable"):
            node.variable.grad = torch.ones_like(node.variable)
        waiting += [one for one, _ in node.next_functions]


def loaded(name: str, device: str) -> Any:
    """A model that ships, moved to a device that `regard.load` does not know."""
    translator = regard.load(name, "cpu")
    translator.model.to(device)
    return translator


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All folders of text that any full form reads."""
    folder = tiny_reviews(tiny_multi30k(tmp_path_factory.mktemp("data")))
    rows = [f"The bank has {n} doors.\tLa banque a {n} portes." for n in range(3)]
    rows += [f"The bank of river {n}.\tLa rive du fleuve {n}." for n in range(3)]
    (folder / "tatoeba-en-fr").mkdir()
    (folder / "tatoeba-en-fr" / "pairs.tsv.xz").write_bytes(lzma.compress("\n".join(rows).encode()))
    return folder


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(sdpa_kernels, "DEVICES", (DEVICE.type,))
    monkeypatch.setattr(sdpa_kernels, "TRUSTED", set())
    monkeypatch.setattr(sdpa_kernels, "REFUSED", set())
    monkeypatch.setattr(Tensor, "backward", ones_behind)
    monkeypatch.setattr(shipped_reading, "load", loaded)
    monkeypatch.setattr(recurrent, "packed", side_by_side)
    monkeypatch.setattr(recurrent, "pad_packed_sequence", lambda out, **_: (out, None))
    monkeypatch.setitem(KERNELS, torch.ops.aten._thnn_fused_lstm_cell.default, lstm_cell)
    monkeypatch.setitem(KERNELS, torch.ops.aten._thnn_fused_gru_cell.default, gru_cell)
    with PretendDevice():
        yield str(DEVICE)


def test_every_claim_has_its_full_form_rehearsed() -> None:
    assert set(SMALL) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_full_form_runs_on_a_gpu(name: str, data: Path, gpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()
    folder = Setting.folder

    def noted(setting: Setting, text: str) -> Path:
        asked.add(text)
        return folder(setting, text)

    monkeypatch.setattr(Setting, "folder", noted)
    for module, small in {**ALIKE, import_module(f"regard.claims.tried.{name.replace('-', '_')}"): SMALL[name]}.items():
        for constant, value in small.items():
            monkeypatch.setattr(module, constant, value)
    result = regard.claim(name).run(full=True, data=data, seeds=[0], device=gpu)
    assert result.provenance.full
    assert result.verdict
    assert asked == set(claim_named(name).data), "what it reads is what it says that it reads"
