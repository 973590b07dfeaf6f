"""How far apart two right answers may lie: from a dtype's epsilon and the size of the sums, never from one machine.

Processors, libraries and numbers of threads add the same numbers in another order, and round otherwise. A sum of n
terms is off by at most n · eps/2 · Σ|term|, whatever the order, so two of them lie within n · eps · Σ|term|. Everything
here is made of that, to first order in eps; a bound that follows from it holds everywhere, and one that was read off a
machine holds there.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

FUNCTIONS = 4  # epsilons by which exp, log, tanh and a division may be off together, each correct to a unit or so
SPREADS = 8  # standard deviations
SUMS = 8  # in a row within a layer: norm (two), query, key, score, mixed values, output, and the feedforward's two


def eps(dtype: torch.dtype = torch.float32) -> float:
    """The distance from 1 to the next number."""
    return torch.finfo(dtype).eps


def sums_apart(terms: int, size: float = 1.0, dtype: torch.dtype = torch.float32) -> float:
    """Between two sums of so many terms, whose absolute values add up to `size`."""
    return terms * size * eps(dtype)


def scores_apart(query: Tensor, key: Tensor, scale: float | None = None) -> float:
    """Between scores: a score is a sum over the dim, and none is larger than that of the absolute values."""
    if not query.numel() or not key.numel():
        return 0.0
    dim = query.shape[-1]
    scale = dim**-0.5 if scale is None else abs(scale)
    size = scale * query.double().norm(dim=-1).max().item() * key.double().norm(dim=-1).max().item()
    return sums_apart(dim + 1, size, query.dtype)  # and once for the scale


def weights_apart(query: Tensor, key: Tensor, scale: float | None = None) -> float:
    """Between weights, or between lse: a weight is exp(score - lse), at most 1, so it moves by what these two move.

    lse moves by what the scores do, by the sum over the keys that it is the logarithm of, and by its own rounding,
    which is that of a number no larger than the largest score and the logarithm of the keys.
    """
    score, keys = scores_apart(query, key, scale), key.shape[-2]
    return 2 * score + sums_apart(keys + FUNCTIONS + keys.bit_length(), 1.0, query.dtype)


def logs_apart(words: int, size: float, steps: int = 1) -> float:
    """Between logarithms of probabilities over so many words, or sums of them over so many steps, in float32.

    Logits and their logarithms are no larger than `size`. A logarithm is a logit less the logarithm of a sum over the
    words; the sum over the steps rounds at each of them what it has by then.
    """
    return steps * sums_apart(words + FUNCTIONS, 1.0) + sums_apart(steps * (steps + FUNCTIONS), size)


def layers_apart(layers: int, widest: int, size: float | Tensor = 1.0, dtype: torch.dtype = torch.float32) -> float:
    """Between outputs of so many layers, the largest of this size, none of whose sums has more than `widest` terms.

    Norms bring what passes through a model back to size 1, so that what the sums of each layer round adds up and does
    not grow. So many roundings in a row do not all go one way: like steps of a random walk they go as far as the root
    of their number, and `SPREADS` times that only once in 10^14.
    """
    largest = size.detach().abs().max().item() if isinstance(size, Tensor) else size
    return SPREADS * (SUMS * layers * widest) ** 0.5 * max(1.0, largest) * eps(dtype)


def outputs_apart(model: nn.Module, size: float | Tensor = 1.0, length: int = 8) -> float:
    """Between outputs of this model, over texts of this length, in the dtype of its weights."""
    weights = [weight for weight in model.parameters() if weight.ndim > 1]
    widest = max(length, *(weight.shape[-1] for weight in weights))
    return layers_apart(depth(model, length), widest, size, weights[0].dtype)


def small_apart(size: float | Tensor = 1.0) -> float:
    """The same of any model in the tests of looking: at most six layers in a row, no sum of more than 64 terms.

    Their weights, which are at most 1, and the scores of which they are made stand no later in the model than that.
    """
    return layers_apart(6, 64, size)


def close(model: nn.Module, found: Tensor, expected: Tensor, length: int = 8) -> None:
    """Outputs of a model, equal but for the order of its sums."""
    torch.testing.assert_close(found, expected, atol=outputs_apart(model, expected, length), rtol=0)


def depth(model: nn.Module, length: int) -> int:
    """How many layers stand in a row: those in lists and what reads the last; a recurrent one at each word."""
    layers = 1 + sum(len(part) for part in model.modules() if isinstance(part, nn.ModuleList))
    turns = sum(isinstance(part, (nn.RNNBase, nn.RNNCellBase)) for part in model.modules())
    return layers + turns * length
