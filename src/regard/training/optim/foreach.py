"""Many tensors in one call: names of PyTorch that it does not promise to keep, and uses itself in every optimizer.

Nothing else in the package writes them; a test looks for every name of `NAMES` in the version that is installed.
"""

from __future__ import annotations

import torch
from torch import Tensor

MOVED = "; instead: a loop over the tensors, which is right and slower"
NAMES = {
    "torch._foreach_zero_": f"sets all gradients to zero at once{MOVED}",
    "torch._foreach_sub": f"how far all weights are from their average{MOVED}",
    "torch._foreach_mul_": f"the share of that which a step takes in{MOVED}",
    "torch._foreach_add_": f"takes it in{MOVED}",
}


def zero(tensors: list[Tensor]) -> None:
    """All to zero, in place."""
    torch._foreach_zero_(tensors)


def approach(means: list[Tensor], live: list[Tensor], share: float | Tensor) -> None:
    """Move every mean by this share of its way to the live tensor, in place."""
    apart = torch._foreach_sub(live, means)
    torch._foreach_mul_(apart, share)
    torch._foreach_add_(means, apart)
