"""What moves the weights, and the average that is kept of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from regard.models.checkpoint import own_tensors
from regard.training.optim.foreach import approach
from regard.training.optim.layer_rates import by_level, share_at
from regard.training.optim.schedule import rate_at
from regard.training.optim.shards import is_sharded, local, sharded_like
from regard.training.recipe.recipe import Training

MOMENTS = ("exp_avg", "exp_avg_sq", "step")


def optimizer_for(model: nn.Module, how: Training, *, fused: bool | None = None) -> torch.optim.Optimizer:
    """Adam as in the paper, or AdamW, which leaves biases, norms and embeddings undecayed.

    `fused`, as on every GPU: one launch for all tensors, and a rate that a recorded step reads anew.
    """
    weights = [p for p in model.parameters() if p.requires_grad]
    options: dict[str, Any] = {"lr": how.rate, "betas": how.betas, "eps": how.epsilon}
    if is_sharded(weights[0]):
        options |= {"fused": weights[0].is_cuda}
    elif weights[0].is_cuda if fused is None else fused:
        rate = torch.tensor(how.rate, device=weights[0].device)
        options |= {"lr": rate, "fused": True, "capturable": True}
    if how.optimizer == "adam":
        return torch.optim.Adam(by_level([{"params": weights}], model, how, options["lr"]), **options)
    tables = {id(part.weight) for part in model.modules() if isinstance(part, nn.Embedding)}
    matrices = [p for p in weights if p.ndim > 1 and id(p) not in tables]
    rest = [p for p in weights if p.ndim < 2 or id(p) in tables]
    groups = [{"params": matrices, "weight_decay": how.weight_decay}, {"params": rest, "weight_decay": 0.0}]
    groups = [group for group in groups if group["params"]]
    return torch.optim.AdamW(by_level(groups, model, how, options["lr"]), **options)


def set_rates(optimizer: torch.optim.Optimizer, step: float, how: Training) -> None:
    """Of every layer at a step: the schedule's, less the lower it is, none while it is frozen."""
    rate, lowest = rate_at(step, how), max(group.get("level", 0) for group in optimizer.param_groups)
    for group in optimizer.param_groups:
        own = rate * share_at(step, group.get("level", 0), lowest, how)
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(own)
        else:
            group["lr"] = own


def moments(optimizer: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """The optimizer's memory by the names of the weights."""
    tensors: dict[str, Tensor] = {}
    for name, weight in own_tensors(model).items():
        for kind in MOMENTS:
            if (moment := optimizer.state.get(weight, {}).get(kind)) is not None:
                tensors[f"{kind}/{name}"] = torch.as_tensor(moment)
    return tensors


def restore_moments(optimizer: torch.optim.Optimizer, model: nn.Module, tensors: dict[str, Tensor]) -> None:
    for name, weight in own_tensors(model).items():
        state = {kind: tensors[f"{kind}/{name}"] for kind in MOMENTS if f"{kind}/{name}" in tensors}
        if state:
            device = weight.device if optimizer.defaults.get("fused") else torch.device("cpu")
            optimizer.state[weight] = {
                kind: t.to(device) if kind == "step" else sharded_like(t, weight).to(weight.device)
                for kind, t in state.items()
            }


class Average:
    """A moving average of the weights: each step a share `decay` of the old is kept, less at the very beginning."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.names = list(own_tensors(model))
        self.live = [tensor.detach() for tensor in own_tensors(model).values()]
        self.mean = [tensor.clone() for tensor in self.live]
        self.decay = decay

    def share(self, step: int) -> float:
        """How much of the live weights a step takes in."""
        return 1.0 - min(self.decay, (1 + step) / (10 + step))

    @torch.no_grad()
    def update(self, share: float | Tensor) -> None:
        approach([local(mean) for mean in self.mean], [local(live) for live in self.live], share)

    @torch.no_grad()
    def swap(self) -> None:
        """Exchange the average and the live weights; twice is as before."""
        for mean, live in zip(self.mean, self.live, strict=True):
            before = live.clone()
            live.copy_(mean)
            mean.copy_(before)

    def tensors(self) -> dict[str, Tensor]:
        return dict(zip(self.names, self.mean, strict=True))

    @torch.no_grad()
    def restore(self, tensors: dict[str, Tensor]) -> None:
        for name, mean in zip(self.names, self.mean, strict=True):
            mean.copy_(sharded_like(tensors[name], mean))


class Anchor:
    """The weights that training started from: the model that is scored and saved lies between them and its own.

    Fine-tuning on one kind of text moves weights that other kinds need. Going back a share of the way costs little of
    what was learned, and gives back most of what was lost (Wortsman et al. 2022, "robust fine-tuning").
    """

    def __init__(self, model: nn.Module, share: float) -> None:
        self.live = [tensor for tensor in own_tensors(model).values() if tensor.is_floating_point()] if share else []
        self.start = [tensor.detach().clone() for tensor in self.live]
        self.share = share

    @contextmanager
    def applied(self) -> Iterator[None]:
        """For the length of a with block the model has gone back its share of the way."""
        before = [tensor.detach().clone() for tensor in self.live]
        with torch.no_grad():
            for live, start in zip(self.live, self.start, strict=True):
                live.lerp_(start.to(live.device), self.share)
        try:
            yield
        finally:
            with torch.no_grad():
                for live, old in zip(self.live, before, strict=True):
                    live.copy_(old)


@contextmanager
def averaged_weights(average: Average | None) -> Iterator[None]:
    """For the length of a with block the average, where one is kept, stands in the model."""
    if average is None:
        yield
        return
    average.swap()
    try:
        yield
    finally:
        average.swap()
