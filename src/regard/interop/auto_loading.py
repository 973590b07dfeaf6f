"""A folder of Hugging Face, read by the class that its config.json names: whole, or refused."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from textwrap import shorten
from typing import Any, TypeVar

import torch

from regard.errors import FileError, InputError, some
from regard.interop.auto import Auto, quiet

T = TypeVar("T")
HEADS = ("lm_head", "cls.", "classifier", "score.", "qa_outputs", "pooler", "predictions")  # what no attention needs


def installed() -> bool:
    return find_spec("transformers") is not None


def load_auto(folder: Path, device: torch.device) -> Auto:
    """The model in a folder, by the class that its config.json names."""
    if not installed():
        raise FileError(
            f"{folder} holds a model that only transformers can read",
            found="transformers is not installed", do='pip install "regard[hf]"',
        )  # fmt: skip
    with quiet() as library:
        given: dict[str, Any] = {"pretrained_model_name_or_path": str(folder), "trust_remote_code": False}
        config = reading(folder, "config.json", lambda: library.AutoConfig.from_pretrained(**given))
        kind = class_of(library, config)
        check_text(folder, kind)
        tokenizer = reading(folder, "tokenizer", lambda: library.AutoTokenizer.from_pretrained(**given))
        model, info = reading(
            folder, "weights",
            lambda: kind.from_pretrained(str(folder), output_loading_info=True, use_safetensors=True),
        )  # fmt: skip
    auto = Auto(model.to(device).eval(), tokenizer)
    return replace(auto, notes=check_weights(folder, info["missing_keys"], pair=auto.pair))


def reading(folder: Path, what: str, read: Callable[[], T]) -> T:
    """What transformers reads; whatever it raises, in our words."""
    try:
        return read()
    except Exception as error:  # each kind of file and version of the library raises others
        message = str(error) or type(error).__name__
        advice = {
            "config.json": "see whether a newer transformers knows it: pip install --upgrade transformers",
            "weights": "give a folder with model.safetensors that fits its config.json (weights are never unpickled)",
            "tokenizer": "put the files of the model's tokenizer beside it, such as tokenizer.json",
        }
        raise FileError(f"cannot read the {what} of {folder}", found=shorten(message, 160), do=advice[what]) from error


def class_of(library: Any, config: Any) -> Any:
    """The class that wrote the folder; where it does not say, what its kind usually is."""
    for name in config.architectures or ():
        if hasattr(library, name):
            return getattr(library, name)
    kinds = ["MASKED_LM", "CAUSAL_LM"]
    kinds = ["SEQ_TO_SEQ_CAUSAL_LM"] if config.is_encoder_decoder else kinds[:: -1 if is_decoder(config) else 1]
    mappings = [getattr(library, f"MODEL_FOR_{kind}_MAPPING") for kind in kinds]
    for mapping in (*mappings, library.MODEL_MAPPING):
        if type(config) in mapping:
            return mapping[type(config)]
    raise InputError(
        f"transformers has no class for a {config.model_type} model",
        found=f"architectures={config.architectures}", do="use regard.watch(model) in Python",
    )  # fmt: skip


def is_decoder(config: Any) -> bool:
    return bool(getattr(config, "is_decoder", False))


def check_text(folder: Path, kind: Any) -> None:
    """Refuse what reads pictures or sounds; a model that writes about pictures can read a text alone."""
    takes = getattr(kind, "input_modalities", "text")
    modes = (takes,) if isinstance(takes, str) else tuple(takes)
    if "text" in modes and kind.main_input_name == "input_ids" and (len(modes) == 1 or kind.can_generate()):
        return
    raise InputError(
        f"{folder} is not a model of text alone",
        found=f"{kind.__name__} reads {' and '.join(modes)}",
        do="watch it in Python: with regard.watch(model) as seen: model(...)",
    )


def check_weights(folder: Path, missing: Collection[str], *, pair: bool) -> tuple[str, ...]:
    """transformers makes up what a file lacks: refused where attention comes from it, noted where it does not.

    What a decoder says of a source is read by its attention: there the last matrix counts too.
    """
    spare = HEADS[pair:]
    essential = sorted(name for name in missing if not any(head in name for head in spare))
    if essential:
        raise FileError(
            f"{folder} lacks weights that its config.json asks for; transformers would make them up",
            found=some(essential), do="restore the folder, or give the one the model was saved to",
        )  # fmt: skip
    if not missing:
        return ()
    return (f"{some(sorted(missing))} not in the folder, made up at random: attention does not depend on it",)
