"""Is a word whose score is zero, or less, ignored?"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import exactly, mean_of
from regard.claims.lab.inner_steps import steps_of_shipped
from regard.claims.measurement import LinePlot, Measurement, ResultTable, Series
from regard.claims.setting import Setting
from regard.claims.tried.softmax import softmax_weights
from regard.text.grammar import sentences

KEYS = 8
ROWS, SENTENCES = (5_000, 100_000), (40, 400)  # quickly, and in full
IGNORED, NOTICED = 0.01, 0.1  # of an even share: less than the first is ignored, more than the second is not
SHIFT = 30.0  # taken from all the scores of a row, it leaves none above 0
ROUNDING = 64 * KEYS * SHIFT * torch.finfo(torch.float64).eps  # of weights whose scores were moved so far


def cut_at_zero(scores_RK: Tensor) -> Tensor:
    """The control, of which the claim is true: what is above 0, over the sum of that."""
    above = scores_RK.clamp(min=0)
    return above / above.sum(-1, keepdim=True).clamp(min=torch.finfo(above.dtype).tiny)


def even_shares(weights: Tensor, wanted: Tensor, visible: Tensor) -> Tensor:
    """The weights of the wanted cells, as a multiple of what each would have if all visible ones had the same."""
    return (weights * visible.sum(-1, keepdim=True))[wanted & visible]


def drawn_rows(rows: int, seed: int) -> Tensor:
    """Scores as queries and keys of independent numbers make them, the first one exactly 0."""
    scores = torch.randn(rows, KEYS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    scores[:, 0] = 0.0
    return scores


def trained_shares(count: int) -> list[float]:
    """What keys with a score below 0 get in the translator that comes along: for each sentence, the mean of all."""
    shares = []
    for sentence in sentences("test", count, 0):
        steps = [step for calls in steps_of_shipped([sentence]).values() for step in calls]
        parts = [
            even_shares(step.weights.double(), step.masked < 0, (step.masked > -torch.inf).expand_as(step.weights))
            for step in steps
        ]
        shares.append(float(torch.cat(parts).mean()))
    return shares


def measure(setting: Setting) -> Measurement:
    rows = setting.quick_or_full(*ROWS)
    scores = drawn_rows(rows, setting.seeds[0])
    visible = torch.ones_like(scores, dtype=torch.bool)
    zero = torch.zeros_like(visible)
    zero[:, 0] = True

    def shares(weights: Tensor) -> list[list[float]]:
        return [even_shares(weights, wanted, visible).tolist() for wanted in (zero, scores < 0, scores > 0)]

    softmax, cut = shares(softmax_weights(scores)), shares(cut_at_zero(scores))
    trained = mean_of(trained_shares(setting.quick_or_full(*SENTENCES)))
    numbers = {
        "zero": mean_of(softmax[0]),
        "negative": mean_of(softmax[1]),
        "trained_negative": trained,
        "moved_by_shift": exactly(float((softmax_weights(scores - SHIFT) - softmax_weights(scores)).abs().max())),
    }
    kinds = ("exactly 0", "below 0", "above 0")
    table = ResultTable(
        f"Mean weight, as a multiple of an even share: {rows:,} drawn rows of {KEYS} scores",
        ("score", "softmax", "cut at 0"),
        tuple((kind, mean_of(one), mean_of(other)) for kind, one, other in zip(kinds, softmax, cut, strict=True)),
    )
    more = ResultTable(
        "The same in a trained translator, and what moving all scores does",
        ("what", "result"),
        (
            ("scores below 0, multiple of an even share", trained),
            (f"all scores {SHIFT:g} less: largest change of a weight", numbers["moved_by_shift"]),
            ("a score of minus infinity: weight", hidden_weight(scores)),
        ),
    )
    remark = "Softmax sees only gaps between scores: a score has no zero that would mean anything."
    return Measurement(numbers, (table, more), weight_plot(), (remark,))


def hidden_weight(scores_RK: Tensor) -> float:
    """What does mean ignored: the largest weight of a key whose score is minus infinity."""
    hidden = scores_RK.clone()
    hidden[:, 0] = -torch.inf
    return float(hidden.softmax(-1)[:, 0].max())


def weight_plot() -> LinePlot:
    """One key among others whose scores are all alike."""
    own = torch.linspace(-4, 4, 17, dtype=torch.float64)

    def line(name: str, others: float, *, cut: bool = False) -> Series:
        scores = torch.full((len(own), KEYS), others, dtype=torch.float64)
        scores[:, 0] = own
        weights = (cut_at_zero if cut else softmax_weights)(scores)[:, 0]
        return Series(name, tuple((float(x), exactly(float(y))) for x, y in zip(own, weights, strict=True)))

    lines = (line("others at 0", 0.0), line("others at −2", -2.0), line("cut at 0, others at 1", 1.0, cut=True))
    return LinePlot(f"The weight of one key among {KEYS}", "its score", "weight", lines)


def holds(numbers: Numbers) -> bool:
    return all(numbers[name].below(IGNORED) for name in ("zero", "negative", "trained_negative"))


def fails(numbers: Numbers) -> bool:
    shares = all(numbers[name].above(NOTICED) for name in ("zero", "negative", "trained_negative"))
    return shares and numbers["moved_by_shift"].value <= ROUNDING


CLAIM = Claim(
    name="zero-score",
    statement="A score of zero, or a negative one, means that the word is ignored.",
    if_true="Such words have no weight, or next to none, and it matters where the zero of the scores lies.",
    if_false="They have a weight like others, smaller but no trifle; and when all scores of a row fall below 0 by the "
    "same amount, every weight stays as it was.",
    control="The same scores cut at 0 and divided by their sum, of which the claim is true.",
    measure=measure,
    rule=VerdictRule(
        f"scores of 0 and below get surely less than {IGNORED:g} of an even share, drawn ones and a translator's",
        f"all of them get surely more than {NOTICED:g} of it, and lowering all scores changes nothing but rounding",
        holds,
        fails,
    ),
    seeds=1,
    full_seeds=1,
)
