"""README.md of an exported model: what the hub reads above, what people read below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PIPELINES = {
    "AutoModelForSeq2SeqLM": "translation", "AutoModelForCausalLM": "text-generation",
    "AutoModelForMaskedLM": "fill-mask", "AutoModelForSequenceClassification": "text-classification",
    "AutoModel": "feature-extraction",
}  # fmt: skip
LIBRARIES = {"huggingface": "transformers", "ctranslate2": "ctranslate2", "onnx": "onnx"}
METRICS = {"bleu": "BLEU", "chrf": "chrF", "accuracy": "accuracy", "perplexity": "perplexity"}  # those the hub knows


@dataclass(frozen=True)
class CardFacts:
    """What is known of a model: nothing is made up where nothing is known."""

    name: str
    config: Mapping[str, Any]
    languages: tuple[str, ...] = ()
    licence: str = "unknown"
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # by set, then by measure
    text: str = ""  # of the card that the model has already


def card(facts: CardFacts, format_name: str, pipeline: str, usage: Sequence[str]) -> str:
    """The whole README.md."""
    config = facts.config
    sizes = [f"{config[name]} {name.replace('_', ' ')}" for name in (
        "encoder_layers", "decoder_layers", "layers", "dim", "heads", "feedforward") if name in config]  # fmt: skip
    parts = [
        f"---\n{front_matter(facts, format_name, pipeline)}\n---",
        f"# {facts.name}",
        f"A {config['family']} trained with regard ({', '.join(sizes)}), written for {LIBRARIES[format_name]}.",
        *(["## Scores", *score_table(facts.scores)] if facts.scores else []),
        "## Use",
        *usage,
        *(["## The model's own card", facts.text] if facts.text else []),
    ]
    return "\n\n".join(parts) + "\n"


def front_matter(facts: CardFacts, format_name: str, pipeline: str) -> str:
    """Language, licence, task and scores as the hub's own library writes them."""
    from huggingface_hub import EvalResult, ModelCardData

    results = [
        EvalResult(task_type=pipeline, dataset_type=name, dataset_name=name, metric_type=metric, metric_value=value)
        for name, row in facts.scores.items() for metric, value in row.items() if metric in METRICS
    ]  # fmt: skip
    data = ModelCardData(
        language=list(facts.languages) or None,
        license=facts.licence,
        library_name=LIBRARIES[format_name],
        pipeline_tag=pipeline,
        tags=["regard", pipeline],
        model_name=facts.name,
        eval_results=results or None,
    )
    return str(data.to_yaml()).strip()


def score_table(scores: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Every measure of every set."""
    names = list(dict.fromkeys(name for row in scores.values() for name in row))
    rows = [
        [set_name, *(f"{row[name]:.2f}" if name in row else "" for name in names)] for set_name, row in scores.items()
    ]
    head = ["", *(METRICS.get(name, name.replace("_", " ")) for name in names)]
    lines = [head, ["---", *["---:"] * len(names)], *rows]
    return ["\n".join("| " + " | ".join(line) + " |" for line in lines)]


def without_front_matter(text: str) -> tuple[str, str | None]:
    """A README's text below what the hub reads, and the licence that is named there, if one is."""
    if not text.startswith("---\n"):
        return text.strip(), None
    from huggingface_hub import ModelCard

    parsed = ModelCard(text, ignore_metadata_errors=True)
    return parsed.text.strip(), getattr(parsed.data, "license", None)
