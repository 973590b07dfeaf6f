"""What a held model of Hugging Face shows, against its eager attention: `python -m benchmarks.watch_matrix`.

Small random models x (plain, left padding, right padding) x (forward, generate, static cache, beams). A cell is the
largest difference found: outputs against eager; weights, worked out in float64 from the recorded queries, keys and
options, against the weights eager gives; entropy and received attention against the same dense float64. Ends with
status 1 when any is above 1e-5, or when a model that computes attention itself is not refused by name.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
import transformers
from rich.console import Console
from rich.table import Table
from torch import Tensor

from benchmarks import peers
from regard.attention import attend, received
from regard.errors import RegardError
from regard.lens.capture import Seen
from regard.lens.holding import hold

BOUND = 1e-5
NEW = 4  # tokens generated
PADDINGS = ("plain", "left", "right")
WAYS = ("forward", "generate", "static cache", "beams")
SMALL = {
    "vocab_size": peers.VOCABULARY, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 64, "pad_token_id": peers.PAD, "bos_token_id": peers.END,
    "eos_token_id": None,
}  # fmt: skip
GROUPED = {**SMALL, "num_key_value_heads": 2, "head_dim": 4}
SEQ2SEQ = peers.seq2seq({"eos_token_id": None, "scale_embedding": False})
PATCHES = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}


def make(kind: str, config: str, settings: dict[str, Any], seed: int = 0) -> Any:
    return peers.lively(getattr(transformers, kind)(getattr(transformers, config)(**settings)), seed, 1.0)


def clip() -> Any:
    text = {**SMALL, "projection_dim": 16, "num_attention_heads": 2, "eos_token_id": peers.END}
    picture = {**PATCHES, "image_size": 16, "patch_size": 4, "projection_dim": 16}
    return make("CLIPModel", "CLIPConfig", {"text_config": text, "vision_config": picture, "projection_dim": 16})


def t5() -> Any:
    settings = {
        "vocab_size": peers.VOCABULARY, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2,
        "relative_attention_num_buckets": 8, "relative_attention_max_distance": 12, "decoder_start_token_id": 0,
        "pad_token_id": peers.PAD, "eos_token_id": None,
    }  # fmt: skip
    return make("T5ForConditionalGeneration", "T5Config", settings)


def whisper() -> Any:
    settings = {**SEQ2SEQ, "num_mel_bins": 8, "max_source_positions": 12, "max_target_positions": 32}
    return make("WhisperForConditionalGeneration", "WhisperConfig", {**settings, "suppress_tokens": None,
                "begin_suppress_tokens": None})  # fmt: skip


OSS = {**GROUPED, "num_local_experts": 2, "num_experts_per_tok": 1, "sliding_window": 4,
       "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}  # fmt: skip
VIT = {**PATCHES, "image_size": 16, "patch_size": 4}
MODELS: dict[str, Callable[[], Any]] = {
    "GPT-2": lambda: peers.gpt2(eos_token_id=None),
    "OPT": lambda: make("OPTForCausalLM", "OPTConfig", {**SMALL, "ffn_dim": 32, "word_embed_proj_dim": 16}),
    "Llama, grouped heads": lambda: make("LlamaForCausalLM", "LlamaConfig", GROUPED),
    "Mistral, window": lambda: make("MistralForCausalLM", "MistralConfig", {**GROUPED, "sliding_window": 4}),
    "Gemma2, softcap": lambda: make("Gemma2ForCausalLM", "Gemma2Config", {
        **GROUPED, "sliding_window": 4, "attn_logit_softcapping": 2.0, "query_pre_attn_scalar": 4,
    }),
    "GPT-OSS, sinks": lambda: make("GptOssForCausalLM", "GptOssConfig", OSS),
    "BERT": lambda: make("BertForMaskedLM", "BertConfig", SMALL),
    "RoBERTa": lambda: make("RobertaForMaskedLM", "RobertaConfig", SMALL),
    "ViT": lambda: make("ViTForImageClassification", "ViTConfig", VIT),
    "CLIP": clip,
    "Marian": lambda: peers.marian(eos_token_id=None),
    "BART": lambda: make("BartForConditionalGeneration", "BartConfig", SEQ2SEQ),
    "T5": t5,
    "Whisper": whisper,
}  # fmt: skip
REFUSED: dict[str, Callable[[], Any]] = {
    "DeBERTa": lambda: make("DebertaV2Model", "DebertaV2Config", {**SMALL, "relative_attention": True}),
    "BLOOM": lambda: make("BloomForCausalLM", "BloomConfig", {
        "vocab_size": peers.VOCABULARY, "hidden_size": 16, "n_layer": 2, "n_head": 2,
    }),
}  # fmt: skip


@dataclass
class Kept:
    """A recorder that only keeps what it is told, copied: a static cache writes over its keys."""

    seen: list[Seen] = field(default_factory=list)
    told: list[tuple[Any, ...]] = field(default_factory=list)

    def begin_call(self, ids: Tensor | None = None, *, target: Tensor | None = None) -> None:
        self.told.append(("begin", ids, target))

    def end_call(self, *, order: Tensor | None = None) -> None:
        self.told.append(("end", order))

    def see(self, seen: Seen) -> None:
        self.told.append(("see", seen.site))
        self.seen.append(replace(seen, query=seen.query.clone(), key=seen.key.clone(), value=seen.value.clone()))


def inputs(model: Any, padding: str) -> dict[str, Tensor]:
    """Two texts of 7 and 4 tokens with padding, of 7 without; pictures and sounds beside them where a model wants."""
    draw = torch.Generator().manual_seed(1)
    kind = type(model).__name__
    pixels = torch.randn(2, 3, 16, 16, generator=draw)
    if kind.startswith("ViT"):
        return {"pixel_values": pixels}
    if kind.startswith("Whisper"):
        return {"input_features": torch.randn(2, 8, 24, generator=draw)}
    ids = torch.randint(len(peers.SPECIAL), peers.VOCABULARY, (2, 7), generator=draw)
    real = torch.ones_like(ids)
    if padding != "plain":
        real[1, slice(0, 3) if padding == "left" else slice(4, 7)] = 0
    ids = ids * real
    if not kind.startswith("CLIP"):
        return {"input_ids": ids, "attention_mask": real}
    for row, marks in zip(ids, real, strict=True):
        row[int(marks.nonzero().max())] = peers.END  # where it reads the whole text from
    return {"input_ids": ids, "attention_mask": real, "pixel_values": pixels}


def sensible(model: Any, padding: str, way: str) -> bool:
    """Does this cell mean something?"""
    wordless = "input_ids" not in inputs(model, "plain")
    if (wordless and padding != "plain") or (way != "forward" and not model.can_generate()):
        return False
    return way == "forward" or padding != "right" or model.config.is_encoder_decoder  # a decoder goes on from the right


def ran(model: Any, given: dict[str, Tensor], way: str, **more: Any) -> Any:
    if way == "forward":
        target = {"decoder_input_ids": torch.tensor([[0, 20, 21, 22], [0, 6, 6, 7]])}
        return model(**given, **(target if model.config.is_encoder_decoder else {}), **more)
    special = {"static cache": {"cache_implementation": "static"}, "beams": {"num_beams": 3}}.get(way, {})
    generate = model.generate
    if "output_attentions" in more:  # Whisper's own would give the weights of the best beams only
        generate = partial(transformers.GenerationMixin.generate, model)
    return generate(
        **given,
        max_new_tokens=NEW,
        do_sample=False,
        return_dict_in_generate=True,
        output_logits=True,
        **special,
        **more,
    )


def compared(model: Any, padding: str, way: str) -> float:
    """The largest difference of one cell."""
    given, usual = inputs(model, padding), model.config._attn_implementation
    with torch.no_grad():
        model.set_attn_implementation("eager")
        eager = ran(model, given, way, output_attentions=True)
        model.set_attn_implementation(usual)
        kept = Kept()
        with hold(model, kept):
            watched = ran(model, given, way)
    expected = eager_weights(eager, way)
    assert len(kept.seen) == sum(map(len, expected.values())), "another number of attentions than eager's"
    worst = outputs_apart(watched, eager, given, way)
    for seen in kept.seen:
        weights = expected[kind_of(seen.site)].pop(0).double()
        worst = max(worst, apart(seen, weights, rows_of(seen, given.get("attention_mask"))))
    return worst


def kind_of(site: str) -> str:
    """Which of eager's lists a site belongs to."""
    if "encoder_attn" in site or "EncDecAttention" in site:
        return "cross"
    return "vision" if "vision" in site else "encoder" if re.match(r"(model\.)?encoder\.", site) else "own"


