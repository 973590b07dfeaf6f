"""What computes a model: torch, or CTranslate2 with the model converted for it once and kept."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Literal, overload

from regard.errors import InputError, UnknownNameError
from regard.interop.ctranslate2_export import FORMAT, import_ctranslate2, transformer_only
from regard.interop.folders import locate, model_digest
from regard.models.checkpoint import read_settings
from regard.tasks import model_folder
from regard.tasks.ctranslate2_folder import write_compared
from regard.tasks.ctranslate2_translator import CTranslate2Translator
from regard.tasks.long_texts import trained_longest
from regard.tasks.model_folder import Task, check_sizes, find, tokenizer_of
from regard.tasks.translator import LONGEST, BaseTranslator, Translator
from regard.text.bpe import Paired
from regard.text.tokenizer import Tokenizer
from regard.version import __version__

ENGINES = ("torch", "ctranslate2")


@overload
def load(name: str | Path, device: str = ..., engine: Literal["torch"] = ..., *, quantization: None = ...) -> Task: ...
@overload
def load(name: str | Path, device: str = ..., *, engine: str, quantization: str | None = ...) -> Any: ...
@overload
def load(name: str | Path, device: str, engine: str, *, quantization: str | None = ...) -> Any: ...


def load(name: str | Path, device: str = "auto", engine: str = "torch", *, quantization: str | None = None) -> Any:
    """The model in a folder with its tokenizer, ready to translate, generate or classify.

    The folder is one of ours or one of Hugging Face's (MarianMT, Pegasus, GPT-2, BERT). A name that is no folder is a
    model that ships with the package ("grammar"), else it is looked for on the Hugging Face hub. `device` is "auto" (a
    GPU when there is one), "cpu", "cuda" or "mps".

    `engine="ctranslate2"` translates with a model of ours several times as fast on a CPU, with the same text in float32
    (the default); `quantization="int8"` computes in 8 bits, faster still, and may say other things. The model is
    converted once, compared, and kept among the assets of huggingface-hub's cache while its files are the same.
    """
    if engine not in ENGINES:
        raise UnknownNameError("engine", engine, ENGINES)
    if engine == "ctranslate2":
        return load_ctranslate2(locate(name), device, quantization or "default")
    if quantization is not None:
        raise InputError(
            "torch computes in whole numbers nowhere here",
            found=f"quantization={quantization!r}",
            do='engine="ctranslate2", or --engine ctranslate2',
        )
    return model_folder.load(name, device)


def load_translator(name: str | Path, device: str, engine: str, dtype: str) -> BaseTranslator:
    """A translator that computes in numbers of this name: a dtype of torch's, or a quantization of CTranslate2's."""
    if engine == "ctranslate2":
        return load_ctranslate2(locate(name), device, dtype)
    task = load(name, device, engine)
    if not isinstance(task, Translator):
        raise InputError(f"{name} does not translate", found=type(task).__name__, do="give an encoder-decoder")
    task.compute_in(dtype)
    return task


def load_ctranslate2(folder: Path, device: str, quantization: str) -> CTranslate2Translator:
    """A folder that was exported, or a folder of ours, converted unless that was done before."""
    library, kind = import_ctranslate2(), read_settings(folder).get("format")
    if kind == FORMAT:
        return CTranslate2Translator(folder, device, quantization)
    if kind != "regard":
        raise InputError(
            "the engine ctranslate2 takes folders of ours",
            found=f"{folder}, a folder for transformers",
            do="the engine torch; or ct2-transformers-converter, which comes with CTranslate2",
        )
    key = f"{model_digest(folder)} {library.__version__} {__version__}"
    place = cache_folder() / hashlib.sha256(key.encode()).hexdigest()[:32]
    try:
        if not place.is_dir():
            convert(folder, place)
        return CTranslate2Translator(place, device, quantization)
    except OSError:  # no room, or no right to write there: then for this once
        with tempfile.TemporaryDirectory() as temporary:
            convert(folder, Path(temporary) / "model")
            return CTranslate2Translator(Path(temporary) / "model", device, quantization)


def cache_folder() -> Path:
    """Where converted models are kept, each under the hash of what it was made from."""
    from huggingface_hub import cached_assets_path

    return Path(cached_assets_path("regard", namespace="ctranslate2", subfolder="models"))


def convert(folder: Path, place: Path) -> None:
    """Write the model there for CTranslate2; it appears once it is compared."""
    source = find(folder)
    model, tokenizer = transformer_only(source.model), tokenizer_of(source)
    check_sizes(source, tokenizer)
    assert isinstance(tokenizer, (Tokenizer, Paired))  # as in every folder of ours
    longest = trained_longest(folder)
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        write_compared(model, tokenizer, temporary, longest=LONGEST if longest is None else longest)
        if not place.is_dir():  # another process may have been quicker
            temporary.replace(place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
