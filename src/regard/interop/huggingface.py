"""Models of Hugging Face as ours, logits equal to 1e-5, and ours as theirs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from regard.errors import InputError
from regard.interop import bert, gpt2, marian
from regard.interop.folders import read_weights
from regard.interop.settings import Foreign
from regard.models import Decoder, Encoder, Recurrent, Transformer
from regard.models.checkpoint import read_settings, replace_file

Model = Transformer | Decoder | Encoder
READERS: dict[str, Callable[..., Model]] = {
    "MarianMTModel": marian.read_marian,
    "PegasusForConditionalGeneration": marian.read_pegasus,
    "GPT2LMHeadModel": gpt2.read_gpt2,
    **dict.fromkeys(bert.HEADS, bert.read_bert),
}


def load_huggingface(folder: str | Path) -> Model:
    """The model in a folder of Hugging Face's, as one of ours."""
    folder = Path(folder)
    config = read_settings(folder)
    return READERS[architecture(config)](config, read_weights(folder), folder)


def architecture(config: dict[str, Any]) -> str:
    """The kind of model a config.json is of, if it is one that our models equal."""
    named = config.get("architectures") or [f"model_type {config.get('model_type')}"]
    if named[0] not in READERS:
        raise InputError(
            f"{named[0]} is not an architecture that our models equal",
            found=f"model_type={config.get('model_type')!r} in config.json",
            do=f"supported: {', '.join(READERS)}",
        )
    return str(named[0])


def save_huggingface(model: Model | Recurrent, folder: str | Path) -> None:
    """Write a model of ours so that `transformers` loads it through its Auto classes, with equal logits.

    A Transformer becomes a MarianMT (norms after the sums) or a Pegasus (before), a decoder a GPT-2, an encoder a BERT.
    What cannot be expressed there is refused.
    """
    foreign = translate(model)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / "model.safetensors", lambda path: save_file(foreign.tensors, path, metadata={"format": "pt"}))
    write_json(folder / "config.json", foreign.config)
    if not isinstance(model, Encoder):
        write_json(folder / "generation_config.json", generation(foreign.config))


def translate(model: Model | Recurrent) -> Foreign:
    """A model of ours in their terms."""
    if isinstance(model, Transformer):
        return marian.write(model)
    if isinstance(model, Decoder):
        return gpt2.write(model)
    if isinstance(model, Encoder):
        return bert.write(model)
    raise no_form()


def no_form() -> InputError:
    """The error for a model that they have nothing like."""
    return InputError(
        "a recurrent model has no form in transformers", found="family 'recurrent'", do="keep it in our format"
    )


def generation(config: dict[str, Any]) -> dict[str, Any]:
    """How to decode, in their terms: for translation four beams, as ours by default."""
    names = ("decoder_start_token_id", "bos_token_id", "eos_token_id", "pad_token_id")
    ids = {name: config[name] for name in names if config.get(name) is not None}
    if not config.get("is_encoder_decoder"):
        return ids
    return {**ids, "num_beams": 4, "length_penalty": 0.6, "max_length": min(257, config["max_position_embeddings"])}


def write_json(path: Path, data: dict[str, Any]) -> None:
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    replace_file(path, lambda beside: beside.write_text(text, encoding="utf-8"))
