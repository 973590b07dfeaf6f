"""How near our models are to their peers: `python -m benchmarks.parity`.

Largest difference of logits, in float32 on CPU unless said, with padding in the inputs; for models of Hugging Face the
worst of several random ones. Ends with status 1 when any is above 1e-5.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from benchmarks import peers
from regard.decoding import stepper_for
from regard.interop.huggingface import load_huggingface, save_huggingface
from regard.models import Decoder, DecoderConfig, Recurrent, RecurrentConfig, Transformer, TransformerConfig
from regard.models.layers import SelfAttention

BOUND = 1e-5
SEEDS = 8
SOURCE = torch.tensor([[7, 8, 9, 10, 11, 1], [12, 13, 1, 0, 0, 0], [30, 30, 31, 1, 0, 0]])
TARGET = torch.tensor([[0, 20, 21, 22, 30], [0, 6, 6, 7, 8], [0, 39, 38, 20, 7]])
WORDS = SOURCE != 0


class Row(NamedTuple):
    """One line of the table."""

    model: str
    compared: str
    difference: float


def far(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


def seq2seq(model: Any) -> Tensor:
    if isinstance(model, Transformer):
        return model(SOURCE, TARGET)
    return model(input_ids=SOURCE, attention_mask=WORDS.long(), decoder_input_ids=TARGET).logits


def causal(model: Any) -> Tensor:
    out = model(TARGET)
    return out if isinstance(out, Tensor) else out.logits


def both_ways(model: Any) -> Tensor:
    if not hasattr(model, "save_pretrained"):
        out = model(SOURCE)
    else:
        found = model(input_ids=SOURCE, attention_mask=WORDS.long())
        out = found.last_hidden_state if "last_hidden_state" in found else found.logits
    return out if out.ndim == 2 else out * WORDS[..., None]  # what stands at padding is nobody's


Make = Callable[[int], Any]
UNTIED = {"activation_function": "relu", "tie_word_embeddings": False}
PEERS: list[tuple[str, Make, Callable[[Any], Tensor]]] = [
    ("MarianMT, tied, swish", lambda n: peers.marian(n, activation_function="swish"), seq2seq),
    (
        "MarianMT, untied, relu",
        lambda n: peers.marian(n, **UNTIED),
        seq2seq,
    ),
    ("MarianMT, two vocabularies", lambda n: peers.marian(n, share_encoder_decoder_embeddings=False), seq2seq),
    ("MarianMT, 128 dims", lambda n: peers.marian(n, d_model=128, encoder_ffn_dim=256, decoder_ffn_dim=256), seq2seq),
    ("Pegasus, tied", peers.pegasus, seq2seq),
    (
        "Pegasus, untied, relu",
        lambda n: peers.pegasus(n, **UNTIED),
        seq2seq,
    ),
    ("GPT-2, tied", peers.gpt2, causal),
    ("GPT-2, untied", lambda n: peers.gpt2(n, tie_word_embeddings=False), causal),
    ("BERT, bare", lambda n: peers.bert("BertModel", n), both_ways),
    ("BERT, masks", lambda n: peers.bert("BertForMaskedLM", n), both_ways),
    ("BERT, classes", lambda n: peers.bert("BertForSequenceClassification", n), both_ways),
]


def hugging_face() -> Iterator[Row]:
    """Theirs read by us, and that written by us and read by them: the worst of several random models."""
    for name, make, logits in PEERS:
        there, back, double = zip(*(compare(make(seed), logits) for seed in range(SEEDS)), strict=True)
        yield Row(name, "transformers -> ours", max(there))
        yield Row(name, "ours -> transformers", max(back))
        yield Row(name, "both in float64", max(double))


def compare(theirs: Any, logits: Callable[[Any], Tensor]) -> tuple[float, float, float]:
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(Path(folder, "theirs"))
        ours = load_huggingface(Path(folder, "theirs"))
        save_huggingface(ours, Path(folder, "ours"))
        again = type(theirs).from_pretrained(Path(folder, "ours")).eval()
    there, back = far(logits(theirs), logits(ours)), far(logits(again), logits(ours))
    return there, back, far(logits(theirs.double()), logits(ours.double()))


def torch_attention() -> Row:
    """nn.MultiheadAttention with our weights."""
    ours = SelfAttention(TransformerConfig(dim=64, heads=8), "here", causal=False).eval()
    theirs = nn.MultiheadAttention(64, 8, batch_first=True).eval()
    theirs.in_proj_weight.copy_(ours.qkv.weight)
    theirs.in_proj_bias.copy_(ours.qkv.bias.normal_())
    theirs.out_proj.load_state_dict(ours.out.state_dict())
    x = torch.randn(*SOURCE.shape, 64)
    expected, _ = theirs(x, x, x, key_padding_mask=~WORDS)
    return Row("nn.MultiheadAttention", "copied weights", far(ours(x, WORDS[:, None, None], None), expected))


def torch_transformer(norm: str) -> Row:
    """nn.Transformer's stacks with our weights, between our embeddings and our output."""
    config = TransformerConfig(
        source_vocabulary=40, target_vocabulary=40, dim=64, heads=4, feedforward=128, encoder_layers=2,
        decoder_layers=2, norm=norm,
    )  # fmt: skip
    ours = Transformer(config).eval()
    for tensor in ours.parameters():
        tensor.add_(torch.randn_like(tensor) * 0.05)
    theirs = nn.Transformer(64, 4, 2, 2, 128, norm_first=norm == "pre", batch_first=True).eval()
    if norm == "post":  # theirs then has a last norm that the paper has not
        theirs.encoder.norm = theirs.decoder.norm = None
    copy_stacks(ours, theirs)
    source, target = (
        part(ids, torch.arange(ids.shape[1])) for part, ids in ((ours.source, SOURCE), (ours.target, TARGET))
    )
    out = theirs(
        source, target, tgt_mask=nn.Transformer.generate_square_subsequent_mask(TARGET.shape[1]),
        src_key_padding_mask=~WORDS, memory_key_padding_mask=~WORDS, tgt_is_causal=True,
    )  # fmt: skip
    return Row(
        f"nn.Transformer, {norm}-norm", "copied weights", far(ours(SOURCE, TARGET), ours.output(out, ours.target.table))
    )


