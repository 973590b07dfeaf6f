"""The Transformer of 2017: an encoder that reads, a decoder that looks at itself and at what was read."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention.dropout import drop
from regard.models.config import TransformerConfig
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


class Transformer(nn.Module):
    """Source ids and target ids in, logits for the next target word out."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.source = Embedding(config, config.source_vocabulary, scaled=config.scaled)
        table = self.source.table if config.shared else None
        self.target = Embedding(config, config.target_vocabulary, scaled=config.scaled, table=table)
        self.encoder = nn.ModuleList(Block(config, f"encoder.{i}") for i in range(config.encoder_layers))
        self.decoder = nn.ModuleList(
            Block(config, f"decoder.{i}", causal=True, cross=True) for i in range(config.decoder_layers)
        )
        self.encoder_norm, self.decoder_norm = final_norm(config), final_norm(config)
        self.output = Output(config.dim, config.target_vocabulary, tied=config.tied, bias=config.output_bias)
        start_weights(self, config.dim)

    def forward(
        self, source_BN: Tensor, target_BT: Tensor, source_mask: Tensor | None = None, project: Projection = F.linear
    ) -> Tensor:
        """Logits (B, T, vocabulary): position t says what follows target[:t + 1]; or what else `project` makes."""
        mask = self.mask_of(source_BN) if source_mask is None else source_mask
        return self.decode(target_BT, self.encode(source_BN, mask), mask, project=project)

    def mask_of(self, source_BN: Tensor) -> Tensor | None:
        """True where the source is a word; None when the model has no padding."""
        return None if self.config.pad is None else source_BN != self.config.pad

    def encode(self, source_BN: Tensor, mask: Tensor | None = None) -> Tensor:
        """What the source says, (B, N, dim)."""
        x = self.drop(self.source(source_BN, positions_of(source_BN, mask, None)))
        for block in self.encoder:
            x = block(x, key_mask(mask))
        done: Tensor = self.encoder_norm(x)
        return done

    def decode(
        self, target_BT: Tensor, memory: Tensor, mask: Tensor | None = None, cache: Cache | None = None,
        project: Projection = F.linear,
    ) -> Tensor:  # fmt: skip
        """Logits for the words after the target's; with a cache, the target is only what is new."""
        x = self.drop(self.target(target_BT, positions_of(target_BT, None, cache)))
        for block in self.decoder:
            x = block(x, None, cache, memory, key_mask(mask))
        logits: Tensor = self.output(self.decoder_norm(x), self.target.table, project)
        return logits

    def drop(self, x: Tensor) -> Tensor:
        return drop(x, self.config.dropout, self.training)
