"""Small random models of `transformers`, one of each family: what a held model is compared with.

`MODELS` are those of the first table of `benchmarks.watch_matrix`, `MORE` those of its second, and `REFUSED` compute
attention where nobody can see it, or have none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import transformers

from benchmarks import peers

Make = Callable[[], Any]
SMALL = {
    "vocab_size": peers.VOCABULARY, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 64, "pad_token_id": peers.PAD, "bos_token_id": peers.END,
    "eos_token_id": None,
}  # fmt: skip
GROUPED = {**SMALL, "num_key_value_heads": 2, "head_dim": 4}
SEQ2SEQ = peers.seq2seq({"eos_token_id": None, "scale_embedding": False})
PATCHES = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
VIT = {**PATCHES, "image_size": 16, "patch_size": 4}
T5 = {
    "vocab_size": peers.VOCABULARY, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2,
    "relative_attention_num_buckets": 8, "relative_attention_max_distance": 12, "decoder_start_token_id": 0,
    "pad_token_id": peers.PAD, "eos_token_id": None,
}  # fmt: skip
OSS = {**GROUPED, "num_local_experts": 2, "num_experts_per_tok": 1, "sliding_window": 4,
       "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}  # fmt: skip
GPT = {
    "vocab_size": peers.VOCABULARY, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64, "eos_token_id": None,
    "bos_token_id": peers.END, "pad_token_id": peers.PAD,
}  # fmt: skip
EXPERTS = {**GROUPED, "num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8}
MAMBA = {"mamba_d_state": 8, "mamba_n_heads": 4, "mamba_d_head": 8, "mamba_expand": 2}
LATENT = {
    **SMALL, "num_key_value_heads": 4, "q_lora_rank": 8, "kv_lora_rank": 8, "qk_rope_head_dim": 4, "head_dim": 4,
    "qk_nope_head_dim": 4, "v_head_dim": 6, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8,
    "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1, "n_shared_experts": 1,
}  # fmt: skip
SOUNDS = {
    **PATCHES, "conv_dim": (16, 16), "conv_kernel": (3, 3), "conv_stride": (2, 2), "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2, "vocab_size": 12,
}  # fmt: skip


def make(kind: str, config: str, settings: dict[str, Any], seed: int = 0) -> Any:
    return peers.lively(getattr(transformers, kind)(getattr(transformers, config)(**settings)), seed, 1.0)


def named(
    family: str, settings: dict[str, Any], head: str = "ForCausalLM", config: str = "Config", seed: int = 0
) -> Make:
    """A model whose class and config begin with its family's name.

    The seed is another where eager and fused attention, of which neither is ours, are nearly 1e-5 apart in float32.
    """
    return partial(make, family + head, family + config, settings, seed)


def clip() -> Any:
    text = {**SMALL, "projection_dim": 16, "num_attention_heads": 2, "eos_token_id": peers.END}
    picture = {**VIT, "projection_dim": 16}
    return make("CLIPModel", "CLIPConfig", {"text_config": text, "vision_config": picture, "projection_dim": 16})


def whisper() -> Any:
    settings = {**SEQ2SEQ, "num_mel_bins": 8, "max_source_positions": 12, "max_target_positions": 32}
    return make("WhisperForConditionalGeneration", "WhisperConfig", {**settings, "suppress_tokens": None,
                "begin_suppress_tokens": None})  # fmt: skip


def encoder_decoder() -> Any:
    """BERT and GPT-2 in one, as people put them together."""
    encoder = transformers.BertModel(transformers.BertConfig(**SMALL))
    decoder = transformers.GPT2LMHeadModel(transformers.GPT2Config(**GPT, add_cross_attention=True))
    model = peers.lively(transformers.EncoderDecoderModel(encoder=encoder, decoder=decoder), 0, 1.0)
    for config in (model.config, model.generation_config):
        config.decoder_start_token_id, config.pad_token_id, config.eos_token_id = 0, peers.PAD, None
    return model


MODELS: dict[str, Make] = {
    "GPT-2": lambda: peers.gpt2(eos_token_id=None),
    "OPT": named("OPT", {**SMALL, "ffn_dim": 32, "word_embed_proj_dim": 16}),
    "Llama, grouped heads": named("Llama", GROUPED),
    "Mistral, window": named("Mistral", {**GROUPED, "sliding_window": 4}),
    "Gemma2, softcap": named(
        "Gemma2", {**GROUPED, "sliding_window": 4, "attn_logit_softcapping": 2.0, "query_pre_attn_scalar": 4}
    ),
    "GPT-OSS, sinks": named("GptOss", OSS),
    "BERT": named("Bert", SMALL, "ForMaskedLM"),
    "RoBERTa": named("Roberta", SMALL, "ForMaskedLM"),
    "ViT": named("ViT", VIT, "ForImageClassification"),
    "CLIP": clip,
    "Marian": lambda: peers.marian(eos_token_id=None),
    "BART": named("Bart", SEQ2SEQ, "ForConditionalGeneration"),
    "T5": named("T5", T5, "ForConditionalGeneration"),
    "Whisper": whisper,
}
MORE: dict[str, Make] = {
    "Qwen2": named("Qwen2", GROUPED),
    "Qwen3": named("Qwen3", GROUPED),
    "Qwen2-MoE": named("Qwen2Moe", {**EXPERTS, "shared_expert_intermediate_size": 16}),
    "Qwen3-Next, hybrid": named("Qwen3Next", {
        **EXPERTS, "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2,
        "linear_num_value_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
        "shared_expert_intermediate_size": 16,
    }),
    "Gemma": named("Gemma", GROUPED),
    "Gemma3": named("Gemma3", {
        **GROUPED, "sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"],
        "query_pre_attn_scalar": 4,
    }, config="TextConfig", seed=2),
    "Phi": named("Phi", SMALL),
    "Phi3": named("Phi3", {**GROUPED, "sliding_window": 4}),
    "Falcon": named("Falcon", {name: SMALL[name] for name in SMALL if name != "intermediate_size"}),
    "GPT-NeoX": named("GPTNeoX", SMALL),
    "GPT-BigCode": named("GPTBigCode", GPT),
    "StableLM": named("StableLm", GROUPED),
    "OLMo2": named("Olmo2", GROUPED),
    "Cohere": named("Cohere", GROUPED),
    "Mixtral": named("Mixtral", EXPERTS),
    "DeepSeek-V3": named("DeepseekV3", LATENT),
    "DeepSeek-V3.2, sparse": named("DeepseekV32", {
        **LATENT, "index_topk": 4, "index_n_heads": 2, "index_head_dim": 8,
    }),
    "Starcoder2": named("Starcoder2", {**GROUPED, "sliding_window": 4}),
    "Granite": named("Granite", GROUPED),
    "SmolLM3": named("SmolLM3", GROUPED),
    "Llama4, chunks": named("Llama4", {
        **GROUPED, "attention_chunk_size": 5, "num_local_experts": 2, "intermediate_size_mlp": 32,
        "layer_types": ["chunked_attention", "full_attention"], "no_rope_layers": [1, 0],
    }, config="TextConfig"),
    "BitNet": named("BitNet", GROUPED),
    "BioGPT": named("BioGpt", SMALL),
    "CTRL": named("CTRL", {**GPT, "dff": 32}, "LMHeadModel"),
    "Doge, its own mask": named("Doge", {**SMALL, "num_key_value_heads": 2}),
    "Jamba, hybrid": named("Jamba", {
        **EXPERTS, "attn_layer_period": 2, "attn_layer_offset": 1, "mamba_d_state": 4, "mamba_dt_rank": 4,
    }),
    "Bamba, hybrid": named("Bamba", {**GROUPED, **MAMBA, "attn_layer_indices": [1]}),
    "Zamba2, hybrid": named("Zamba2", {
        **SMALL, "layers_block_type": ["mamba", "hybrid"], "mamba_d_state": 8, "n_mamba_heads": 4, "adapter_rank": 4,
        "use_mem_rope": True, "num_key_value_heads": 4,
    }, seed=2),
    "MiniMax, hybrid": named("MiniMax", {**EXPERTS, "layer_types": ["full_attention", "linear_attention"]}),
    "DistilBERT": named("DistilBert", {
        "vocab_size": peers.VOCABULARY, "dim": 16, "hidden_dim": 32, "n_layers": 2, "n_heads": 4,
    }, "ForMaskedLM"),
    "ALBERT": named("Albert", {**SMALL, "embedding_size": 8}, "ForMaskedLM"),
    "ELECTRA": named("Electra", {**SMALL, "embedding_size": 8}, "ForMaskedLM"),
    "XLM-R": named("XLMRoberta", SMALL, "ForMaskedLM"),
    "ModernBERT": named("ModernBert", {
        **SMALL, "global_attn_every_n_layers": 2, "local_attention": 4, "cls_token_id": 3, "sep_token_id": 4,
    }, "ForMaskedLM"),
    "mBART": named("MBart", SEQ2SEQ, "ForConditionalGeneration"),
    "Pegasus": lambda: peers.pegasus(eos_token_id=None),
    "M2M100": named("M2M100", SEQ2SEQ, "ForConditionalGeneration"),
    "NLLB-MoE": named("NllbMoe", {**SEQ2SEQ, "num_experts": 2, "expert_capacity": 64}, "ForConditionalGeneration"),
    "Blenderbot": named("Blenderbot", SEQ2SEQ, "ForConditionalGeneration"),
    "mT5": named("MT5", T5, "ForConditionalGeneration", seed=1),
    "UMT5": named("UMT5", T5, "ForConditionalGeneration"),
    "BERT to GPT-2": encoder_decoder,
    "DeiT": named("DeiT", VIT, "ForImageClassification"),
    "BEiT": named("Beit", {**VIT, "use_relative_position_bias": True}, "ForImageClassification"),
    "DINOv2": named("Dinov2", VIT, "ForImageClassification"),
    "Swin": named("Swin", {
        "image_size": 16, "patch_size": 2, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 2,
    }, "ForImageClassification"),
    "Wav2Vec2": named("Wav2Vec2", SOUNDS, "ForCTC"),
    "HuBERT": named("Hubert", SOUNDS, "ForCTC"),
    "Speech2Text": named("Speech2Text", {
        **SEQ2SEQ, "input_feat_per_channel": 8, "num_conv_layers": 2, "conv_kernel_sizes": (3, 3), "conv_channels": 16,
        "max_source_positions": 64, "max_target_positions": 32,
    }, "ForConditionalGeneration"),
}  # fmt: skip
REFUSED: dict[str, Make] = {
    "DeBERTa": named("DebertaV2", {**SMALL, "relative_attention": True}, "Model"),
    "BLOOM": named("Bloom", {"vocab_size": peers.VOCABULARY, "hidden_size": 16, "n_layer": 2, "n_head": 2}),
}
ALSO_REFUSED: dict[str, Make] = {
    "GPT-J": named("GPTJ", {**GPT, "rotary_dim": 4}),
    "GPT-Neo": named("GPTNeo", {
        "vocab_size": peers.VOCABULARY, "hidden_size": 16, "num_layers": 2, "num_heads": 2,
        "attention_types": [[["global", "local"], 1]],
    }),
    "MPT": named("Mpt", {"vocab_size": peers.VOCABULARY, "d_model": 16, "n_heads": 2, "n_layers": 2}),
    "XGLM": named("XGLM", {
        "vocab_size": peers.VOCABULARY, "d_model": 16, "ffn_dim": 32, "num_layers": 2, "attention_heads": 2,
    }),
    "XLNet": named("XLNet", {
        "vocab_size": peers.VOCABULARY, "d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 32,
    }, "LMHeadModel"),
    "BigBird": named("BigBird", SMALL, "ForMaskedLM"),
    "Longformer": named("Longformer", {**SMALL, "attention_window": [4, 4]}, "ForMaskedLM"),
    "Funnel": named("Funnel", {
        "vocab_size": peers.VOCABULARY, "d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 32, "block_sizes": [1, 1],
    }, "ForMaskedLM"),
    "MPNet": named("MPNet", SMALL, "ForMaskedLM"),
    "Mamba": named("Mamba", {"vocab_size": peers.VOCABULARY, "hidden_size": 16, "state_size": 4,
                             "num_hidden_layers": 2}),
}  # fmt: skip
