"""Named, repeatable arguments of `attend` that together use every option, alone and combined.

The tensors of a case are float64. `case.to(dtype, device)` rounds them; `case.answer` is what the oracle says about
the rounded ones, so a comparison never counts the rounding of inputs as an error.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.attention.steps import six_steps
from tests import oracle
from tests.bounds import FUNCTIONS, sums_apart, weights_apart

NOWHERE = float("-inf")
LOWEST = torch.finfo(torch.float64).min  # becomes the finfo.min of whatever dtype a case is turned into
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
TENSORS = ("mask", "bias", "sinks")  # the options that hold tensors

ANSWERS: dict[str, oracle.Answer] = {}

attend_module = importlib.import_module("regard.attention.attend")  # the name in the package is the function
Draw = Callable[..., Tensor]


@dataclass(frozen=True)
class Case:
    """The arguments of one call."""

    name: str
    query: Tensor
    key: Tensor
    value: Tensor
    options: dict[str, Any] = field(default_factory=dict)
    fixed: dict[str, torch.dtype] = field(default_factory=dict)  # arguments that keep a dtype of their own

    def __str__(self) -> str:
        return self.name

    def to(self, dtype: torch.dtype, device: str = "cpu") -> Case:
        rounded = {name: round_to(one, self.fixed.get(name, dtype)) for name, one in self.tensors.items()}
        return self.giving(**{name: tensor.to(device) for name, tensor in rounded.items()})

    def widened(self) -> Case:
        """The same numbers, all in float64."""
        return self.giving(**{name: one.double() for name, one in self.tensors.items() if is_added(one)})

    def with_grad(self, *names: str) -> tuple[Case, dict[str, Tensor]]:
        """The same case on fresh leaves, and those by name; without names, every tensor of floats is one."""
        leaves = {name: tensor.detach().clone() for name, tensor in self.tensors.items() if is_added(tensor)}
        leaves = {name: leaf.requires_grad_() for name, leaf in leaves.items() if not names or name in names}
        return self.giving(**leaves), leaves

    @property
    def tensors(self) -> dict[str, Tensor]:
        """Every tensor given, by the name of its argument."""
        options = {name: given for name, given in self.options.items() if name in TENSORS}
        return {"query": self.query, "key": self.key, "value": self.value} | options

    def giving(self, **tensors: Tensor) -> Case:
        """The same case with some of its tensors replaced."""
        options = self.options | {name: tensor for name, tensor in tensors.items() if name in TENSORS}
        return replace(self, options=options, **{name: one for name, one in tensors.items() if name not in TENSORS})

    @property
    def answer(self) -> oracle.Answer:
        """What the oracle says, worked out once for each name and dtype: give a changed case another name."""
        signature = f"{self.name} in {self.query.dtype}"
        if signature not in ANSWERS:
            ANSWERS[signature] = oracle_of(self)
        return ANSWERS[signature]

    def largest_score(self) -> float:
        """How large scores get: float32 keeps a weight to about eps times this. Masks' finfo.min do not count."""
        scores = np.abs(self.answer.scores)
        return float(max(1.0, scores.max(initial=0.0, where=scores < 1e6)))

    def apart(self) -> float:
        """How far a weight, relative to its size, or an lse may lie from the oracle's, to first order in epsilon.

        Half precision is computed in float32. What is added to the scores, and a sink, round as often as numbers do on
        their way to a weight.
        """
        wide = torch.float64 if torch.float64 in (self.query.dtype, self.key.dtype) else torch.float32
        sinks = self.options.get("sinks")
        ends = [] if sinks is None else sinks[sinks > NOWHERE].abs().tolist()
        added = sums_apart(FUNCTIONS, max([self.largest_score(), *ends]), wide)
        return added + weights_apart(self.query.to(wide), self.key.to(wide), self.options.get("scale"))

    def outputs_apart(self) -> float:
        """The same of an output, the sum over the keys of weights times values: of a size that values have."""
        wide = torch.float64 if torch.float64 in (self.query.dtype, self.key.dtype) else torch.float32
        largest = self.value.double().abs().max().item() if self.value.numel() else 0.0
        return largest * (self.apart() + sums_apart(self.key.shape[-2], 1.0, wide))


