"""torch's own layers, with the weights of our blocks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.models.layers import ACTIVATIONS, Block


def stack(blocks: nn.ModuleList, config: Any, *, cross: bool = False) -> nn.ModuleList:
    """Torch's layers that should do what the blocks do."""
    kind = nn.TransformerDecoderLayer if cross else nn.TransformerEncoderLayer
    dtype = next(blocks.parameters()).dtype
    return nn.ModuleList(copied(block, kind, config, dtype) for block in blocks)


def copied(block: Block, kind: Any, config: Any, dtype: torch.dtype) -> nn.Module:
    layer: nn.Module = kind(
        config.dim, config.heads, config.feedforward, 0.0, ACTIVATIONS[config.activation],
        layer_norm_eps=config.epsilon, batch_first=True, norm_first=config.norm == "pre", dtype=dtype,
    )  # fmt: skip
    layer.load_state_dict(weights(block))
    return layer


def weights(block: Block) -> dict[str, Tensor]:
    """Our weights under torch's names."""
    residuals = [block.self_residual, block.cross_residual, block.feedforward_residual]
    norms = [residual.norm for residual in residuals if residual is not None]
    named = {
        **projections("self_attn", [block.self_attention.qkv], block.self_attention.out),
        **under("linear1", block.feedforward.up),
        **under("linear2", block.feedforward.down),
        **{name: tensor for i, norm in enumerate(norms) for name, tensor in under(f"norm{i + 1}", norm).items()},
    }
    cross = block.cross_attention
    return named if cross is None else {**named, **projections("multihead_attn", [cross.q, cross.kv], cross.out)}


def projections(name: str, inputs: list[nn.Linear], out: nn.Linear) -> dict[str, Tensor]:
    weight, bias = (torch.cat([getattr(part, what) for part in inputs]) for what in ("weight", "bias"))
    return {f"{name}.in_proj_weight": weight, f"{name}.in_proj_bias": bias, **under(f"{name}.out_proj", out)}


def under(name: str, part: nn.Module) -> dict[str, Tensor]:
    return {f"{name}.weight": part.weight.detach(), f"{name}.bias": part.bias.detach()}


def future(length: int) -> Tensor:
    """Torch's way to say causal: True where nobody may look."""
    return torch.ones(length, length).triu(1).bool()
