"""The models of the experiments: the families' own, small."""

from __future__ import annotations

from typing import Any

import torch

from regard.claims.lab.pair_task import END, PAD, START, PairTask
from regard.claims.setting import Setting
from regard.models import Recurrent, RecurrentConfig, Transformer, TransformerConfig

QUICK: dict[str, Any] = {"dim": 64, "heads": 4, "feedforward": 128, "encoder_layers": 2, "decoder_layers": 2}
FULL: dict[str, Any] = {"dim": 256, "heads": 4, "feedforward": 1024, "encoder_layers": 4, "decoder_layers": 4}


def small_transformer(task: PairTask, setting: Setting, seed: int, **changes: Any) -> Transformer:
    """With norms before the sublayers, which learns quickly, and no dropout in the quick form, unless `changes` say."""
    sizes = setting.quick_or_full({**QUICK, "dropout": 0.0}, {**FULL, "dropout": 0.2})
    torch.manual_seed(seed)
    return Transformer(
        TransformerConfig(
            **{
                "source_vocabulary": task.source.size, "target_vocabulary": task.target.size,
                "shared": task.source is task.target, "norm": "pre", "pad": PAD, "start": START, "end": END,
                **sizes, **changes,
            }
        )
    )  # fmt: skip


def small_recurrent(task: PairTask, setting: Setting, seed: int, *, attention: bool, **changes: Any) -> Recurrent:
    """2014 without attention, 2015 with it."""
    sizes = setting.quick_or_full(
        {"dim": 64, "hidden": 96, "dropout": 0.0}, {"dim": 256, "hidden": 512, "dropout": 0.2}
    )
    torch.manual_seed(seed)
    return Recurrent(
        RecurrentConfig(
            **{
                "source_vocabulary": task.source.size, "target_vocabulary": task.target.size,
                "attention": attention, "pad": PAD, "start": START, "end": END, **sizes, **changes,
            }
        )
    )  # fmt: skip


def parameters(model: torch.nn.Module) -> int:
    return sum(one.numel() for one in model.parameters())
