"""Small random models of `transformers`, lively enough that what they say varies: the other side of comparisons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import nn

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

VOCABULARY = 40
PAD, END, UNKNOWN, FIRST, LAST, MASK = range(6)
SPECIAL = ["<pad>", "</s>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [*SPECIAL, *(f"w{number}" for number in range(VOCABULARY - len(SPECIAL)))]


def marian(seed: int = 0, gain: float = 1.0, **changes: Any) -> Any:
    settings = {"decoder_vocab_size": VOCABULARY, **seq2seq(changes)}
    return lively(transformers.MarianMTModel(transformers.MarianConfig(**settings)), seed, gain)


def pegasus(seed: int = 0, gain: float = 1.0, **changes: Any) -> Any:
    return lively(
        transformers.PegasusForConditionalGeneration(transformers.PegasusConfig(**seq2seq(changes))), seed, gain
    )


def seq2seq(changes: dict[str, Any]) -> dict[str, Any]:
    return {
        "vocab_size": VOCABULARY, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "scale_embedding": True,
        "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
        "pad_token_id": PAD, "eos_token_id": END, "forced_eos_token_id": None, "decoder_start_token_id": PAD,
        "max_position_embeddings": 64, **changes,
    }  # fmt: skip


def gpt2(seed: int = 0, gain: float = 1.0, **changes: Any) -> Any:
    settings = {
        "vocab_size": VOCABULARY, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64, "eos_token_id": END,
        "bos_token_id": END, **changes,
    }  # fmt: skip
    return lively(transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings)), seed, gain)


def bert(kind: str = "BertForSequenceClassification", seed: int = 0, gain: float = 1.0, **changes: Any) -> Any:
    settings = {
        "vocab_size": VOCABULARY, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 32, "max_position_embeddings": 64, "pad_token_id": PAD,
        "id2label": {0: "bad", 1: "fair", 2: "good"}, "label2id": {"bad": 0, "fair": 1, "good": 2}, **changes,
    }  # fmt: skip
    return lively(getattr(transformers, kind)(transformers.BertConfig(**settings)), seed, gain)


def lively(model: nn.Module, seed: int, gain: float) -> nn.Module:
    """Random weights that keep the size of what passes through, times `gain`.

    A gain above 1 makes a random model say different things of different texts, and also makes float32 inexact: there
    transformers is as far from its own float64 as from us. So texts are compared at 1.6, logits at 1.
    """
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if "embed_positions" in name or not tensor.is_floating_point():
                continue
            noise = torch.randn(tensor.shape, generator=draw)
            whole = 1.0 if tensor.ndim == 1 and name.endswith("weight") else 0.0  # the norms stay near 1
            tensor.copy_(whole + noise * (gain / tensor.shape[-1] ** 0.5 if tensor.ndim > 1 else 0.2))
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias[:, END] += 1.0  # so that some texts end early
    model.tie_weights()
    return model.eval()


def tokenizer(kind: str) -> Any:
    """Words to ids: `seq2seq` ends texts with </s>, `bert` puts [CLS] and [SEP] around them, `gpt2` nothing."""
    engine = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    engine.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    around = {"seq2seq": "$A </s>", "bert": "[CLS] $A [SEP]"}.get(kind)
    if around:
        engine.post_processor = processors.TemplateProcessing(
            single=around, special_tokens=[(token, number) for number, token in enumerate(SPECIAL)]
        )
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    extra = {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"} if kind == "bert" else {}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=engine, **names, **extra)


def sentences(seed: int, count: int = 6) -> list[str]:
    """Texts of different lengths."""
    draw = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 10, (count,), generator=draw).tolist()
    ids = [torch.randint(len(SPECIAL), VOCABULARY, (length,), generator=draw).tolist() for length in lengths]
    return [" ".join(WORDS[number] for number in row) for row in ids]


def save(model: Any, folder: Path, kind: str | None = None, **generation: Any) -> Path:
    """The folder that `transformers` would write, with a generation config of our choice."""
    model.save_pretrained(folder)
    if kind:
        tokenizer(kind).save_pretrained(folder)
    if generation:
        ids = {"eos_token_id": END, "pad_token_id": PAD}
        if kind == "seq2seq":
            ids["decoder_start_token_id"] = PAD
        (folder / "generation_config.json").write_text(json.dumps({**ids, **generation}), encoding="utf-8")
    return folder
