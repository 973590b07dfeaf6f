"""The last layer and the cross-entropy in one, some rows at a time: the logits of a batch are never held together.

With 32,000 words they are most of what a step holds. Gradients are made beside the loss, while a chunk's logits are
there, and backward only multiplies them. To torch.compile all of it is one operation: unrolled, it would be another for
every number of chunks.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

CELLS = 1 << 25  # logits of a chunk: 128 MiB in float32


def linear_cross_entropy(
    x: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, smoothing: float, ignored: int
) -> Tensor:
    """The sum over all rows of `F.cross_entropy(F.linear(x, weight, bias), labels)`, but those labelled `ignored`."""
    device = x.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
    inputs = [None if tensor is None else tensor.to(dtype) for tensor in (x.flatten(0, -2), weight, bias)]
    wanted = torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in inputs)
    with torch.autocast(device, enabled=False):
        loss: Tensor = chunked_loss(*inputs, labels.flatten(), smoothing, ignored, wanted)[0]
    return loss


@torch.library.custom_op("regard::chunked_loss", mutates_args=())
def chunked_loss(
    x: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, smoothing: float, ignored: int, wanted: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The loss and, where they are wanted, the gradients of x, weight and bias."""
    chunks = Chunks(x, weight, bias, smoothing)
    rows = max(1, CELLS // len(weight))
    for first in range(0, len(x), rows):
        chunks.add(slice(first, first + rows), labels[first : first + rows], ignored, wanted)
    weight_gradient, bias_gradient = (one.to(x.dtype) for one in (chunks.weight_gradient, chunks.bias_gradient))
    return chunks.loss, chunks.x_gradient, weight_gradient, bias_gradient


@chunked_loss.register_fake
def shapes(x: Tensor, weight: Tensor, *_: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What comes out, without its numbers."""
    loss = x.new_empty((), dtype=torch.promote_types(x.dtype, torch.float32))
    return loss, torch.empty_like(x), torch.empty_like(weight), weight.new_empty(len(weight))


def save_gradients(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    ctx.biased = inputs[2] is not None
    ctx.save_for_backward(*output[1:])


def scale_gradients(ctx: Any, upstream: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
    x, weight, bias = ((saved.to(upstream.dtype) * upstream).to(saved.dtype) for saved in ctx.saved_tensors)
    return x, weight, bias if ctx.biased else None, None, None, None, None


chunked_loss.register_autograd(scale_gradients, setup_context=save_gradients)


class Chunks:
    """What chunk after chunk adds up to: the loss and, for each of the three inputs, its gradient.

    Sums are kept in float32 at least, whatever the products are made in.
    """

    def __init__(self, x: Tensor, weight: Tensor, bias: Tensor | None, smoothing: float) -> None:
        self.x, self.weight, self.bias, self.smoothing = x, weight, bias, smoothing
        self.wide = torch.promote_types(x.dtype, torch.float32)
        self.loss = torch.zeros((), dtype=self.wide, device=x.device)
        self.x_gradient = torch.empty_like(x)
        self.weight_gradient = torch.zeros_like(weight, dtype=self.wide)
        self.bias_gradient = torch.zeros(len(weight), dtype=self.wide, device=x.device)

    def add(self, rows: slice, labels: Tensor, ignored: int, wanted: bool) -> None:
        """Loss of some rows: -(1 - s) log p(label) - s mean(log p), with s the smoothing."""
        x, hidden = self.x[rows], (labels == ignored)[:, None]
        label = labels.masked_fill(labels == ignored, 0)[:, None]
        log_p = F.linear(x, self.weight, self.bias).to(self.wide).log_softmax(-1)
        each = log_p.gather(1, label) * (self.smoothing - 1) - log_p.mean(-1, keepdim=True) * self.smoothing
        self.loss += each.masked_fill(hidden, 0.0).sum()
        if wanted:
            self.add_gradients(rows, label, hidden, log_p)

    def add_gradients(self, rows: slice, label: Tensor, hidden: Tensor, log_p: Tensor) -> None:
        """That of a logit is p - s / words, less 1 - s at the label; rows that are not asked for take no part."""
        logits = log_p.exp_().sub_(self.smoothing / len(self.weight))
        logits.scatter_add_(1, label, torch.full_like(label, self.smoothing - 1, dtype=self.wide))
        if self.bias is not None:
            self.bias_gradient.addmv_(logits.mT, (~hidden[:, 0]).to(self.wide))
        logits = logits.to(self.x.dtype)
        torch.mm(logits, self.weight, out=self.x_gradient[rows]).masked_fill_(hidden, 0.0)
        x = self.x[rows].masked_fill(hidden, 0.0)
        if x.dtype == self.wide:
            self.weight_gradient.addmm_(logits.mT, x)
        else:
            self.weight_gradient += logits.mT @ x
