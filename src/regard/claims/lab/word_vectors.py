"""The vector of one word of a sentence after each layer of an encoder, and what can be read from many of them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from regard.claims.lab.shipped_reading import encoded, shipped

RIDGE = 0.1  # of the mean square of the vectors' norms


@torch.no_grad()
def layer_vectors(name: str, text: str, word: int, device: str = "cpu") -> Tensor:
    """(layers + 1, D): with its position before any layer, then after each; the last as the decoder gets it."""
    translator = shipped(name, device)
    model: Any = translator.model
    source, _, owners = encoded(translator, text, device)
    outputs: list[Tensor] = []
    with ExitStack() as stack:
        for part in (model.source, *model.encoder):
            hook = part.register_forward_hook(lambda _, __, output: outputs.append(output))
            stack.callback(hook.remove)
        memory = model.encode(source)
    return torch.stack([one[0, owners == word].double().mean(0) for one in (*outputs[:-1], memory)])


def parting(vectors_ND: Tensor, labels: Tensor) -> tuple[float, float]:
    """The mean cosine of two vectors of one label, and of two of different labels."""
    unit = torch.nn.functional.normalize(vectors_ND, dim=-1)
    cosines, same = unit @ unit.mT, labels[:, None] == labels
    others = ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    return float(cosines[same & others].mean()), float(cosines[~same].mean())


def read_share(vectors_ND: Tensor, labels: Tensor, folds: Tensor) -> float:
    """How often which of two labels is right, read by ridge regression from vectors of other folds."""
    wanted, right = labels.double() * 2 - 1, 0
    for fold in folds.unique():
        asked = folds == fold
        mean, middle = vectors_ND[~asked].mean(0), wanted[~asked].mean()
        known, target = vectors_ND[~asked] - mean, wanted[~asked] - middle
        gram = known @ known.mT
        ridge = RIDGE * gram.diagonal().mean().clamp(min=torch.finfo(gram.dtype).tiny)
        weights = known.mT @ torch.linalg.solve(gram + ridge * torch.eye(len(gram), dtype=gram.dtype), target)
        predicted = (vectors_ND[asked] - mean) @ weights + middle
        right += int(((predicted > 0) == (wanted[asked] > 0)).sum())
    return right / len(labels)


def folds_of(count: int, number: int = 8) -> Tensor:
    """As equal as can be, and never more than there are."""
    return torch.arange(count) % min(number, count)


def shuffled_labels(labels: Tensor, seed: int) -> Tensor:
    """The control: as many of each, dealt out by chance."""
    return labels[torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))]
