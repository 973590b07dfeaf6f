"""A folder, a model that ships, or a name on the hub, as something that can be asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from regard.errors import FileError, InputError, UnknownNameError
from regard.interop import ctranslate2_export, onnx_export
from regard.interop.folders import locate
from regard.interop.generation import Generation, read_generation
from regard.interop.huggingface import architecture, load_huggingface
from regard.interop.tokenizers import load_tokenizer, mask_token
from regard.models import Decoder, Encoder, load_model
from regard.models.checkpoint import Model, read_settings
from regard.tasks.classifier import Classifier
from regard.tasks.generator import Generator
from regard.tasks.long_texts import recipe_of, trained_longest
from regard.tasks.translator import Translator
from regard.text.bpe import Paired, read_tokenizer
from regard.text.slots import are_tokens
from regard.text.tokenizer import Codec

DEVICES = ("auto", "cpu", "cuda", "mps")
EXPORTED = {
    ctranslate2_export.FORMAT: '--engine ctranslate2, or engine="ctranslate2"; or the model that it was exported from',
    onnx_export.FORMAT: "run it as its README.md says, or use the model that it was exported from",
}
Task = Translator | Generator | Classifier


@dataclass(frozen=True)
class ModelFolder:
    """What a folder holds. `generation` is None in ours: then the paper's settings hold."""

    folder: Path
    origin: str
    model: Model
    generation: Generation | None


def load(name: str | Path, device: str = "auto") -> Task:
    """The model in a folder with its tokenizer, ready to translate, generate or classify.

    The folder is one of ours or one of Hugging Face's (MarianMT, Pegasus, GPT-2, BERT). A name that is no folder is a
    model that ships with the package ("grammar"), else it is looked for on the Hugging Face hub. `device` is "auto" (a
    GPU when there is one), "cpu", "cuda" or "mps".
    """
    target_device = device_of(device)
    model_folder = find(name)
    tokenizer = tokenizer_of(model_folder)
    check_sizes(model_folder, tokenizer)
    model = model_folder.model.to(target_device)
    if isinstance(model, Decoder):
        return Generator(model, tokenizer, model_folder.generation)
    if isinstance(model, Encoder):
        return Classifier(model, tokenizer, mask_token(model_folder.folder))
    if model_folder.generation is not None:
        return Translator(model, tokenizer, model_folder.generation)
    longest, slots = trained_longest(model_folder.folder), are_tokens(tokenizer.encode)
    return Translator(model, tokenizer, longest=longest, knows_slots=slots)


def find(name: str | Path) -> ModelFolder:
    """The model of a folder, and where it comes from."""
    folder = locate(name)
    settings = read_settings(folder)
    if settings.get("format") == "regard":
        return ModelFolder(folder, "regard", load_model(folder), None)
    if settings.get("format") in EXPORTED:
        raise InputError(
            f"{name} was exported for another program", found=settings["format"], do=EXPORTED[settings["format"]]
        )
    kind = architecture(settings)
    return ModelFolder(folder, f"Hugging Face ({kind})", load_huggingface(folder), read_generation(folder))


def tokenizer_of(model_folder: ModelFolder) -> Codec:
    """The tokenizer beside a model; in ours, what marks start, end and padding is no part of a text."""
    if model_folder.generation is not None:
        return load_tokenizer(model_folder.folder)
    masked = isinstance(model_folder.model, Encoder)
    tokenizer = read_tokenizer(model_folder.folder, masked=masked)
    sides = (tokenizer.source, tokenizer.target) if isinstance(tokenizer, Paired) else (tokenizer,)
    numbers = [getattr(model_folder.model.config, name, None) for name in ("pad", "start", "end")]
    for side in sides:
        tokens = [side.token_of(number) for number in numbers if number is not None]
        mask = [mask_token(model_folder.folder)] if masked else []
        side.mark_special([token for token in (*tokens, *mask) if token and side.id_of(token) is not None])
    return tokenizer


def check_sizes(model_folder: ModelFolder, tokenizer: Codec) -> None:
    """A tokenizer of another model would give ids that mean something else to this one, or that it does not have."""
    config = model_folder.model.config
    vocabulary: int = getattr(config, "vocabulary", 0) or getattr(config, "source_vocabulary", 0)
    target: int = getattr(config, "target_vocabulary", vocabulary)
    if model_folder.generation is None:
        check_own(model_folder, tokenizer, vocabulary, target)
        return
    if tokenizer.size > vocabulary:  # fewer are usual there: vocabularies are filled up to a multiple of 8 or 64
        raise not_its_own(model_folder.folder, tokenizer.size, vocabulary)
    model_folder.generation.check_ids(target)


def check_own(model_folder: ModelFolder, tokenizer: Codec, source: int, target: int) -> None:
    """In our folders there are as many tokens as the model knows, unless it was fine-tuned from a model of others."""
    writes = tokenizer.target.size if isinstance(tokenizer, Paired) else tokenizer.size
    for size, known in ((tokenizer.size, source), (writes, target)):
        if size != known and (size > known or size != starting_size(model_folder.folder)):
            raise not_its_own(model_folder.folder, size, known)


def starting_size(folder: Path) -> int | None:
    """How many tokens the tokenizer had that a folder's training started with, by its recipe.toml."""
    recipe = recipe_of(folder)
    table = recipe.get("tokenizer") if recipe.get("start") is not None else None
    return table.get("vocabulary") if isinstance(table, dict) else None


def not_its_own(folder: Path, size: int, known: int) -> FileError:
    return FileError(
        f"the tokenizer in {folder} is not this model's",
        found=f"{size:,} tokens, where the model knows {known:,}",
        do="put the tokenizer beside the model that it was trained for",
    )


def device_of(name: str) -> torch.device:
    """Where to work; a device that is not there is refused."""
    if name not in DEVICES:
        raise UnknownNameError("device", name, DEVICES)
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return torch.device(next(kind for kind in ("cuda", "mps", "cpu") if available[kind]))
    if not available[name]:
        raise InputError(f"there is no {name} device here", found="torch sees none", do="--device auto or cpu")
    return torch.device(name)
