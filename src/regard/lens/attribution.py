"""Attribution patching: what every patch would change, to first order, from one forward and one backward pass.

    estimate = Σ (source activation - this activation) · ∂ score / ∂ activation

A probe of zeros is added to what is asked about, so that its gradient is the activation's own, whatever else in the
model may be trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention.torch_names import in_backward
from regard.lens.hooks.activations import OF_KEYS, Activations, per_query_head
from regard.lens.hooks.attach import attach, module_of
from regard.lens.hooks.attention_inputs import AttentionInputs, RowPositions
from regard.lens.hooks.patch import ANSWERS, Patch
from regard.lens.model_score import ScoreFunction

Pair = tuple[int, int] | tuple[None, None]  # a position here, and one in the source run; None for all
SitePairs = Mapping[str, Sequence[Pair]]


class ProbedCall(NamedTuple):
    """One attention call: the zeros added to a part of it, and how far the source's part is from it at each pair."""

    site: str
    zeros: Tensor  # (B, H, N, D)
    distances: list[tuple[int, slice, Tensor]]  # a pair's number, where it is, and (B, H, n, D)


def scan(
    model: Any, score: ScoreFunction, source: Activations, part: str, pairs: SitePairs
) -> dict[str, Tensor] | None:
    """The estimates (heads, pairs) of each site; None where the score has no gradient."""
    module, _ = module_of(model)
    hook = Probes(module, source, part, pairs)
    with torch.enable_grad(), attach(module, hook=hook):
        value = score(model)
        if not isinstance(value, Tensor) or not value.requires_grad:
            return None
        gradients = torch.autograd.grad(value.reshape(()), [probe.zeros for probe in hook.probes], allow_unused=True)
    estimates = {
        probe.site: torch.zeros(probe.zeros.shape[-3], len(pairs[probe.site]), dtype=torch.float64)
        for probe in hook.probes
    }
    for probe, gradient in zip(hook.probes, gradients, strict=True):
        for number, here, distance in probe.distances if gradient is not None else ():  # the score may not hang on it
            products = distance.double() * gradient[..., here, :].double()
            estimates[probe.site][:, number] += products.sum((0, -2, -1)).cpu()
    return estimates


class Probes:
    """A hook that adds nothing to a part of every head, and knows how far the source run's part is from it."""

    def __init__(self, model: nn.Module, source: Activations, part: str, pairs: SitePairs) -> None:
        self.source, self.part, self.pairs = source, part, pairs
        self.positions, self.probes = RowPositions(model), list[ProbedCall]()

    def __call__(
        self, site: str, call: Callable[..., Tensor], query: Tensor, key: Tensor, value: Tensor, **options: Any
    ) -> Tensor:
        inputs = self.positions.inputs(site, query, key, value, options)
        if site not in self.pairs or in_backward():
            return call(query, key, value, **options)
        if self.part in ANSWERS:
            return self.probed(inputs, call(query, key, value, **options))
        if self.part in OF_KEYS:
            key, value = (per_query_head(tensor, inputs.heads) for tensor in (key, value))
        tensors = {"query": query, "key": key, "value": value}
        tensors[self.part] = self.probed(inputs, tensors[self.part])
        return call(*tensors.values(), **options)

    @torch.no_grad()
    def distances(self, inputs: AttentionInputs, own: Tensor) -> Iterator[tuple[int, slice, Tensor]]:
        """Of each pair that lies in this call."""
        for number, (here, there) in enumerate(self.pairs[inputs.site]):
            patch = Patch(inputs.site, None, self.part, here, there, self.source)
            rows, taken = patch.here(inputs), patch.taken(inputs)
            if rows is not None and taken is not None:
                yield number, rows, per_query_head(taken, inputs.heads).to(own) - own[..., rows, :]

    def probed(self, inputs: AttentionInputs, own: Tensor) -> Tensor:
        """The same, plus nothing."""
        zeros = torch.zeros_like(own, requires_grad=True)
        self.probes.append(ProbedCall(inputs.site, zeros, list(self.distances(inputs, own))))
        return own + zeros
