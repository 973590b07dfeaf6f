"""The peers that `benchmarks.training` trains beside ours: with our weights, in the loop one writes around a model."""

from __future__ import annotations

import tempfile
from collections.abc import Callable

import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn

from benchmarks.models import DROPOUT, Peer
from benchmarks.parity import copy_stacks
from regard.interop.huggingface import save_huggingface
from regard.models import Transformer
from regard.training.data.task_batches import IGNORE_INDEX, TaskBatch

SMOOTHING = 0.1

Take = Callable[[TaskBatch], Tensor]  # one update; gives the loss before it


class Marian(nn.Module):
    """transformers' MarianMT with our weights."""

    def __init__(self, ours: Transformer) -> None:
        super().__init__()
        with tempfile.TemporaryDirectory() as folder:
            save_huggingface(ours, folder)
            rates = {"dropout": DROPOUT, "attention_dropout": DROPOUT, "activation_dropout": DROPOUT}
            self.inner = transformers.MarianMTModel.from_pretrained(folder, **rates)
        self.pad = ours.config.pad

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        inputs = {"input_ids": source, "attention_mask": (source != self.pad).long(), "decoder_input_ids": target}
        logits: Tensor = self.inner(**inputs, use_cache=False).logits
        return logits


@torch.no_grad()
def torch_peer(ours: Transformer) -> nn.Module:
    """torch.nn.Transformer with our weights."""
    config = ours.config
    theirs = Peer(config.dim, config.heads, config.feedforward, config.encoder_layers, config.target_vocabulary)
    copy_stacks(ours, theirs.stacks)
    theirs.table.weight.copy_(ours.target.table.weight)
    return theirs


PEERS: dict[str, Callable[[Transformer], nn.Module]] = {"Marian": Marian, "torch.nn.Transformer": torch_peer}


def loss_of(logits: Tensor, batch: TaskBatch) -> Tensor:
    """A word's, as every contender makes it small."""
    labels, options = batch.tensors["labels"].flatten(), {"ignore_index": IGNORE_INDEX, "label_smoothing": SMOOTHING}
    return F.cross_entropy(logits.flatten(0, 1).float(), labels, reduction="sum", **options) / batch.words


def plain_loop(model: nn.Module, device: torch.device, half: bool, compiled: bool) -> Take:
    """What a person writes around a model."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=device.type == "cuda")
    forward = torch.compile(model, dynamic=True) if compiled else model

    def take(batch: TaskBatch) -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=half):
            loss = loss_of(forward(batch.tensors["source"], batch.tensors["target"]), batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return take
