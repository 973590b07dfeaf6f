"""A model on disk: config.json and model.safetensors, written so that a crash never leaves half of either."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from regard.errors import FileError, InputError, UnknownNameError, some
from regard.models.config import Config, DecoderConfig, EncoderConfig, RecurrentConfig, TransformerConfig
from regard.models.decoder import Decoder
from regard.models.encoder import Encoder
from regard.models.quantised import pack, unpack
from regard.models.recurrent import Recurrent
from regard.models.transformer import Transformer

TABLES, MATRICES = 4, 24  # at most: words of either side, in and out; an LSTM's layer has sixteen, and biases
FORMAT = 2  # the newest that is read: raised when a file of today could not be read by yesterday's code
VERSIONS = {8: 2}  # by the bits of a weight, where it is not the first
Model = Transformer | Decoder | Encoder | Recurrent
M = TypeVar("M", bound=nn.Module)
FAMILIES: dict[str, tuple[type[Config], type[Any]]] = {
    "transformer": (TransformerConfig, Transformer),
    "decoder": (DecoderConfig, Decoder),
    "encoder": (EncoderConfig, Encoder),
    "recurrent": (RecurrentConfig, Recurrent),
}


def build(config: Config) -> Model:
    """A model with fresh weights, if there is room for it."""
    check_room(config)
    model: Model = FAMILIES[config.family][1](config)
    return model


def check_room(config: Config) -> None:
    """Refuse a model that is larger than the memory here, before anything is allocated."""
    there = memory_here()
    if there is None or 4 * at_most(config) <= there or torch.get_default_device().type == "meta":
        return
    with torch.device("meta"):  # its first use imports half of torch: only where the question is open
        count = sum(tensor.numel() for tensor in own_tensors(FAMILIES[config.family][1](config)).values())
    if 4 * count > there:
        raise InputError(
            f"a model of {count:,} parameters does not fit into the memory of this machine",
            found=f"{4 * count / 1e9:,.1f} GB in float32, where there are {there / 1e9:,.1f} GB",
            do="choose smaller sizes, or see whether config.json is damaged",
        )


def at_most(config: Config) -> int:
    """No model has more parameters: a few tables of words, and some square matrices a layer, of the largest width."""
    sizes = {name: size for name, size in config.to_dict().items() if isinstance(size, int)}
    words = max((size for name, size in sizes.items() if name.endswith("vocabulary")), default=0)
    layers = sum(size for name, size in sizes.items() if name.endswith("layers"))
    width = max(size for name, size in sizes.items() if not name.endswith(("vocabulary", "layers")))
    return TABLES * words * width + MATRICES * (layers + 1) * width**2


def memory_here() -> int | None:
    """Bytes of memory, where the system says how many there are."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def save_model(model: Model, folder: str | Path, bits: int = 32) -> None:
    """Write config.json and model.safetensors into a folder, made if need be; a weight is kept in 8, 16 or 32 bits."""
    folder = Path(folder)
    try:
        write_model(model, folder, bits)
    except (OSError, SafetensorError) as error:  # the latter is how its library tells of a full disk
        raise FileError(f"cannot write {folder}", found=str(error), do="choose another place, or make room") from error


def write_model(model: Model, folder: Path, bits: int) -> None:
    """As `save_model`, with the system's own errors."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in own_tensors(model).items()}
    tensors = pack(tensors, bits)
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / "model.safetensors", lambda path: save_file(tensors, path, metadata={"format": "pt"}))
    settings = {"format": "regard", "version": VERSIONS.get(bits, 1), **model.config.to_dict()}
    text = json.dumps(settings, indent=2) + "\n"
    replace_file(folder / "config.json", lambda path: path.write_text(text, encoding="utf-8"))


def own_tensors(model: nn.Module) -> dict[str, torch.Tensor]:
    """Every tensor once, under its first name: what is shared is not written twice."""
    known: set[int] = set()
    return {
        name: tensor
        for name, tensor in model.state_dict(keep_vars=True).items()
        if not (id(tensor) in known or known.add(id(tensor)))  # type: ignore[func-returns-value]
    }


def replace_file(path: Path, write: Any) -> None:
    """Write beside the file, make sure it is on disk, then take its place in one move."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        beside.touch()
        usual = beside.stat().st_mode  # as the system has it for new files; some libraries let nobody else read
        write(beside)
        beside.chmod(usual)
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def load_model(folder: str | Path) -> Model:
    """The model in one of our folders, ready to use."""
    folder = Path(folder)
    model = build(read_config(folder))
    return fill(model, unpack(read_tensors(folder / "model.safetensors"), folder), folder)


def fill(model: M, tensors: dict[str, torch.Tensor], folder: Path) -> M:
    """Put tensors into a model, ready to use; any that do not fit are named first."""
    check_tensors(model, tensors, folder)
    wanted = own_tensors(model)
    with torch.no_grad():
        for name, tensor in tensors.items():
            wanted[name].copy_(tensor)
    return model.eval()


def read_config(folder: Path) -> Config:
    data = read_settings(folder)
    if data.get("format") != "regard":
        raise FileError(
            f"{folder} is not a folder of regard's",
            found="config.json of another kind",
            do="regard.load reads more kinds",
        )
    version = data.get("version")
    if not isinstance(version, int):
        raise FileError(f"{folder} does not say its format", found=f"version={version!r}", do="restore config.json")
    if version > FORMAT:
        raise FileError(
            f"{folder} was written by a newer regard",
            found=f"format version {data['version']}; this one reads up to {FORMAT}",
            do="upgrade: pip install --upgrade regard",
        )
    family = data.get("family")
    if not isinstance(family, str) or family not in FAMILIES:
        raise UnknownNameError("family", str(family), FAMILIES)
    settings = {name: value for name, value in data.items() if name not in ("format", "version", "family")}
    return FAMILIES[family][0].from_dict(settings)


def read_settings(folder: Path) -> dict[str, Any]:
    """config.json of a folder, whoever wrote it."""
    path = folder / "config.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise FileError(
            f"{folder} holds no model", found="no config.json", do="give the folder of a trained model"
        ) from error
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise FileError(f"cannot read {path}", found=str(error), do="restore it, or train again") from error
    if not isinstance(data, dict):
        raise FileError(f"{path} is not a configuration", found=type(data).__name__, do="restore it, or train again")
    return data


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    try:
        return load_file(path)
    except FileNotFoundError as error:
        raise FileError(f"{path} is missing", do="restore it, or train again") from error
    except (SafetensorError, OSError) as error:
        raise FileError(f"{path} is damaged", found=str(error), do="restore it: it may be cut short") from error


def check_tensors(model: nn.Module, tensors: dict[str, torch.Tensor], folder: Path) -> None:
    """Name what is missing, what is too much and what has another shape, before anything is copied."""
    wanted = own_tensors(model)
    missing, extra = sorted(wanted.keys() - tensors.keys()), sorted(tensors.keys() - wanted.keys())
    if missing or extra:
        differences = "; ".join(
            f"{what}: {some(names)}" for what, names in (("missing", missing), ("extra", extra)) if names
        )
        raise FileError(
            f"the tensors in {folder} do not fit its config.json", found=differences, do="keep the two together"
        )
    for name, tensor in tensors.items():
        if tensor.shape != wanted[name].shape:
            raise FileError(
                f"{name} in {folder} has the wrong shape",
                found=f"{tuple(tensor.shape)}, by config.json {tuple(wanted[name].shape)}",
                do="keep model.safetensors and config.json together",
            )
