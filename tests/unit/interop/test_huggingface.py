"""Logits equal those of transformers but for rounding: theirs read by us, and ours read by them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

from benchmarks import peers
from regard.errors import FileError, InputError
from regard.interop.huggingface import load_huggingface, save_huggingface
from regard.interop.marian import order
from regard.models import (
    Decoder,
    DecoderConfig,
    Encoder,
    EncoderConfig,
    Recurrent,
    RecurrentConfig,
    Transformer,
    TransformerConfig,
)
from regard.models.layers import sinusoids
from tests.bounds import SUMS, close, outputs_apart

SOURCE = torch.tensor([[7, 8, 9, 10, 11, 1], [12, 13, 1, 0, 0, 0], [30, 30, 31, 1, 0, 0]])
TARGET = torch.tensor([[0, 20, 21, 22], [0, 6, 6, 7], [0, 39, 38, 1]])


@torch.no_grad()
def theirs(model: Any, kind: str) -> Tensor:
    mask = (SOURCE != 0).long()
    if kind == "seq2seq":
        return model(input_ids=SOURCE, attention_mask=mask, decoder_input_ids=TARGET).logits
    if kind == "gpt2":
        return model(input_ids=TARGET).logits
    out = model(input_ids=SOURCE, attention_mask=mask)
    answer = out.last_hidden_state if "last_hidden_state" in out else out.logits
    return answer if answer.ndim == 2 else answer * mask[..., None]


@torch.no_grad()
def ours(model: Any, kind: str) -> Tensor:
    if kind == "seq2seq":
        return model(SOURCE, TARGET)
    if kind == "gpt2":
        return model(TARGET)
    answer = model(SOURCE)
    return answer if answer.ndim == 2 else answer * (SOURCE != 0)[..., None]


SHAPES = [
    {},
    {"d_model": 24, "encoder_attention_heads": 3, "decoder_attention_heads": 3, "encoder_layers": 1},
    {"tie_word_embeddings": False, "activation_function": "relu"},
    {"scale_embedding": False, "activation_function": "swish", "encoder_ffn_dim": 50, "decoder_ffn_dim": 50},
    {"activation_function": "gelu_new", "decoder_layers": 3},
]
SEPARATE = [
    {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 44},
    {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False, "activation_function": "silu"},
]
CASES = [
    *(("seq2seq", peers.marian, shape) for shape in [*SHAPES, *SEPARATE]),
    *(("seq2seq", peers.pegasus, shape) for shape in SHAPES),
    *(("gpt2", peers.gpt2, shape) for shape in (
        {}, {"tie_word_embeddings": False}, {"n_embd": 24, "n_head": 4, "n_layer": 1, "n_inner": 30},
        {"layer_norm_epsilon": 1e-3, "activation_function": "relu"}, {"reorder_and_upcast_attn": True},
    )),
    *(("bert", peers.bert, {"kind": kind, **shape}) for kind in ("BertModel", "BertForMaskedLM",
      "BertForSequenceClassification") for shape in ({}, {"hidden_act": "gelu_new", "layer_norm_eps": 1e-3,
      "type_vocab_size": 1})),
]  # fmt: skip


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("kind", "make", "shape"), CASES)
def test_theirs_is_ours_and_theirs_again(
    kind: str, make: Any, shape: dict[str, Any], seed: int, tmp_path: Path
) -> None:
    model = make(seed=seed, **shape)
    expected = theirs(model, kind)
    read = load_huggingface(peers.save(model, tmp_path / "theirs"))
    close(read, ours(read, kind), expected)
    save_huggingface(read, tmp_path / "ours")
    again = type(model).from_pretrained(tmp_path / "ours").eval()
    close(read, theirs(again, kind), expected)


@pytest.mark.parametrize(("kind", "make", "shape"), CASES)
def test_in_double_precision_nothing_is_left_but_their_rounded_positions(
    kind: str, make: Any, shape: dict[str, Any], tmp_path: Path
) -> None:
    """Loud weights amplify rounding, not what is equal: a wrong mapping would show here, whatever the weights."""
    model = make(seed=4, gain=1.6, **shape)
    read = load_huggingface(peers.save(model, tmp_path)).double()
    model = model.double()
    if kind == "seq2seq":
        for side in (model.model.encoder, model.model.decoder):
            table = side.embed_positions.weight
            table.data = sinusoids(torch.arange(len(table)), table.shape[1])[:, order(table.shape[1])]
    loud = 1.6**SUMS  # each sum of a layer hands on so much more of what is off, until a norm makes it small again
    expected = theirs(model, kind)
    torch.testing.assert_close(ours(read, kind), expected, atol=outputs_apart(read, expected) * loud, rtol=0)


SMALL = {"dim": 16, "heads": 2, "feedforward": 24, "max_length": 32}
BOTH = {"source_vocabulary": 40, "target_vocabulary": 40, "encoder_layers": 2, "decoder_layers": 1, "start": 1}
OWN = [
    *(("seq2seq", "AutoModelForSeq2SeqLM", Transformer(TransformerConfig(**SMALL, **BOTH, **more))) for more in (
        {}, {"norm": "pre"}, {"tied": False}, {"tied": False, "norm": "pre"}, {"shared": False},
        {"shared": False, "tied": False}, {"shared": False, "tied": False, "norm": "pre"},
        {"scaled": False, "activation": "silu", "output_bias": True},
    )),
    *(("gpt2", "AutoModelForCausalLM", Decoder(DecoderConfig(**SMALL, vocabulary=40, layers=2, end=1, **more)))
      for more in ({}, {"tied": False, "activation": "relu", "epsilon": 1e-3})),
    *(("bert", name, Encoder(EncoderConfig(**SMALL, vocabulary=40, layers=2, **more))) for name, more in (
        ("AutoModel", {"head": "none"}), ("AutoModelForMaskedLM", {}), ("AutoModelForMaskedLM", {"segments": 0}),
        ("AutoModelForSequenceClassification", {"head": "class", "labels": ("no", "yes", "perhaps")}),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "auto", "model"), OWN)
def test_ours_is_theirs_through_their_auto_classes(kind: str, auto: str, model: Any, tmp_path: Path) -> None:
    torch.manual_seed(1)
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.add_(torch.randn_like(tensor) * 0.2)
    save_huggingface(model.eval(), tmp_path)
    read, report = getattr(transformers, auto).from_pretrained(tmp_path, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    close(model, theirs(read.eval(), kind), ours(model, kind))
    close(model, ours(load_huggingface(tmp_path), kind), ours(model, kind))
    if kind == "bert" and model.config.labels:
        assert load_huggingface(tmp_path).config.labels == model.config.labels


def test_shards_and_old_names(tmp_path: Path) -> None:
    model = peers.bert()
    model.save_pretrained(tmp_path, max_shard_size="10KB")
    assert not (tmp_path / "model.safetensors").exists()
    for path in tmp_path.glob("*.safetensors"):
        old = {name.replace("LayerNorm.weight", "LayerNorm.gamma"): part for name, part in load_file(path).items()}
        save_file(old, path, metadata={"format": "pt"})
    close(model, ours(load_huggingface(tmp_path), "bert"), theirs(model, "bert"))


def test_half_precision_files_are_read_in_single(tmp_path: Path) -> None:
    model = peers.gpt2().half()
    read = load_huggingface(peers.save(model, tmp_path))
    close(read, ours(read, "gpt2"), theirs(model.float(), "gpt2"))


def change(folder: Path, **settings: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **settings}), encoding="utf-8")


@pytest.mark.parametrize(
    ("make", "settings", "message"),
    [
        (peers.gpt2, {"architectures": ["LlamaForCausalLM"]}, "LlamaForCausalLM.*\n.*\n.*MarianMTModel.*GPT2LMHead"),
        (peers.gpt2, {"architectures": None, "model_type": "t5"}, "model_type t5"),
        (peers.gpt2, {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx=True"),
        (peers.gpt2, {"scale_attn_weights": False}, "scale_attn_weights=False"),
        (peers.gpt2, {"add_cross_attention": True}, "add_cross_attention"),
        (peers.gpt2, {"activation_function": "mish"}, "mish"),
        (peers.bert, {"position_embedding_type": "relative_key"}, "position_embedding_type='relative_key'"),
        (peers.bert, {"is_decoder": True}, "is_decoder"),
        (peers.bert, {"problem_type": "regression"}, "problem_type"),
        (peers.marian, {"decoder_attention_heads": 4}, "encoder_attention_heads and decoder_attention_heads"),
        (peers.marian, {"decoder_ffn_dim": 4}, "encoder_ffn_dim and decoder_ffn_dim"),
        (peers.marian, {"eos_token_id": None}, "where a text starts or ends"),
    ],
)
def test_what_changes_the_arithmetic_is_refused_by_name(
    make: Any, settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    change(peers.save(make(), tmp_path), **settings)
    with pytest.raises(InputError, match=message):
        load_huggingface(tmp_path)


def test_an_untied_mask_head_is_refused(tmp_path: Path) -> None:
    peers.save(peers.bert("BertForMaskedLM", tie_word_embeddings=False), tmp_path)
    with pytest.raises(InputError, match="tie_word_embeddings=False"):
        load_huggingface(tmp_path)


def test_other_positions_are_refused(tmp_path: Path) -> None:
    peers.save(peers.pegasus(), tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    tensors["model.encoder.embed_positions.weight"] += 0.1
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match="not the sinusoids"):
        load_huggingface(tmp_path)


def test_folders_that_are_not_whole(tmp_path: Path) -> None:
    peers.save(peers.gpt2(), tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    missing = {name: tensor for name, tensor in tensors.items() if "ln_f" not in name}
    save_file(missing, tmp_path / "model.safetensors")
    with pytest.raises(FileError, match=r"missing: ln_f.bias"):
        load_huggingface(tmp_path)
    save_file({**tensors, "transformer.wpe.weight": torch.zeros(3, 16)}, tmp_path / "model.safetensors")
    with pytest.raises(FileError, match=r"places.weight in .* has the wrong shape"):
        load_huggingface(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(FileError, match="holds no weights"):
        load_huggingface(tmp_path)
    (tmp_path / "pytorch_model.bin").touch()
    with pytest.raises(FileError, match="pickle"):
        load_huggingface(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../b"}}', encoding="utf-8")
    with pytest.raises(FileError, match="damaged"):
        load_huggingface(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text("[]", encoding="utf-8")
    with pytest.raises(FileError, match="names and values"):
        load_huggingface(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text("{", encoding="utf-8")
    with pytest.raises(FileError, match="cannot read"):
        load_huggingface(tmp_path)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Transformer(TransformerConfig(**SMALL, **BOTH, positions="learned")), "MarianMT has sinusoidal positions"),
        (Transformer(TransformerConfig(**SMALL, **BOTH, epsilon=1e-6)), "fixed epsilon"),
        (Transformer(TransformerConfig(**SMALL, **BOTH, norm="pre", shared=False)), "Pegasus cannot tie"),
        (
            Transformer(
                TransformerConfig(**SMALL, **{**BOTH, "target_vocabulary": 41}, norm="pre", shared=False, tied=False)
            ),
            "one vocabulary",
        ),
        (Decoder(DecoderConfig(**SMALL, vocabulary=9, layers=1, norm="post")), "norms before"),
        (Decoder(DecoderConfig(**SMALL, vocabulary=9, layers=1, positions="sinusoidal")), "GPT-2 has learned"),
        (Decoder(DecoderConfig(**SMALL, vocabulary=9, layers=1, scaled=True)), "no scaled"),
        (Decoder(DecoderConfig(**SMALL, vocabulary=9, layers=1, output_bias=True)), "no output_bias"),
        (Encoder(EncoderConfig(**SMALL, vocabulary=9, layers=1, norm="pre")), "norms after"),
        (Encoder(EncoderConfig(**SMALL, vocabulary=9, layers=1, positions="none")), "BERT has learned"),
        (
            Encoder(EncoderConfig(**SMALL, vocabulary=9, layers=1, head="class", labels=("a", "b"), pooled=False)),
            "pools with a dense",
        ),
        (Recurrent(RecurrentConfig(source_vocabulary=9, target_vocabulary=9, dim=4, hidden=4)), "recurrent model"),
    ],
)
def test_what_their_format_cannot_say_is_refused(model: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        save_huggingface(model, tmp_path / "never")
    assert not (tmp_path / "never").exists()
