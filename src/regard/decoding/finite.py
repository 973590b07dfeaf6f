"""Logits by which no id can be chosen: what is wrong with them, and which of the weights is to blame.

Searches notice it where they wait for a number anyway; only then are logits and weights looked through.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.errors import InputError

NEVER = float("-inf")


def check_finite(logits: Tensor, model: object, mask: Tensor | None = None) -> None:
    """Refuse logits that say nothing of a class, a word or where a head looks; `mask` is True where they count."""
    largest = logits.amax(-1)  # NaN if any is: nothing of the logits' size is laid beside them
    if not bool((largest if mask is None else largest[mask]).isfinite().all()):
        raise not_finite(logits if mask is None else logits[mask], model)


def not_finite(logits: Tensor, model: object, step: int | None = None) -> InputError:
    """The error for such logits, at a step (from 0) if there are steps; `model` is looked through if it is one."""
    when = "" if step is None else f" at step {step + 1}"
    kind = kind_of(logits)
    if kind is None:
        return InputError(
            f"no id may come{when}", found=f"each of the {logits.shape[-1]:,} is banned or at -inf", do="ban fewer"
        )
    parameter = first_not_finite(model) if isinstance(model, nn.Module) else None
    if parameter is not None:
        cause, do = parameter, "load weights that are finite, such as those of an earlier checkpoint"
    else:
        cause = "all weights are finite" if isinstance(model, nn.Module) else f"logits of shape {tuple(logits.shape)}"
        do = "compute in float32, and in eval mode; then look for the layer whose output is not finite"
    return InputError(f"the model's logits are not finite ({kind}){when}", found=cause, do=do)


def kind_of(logits: Tensor) -> str | None:
    """What is not finite in these logits; some of a row at -inf is as good as a ban, and nothing wrong."""
    if bool(logits.isnan().any()):
        return "NaN"
    if bool((logits == torch.inf).any()):
        return "inf"
    return "all -inf" if bool((logits == NEVER).all(-1).any()) else None


def first_not_finite(model: nn.Module) -> str | None:
    """The first parameter that holds NaN or an infinity, and which of them."""
    for name, parameter in model.named_parameters():
        if not bool(parameter.isfinite().all()):
            return f"{name} holds {'NaN' if bool(parameter.isnan().any()) else 'inf'}"
    return None
