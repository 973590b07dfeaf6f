"""The formulae count what PyTorch counts of a real step."""

from __future__ import annotations

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from regard.models import DecoderConfig, EncoderConfig, RecurrentConfig, TransformerConfig, build
from regard.models.config import Config
from regard.training.plan.flops import BatchShape, update_flops

BLOCK = {"dim": 32, "heads": 4, "feedforward": 48}
ONE = {**BLOCK, "vocabulary": 50, "layers": 2, "max_length": 16}
TWO = {"source_vocabulary": 50, "target_vocabulary": 50}
RECURRENT = {**TWO, "dim": 16, "hidden": 24}


@pytest.mark.parametrize(
    ("config", "within"),
    [
        (TransformerConfig(**TWO, **BLOCK, encoder_layers=2, decoder_layers=3), 0.0),
        (TransformerConfig(**TWO, **BLOCK, encoder_layers=1, decoder_layers=1, norm="pre", tied=False), 0.0),
        (DecoderConfig(**ONE), 0.0),
        (EncoderConfig(**ONE, segments=0), 0.0),
        (EncoderConfig(**ONE, head="class", labels=("a", "b", "c")), 0.0),
        (EncoderConfig(**ONE, head="class", labels=("a", "b"), pooled=False), 0.0),
        # Of the first steps' states, which are zeros and not trained, no gradient is taken.
        (RecurrentConfig(**RECURRENT), 0.02),
        (RecurrentConfig(**RECURRENT, attention=False, layers=2), 0.02),
    ],
    ids=lambda value: getattr(value, "family", ""),
)
@pytest.mark.filterwarnings("ignore:TF32 acceleration")  # switching oneDNN off asks for settings of Intel's GPUs
def test_the_count_is_torch_s(config: Config, within: float) -> None:
    """Attention as plain products, and recurrent layers step by step: of the fused ones PyTorch counts nothing."""
    model = build(config).train()
    source, target = torch.randint(3, 50, (4, 12)), torch.randint(3, 50, (4, 10))
    two = config.family in ("transformer", "recurrent")
    plain = sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False)
    with FlopCounterMode(display=False) as counter, plain[0], plain[1]:
        (model(source, target) if two else model(source)).sum().backward()
    expected = update_flops(config, BatchShape(4, 12, 10) if two else BatchShape(4, 12))
    assert (1 - within) * expected <= counter.get_total_flops() <= expected


def test_the_base_is_about_six_operations_a_weight_and_token() -> None:
    config = TransformerConfig()
    each = update_flops(config, BatchShape(1, 32, 32)) / 32  # a source and a target token
    table = config.source_vocabulary * config.dim
    assert each == pytest.approx(6 * config.parameters(), rel=0.05)
    assert each > 6 * (config.parameters() - table)
