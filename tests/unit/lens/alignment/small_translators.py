"""Small translators whose attention is uneven, and pairs of texts for them."""

from __future__ import annotations

from typing import Any

import torch

from regard.lens.alignment.bitext import Bitext, as_bitext
from regard.lens.recording_api import Recording
from regard.lens.watch import watch
from regard.models import TransformerConfig, build
from regard.tasks import Translator
from regard.text import grammar
from regard.text.bpe import train_tokenizer

SOURCES = ["The animal didn't cross the street.", "It was tired.", "", "A cat"]
TARGETS = ["L'animal n'a pas traversé la rue.", "Il était très fatigué.", "Rien", "Un chat"]
TOKENIZER = train_tokenizer(SOURCES + TARGETS[:2], 290)
SIZES: dict[str, Any] = {"dim": 16, "heads": 4, "feedforward": 16, "dropout": 0.0, "pad": 0, "start": 1, "end": 2}
CROSS = ["decoder.0.cross", "decoder.1.cross"]
SENTENCES = grammar.sentences("train", 12)
GRAMMAR_TOKENIZER = train_tokenizer([text for one in SENTENCES for text in (one.source, one.target)], 320)


def transformer(tokenizer: Any = TOKENIZER, **changes: Any) -> Translator:
    torch.manual_seed(1)
    source, target = (getattr(tokenizer, side, tokenizer).size for side in ("source", "target"))
    config = TransformerConfig(
        source_vocabulary=source, target_vocabulary=target, encoder_layers=1, decoder_layers=2, shared=source == target,
        **SIZES, **changes,
    )  # fmt: skip
    return Translator(sharpened(build(config)).eval(), tokenizer)


def grammar_translator(seed: int = 0, **changes: Any) -> Translator:
    torch.manual_seed(seed)
    size = GRAMMAR_TOKENIZER.size
    config = TransformerConfig(
        source_vocabulary=size, target_vocabulary=size, dim=16, heads=2, feedforward=16, encoder_layers=1,
        decoder_layers=2, dropout=0.0, pad=0, start=1, end=2, **changes,
    )  # fmt: skip
    return Translator(sharpened(build(config)).eval(), GRAMMAR_TOKENIZER)


def sharpened(model: Any) -> Any:
    """Weights that make attention uneven."""
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(3 if weights.ndim > 1 else 1)
    return model


def recorded(translator: Translator, source: str, target: str) -> Recording:
    ids = torch.tensor(translator.tokenizer.encode([source]))
    side = getattr(translator.tokenizer, "target", translator.tokenizer)
    target_ids = torch.tensor([[1, *side.encode([target])[0][:-1]]])
    with torch.no_grad(), watch(translator) as recording:
        translator.model(ids, target_ids)
    return recording


def bitext(count: int = 6) -> Bitext:
    return as_bitext("some", [(one.source, one.target) for one in SENTENCES[:count]])