def eager_weights(out: Any, way: str) -> dict[str, list[Tensor]]:
    """What eager attention gave, in the order of its calls."""

    def steps(name: str) -> list[Tensor]:
        found = getattr(out, name, None) or ()
        return list(found) if way == "forward" else [weights for step in found for weights in step]

    if hasattr(out, "vision_model_output"):
        return {"own": list(out.text_model_output.attentions), "vision": list(out.vision_model_output.attentions)}
    if getattr(out, "encoder_attentions", None) is None:
        return {"own": steps("attentions")}
    pair = {"own": steps("decoder_attentions"), "cross": steps("cross_attentions")}
    return {"encoder": list(out.encoder_attentions), **pair}


def outputs_apart(one: Any, other: Any, given: dict[str, Tensor], way: str) -> float:
    """Logits, or where there are none what stands for them, at what is not padding."""
    if way != "forward":
        if not torch.equal(one.sequences, other.sequences):
            return float("inf")
        pairs = zip(one.logits, other.logits, strict=True)
        return max((far(a, b) for a, b in pairs if a.shape == b.shape), default=0.0)  # Whisper gives those of one beam
    if "logits_per_image" in one:
        return far(one.logits_per_image, other.logits_per_image)
    real = given.get("attention_mask", torch.ones(1))
    a, b = one.logits, other.logits
    return far(a[real.bool()], b[real.bool()]) if a.shape[:-1] == real.shape else far(a, b)


