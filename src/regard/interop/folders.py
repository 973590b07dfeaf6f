"""Where a model lies: a folder, one that ships, or one of the hub's; and tensors, whole or in shards. Never pickle."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple

from torch import Tensor

from regard.errors import FileError
from regard.models.checkpoint import read_tensors

FILES = ("*.json", "*.safetensors", "*.spm", "*.model", "vocab.txt", "merges.txt")
ASIDE = ("run.json", "alignment.json")  # files of a model's folder that change no translation
HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w.-]+)?")


class Location(NamedTuple):
    """The folder that a name stands for, and where that was found."""

    name: str
    folder: Path
    kind: Literal["folder", "ships", "hub"]

    @property
    def note(self) -> str:
        """Which of several it is, where the name alone does not say it."""
        if self.kind == "folder":
            return f"{self.name}: the folder here, not the model that ships" if self.name in shipped() else ""
        return f"{self.name}: " + ("the model that ships with regard" if self.kind == "ships" else "from the hub")


def where(name: str | Path) -> Location:
    """An existing folder first, then a model that ships with the package, then one of the hub, downloaded."""
    folder, known = Path(name).expanduser(), shipped()
    if folder.is_dir():
        return Location(str(name), folder, "folder")
    if str(name) in known and not folder.exists():
        return Location(str(name), known[str(name)], "ships")
    if isinstance(name, Path) or not HUB_NAME.fullmatch(name) or folder.exists():
        raise FileError(
            f"{name} holds no model",
            found="a file" if folder.exists() else "no such folder",
            do=f"give the folder of a model, one that ships ({', '.join(known)}), or a name on the Hugging Face hub",
        )
    return Location(name, download(name), "hub")


def locate(name: str | Path) -> Path:
    """The folder of the model of that name."""
    return where(name).folder


def shipped() -> dict[str, Path]:
    """The models that come with the package, by name."""
    place = Path(str(resources.files("regard"))) / "pretrained"
    return {path.parent.name: path.parent for path in sorted(place.glob("*/config.json"))}


def languages_of(folder: Path) -> tuple[str, str] | None:
    """From which language a model translates into which, where its recipe.toml says it."""
    path = folder / "recipe.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8")).get("data")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError(f"cannot read {path}", found=str(error), do="restore it, or take it away") from error
    languages = data.get("languages") if isinstance(data, dict) else None
    if not isinstance(languages, list) or len(languages) != 2:
        return None
    return str(languages[0]), str(languages[1])


def general_translators() -> dict[tuple[str, str], str]:
    """The models that ship for everyday text, by their languages: each is named by them, as "en-fr" is."""
    known = {name: languages_of(folder) for name, folder in shipped().items()}
    return {two: name for name, two in known.items() if two is not None and name == "-".join(two)}


def download(name: str) -> Path:
    """Fetch a model from the hub into its cache; what is there already is not fetched again."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=list(FILES)))
    except Exception as error:  # each version of the library and of its transport raises others
        raise FileError(
            f"{name} is no folder here, ships with no regard, and could not be had from the Hugging Face hub",
            found=f"{type(error).__name__}: {(str(error).strip() or 'no reason given').splitlines()[0]}",
            do="check the name and the network, or give the folder of a model on this machine",
        ) from error


def model_digest(folder: Path) -> str:
    """A hash of all files of a model's folder that a translation may depend on."""
    digest = hashlib.sha256()
    files = {path for pattern in (*FILES, "recipe.toml") for path in folder.glob(pattern)}
    for path in sorted(files, key=lambda path: path.name):
        if path.is_file() and path.name not in ASIDE:
            digest.update(path.name.encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file's names and values; nothing when there is no such file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise FileError(f"cannot read {path}", found=str(error), do="download the folder again") from error
    if not isinstance(data, dict):
        raise FileError(f"{path} must hold names and values", found=type(data).__name__, do="download it again")
    return data


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Every tensor of the folder by name."""
    if (folder / "model.safetensors").exists():
        return read_tensors(folder / "model.safetensors")
    index = read_json(folder / "model.safetensors.index.json")
    if index:
        return read_shards(folder, index)
    if any(folder.glob("pytorch_model*.bin*")):
        raise FileError(
            f"{folder} holds its weights as a pickle, which can run any code when it is read",
            found="pytorch_model.bin and no model.safetensors",
            do="convert it where you trust it, with transformers: from_pretrained(FOLDER), then save_pretrained(NEW)",
        )
    raise FileError(f"{folder} holds no weights", found="no model.safetensors", do="download the folder again")


def read_shards(folder: Path, index: dict[str, Any]) -> dict[str, Tensor]:
    files = index.get("weight_map")
    if not isinstance(files, dict) or any(Path(str(name)).name != name for name in files.values()):
        raise FileError(
            f"{folder} has a damaged model.safetensors.index.json",
            found="no weight_map of tensors to files beside it",
            do="download the folder again",
        )
    tensors: dict[str, Tensor] = {}
    for file in sorted(set(files.values())):
        tensors |= read_tensors(folder / file)
    return tensors
