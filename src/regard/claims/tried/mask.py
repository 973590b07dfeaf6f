"""Does minus infinity in place of a score hide the future wholly: from weights, gradients and outputs?"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import attend
from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import exactly
from regard.claims.lab.attention_backends import WAYS, by_backend
from regard.claims.lab.controls import blocks
from regard.claims.measurement import Cell, LinePlot, Measurement, ResultTable, Series
from regard.claims.setting import Setting
from regard.models import Decoder, DecoderConfig

WORDS, DIM, HEADS = 12, 8, 2
PAST = WORDS // 2  # words whose outputs are looked at; the others are their future
VOCABULARY = 50
DRAWS = 200, 5_000  # quickly, and in full
VISIBLE = 1e-6  # a change this large is no rounding, in any way of computing
ROUNDING = 4096 * torch.finfo(torch.float64).eps  # of outputs that sum the same numbers in another order
STOPS = (0.0, 5.0, 10.0, 20.0, 40.0, 80.0)

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]


class Leak(NamedTuple):
    """The most of the future that is found in the past: 0 where it is hidden."""

    weight: float  # of a later word
    gradient: float  # of an earlier output, for what a later word says
    output: float  # how far an earlier output moves when the later words are others


def leak_of(attention: Attention, count: int, rng: torch.Generator) -> Leak:
    """By drawn queries, keys and values; with the rows of the identity as values, outputs are weights."""
    query, key, value, other_key, other_value = (
        torch.randn(count, HEADS, WORDS, DIM, generator=rng, dtype=torch.float64) for _ in range(5)
    )
    unit = torch.eye(WORDS, dtype=torch.float64).expand(count, HEADS, -1, -1)
    weights = attention(query, key, unit)
    key.requires_grad_()
    value.requires_grad_()
    output = attention(query, key, value)
    wish = torch.randn(output[..., :PAST, :].shape, generator=rng, dtype=torch.float64)
    gradients = torch.autograd.grad((output[..., :PAST, :] * wish).sum(), (key, value))
    changed = attention(query, with_future(key, other_key), with_future(value, other_value))
    return Leak(
        float(weights.triu(1).max()),
        max(largest(one[..., PAST:, :]) for one in gradients),
        largest((changed - output)[..., :PAST, :]),
    )


def largest(numbers: Tensor) -> float:
    return float(numbers.detach().abs().max())


def with_future(own: Tensor, other: Tensor) -> Tensor:
    return torch.cat([own[..., :PAST, :], other[..., PAST:, :]], -2)


def model_leak(count: int, seed: int, *, causal: bool = True) -> Leak:
    """The same of a whole decoder, whose layers all look, from words to logits."""
    torch.manual_seed(seed)
    config = DecoderConfig(
        dim=16, heads=HEADS, feedforward=32, layers=3, vocabulary=VOCABULARY, dropout=0.0, positions="sinusoidal"
    )
    model = Decoder(config).double().eval()
    if not causal:
        for block in blocks(model):
            block.self_attention.causal = False
    ids, others = torch.randint(VOCABULARY, (2, count, WORDS))
    inputs, logits = with_embedded(model, ids)
    wish = torch.randn_like(logits[:, :PAST])
    (gradient,) = torch.autograd.grad((logits[:, :PAST] * wish).sum(), inputs)
    changed = model(torch.cat([ids[:, :PAST], others[:, PAST:]], 1))
    return Leak(math.nan, largest(gradient[:, PAST:]), largest((changed - logits)[:, :PAST]))


def with_embedded(model: nn.Module, ids: Tensor) -> tuple[Tensor, Tensor]:
    """The vectors that the first layer reads, for which one can ask gradients, and the logits."""
    vectors: list[Tensor] = []

    def hold(_: nn.Module, __: tuple[Tensor, ...], output: Tensor) -> Tensor:
        vectors.append(output.detach().requires_grad_())
        return vectors[0]

    hook = model.get_submodule("embedding").register_forward_hook(hold)
    try:
        logits: Tensor = model(ids)
    finally:
        hook.remove()
    return vectors[0], logits


def lowered(stop: float) -> Attention:
    """The control: later words are only made less likely, by a finite number."""
    mask = torch.full((WORDS, WORDS), -stop, dtype=torch.float64).triu(1)
    return lambda query, key, value: attend(query, key, value, mask=mask)


def hidden_by(backend: str) -> Attention:
    return lambda query, key, value: by_backend(backend, query, key, value, causal=True)


def measure(setting: Setting) -> Measurement:
    count, seed = setting.quick_or_full(*DRAWS), setting.seeds[0]

    def drawn(attention: Attention) -> Leak:
        return leak_of(attention, count, torch.Generator().manual_seed(seed))

    hidden = {name: drawn(hidden_by(backend)) for backend, name in WAYS.items()}
    decoder = model_leak(count, seed)
    finite = {stop: drawn(lowered(stop)) for stop in STOPS}
    rows: list[tuple[Cell, ...]] = [(f"minus infinity, {name} way", *leak) for name, leak in hidden.items()]
    rows.append(("minus infinity, decoder of 3 layers", "-", decoder.gradient, decoder.output))
    rows += [(f"minus {stop:g}" if stop else "nothing hidden", *leak) for stop, leak in finite.items()]
    open_decoder = model_leak(count, seed, causal=False)
    rows.append(("nothing hidden, decoder of 3 layers", "-", open_decoder.gradient, open_decoder.output))
    table = ResultTable(
        "The most of a later word that is found in an earlier one",
        ("in place of the score, or added", "weight", "gradient", "output"),
        tuple(rows),
    )
    numbers = {
        "weight": exactly(max(one.weight for one in hidden.values())),
        "gradient": exactly(max(one.gradient for one in (*hidden.values(), decoder))),
        "output": exactly(max(one.output for one in (*hidden.values(), decoder))),
    }
    points = tuple((stop, exactly(leak.weight)) for stop, leak in finite.items())
    plot = LinePlot(
        "A finite number in its place lets some through",
        "taken from the score",
        "largest weight of a later word",
        (Series("largest weight", points),),
        log_y=True,
    )
    return Measurement(numbers, (table,), plot, (all_hidden_remark(), infinite_remark()))


def all_hidden_remark() -> str:
    """A row in which everything is hidden: where a finite number hides nothing, and infinity needs a rule."""
    finite, infinite = (
        largest(torch.full((WORDS,), -score, dtype=torch.float64).softmax(-1)) for score in (1e9, math.inf)
    )
    unit, nowhere = torch.eye(WORDS)[None], torch.zeros(WORDS, WORDS, dtype=torch.bool)
    return (
        f"Where every word of a row is hidden, minus a thousand million shows all of them, {finite:.3f} of the weight "
        f"each; minus infinity alone gives {infinite} (no number); `attend` gives "
        f"{largest(attend(unit, unit, unit, mask=nowhere)):g}."
    )


def infinite_remark() -> str:
    """What minus infinity cannot hide: 0 times infinity is no number."""
    rng = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(1, 1, WORDS, DIM, generator=rng, dtype=torch.float64) for _ in range(3))
    value[..., -1, :] = math.inf
    ways = [
        name for backend, name in WAYS.items()
        if not hidden_by(backend)(query, key, value)[..., :-1, :].isfinite().all()
    ]  # fmt: skip
    result = f"spoils the earlier outputs of these ways: {', '.join(ways)}" if ways else "spoils no earlier output"
    return f"A weight of 0 hides finite numbers only: a hidden value that is infinite {result}."


def holds(numbers: Numbers) -> bool:
    return numbers["weight"].value == 0 and numbers["gradient"].value == 0 and numbers["output"].value <= ROUNDING


def fails(numbers: Numbers) -> bool:
    return all(numbers[name].value > VISIBLE for name in ("weight", "gradient", "output"))


CLAIM = Claim(
    name="mask",
    statement="Minus infinity in place of the scores hides the future wholly: nothing of it reaches a word.",
    if_true="However attention is computed, later words have a weight of exactly 0, earlier outputs a gradient of "
    "exactly 0 for them, and other later words leave earlier outputs as they were; in a whole decoder too.",
    if_false="Some weight, gradient or output of an earlier word shows what comes later.",
    control="A finite number taken from the scores instead, and nothing hidden at all.",
    measure=measure,
    rule=VerdictRule(
        "all weights and gradients of later words are exactly 0, and outputs move by no more than rounding",
        "weights, gradients and outputs all show the future, by more than a millionth",
        holds,
        fails,
    ),
    seeds=1,
    full_seeds=1,
)