def rows_of(seen: Seen, real: Tensor | None) -> Tensor:
    """Which rows are a token's, (B, Q): what padding looks at is nobody's."""
    texts, _, queries, _ = seen.query.shape
    own = kind_of(seen.site) != "cross" and "vision" not in seen.site
    if real is None or not own or queries != real.shape[1]:
        return torch.ones(texts, queries, dtype=torch.bool)
    return real.repeat_interleave(texts // len(real), 0).bool()


def apart(seen: Seen, eager: Tensor, rows: Tensor) -> float:
    """Weights against eager's, and entropy and received attention against the dense float64 ones."""
    weights, entropy = dense(seen)
    keys, mine = weights.shape[-1], rows[:, None]
    _, statistics = attend(seen.query, seen.key, seen.value, **seen.options, see="stats")
    columns = received(seen.query, seen.key, statistics.lse, weigh=mine.float(), **seen.options)
    shown = mine[..., None]
    return max(
        far(weights * shown, eager[..., :keys] * shown),
        float((eager[..., keys:] * shown).abs().sum()),
        far(statistics.entropy * mine, entropy * mine),
        far(columns, (weights * shown).sum(-2)),
    )


def dense(seen: Seen) -> tuple[Tensor, Tensor]:
    """All weights and the entropy of each row, in float64, written out plainly from what was recorded."""
    options, group = seen.options, seen.query.shape[1] // seen.key.shape[1]
    query, key = seen.query.double(), seen.key.double().repeat_interleave(group, 1)
    scale, cap, sinks = options.get("scale"), options.get("softcap"), options.get("sinks")
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if cap is None else cap * torch.tanh(scores / cap)
    scores = scores + (0.0 if options.get("bias") is None else options["bias"].double())
    scores = scores.masked_fill(~visible(seen), float("-inf"))
    if sinks is not None:
        scores = torch.cat([scores, sinks.double()[:, None, None].expand(*scores.shape[:-1], 1)], -1)
    weights = scores.softmax(-1).nan_to_num(0.0)
    return weights[..., : key.shape[-2]], -torch.special.xlogy(weights, weights).sum(-1)


def visible(seen: Seen) -> Tensor:
    options, queries, keys = seen.options, seen.query.shape[-2], seen.key.shape[-2]
    offset = options.get("offset")
    ahead = torch.arange(keys) - torch.arange(queries)[:, None] - (keys - queries if offset is None else offset)
    left, right = options.get("window") or (None, None)
    shown = torch.ones(queries, keys, dtype=torch.bool)
    shown &= (ahead <= 0) if options.get("causal") else True
    shown &= (-ahead <= left) if left is not None else True
    shown &= (ahead <= right) if right is not None else True
    mask = options.get("mask")
    return shown if mask is None else shown & mask


def far(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max()) if one.numel() else 0.0


def refusal(name: str) -> str:
    """How a model that computes attention itself is refused; empty when it is not."""
    try:
        with torch.no_grad(), hold(model := REFUSED[name](), Kept()):
            model(torch.tensor([[7, 8, 9]]))
    except RegardError as error:
        return str(error)
    return ""


def cells(name: str) -> Iterator[tuple[str, str, float]]:
    for padding in PADDINGS:
        for way in WAYS:
            model = MODELS[name]()
            if sensible(model, padding, way):
                yield padding, way, compared(model, padding, way)


def main() -> int:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    table = Table("model", "texts", *WAYS, title=f"held against eager, largest difference (at most {BOUND})")
    failed = False
    for name in MODELS:
        found = {(padding, way): worst for padding, way, worst in cells(name)}
        failed |= any(not worst <= BOUND for worst in found.values())
        for padding in dict.fromkeys(padding for padding, _ in found):
            shown = [f"{found[padding, way]:.1e}" if (padding, way) in found else "" for way in WAYS]
            table.add_row(name, padding, *shown)
    console = Console(width=110)
    console.print(table)
    for name in REFUSED:
        said = refusal(name)
        failed |= not said
        console.print(f"{name}: {said or 'NOT REFUSED'}", markup=False, highlight=False)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