def copy_stacks(ours: Transformer, theirs: nn.Transformer) -> None:
    for mine, other in ((ours.encoder, theirs.encoder), (ours.decoder, theirs.decoder)):
        for block, layer in zip(mine, other.layers, strict=True):
            residuals = [block.self_residual, block.cross_residual, block.feedforward_residual]
            for number, residual in enumerate((part for part in residuals if part is not None), start=1):
                getattr(layer, f"norm{number}").load_state_dict(residual.norm.state_dict())
            copy_attention(layer.self_attn, [block.self_attention.qkv], block.self_attention.out)
            if block.cross_attention is not None:
                cross = block.cross_attention
                copy_attention(layer.multihead_attn, [cross.q, cross.kv], cross.out)
            layer.linear1.load_state_dict(block.feedforward.up.state_dict())
            layer.linear2.load_state_dict(block.feedforward.down.state_dict())
    for norm, last in ((ours.encoder_norm, theirs.encoder.norm), (ours.decoder_norm, theirs.decoder.norm)):
        if last is not None:
            last.load_state_dict(norm.state_dict())


def copy_attention(theirs: nn.MultiheadAttention, reads: list[nn.Linear], out: nn.Linear) -> None:
    theirs.in_proj_weight.copy_(torch.cat([part.weight for part in reads]))
    theirs.in_proj_bias.copy_(torch.cat([part.bias for part in reads]))
    theirs.out_proj.load_state_dict(out.state_dict())


def decoding() -> Iterator[Row]:
    """Word by word with a cache against all at once, and a batch against its rows one by one."""
    sizes = {"source_vocabulary": 40, "target_vocabulary": 40, "dim": 64}
    blocks = {"heads": 4, "feedforward": 128}
    models: list[tuple[str, Any]] = [
        ("Transformer, post-norm", Transformer(TransformerConfig(**sizes, **blocks, encoder_layers=2))),
        ("Transformer, pre-norm", Transformer(TransformerConfig(**sizes, **blocks, decoder_layers=2, norm="pre"))),
        ("Decoder", Decoder(DecoderConfig(dim=64, **blocks, vocabulary=40, layers=3, max_length=64))),
        ("Recurrent, LSTM", Recurrent(RecurrentConfig(**sizes, hidden=64, attention=False, layers=2))),
        ("Recurrent, additive attention", Recurrent(RecurrentConfig(**sizes, hidden=64))),
    ]
    for name, model in models:
        model.eval()
        whole = model(TARGET) if isinstance(model, Decoder) else model(SOURCE, TARGET)
        given = TARGET if isinstance(model, Decoder) else SOURCE
        stepper, _ = stepper_for(model, given)
        steps = torch.stack([stepper.advance(TARGET[:, [place]]) for place in range(TARGET.shape[1])], 1)
        yield Row(name, "cached -> uncached", far(steps, whole))
        yield Row(name, "batched -> one by one", far(one_by_one(model), whole))


def one_by_one(model: Any) -> Tensor:
    if isinstance(model, Decoder):
        return torch.cat([model(row[None]) for row in TARGET])
    rows = zip(SOURCE, WORDS, TARGET, strict=True)
    return torch.cat([model(source[words][None], target[None]) for source, words, target in rows])


@torch.no_grad()
def measure() -> list[Row]:
    torch.manual_seed(0)
    warnings.filterwarnings("ignore", message=".*nested.tensor", category=UserWarning)  # of nn.Transformer
    return [*hugging_face(), torch_attention(), torch_transformer("post"), torch_transformer("pre"), *decoding()]


def main() -> int:
    table = Table("model", "what was compared", "largest difference")
    rows = measure()
    for row in rows:
        table.add_row(row.model, row.compared, f"{row.difference:.1e}" + ("" if row.difference <= BOUND else "  above"))
    Console().print(table)
    worst = max(row.difference for row in rows)
    print(f"largest of all {worst:.1e}, bound {BOUND:.0e}, float32 on CPU, torch {torch.__version__}")
    return 0 if worst <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
