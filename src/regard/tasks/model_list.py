"""Which models there are: those that ship, and those in a folder, told from their files without loading them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from regard.errors import RegardError
from regard.interop.folders import languages_of, read_json, shipped
from regard.models.checkpoint import read_settings
from regard.models.quantised import SCALES

WEIGHTS = "*.safetensors"
PARTS = (WEIGHTS, "*.json", "*.spm", "*.model", "*.txt", "*.toml", "*.md")  # what makes a model; no state of training


@dataclass(frozen=True)
class ModelEntry:
    """One model: what to call it, what it is, how large, and how good by its own run."""

    name: str
    folder: Path
    ships: bool
    family: str = ""
    languages: tuple[str, str] | None = None
    parameters: int = 0
    bytes: int = 0
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    problem: str = ""  # why it could not be read, if so

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {**asdict(self), "folder": str(self.folder)}


def list_models(folder: str | Path = ".") -> list[ModelEntry]:
    """The models that ship, then those in a folder: itself, and the folders in it."""
    here = Path(folder)
    entries = [entry(name, place, ships=True) for name, place in shipped().items()]
    candidates = [here, *(sorted(path for path in here.iterdir() if path.is_dir()) if here.is_dir() else [])]
    return entries + [entry(str(place), place, ships=False) for place in candidates if holds_model(place)]


def holds_model(folder: Path) -> bool:
    """Many programs keep a config.json; weights are a model's alone."""
    return (folder / "config.json").is_file() and any(folder.glob(WEIGHTS))


def entry(name: str, folder: Path, *, ships: bool) -> ModelEntry:
    """What the files of a model say; one that is damaged is listed with what is wrong."""
    try:
        settings = read_settings(folder)
        run = read_json(folder / "run.json")
        return ModelEntry(
            name, folder, ships,
            family=str(settings.get("family") or settings.get("model_type") or "unknown"),
            languages=languages_of(folder),
            parameters=sum(map(parameters_in, folder.glob(WEIGHTS))),
            bytes=sum(path.stat().st_size for pattern in PARTS for path in folder.glob(pattern)),
            scores={key: row for key, row in run.get("scores", {}).items() if isinstance(row, dict)},
        )  # fmt: skip
    except (RegardError, SafetensorError, OSError, AttributeError) as error:
        return ModelEntry(name, folder, ships, problem=str(error).splitlines()[0])


def parameters_in(path: Path) -> int:
    """How many numbers a file of weights holds, from its header; scales of rows are no weights."""
    with safe_open(path, framework="np") as file:
        shapes = [file.get_slice(name).get_shape() for name in file.keys() if not name.endswith(SCALES)]  # noqa: SIM118
    return sum(map(math.prod, shapes))
