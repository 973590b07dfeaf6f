"""Is the order of words invisible to attention without positions: in an encoder, and behind a causal mask?"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import Estimate, exactly, mean_of
from regard.claims.measurement import BarPlot, Measurement, ResultTable
from regard.claims.setting import Setting
from regard.models import Decoder, DecoderConfig, Encoder, EncoderConfig

WORDS, VOCABULARY, DIM, HEADS = 12, 100, 32, 4
TEXTS = 100, 1_000  # quickly, and in full
ROUNDING = 4096 * torch.finfo(torch.float64).eps  # of sums in another order, through some layers
VISIBLE = 1e-3  # of the size of the vectors themselves: more than that and the order shows


class Case(NamedTuple):
    """A stack, freshly started."""

    stack: str  # "encoder", in which all look at all; "decoder": at the words before
    layers: int
    positions: str


CASES = {
    "encoder": Case("encoder", 3, "none"),
    "decoder_of_1": Case("decoder", 1, "none"),
    "decoder_of_3": Case("decoder", 3, "none"),
    "encoder_with_sinusoids": Case("encoder", 3, "sinusoidal"),
    "encoder_with_learned": Case("encoder", 3, "learned"),
}
TITLES = {
    "encoder": "encoder of 3 layers, no positions",
    "decoder_of_1": "decoder of 1 layer, no positions",
    "decoder_of_3": "decoder of 3 layers, no positions",
    "encoder_with_sinusoids": "encoder, sinusoidal positions",
    "encoder_with_learned": "encoder, learned positions",
}


def change_of(case: Case, texts: int, seed: int) -> float:
    """How far vectors move when words change places, as a share of the vectors' own size: the most over all texts.

    In the encoder every word's vector is compared, wherever the word has gone. In the decoder the words before the
    last one change places, and what comes out at the last one is compared: it has the same words before it.
    """
    torch.manual_seed(seed)
    model = stack_of(case).double().eval()
    ids = torch.stack([torch.randperm(VOCABULARY)[:WORDS] for _ in range(texts)])
    order = torch.stack([new_order(case.stack == "decoder") for _ in range(texts)])
    with torch.no_grad():
        before, after = model(ids), model(ids.gather(1, order))
    if case.stack == "decoder":
        return relative(after[:, -1], before[:, -1])
    return relative(after, before.gather(1, order[..., None].expand_as(before)))


def new_order(last_stays: bool) -> Tensor:
    """Any but the old one."""
    count = WORDS - 1 if last_stays else WORDS
    usual = torch.arange(count)
    order = usual
    while torch.equal(order, usual):
        order = torch.randperm(count)
    return torch.cat([order, torch.arange(count, WORDS)])


def relative(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max() / other.abs().max())


def stack_of(case: Case) -> Encoder | Decoder:
    sizes = {"dim": DIM, "heads": HEADS, "feedforward": 2 * DIM, "layers": case.layers, "vocabulary": VOCABULARY}
    if case.stack == "decoder":
        return Decoder(DecoderConfig(**sizes, dropout=0.0, positions=case.positions))  # type: ignore[arg-type]
    config = EncoderConfig(**sizes, dropout=0.0, positions=case.positions, head="none", pad=None)  # type: ignore[arg-type]
    return Encoder(config)


def measure(setting: Setting) -> Measurement:
    texts = setting.quick_or_full(*TEXTS)
    numbers: dict[str, Estimate] = {}
    for name, case in CASES.items():
        changes = [change_of(case, texts, seed) for seed in setting.seeds]
        numbers[name] = exactly(max(changes)) if max(changes) <= ROUNDING else mean_of(changes)
    table = ResultTable(
        f"How far vectors move when the words of {texts} texts change places, as a share of their size",
        ("stack", "most"),
        tuple((TITLES[name], one) for name, one in numbers.items()),
    )
    plot = BarPlot(
        "Words in another order", "change of vectors", tuple((TITLES[name], one) for name, one in numbers.items())
    )
    remark = (
        "Behind a causal mask the first word sees itself alone and the last sees all: in the second layer that "
        "difference tells the order, without any positions."
    )
    return Measurement(numbers, (table,), plot, (remark,))


def holds(numbers: Numbers) -> bool:
    return all(numbers[name].value <= ROUNDING for name in ("encoder", "decoder_of_1", "decoder_of_3"))


def fails(numbers: Numbers) -> bool:
    return numbers["encoder"].above(VISIBLE)


CLAIM = Claim(
    name="permutation",
    statement="Without positions, the order of the words is invisible to attention.",
    if_true="When words change places every word keeps its vector, to rounding: in an encoder, and at the end of a "
    "decoder whose words before the last one change places.",
    if_false="Vectors change with the order, though nothing was added to the words that tells it.",
    control="The same encoder with sinusoidal and with learned positions, in which the order must show.",
    measure=measure,
    rule=VerdictRule(
        "without positions nothing moves by more than rounding, in encoder and decoder",
        "the encoder's vectors surely move by more than a thousandth of their size",
        holds,
        fails,
    ),
    seeds=5,
    full_seeds=10,
)
