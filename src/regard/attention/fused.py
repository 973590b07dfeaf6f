"""PyTorch's scaled_dot_product_attention, where it means the same as our equation and stays within O(N) memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.scores import HALVES, LOW, NOWHERE, Scores
from regard.attention.sdpa_kernels import additive, device_kernel
from regard.attention.torch_names import flash_with_lse, only_sdpa, sdpa_choice

EXACT = (torch.float32, torch.float64)  # in half precision a CPU's kernel sums what it has rounded
GRID = 1 << 24  # the largest mask we build for it; beyond that the tiled path needs less memory


def fits(scores: Scores, dropout: float) -> bool:
    """Can SDPA compute this exactly without falling to its dense path?"""
    rule = scores.rule
    if rule.softcap is not None or scores.sinks_JG is not None or scores.cells == 0:
        return False
    if rule.scale <= 0:
        return False  # it masks with -inf before it scales, and 0 * -inf is NaN
    if dropout and scores.device.type == "cpu":
        return False  # it would take its dense path, and draw more slowly than we do
    if scores.dtype == torch.float64 and scores.device.type != "cpu" and scores.cells > GRID:
        return False  # so does float64 on a GPU
    if any(term.requires_grad for term in scores.terms):
        return False  # so does a trained bias
    exact = scores.query_BJGQD.dtype in (torch.float32, torch.float64)
    if any(term.dtype != scores.query_BJGQD.dtype for term in scores.terms) or (len(scores.terms) > 1 and not exact):
        return False  # a float32 bias rounded to bfloat16 would be another bias
    return grid_size(scores) <= GRID and not deep_rows(scores) and not hides_nan(scores)


def deep_rows(scores: Scores) -> bool:
    """Is there a row with nothing but numbers like finfo.min added? SDPA's lse rounds away how many keys share it."""
    if not scores.terms or scores.device.type == "meta":
        return False
    sight = scores.rule.sight
    everything = slice(0, sight.queries), slice(0, sight.keys)
    visible, added = scores.visible(*everything), scores.added(*everything)
    assert visible is not None
    assert added is not None
    highest = torch.where(visible, added, NOWHERE).amax(-1)
    return bool(((highest < LOW) & (highest != NOWHERE)).any())


def hides_nan(scores: Scores) -> bool:
    """SDPA on a CPU loses a NaN of query or key on its way; a sum finds it at little cost (inf falls under it too)."""
    if scores.device.type != "cpu":
        return False
    wide = torch.promote_types(scores.dtype, torch.float32)  # in float16 the sum itself could overflow
    total = scores.query_BJGQD.detach().sum(dtype=wide) + scores.key_BJKD.detach().sum(dtype=wide)
    return not math.isfinite(total.item())


def grid_size(scores: Scores) -> int:
    """How many cells the one mask that SDPA takes would have beyond those the caller already holds."""
    sight = scores.rule.sight
    terms = [*scores.terms, *([] if sight.mask is None else [sight.mask])]
    shapes = [term.shape for term in terms]
    if sight.banded and (terms or not sight.causal_square):
        shapes.append(torch.Size((sight.queries, sight.keys)))
    if not shapes:
        return 0
    held = max([0, *(term.numel() for term in terms)])
    size = joint_shape(shapes)
    copies = scores.key_BJKD.shape[-3] if folds(scores) and size[:-4].numel() > 1 else 1
    return 0 if size.numel() * copies == held else size.numel() * copies


def joint_shape(shapes: Sequence[torch.Size]) -> torch.Size:
    """What shapes that fit each other broadcast to. `torch.broadcast_shapes` says the same, but imports sympy for it:
    as long as a third of torch itself.
    """
    sizes = zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1)
    return torch.Size([next((size for size in at if size != 1), 1) for at in sizes][::-1])


def folds(scores: Scores) -> bool:
    """Must the key heads move into the batch? Where no kernel shares them among query heads, SDPA would repeat them."""
    grouped, sight = scores.query_BJGQD.shape[-3] > 1, scores.rule.sight
    masked = bool(scores.terms) or sight.mask is not None or (sight.banded and not sight.causal_square)
    native = scores.device.type == "cpu" or (scores.dtype in HALVES and not masked and has_flash(scores.device))
    return grouped and not native


def has_flash(device: torch.device) -> bool:
    """The kernels that share key heads need an NVIDIA GPU of 2020 or later; of other devices we take it for granted."""
    return device.type != "cuda" or torch.version.cuda is None or torch.cuda.get_device_capability(device)[0] >= 8


def fused(scores: Scores, value_BJKV: Tensor, dropout: float = 0.0) -> Tensor:
    """The output (B..., J, G, Q, V)."""
    inputs = sdpa_inputs(scores, value_BJKV)
    return ungrouped(sdpa(inputs, scores.rule.scale, dropout), scores, value_BJKV, inputs.empty)


def sdpa(inputs: SDPAInputs, scale: float, dropout: float) -> Tensor:
    return F.scaled_dot_product_attention(
        inputs.query, inputs.key, inputs.value, attn_mask=inputs.mask, is_causal=inputs.causal, dropout_p=dropout,
        scale=scale, enable_gqa=inputs.grouped,
    )  # fmt: skip


