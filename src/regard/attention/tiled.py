"""Attention in memory that grows with N, not N x N, on any device, with every option and with statistics.

Forward: the online softmax over blocks of keys. Backward: the weights of each block are made again from q, k and the
log-sum-exp of the rows, so nothing of size queries x keys is kept between the two. It gives first derivatives only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention.dropout import keep_factors
from regard.attention.masks import cut
from regard.attention.scores import NOWHERE, LogSum, ScoreRule, Scores, full_precision
from regard.attention.statistics import Running
from regard.attention.threads import in_threads
from regard.errors import InputError


def tiled(scores: Scores, value_BJKV: Tensor, dropout: float = 0.0, *, full: bool) -> tuple[Tensor, ...]:
    """The output, grouped by key head, then the fields of `Statistics`: all of them when `full`, else lse alone."""
    seed = int(torch.randint(1 << 62, ())) if dropout else 0
    plan = TiledPlan(scores.rule, Dropout(dropout, seed), full)
    trained = (scores.query_BJGQD, scores.key_BJKD, value_BJKV, scores.sinks_JG, *scores.terms)
    with full_precision(scores.device):
        outputs: tuple[Tensor, ...] = Tiled.apply(plan, *trained)  # type: ignore[no-untyped-call]
    return outputs


@dataclass(frozen=True)
class Dropout:
    """Dropout that can be drawn again: the same seed, rows and order of their blocks keep the same cells."""

    rate: float
    seed: int

    def draws(self, rows: slice, device: torch.device) -> torch.Generator | None:
        return torch.Generator(device).manual_seed(self.seed + rows.start) if self.rate else None

    def thin(self, block: Tensor, draws: torch.Generator | None) -> Tensor | None:
        """The factor of each cell of a block, 0 or 1 / (1 - rate); None when nothing is dropped."""
        return None if draws is None else keep_factors(block, self.rate, draws)


@dataclass(frozen=True)
class TiledPlan:
    """What the pass needs besides tensors."""

    rule: ScoreRule
    dropout: Dropout
    full: bool


class Tiled(torch.autograd.Function):
    """(plan, query, key, value, sinks, *terms) -> (output, lse, *statistics); gradients for every tensor given."""

    @staticmethod
    def forward(ctx: Any, plan: TiledPlan, query: Tensor, key: Tensor, value: Tensor, *others: Any) -> Any:
        scores = Scores(plan.rule, query, key, terms=others[1:], sinks_JG=others[0])
        output = query.new_empty(*query.shape[:-1], value.shape[-1])

        def mix(rows: slice) -> tuple[Tensor, ...]:
            running, draws = Running(scores, rows, plan.full), plan.dropout.draws(rows, scores.device)
            mixed = query.new_zeros(*running.m.shape, value.shape[-1])
            for columns in scores.column_blocks(rows):
                exps, factor = running.add(columns)
                thinned = plan.dropout.thin(exps, draws)
                exps = exps if thinned is None else exps.mul_(thinned)
                mixed = mixed * factor[..., None] + grouped(exps, value[..., columns, :])
            mixed = mixed * running.finish()[..., None] / running.l[..., None]
            output[..., rows, :] = mixed.masked_fill(running.empty[..., None], 0.0)
            return (*running.lse(), *(running.statistics() if plan.full else ()))

        done = in_threads(mix, scores.row_blocks()[::-1], scores.device, scores.cells)
        top, rest, *fields = [torch.cat(parts[::-1], -1) for parts in zip(*done, strict=True)]
        ctx.plan = plan
        fields = [LogSum(top, rest).total, *fields]
        ctx.save_for_backward(query, key, value, output, top, rest, *others)
        ctx.mark_non_differentiable(*fields)
        return output, *fields

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor, *_: Tensor) -> Any:
        if torch.is_grad_enabled():
            raise InputError(
                "this attention gives first derivatives only",
                found="a gradient asked for with create_graph=True",
                do="use a small input, or options that SDPA has, for second derivatives",
            )
        query, key, value, output, top, rest, sinks, *terms = ctx.saved_tensors
        lse = LogSum(top, rest)
        scores = Scores(ctx.plan.rule, query, key, terms=tuple(terms), sinks_JG=sinks)
        grads = TiledGradients.zero(scores, value, ctx.needs_input_grad[5:])
        delta = (grad_output * output).sum(-1)  # sum over keys of weight * its gradient
        for rows in scores.row_blocks():
            draws = ctx.plan.dropout.draws(rows, scores.device)
            for columns in scores.column_blocks(rows):
                with full_precision(scores.device):
                    weights = scores.weights(rows, columns, lse)
                    grad_weights = grouped(grad_output[..., rows, :], value[..., columns, :].mT)
                    thinned = ctx.plan.dropout.thin(weights, draws)
                    mixing = weights if thinned is None else weights * thinned
                    grad_weights = grad_weights if thinned is None else grad_weights.mul_(thinned)
                    grads.value[..., columns, :] += over_group(mixing, grad_output[..., rows, :])
                    grads.add_scores(scores, rows, columns, weights.mul_(grad_weights.sub_(delta[..., rows, None])))
        return None, grads.query, grads.key, grads.value, sink_gradient(sinks, lse, delta), *grads.terms


@dataclass
class TiledGradients:
    """Sums that the backward pass fills block by block."""

    query: Tensor
    key: Tensor
    value: Tensor
    terms: list[Tensor | None]

    @classmethod
    def zero(cls, scores: Scores, value: Tensor, wanted: tuple[bool, ...]) -> TiledGradients:
        terms = [torch.zeros_like(term) if want else None for term, want in zip(scores.terms, wanted, strict=True)]
        query, key = torch.zeros_like(scores.query_BJGQD), torch.zeros_like(scores.key_BJKD)
        return cls(query, key, torch.zeros_like(value), terms)

    def add_scores(self, scores: Scores, rows: slice, columns: slice, grad: Tensor) -> None:
        """Send the gradient of a block of final scores back to bias, softcap, q and k."""
        for term in self.terms:
            if term is not None:
                part = cut(term, rows, columns)
                part += grad.sum_to_size(part.shape)
        softcap = scores.rule.softcap
        if softcap is not None:  # d/ds softcap * tanh(s / softcap) = 1 - tanh^2
            grad = grad * (1.0 - (scores.capped(rows, columns) / softcap) ** 2)
        grad = grad * scores.rule.scale
        self.query[..., rows, :] += grouped(grad, scores.key_BJKD[..., columns, :])
        self.key[..., columns, :] += over_group(grad, scores.query_BJGQD[..., rows, :])


def grouped(left_BJGQX: Tensor, right_BJXY: Tensor) -> Tensor:
    """left @ right for every query head of a group against the group's one key head."""
    return torch.unflatten(left_BJGQX.flatten(-3, -2) @ right_BJXY, -2, left_BJGQX.shape[-3:-1])


def over_group(cells_BJGQK: Tensor, rows_BJGQX: Tensor) -> Tensor:
    """cells transposed @ rows, summed over the group: what the shared key head receives."""
    return cells_BJGQK.flatten(-3, -2).mT @ rows_BJGQX.flatten(-3, -2)


def sink_gradient(sinks_JG: Tensor | None, lse: LogSum, delta_BJGQ: Tensor) -> Tensor | None:
    """A sink takes weight exp(sink - lse) from every row and gives no value back."""
    if sinks_JG is None:
        return None
    weight = (sinks_JG[..., None] - lse.top - lse.rest).exp().masked_fill(lse.top == NOWHERE, 0.0)
    return (-weight * delta_BJGQ).sum(-1).sum_to_size(sinks_JG.shape)
