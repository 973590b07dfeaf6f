"""Encoder-only (BERT): every word looks both ways; a head fills in masked words or names the class of the text."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention.dropout import drop
from regard.models.config import EncoderConfig
from regard.models.layers import (
    ACTIVATIONS,
    Block,
    Embedding,
    Output,
    Projection,
    final_norm,
    key_mask,
    positions_of,
    start_weights,
)


class Encoder(nn.Module):
    """Ids in; out comes what the head says: vectors ("none"), logits of words ("mask") or of classes ("class")."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config, config.vocabulary, scaled=False)
        self.segments = nn.Embedding(config.segments, config.dim) if config.segments else None
        self.embedding_norm = nn.LayerNorm(config.dim, eps=config.epsilon)
        self.blocks = nn.ModuleList(Block(config, f"encoder.{i}") for i in range(config.layers))
        self.norm = final_norm(config)
        self.pooler = nn.Linear(config.dim, config.dim) if config.pooled and config.head != "mask" else None
        self.mask_head = MaskHead(config) if config.head == "mask" else None
        self.class_head = nn.Linear(config.dim, len(config.labels)) if config.head == "class" else None
        start_weights(self, config.dim)

    def forward(
        self, ids_BN: Tensor, mask_BN: Tensor | None = None, segments_BN: Tensor | None = None,
        project: Projection = F.linear,
    ) -> Tensor:  # fmt: skip
        """What the head makes of the text: (B, N, dim), (B, N, vocabulary) or (B, labels)."""
        x = self.encode(ids_BN, mask_BN, segments_BN)
        if self.mask_head is not None:
            logits: Tensor = self.mask_head(x, self.embedding.table, project)
            return logits
        if self.class_head is not None:
            pooled = drop(self.pool(x), self.config.dropout, self.training)
            return project(pooled, self.class_head.weight, self.class_head.bias)
        return x

    def encode(self, ids_BN: Tensor, mask_BN: Tensor | None = None, segments_BN: Tensor | None = None) -> Tensor:
        """A vector for every word, in the light of all the others."""
        if mask_BN is None and self.config.pad is not None:
            mask_BN = ids_BN != self.config.pad
        x = self.embedding(ids_BN, positions_of(ids_BN, None, None))
        if self.segments is not None:
            x = x + self.segments(torch.zeros_like(ids_BN) if segments_BN is None else segments_BN)
        x = drop(self.embedding_norm(x), self.config.dropout, self.training)
        for block in self.blocks:
            x = block(x, key_mask(mask_BN))
        done: Tensor = self.norm(x)
        return done

    def pool(self, x_BND: Tensor) -> Tensor:
        """The first token speaks for the text."""
        first = x_BND[:, 0]
        return first if self.pooler is None else ACTIVATIONS[self.config.pooling_activation](self.pooler(first))


class MaskHead(nn.Module):
    """Says which word stands at each position."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.dim, config.dim)
        self.norm = nn.LayerNorm(config.dim, eps=config.epsilon)
        self.output = Output(config.dim, config.vocabulary, tied=True, bias=True)
        self.activation = config.activation

    def forward(self, x: Tensor, table: nn.Embedding, project: Projection) -> Tensor:
        logits: Tensor = self.output(self.norm(ACTIVATIONS[self.activation](self.dense(x))), table, project)
        return logits
