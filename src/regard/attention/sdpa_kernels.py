"""The lse of the very forward that ran: SDPA's own kernel on a GPU, called by its name, gives it beside the output.

SDPA drops the lse that its kernels compute. So the kernel that it would choose is called as it would call it. Its lse
sums float32 numbers, in half precision too. Before the first lse of a kind is believed, output and lse are compared
with what SDPA and a plain sum give; where they are not the same, or the call fails, it is said once and SDPA serves.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.scores import NOWHERE, full_precision
from regard.attention.torch_names import DEVICE_KERNELS, SDPATensors, sdpa_choice

DEVICES = ("cuda",)  # whose kernels give an lse
CLOSE = 1e-4  # what the weights of a float32 model are promised to be within
ROWS = 8  # of each head whose lse is compared


class CallKind(NamedTuple):
    """What was found once holds for all calls of this kind."""

    device: torch.device
    dtype: torch.dtype
    dim: int
    grouped: bool
    masked: bool
    causal: bool


TRUSTED: set[tuple[str, CallKind]] = set()  # kernels that were compared
REFUSED: set[CallKind] = set()  # calls that failed, or were not the same


def device_kernel(
    tensors: SDPATensors, mask: Tensor | None, causal: bool, scale: float
) -> tuple[Tensor, Tensor] | None:
    """SDPA's output (B, H, Q, V), bit for bit, and the lse (B, H, Q); None where no kernel of this device gives it.

    `mask` is as SDPA gets it.
    """
    query, key, _ = tensors
    if query.device.type not in DEVICES or not query.numel() or not key.numel():
        return None
    grouped = query.shape[1] != key.shape[1]
    kind = CallKind(query.device, query.dtype, query.shape[-1], grouped, mask is not None, causal)
    if kind in REFUSED:
        return None
    try:
        name = sdpa_choice(tensors, mask, causal, scale, grouped=kind.grouped)
        if name not in DEVICE_KERNELS:
            return None
        output, lse = DEVICE_KERNELS[name](tensors, additive(mask, query), causal, scale)
        result = output, rows_alone(lse, query)
        trusted = (name, kind) in TRUSTED or agrees(result, tensors, mask, causal, scale)
    except torch.OutOfMemoryError:
        return None  # to compare takes more than SDPA alone, which may still have room
    except (AttributeError, RuntimeError, TypeError, ValueError) as error:
        refuse(kind, f"{type(error).__name__}: {error}")
        return None
    if not trusted:
        refuse(kind, f"{name} gives other numbers than scaled_dot_product_attention")
        return None
    TRUSTED.add((name, kind))
    return result


def refuse(kind: CallKind, reason: str) -> None:
    """Said once: from now on the lse of such calls takes a second pass."""
    REFUSED.add(kind)
    warnings.warn(f"logsumexp is computed by a second pass, since {reason}", stacklevel=2)


def rows_alone(lse: Tensor, query: Tensor) -> Tensor:
    """(B, H, Q) of what a kernel gives: cuDNN adds a dim, others fill up the rows."""
    lse = lse.squeeze(-1) if lse.ndim == query.ndim else lse
    lse = lse[..., : query.shape[-2]]
    if lse.shape != query.shape[:-1] or lse.dtype != torch.promote_types(query.dtype, torch.float32):
        raise ValueError(f"an lse {tuple(lse.shape)} of {lse.dtype} for a query {tuple(query.shape)}")
    return lse


def additive(mask: Tensor | None, query: Tensor) -> Tensor | None:
    """A mask as SDPA hands it to its kernels: numbers to add."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=query.dtype).masked_fill(~mask, NOWHERE)


@torch.no_grad()
def agrees(
    result: tuple[Tensor, Tensor], tensors: SDPATensors, mask: Tensor | None, causal: bool, scale: float
) -> bool:
    """Is it SDPA's output bit for bit, and the lse of some rows that of their scores?"""
    query, key, value = tensors
    grouped = query.shape[1] != key.shape[1]
    plain = F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, is_causal=causal, scale=scale, enable_gqa=grouped
    )
    if not bool(((result[0] == plain) | (result[0].isnan() & plain.isnan())).all()):
        return False
    rows = torch.linspace(0, query.shape[2] - 1, ROWS, device=query.device).round().long()
    wide = torch.promote_types(query.dtype, torch.float32)
    picked = query[:, :, rows].to(wide).unflatten(1, (key.shape[1], -1)).flatten(2, 3)
    with full_precision(query.device):
        scores = (picked @ key.to(wide).mT * scale).unflatten(2, (-1, ROWS)).flatten(1, 2)
    if mask is not None:
        added = additive(mask, query)
        assert added is not None
        scores = scores + (added if added.shape[-2] == 1 else added[..., rows, :])
    if causal:
        scores = scores.masked_fill(torch.arange(key.shape[2], device=query.device) > rows[:, None], NOWHERE)
    exact, lse = scores.logsumexp(-1), result[1][:, :, rows]
    return bool((((exact - lse).abs() <= CLOSE * exact.abs().clamp(min=1.0)) | ~exact.isfinite()).all())
