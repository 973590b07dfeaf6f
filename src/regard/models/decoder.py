"""Decoder-only (GPT): each word looks at itself and those before it, and says what comes next."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention.dropout import drop
from regard.models.config import DecoderConfig
from regard.models.layers import (
    Block,
    Cache,
    Embedding,
    Output,
    Projection,
    final_norm,
    key_mask,
    positions_of,
    start_weights,
)


class Decoder(nn.Module):
    """Ids in, logits for the next id out."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config, config.vocabulary, scaled=config.scaled)
        self.blocks = nn.ModuleList(Block(config, f"decoder.{i}", causal=True) for i in range(config.layers))
        self.norm = final_norm(config)
        self.output = Output(config.dim, config.vocabulary, tied=config.tied, bias=config.output_bias)
        start_weights(self, config.dim)

    def forward(
        self, ids_BN: Tensor, mask_BK: Tensor | None = None, cache: Cache | None = None, project: Projection = F.linear
    ) -> Tensor:
        """Logits (B, N, vocabulary), or what else `project` makes. `mask` is True on words, also on those cached."""
        x = self.embedding(ids_BN, positions_of(ids_BN, mask_BK, cache))
        x = drop(x, self.config.dropout, self.training)
        for block in self.blocks:
            x = block(x, key_mask(mask_BK), cache)
        logits: Tensor = self.output(self.norm(x), self.embedding.table, project)
        return logits