def round_to(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """The tensor in another dtype, its layout kept; what is finite stays finite, -inf stays -inf."""
    if not tensor.is_floating_point():
        return tensor
    core = tensor[tuple(slice(1) if stride == 0 else slice(None) for stride in tensor.stride())].double()
    finite = core.clamp(min=torch.finfo(dtype).min)
    return torch.where(core == NOWHERE, core, finite).to(dtype).expand(tensor.shape)


def numpy(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().double().numpy() if tensor.is_floating_point() else tensor.detach().cpu().numpy()


def oracle_of(case: Case) -> oracle.Answer:
    options = {name: numpy(given) if name in TENSORS else given for name, given in case.options.items()}
    return oracle.attention(numpy(case.query), numpy(case.key), numpy(case.value), **options)


# ---- how tests run a case -------------------------------------------------------------------------------------------


def run_backend(name: str, case: Case, dropout: float = 0.0) -> Tensor:
    """The output of one named backend as `attend` makes it; where SDPA does not fit, of the next best."""
    scores, value = read(case)
    if name == "fused" and not attend_module.fits(scores, dropout):
        name = attend_module.choose(scores, dropout)
    return attend_module.whole(attend_module.BACKENDS[name](scores, value, dropout), case.query)


def fits_fused(case: Case) -> bool:
    return attend_module.fits(read(case)[0], 0.0)


def read(case: Case) -> tuple[Any, Tensor]:
    scores = attend_module.read_scores(case.query, case.key, case.options)
    return attend_module.in_one_dtype(scores, case.value)


def plain_steps(case: Case, dtype: torch.dtype) -> Tensor:
    """The textbook's output with all arithmetic in `dtype`, what is visible being the oracle's word."""
    terms = [round_to(case.options[name], dtype) for name in ("mask", "bias") if is_added(case.options.get(name))]
    sinks = case.options.get("sinks")
    scale = case.options.get("scale")
    return six_steps(
        case.query.to(dtype), case.key.to(dtype), case.value.to(dtype),
        scale=case.query.shape[-1] ** -0.5 if scale is None else scale,
        softcap=case.options.get("softcap"),
        bias=sum(terms[1:], start=terms[0]) if terms else None,
        visible=visible_of(case),
        sinks_H=None if sinks is None else sinks.to(dtype),
    ).output  # fmt: skip


def visible_of(case: Case) -> Tensor:
    """What the oracle says may be looked at, as a tensor."""
    options = {name: case.options.get(name) for name in ("causal", "window", "offset")}
    queries, keys = case.query.shape[-2], case.key.shape[-2]
    seen = oracle.band(queries, keys, **options | {"causal": bool(options["causal"])})
    mask, bias = (None if case.options.get(name) is None else numpy(case.options[name]) for name in ("mask", "bias"))
    shown, _ = oracle.split_mask(mask, bias, (*case.query.shape[:-1], keys))
    return torch.from_numpy(shown & seen).to(case.query.device)


def is_added(term: Tensor | None) -> bool:
    return term is not None and term.is_floating_point()


def force_blocks(monkeypatch: pytest.MonkeyPatch, rows: int, columns: int) -> None:
    """Make every blockwise pass use blocks of this size, so that a small case crosses many of them."""
    for module in ("regard.attention.scores", "regard.attention.tiles"):
        monkeypatch.setattr(importlib.import_module(module), "block_shape", lambda scores: (rows, columns))


# ---- the cases ------------------------------------------------------------------------------------------------------


def drawer(seed: str | int) -> Draw:
    generator = torch.Generator().manual_seed(zlib.crc32(seed.encode()) if isinstance(seed, str) else seed)
    return lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64)


def make(
    name: str,
    *,
    batch: tuple[int, ...] = (2,),
    heads: int = 2,
    served: int | None = None,
    queries: int = 5,
    keys: int = 7,
    dim: int = 4,
    value_dim: int = 4,
    spread: float = 1.0,
    fixed: dict[str, torch.dtype] | None = None,
    **options: Any,
) -> Case:
    """A case drawn from its name. An option may be a function of the draw: `bias=lambda draw: draw(5, 7)`."""
    draw, served = drawer(name), served or heads
    tensors = {
        "query": draw(*batch, heads, queries, dim) * spread,
        "key": draw(*batch, served, keys, dim) * spread,
        "value": draw(*batch, served, keys, value_dim),
    }
    made = {option: given(draw) if callable(given) else given for option, given in options.items()}
    return Case(name, **tensors, options=made, fixed=fixed or {})


def coin(*shape: int, share: float = 0.6) -> Callable[[Draw], Tensor]:
    """A boolean mask that shows about `share` of the cells."""
    return lambda draw: torch.special.ndtr(draw(*shape)) < share


def normal(*shape: int) -> Callable[[Draw], Tensor]:
    return lambda draw: draw(*shape)


def holed(*shape: int) -> Callable[[Draw], Tensor]:
    """Numbers to add, about a third of them -inf."""
    return lambda draw: draw(*shape).masked_fill(torch.special.ndtr(draw(*shape)) < 0.35, NOWHERE)


def lowest(*shape: int, share: float = 0.5) -> Callable[[Draw], Tensor]:
    """0 or finfo.min: hidden for all purposes beside other keys, yet finite."""
    return lambda draw: torch.zeros(shape, dtype=torch.float64).masked_fill(coin(*shape, share=share)(draw), LOWEST)


def grid(*rows: str) -> Tensor:
    """A boolean mask drawn as in the documentation."""
    return torch.tensor([[cell == "1" for cell in row.replace(" ", "")] for row in rows])


def hide(visible: Tensor) -> Tensor:
    """The additive form of a boolean mask."""
    return torch.zeros(visible.shape, dtype=torch.float64).masked_fill(~visible, NOWHERE)


PADDED = torch.tensor([[1, 1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1, 1]]).bool()[:, None, None]  # right, then left
EMPTY_ROWS = grid("1111000", "0000000", "0011100", "0000000", "0000001")


def grouped_cases() -> list[Case]:
    return [
        make("plain"),
        make("one head", heads=1),
        make("group of 2", heads=4, served=2),
        make("group of 4", heads=8, served=2),
        make("one key head", heads=4, served=1),
        make("groups, causal", heads=4, served=2, queries=6, keys=6, causal=True),
        make("groups, a bias for each head", heads=4, served=2, bias=normal(4, 1, 7)),
        make("groups, a mask for each head", heads=4, served=2, mask=coin(2, 4, 5, 7)),
        make("groups, sinks", heads=4, served=2, sinks=normal(4)),
        make("value dim larger", value_dim=9),
        make("value dim smaller", value_dim=2),
        make("value dim 0", value_dim=0),
        make("groups, value dim larger, causal", heads=4, served=2, value_dim=7, queries=6, keys=6, causal=True),
        make("value dim smaller, mask", value_dim=3, mask=coin(5, 7)),
        make("dim 1", dim=1),
    ]


def mask_cases() -> list[Case]:
    return [
        make("mask rank 0, True", mask=torch.tensor(True)),
        make("mask rank 0, False", mask=torch.tensor(False)),
        make("mask rank 1, keys", mask=coin(7)),
        make("mask rank 1, size 1", mask=torch.tensor([True])),
        make("mask rank 2", mask=coin(5, 7)),
        make("mask rank 2, rows", mask=coin(5, 1)),
        make("mask rank 3, heads", mask=coin(2, 5, 7)),
        make("mask rank 3, heads alone", mask=coin(2, 1, 1)),
        make("mask rank 4", mask=coin(2, 2, 5, 7)),
        make("mask rank 4, padding", mask=PADDED),
        make("mask rank 4, batch alone", mask=torch.tensor([True, False])[:, None, None, None]),
        make("mask rank 5, inner batch", batch=(3, 2), mask=coin(2, 1, 1, 7)),
        make("mask rank 5, outer batch", batch=(3, 2), mask=coin(3, 1, 1, 5, 7)),
        make("added rank 0", mask=normal()),
        make("added rank 0, -inf", mask=torch.tensor(NOWHERE, dtype=torch.float64)),
        make("added rank 1", mask=holed(7)),
        make("added rank 2", mask=holed(5, 7)),
        make("added rank 2, rows", mask=holed(5, 1)),
        make("added rank 3", mask=holed(2, 1, 7)),
        make("added rank 4", mask=holed(2, 2, 5, 7)),
        make("added rank 4, batch", mask=holed(2, 1, 1, 7)),
        make("mask and bias", mask=coin(2, 1, 1, 7), bias=holed(2, 5, 7)),
        make("added and bias", mask=holed(7), bias=holed(2, 1, 5, 1)),
        make("empty rows", mask=EMPTY_ROWS),
        make("empty rows, added", mask=hide(EMPTY_ROWS)),
        make("empty rows between mask and bias", mask=torch.arange(7) < 3, bias=hide(EMPTY_ROWS)),
        make("all masked", mask=torch.zeros(5, 7, dtype=torch.bool)),
    ]  # fmt: skip


def bias_cases() -> list[Case]:
    return [
        make("bias rank 0", bias=normal()),
        make("bias rank 1", bias=normal(7)),
        make("bias rank 2", bias=normal(5, 7)),
        make("bias rank 2, rows", bias=normal(5, 1)),
        make("bias rank 3", bias=normal(2, 5, 7)),
        make("bias rank 4", bias=normal(2, 1, 5, 7)),
        make("bias with holes", bias=holed(2, 2, 5, 7)),
        make("bias alone, zero query", bias=normal(2, 5, 7), scale=0.0),
        make("bias, causal, window", bias=holed(2, 5, 7), causal=True, window=(3, None)),
    ]


def band_cases() -> list[Case]:
    square = {"queries": 6, "keys": 6}
    return [
        make("causal", **square, causal=True),
        make("causal, one token", queries=1, keys=1, causal=True),
        make("causal with cache", queries=3, keys=8, causal=True),
        make("causal, newest token", queries=1, keys=8, causal=True),
        make("causal, more queries than keys", queries=8, keys=5, causal=True),
        make("causal, offset 0, long keys", queries=3, keys=8, causal=True, offset=0),
        make("causal, offset 0, long queries", queries=8, keys=5, causal=True, offset=0),
        make("causal, offset negative", **square, causal=True, offset=-2),
        make("causal, offset beyond", **square, causal=True, offset=100),
        make("causal, offset far before", **square, causal=True, offset=-100),
        make("offset alone", **square, offset=3),
        make("window left", **square, window=(2, None)),
        make("window right", **square, window=(None, 1)),
        make("window both", **square, window=(1, 2)),
        make("window itself", **square, window=(0, 0)),
        make("window open", **square, window=(None, None)),
        make("window wide", **square, window=(50, 50)),
        make("window, more keys", queries=4, keys=9, window=(2, 1)),
        make("window, more queries", queries=9, keys=4, window=(2, 1)),
        make("window, offset negative", **square, window=(1, 1), offset=-3),
        make("window, offset beyond", **square, window=(2, 0), offset=4),
        make("causal window", **square, causal=True, window=(2, 0)),
        make("causal window, right ignored", **square, causal=True, window=(2, 3)),
        make("causal window, left open", **square, causal=True, window=(None, 4)),
        make("causal window with cache", queries=3, keys=9, causal=True, window=(3, None)),
        make("causal, padding", queries=7, causal=True, mask=PADDED),
        make("causal, added padding", queries=7, causal=True, mask=holed(2, 1, 1, 7)),
    ]


def softcap_and_sink_cases() -> list[Case]:
    return [
        make("softcap", softcap=2.0, spread=2.0),
        make("softcap, causal, bias", softcap=1.5, causal=True, bias=normal(2, 5, 7)),
        make("softcap, sinks, groups", softcap=3.0, heads=4, served=2, sinks=normal(4), spread=2.0),
        make("sinks", sinks=normal(2)),
        make("sinks, empty rows", sinks=normal(2), mask=EMPTY_ROWS),
        make("sinks, one -inf", sinks=torch.tensor([0.5, NOWHERE], dtype=torch.float64), mask=EMPTY_ROWS),
        make("sinks, large", sinks=torch.tensor([60.0, -60.0], dtype=torch.float64)),
        make("sinks, causal window", sinks=normal(2), causal=True, window=(2, 0)),
        make("sinks, no keys", sinks=normal(2), keys=0),
        make("everything", heads=4, served=2, batch=(2, 2), value_dim=6, queries=6, keys=9, mask=coin(2, 1, 1, 1, 9),
             causal=True, window=(5, None), offset=2, scale=0.7, softcap=4.0, bias=holed(4, 6, 9), sinks=normal(4)),
    ]  # fmt: skip


def size_cases() -> list[Case]:
    return [
        make("batch rank 0", batch=()),
        make("batch rank 0, masked", batch=(), mask=coin(2, 5, 7)),
        make("batch rank 0, groups, padded keys", batch=(), heads=4, served=2, mask=coin(7)),
        make("batch rank 2", batch=(2, 3)),
        make("batch rank 3", batch=(2, 1, 2), heads=1, mask=coin(2, 1, 1, 1, 5, 7)),
        make("batch of none", batch=(0,)),
        make("batch of none, rank 2", batch=(2, 0), sinks=normal(2), bias=normal(2, 5, 7)),
        make("no queries", queries=0),
        make("no queries, causal", queries=0, causal=True, sinks=normal(2)),
        make("no keys", keys=0),
        make("no keys, causal, mask of size 1", keys=0, causal=True, mask=torch.ones(5, 1, dtype=torch.bool)),
        make("no queries and no keys", queries=0, keys=0, bias=normal(1, 1)),
        make("longer than a block", batch=(), heads=1, queries=40, keys=50, causal=True, bias=normal(50)),
    ]


def strides_cases() -> list[Case]:
    return [
        turned("turned from (batch, length, heads, dim)", causal=True, queries=6, keys=6),
        turned("turned, groups, mask", heads=4, served=2, mask=coin(2, 1, 5, 7)),
        turned("turned, sinks", sinks=normal(2)),
        columns_first("key and value stored dim first"),
        make("mask stored keys first", mask=lambda draw: coin(7, 5)(draw).mT),
        make("bias stored keys first", bias=lambda draw: holed(2, 7, 5)(draw).mT),
        expanded("expanded key, value and bias"),
    ]


def turned(name: str, **sizes: Any) -> Case:
    """Queries, keys and values as a projection leaves them: heads beside dim in memory."""
    case = make(name, **sizes)
    tensors = {part: getattr(case, part).transpose(-3, -2).contiguous() for part in ("query", "key", "value")}
    return replace(case, **{part: tensor.transpose(-3, -2) for part, tensor in tensors.items()})


def columns_first(name: str) -> Case:
    case = make(name)
    return replace(case, key=case.key.mT.contiguous().mT, value=case.value.mT.contiguous().mT)


def expanded(name: str) -> Case:
    case = make(name, bias=normal(1, 7))
    wide = {part: getattr(case, part)[:1].expand(2, -1, -1, -1) for part in ("key", "value")}
    return replace(case, options={"bias": case.options["bias"].expand(2, 2, 5, 7)}, **wide)


def number_cases() -> list[Case]:
    f16, f32, f64, bf16 = torch.float16, torch.float32, torch.float64, torch.bfloat16
    return [
        make("scale 0", scale=0.0),
        make("scale negative", scale=-0.8),
        make("scale 0, causal", scale=0.0, queries=6, keys=6, causal=True),
        make("scale 2", scale=2.0),
        make("scale a whole number", scale=1),
        make("scale negative, causal", scale=-1.5, queries=6, keys=6, causal=True, spread=2.0),
        make("big scores", spread=13.0),
        make("big scores, groups, causal", spread=13.0, heads=4, served=2, queries=6, keys=6, causal=True),
        make("big scores, sinks, bias", spread=10.0, sinks=normal(2), bias=normal(2, 5, 7)),
        make("big scores, softcap", spread=13.0, softcap=20.0),
        make("finfo.min on some keys", mask=lowest(5, 7)),
        make("finfo.min on the left", mask=torch.tensor([LOWEST] * 5 + [0, 0], dtype=f64)),
        make("finfo.min on whole rows", mask=torch.tensor([LOWEST, 0, LOWEST, 0, 0], dtype=f64)[:, None]),
        make("finfo.min on every cell, sinks", mask=torch.full((5, 7), LOWEST, dtype=f64), sinks=normal(2)),
        make("finfo.min, causal", queries=7, causal=True, mask=lowest(2, 1, 1, 7)),
        make("finfo.min on the left, causal", queries=7, causal=True,
             mask=torch.tensor([LOWEST] * 4 + [0] * 3, dtype=f64)),
        make("finfo.min on all that a mask shows", bias=torch.tensor([LOWEST] * 4 + [0] * 3, dtype=f64),
             mask=grid("1110000", "1111111", "0110000", "0001111", "0000000")),
        make("finfo.min beside -inf", mask=lowest(5, 7), bias=holed(5, 7)),
        make("mask float64, finfo.min", mask=lowest(5, 7), fixed={"mask": f64}),
        make("mask float64, finfo.min on whole rows", fixed={"mask": f64},
             mask=torch.tensor([LOWEST, 0, LOWEST, 0, 0], dtype=f64)[:, None]),
        make("mask float32", mask=holed(5, 7), fixed={"mask": f32}),
        make("mask bfloat16", mask=holed(2, 1, 1, 7), fixed={"mask": bf16}),
        make("bias float32, sinks float32", bias=normal(2, 5, 7), sinks=normal(2), fixed={"bias": f32, "sinks": f32}),
        make("key float32", fixed={"key": f32}),
        make("value float32", fixed={"value": f32}, causal=True),
        make("query as asked, key float16, value bfloat16", fixed={"key": f16, "value": bf16}),
        make("key float64, value float64", fixed={"key": f64, "value": f64}, mask=coin(5, 7)),
    ]  # fmt: skip


def all_cases() -> list[Case]:
    makers = (grouped_cases, mask_cases, bias_cases, band_cases, softcap_and_sink_cases, size_cases, strides_cases,
              number_cases)  # fmt: skip
    cases = [case for maker in makers for case in maker()]
    assert len({case.name for case in cases}) == len(cases), "the oracle's cache goes by name"
    return cases


CASES = all_cases()
BY_NAME = {case.name: case for case in CASES}
