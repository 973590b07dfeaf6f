"""Models whose weights a run that came apart has left behind."""

from __future__ import annotations

import math
from typing import Any

import torch


def with_nan(model: Any) -> str:
    """Fill the first matrix behind the embeddings with NaN; gives what an error then says of it."""
    weight = next(name for name, tensor in model.named_parameters() if tensor.ndim > 1 and "embed" not in name)
    with torch.no_grad():
        model.get_parameter(weight).fill_(math.nan)
    return rf"the model's logits are not finite \(NaN\)\n  found: {weight} holds NaN\n  do: load weights"
