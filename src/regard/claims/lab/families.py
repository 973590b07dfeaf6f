"""The three families of translators at one size: of 2014, of 2015 and of 2017, with as many parameters each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import torch

from regard.claims.lab.fit import Fit, fit_pairs
from regard.claims.lab.pair_task import PairIds, PairTask
from regard.claims.lab.small_models import parameters, small_recurrent, small_transformer
from regard.claims.setting import Setting
from regard.models import Recurrent, RecurrentConfig, Transformer

FAMILIES = ("2014", "2015", "2017")
WORDS = {"2014": "LSTM, one vector (2014)", "2015": "GRU, attention (2015)", "2017": "Transformer (2017)"}
LAYERS = {"encoder_layers": 2, "decoder_layers": 2}  # of the Transformer, in both forms
RATES = {"2014": 1e-2, "2015": 1e-2, "2017": 5e-3}  # the highest of a training, in the quick form
FULL_RATES = {"2014": 2e-3, "2015": 2e-3, "2017": 1e-3}
BATCH, FULL_BATCH = 32, 256
FEWEST, MOST = 8, 4_096  # numbers of a recurrent state that are tried
CONDITIONS = (
    "All have as many parameters, and each its own rate. The one of 2014 reads its sources backwards, as its authors "
    "found best."
)


def translator(family: str, task: PairTask, setting: Setting, seed: int, **changes: Any) -> Transformer | Recurrent:
    """A family's model, freshly started; the recurrent ones are as wide as gives them the Transformer's parameters.

    `changes` are the Transformer's, which the others follow in size.
    """
    transformer = small_transformer(task, setting, seed, **{**LAYERS, **changes})
    if family == "2017":
        return transformer
    attention = family == "2015"
    start = small_recurrent(task, setting, seed, attention=attention, dim=transformer.config.dim).config
    config = replace(start, dropout=transformer.config.dropout)
    hidden = nearest_hidden(config, parameters(transformer))
    torch.manual_seed(seed)
    return Recurrent(replace(config, hidden=hidden))


@cache
def nearest_hidden(config: RecurrentConfig, wanted: int) -> int:
    """The size of the state with which a recurrent model has the most parameters that are no more than wanted."""
    low, high = FEWEST, MOST
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if counted(replace(config, hidden=middle)) <= wanted else (low, middle - 1)
    return low


def counted(config: RecurrentConfig) -> int:
    """Parameters of a model that is not built."""
    with torch.device("meta"):
        return parameters(Recurrent(config))


def as_read(family: str, pairs: Iterable[PairIds]) -> tuple[PairIds, ...]:
    """Pairs as a family is given them: to that of 2014 the source's last word comes first."""
    if family != "2014":
        return tuple(pairs)
    return tuple(replace(pair, source=pair.source[::-1]) for pair in pairs)


def taught(family: str, task: PairTask, setting: Setting, seed: int, steps: int) -> Transformer | Recurrent:
    """A family's model after so many steps."""
    model = translator(family, task, setting, seed)
    rate = setting.quick_or_full(RATES, FULL_RATES)[family]
    how = Fit(steps, setting.quick_or_full(BATCH, FULL_BATCH), rate, seed, setting.device)
    fit_pairs(model, replace(task, train=as_read(family, task.train)), how)
    return model