def fused_with_lse(scores: Scores, value_BJKV: Tensor, dropout: float = 0.0) -> tuple[Tensor, Tensor | None]:
    """The same output, bit for bit, and the lse (B..., J, G, Q) where the kernel that SDPA takes gives it too."""
    inputs = sdpa_inputs(scores, value_BJKV)
    added_to_whole_rows = bool(scores.terms) and inputs.mask is None  # which the softmax does not see, and lse does
    result = None
    if not (dropout or added_to_whole_rows) and only_sdpa(scores.device.type):
        result = cpu_kernel(inputs, scores) if scores.device.type == "cpu" else device_kernel(
            inputs[:3], inputs.mask, inputs.causal, scores.rule.scale)  # fmt: skip
    if result is None:
        return ungrouped(sdpa(inputs, scores.rule.scale, dropout), scores, value_BJKV, inputs.empty), None
    output, lse = result
    lse = lse.reshape(scores.query_BJGQD.shape[:-1])
    lse = lse if inputs.empty is None else lse.masked_fill(inputs.empty[..., 0], NOWHERE)
    return ungrouped(output, scores, value_BJKV, inputs.empty), lse


def cpu_kernel(inputs: SDPAInputs, scores: Scores) -> tuple[Tensor, Tensor] | None:
    """Output and lse by the flash kernel of a CPU, where SDPA takes it and it sums what it was given."""
    if inputs.grouped or scores.dtype not in EXACT:
        return None
    mask = additive(inputs.mask, inputs.query)
    if sdpa_choice(inputs[:3], mask, inputs.causal, scores.rule.scale) != "FLASH_ATTENTION":
        return None
    return flash_with_lse(*inputs[:3], mask, inputs.causal, scores.rule.scale)


class SDPAInputs(NamedTuple):
    """What SDPA is given: tensors of rank 4, and which rows are empty (..., Q, 1)."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    causal: bool
    grouped: bool
    empty: Tensor | None


def sdpa_inputs(scores: Scores, value_BJKV: Tensor) -> SDPAInputs:
    sight = scores.rule.sight
    causal = sight.banded and sight.causal_square and sight.mask is None and not scores.terms
    mask, empty = (None, None) if causal else one_mask(scores)
    query, key, value = map(dense_rows, even_dims(scores.query_BJGQD, scores.key_BJKD, value_BJKV))
    queries, keys, values = four(query, key, value, fold=folds(scores))
    mask = None if mask is None else mask_of_four(mask, query, fold=folds(scores))
    return SDPAInputs(queries, keys, values, mask, causal, queries.shape[-3] != keys.shape[-3], empty)


def ungrouped(output: Tensor, scores: Scores, value_BJKV: Tensor, empty: Tensor | None) -> Tensor:
    """(B..., J, G, Q, V) as it was asked for: without the columns that only made dims even, zeros in empty rows."""
    width = value_BJKV.shape[-1]
    output = output[..., :width].reshape(*scores.query_BJGQD.shape[:-1], width)
    return output if empty is None else output.masked_fill(empty, 0.0)


def one_mask(scores: Scores) -> tuple[Tensor | None, Tensor | None]:
    """All masks and biases as the one that SDPA takes, and which rows are empty, both broadcastable (..., Q, K).

    An empty row is shown everything and its output zeroed afterwards: SDPA then never meets a row that it could turn
    into NaN, in value or gradient.
    """
    sight = scores.rule.sight
    everything = slice(0, sight.queries), slice(0, sight.keys)
    visible = scores.visible(*everything)
    if visible is None:
        return None, None
    lit = visible.any(-1, keepdim=True)
    # On a CPU it is worth asking, since most masks leave no row empty; elsewhere asking would wait for the device.
    empty = None if scores.device.type == "cpu" and bool(lit.all()) else ~lit
    if visible.shape[-1] == 1:
        return None, empty  # the same for every key of a row: the softmax does not see it
    added = scores.added(*everything)
    mask = visible if added is None else torch.where(visible, added, NOWHERE)
    if empty is None:
        return mask, None
    return mask.masked_fill(empty, True if added is None else 0.0), empty


def even_dims(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Pad with zeros until value and key have one dim: scores stay the same, the output gains columns of zeros."""
    missing = query.shape[-1] - value.shape[-1]
    if missing >= 0:
        return query, key, F.pad(value, (0, missing)) if missing else value
    return F.pad(query, (0, -missing)), F.pad(key, (0, -missing)), value


def dense_rows(tensor: Tensor) -> Tensor:
    """With each vector's numbers side by side: otherwise SDPA takes its dense path."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def four(query_BJGQD: Tensor, key: Tensor, value: Tensor, *, fold: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The same tensors in rank 4, all that SDPA's kernels take: batch dims in one, and when folding the key heads too.

    A folded key head serves its group by a stride of 0: it is seen as often as needed and stored once.
    """
    if not fold:
        query = query_BJGQD.flatten(-4, -3)
        return tuple(part.reshape(-1, *part.shape[-3:]) for part in (query, key, value))  # type: ignore[return-value]
    group = query_BJGQD.shape[-3]
    keys, values = (part.reshape(-1, 1, *part.shape[-2:]).expand(-1, group, -1, -1) for part in (key, value))
    return query_BJGQD.reshape(-1, *query_BJGQD.shape[-3:]), keys, values


def mask_of_four(mask: Tensor, query_BJGQD: Tensor, *, fold: bool) -> Tensor:
    """A grouped mask as (batch or 1, heads or 1, queries or 1, keys), copied only where it varies over some of them."""
    mask = mask.reshape((1,) * (query_BJGQD.ndim - mask.ndim) + mask.shape)
    mask = mask if fold else mask.flatten(-4, -3)
    lead, batch = mask.shape[:-3], query_BJGQD.shape[: -3 if fold else -4]
    if lead.numel() > 1:
        mask = mask.expand(*batch, *mask.shape[-3:])
    return mask.reshape(-1, *mask.shape[-3:])
