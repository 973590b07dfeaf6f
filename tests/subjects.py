"""Small folders of models for looking at: ours of every family, and Hugging Face's of several kinds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import transformers

from benchmarks import peers
from regard.models import save_model
from regard.text.bpe import Paired, literal
from regard.text.tokenizer import Tokenizer
from tests.families import FAMILIES

SMALL = {
    "vocab_size": peers.VOCABULARY, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 64, "pad_token_id": peers.PAD, "bos_token_id": peers.END,
    "eos_token_id": peers.END,
}  # fmt: skip
PAIR = peers.seq2seq({"decoder_start_token_id": peers.END, "scale_embedding": False})
T5 = {
    "vocab_size": peers.VOCABULARY, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2,
    "decoder_start_token_id": peers.PAD, "pad_token_id": peers.PAD, "eos_token_id": peers.END,
}  # fmt: skip
PATCHES = {**SMALL, "num_attention_heads": 2, "image_size": 16, "patch_size": 4}
WHISPER = {**PAIR, "num_mel_bins": 8, "max_source_positions": 12, "max_target_positions": 32}
THEIRS: dict[str, tuple[str, str, dict[str, Any], str | None]] = {
    "llama": ("LlamaForCausalLM", "LlamaConfig", {**SMALL, "num_key_value_heads": 2}, "gpt2"),
    "opt": ("OPTForCausalLM", "OPTConfig", {**SMALL, "ffn_dim": 32, "word_embed_proj_dim": 16}, "gpt2"),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", SMALL, "bert"),
    "bart": ("BartForConditionalGeneration", "BartConfig", PAIR, "seq2seq"),
    "t5": ("T5ForConditionalGeneration", "T5Config", T5, "seq2seq"),
    "bart classes": ("BartForSequenceClassification", "BartConfig", PAIR, "seq2seq"),
    "bloom": (
        "BloomForCausalLM",
        "BloomConfig",
        {"vocab_size": peers.VOCABULARY, "hidden_size": 16, "n_layer": 1, "n_head": 2},
        "gpt2",
    ),
    "vit": ("ViTForImageClassification", "ViTConfig", PATCHES, None),
    "whisper": ("WhisperForConditionalGeneration", "WhisperConfig", WHISPER, "seq2seq"),
}


def theirs(name: str, root: Path) -> Path:
    """A folder that transformers wrote, with a tokenizer of words w0, w1, ..."""
    folder = root / name.replace(" ", "-")
    if not folder.exists():
        kind, config, settings, tokenizer = THEIRS[name]
        model = getattr(transformers, kind)(getattr(transformers, config)(**settings))
        decoding: dict[str, Any] = {}
        if tokenizer == "seq2seq":  # untrained models find no end
            decoding = {"max_length": 12, "decoder_start_token_id": settings["decoder_start_token_id"]}
        peers.save(peers.lively(model, 0, 1.0), folder, tokenizer, **decoding)
    return folder


def ours(name: str, root: Path) -> Path:
    """A folder of ours, of a family of `tests.families`, with the same words; each side its own where they differ."""
    family = FAMILIES[name]
    folder = root / name.replace(" ", "-")
    sizes = ("vocabulary", "source_vocabulary", "target_vocabulary")
    fields = {size: peers.VOCABULARY for size in sizes if hasattr(family.config, size)}
    marks = {mark: peers.END for mark in ("end",) if hasattr(family.config, mark)}
    if not folder.exists():
        changed = replace(family, config=replace(family.config, **fields, **marks))
        save_model(changed.model(), folder)
        words("seq2seq" if family.two_texts else "bert" if not family.causal else "gpt2").save(
            folder / "tokenizer.json"
        )
    return folder


def words(kind: str, prefix: str = "w") -> Tokenizer:
    """The tokenizer of `peers`, whose words may begin with another letter."""
    engine = peers.tokenizer(kind).backend_tokenizer
    if prefix != "w":
        text = engine.to_str().replace('"w', f'"{prefix}')
        engine = type(engine).from_str(text.replace(f'"{prefix}hitespace', '"whitespace'))
    return literal(Tokenizer(engine))


def paired(folder: Path) -> Path:
    """Give a folder of ours two vocabularies: sources are w0, w1, ..., targets v0, v1, ..."""
    Paired(words("seq2seq"), words("seq2seq", "v")).save(folder / "tokenizer.json")
    return folder
