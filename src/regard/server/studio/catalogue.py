"""What there is, by name: a request gives a name, and never a path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.interop.folders import shipped, where
from regard.interop.huggingface import READERS
from regard.models.checkpoint import read_settings
from regard.server.refusals import Refusal
from regard.server.studio.look_reading import task_named
from regard.server.studio.schema import ModelInfo, ModelKind, RecordingInfo, StudioTask
from regard.tasks.model_list import entry, holds_model

ENDING = ".regard"
LOG = "log.jsonl"
RECORDING = "recording:"  # before a recording's name, where a model's name is asked for
OURS: dict[str, StudioTask] = {"transformer": "translate", "recurrent": "translate", "decoder": "generate"}
SENTENCES = {
    "en": [
        "The animal didn't cross the street because it was too tired.",
        "The animal didn't cross the street because it was too wide.",
        "The cat sleeps.",
    ],
    "fr": ["Le chat dort.", "L'animal n'a pas traversé la rue car il était trop fatigué."],
}
TEXTS: dict[StudioTask, list[str]] = {
    "generate": [
        "The animal didn't cross the street because it",
        "The trophy does not fit in the suitcase because the",
        "red blue green red blue",
    ],
    "mask": ["The animal didn't cross the [MASK] because it was too tired."],
}


@dataclass(frozen=True)
class ModelPlace:
    """A model, and where it lies."""

    info: ModelInfo
    folder: Path


@dataclass
class StudioCatalogue:
    """Models, recordings and runs: those that ship, those that were named, and those in the folder of runs."""

    data: Path | None = None
    models: dict[str, ModelPlace] = field(default_factory=dict)
    recordings: dict[str, Path] = field(default_factory=dict)
    runs: dict[str, Path] = field(default_factory=dict)
    described: dict[str, RecordingInfo] = field(default_factory=dict)
    first: str | None = None  # what was named first

    @classmethod
    def of(cls, names: Sequence[str] = (), data: Path | None = None) -> StudioCatalogue:
        """Each name is a model's (a folder, one that ships, one of the hub) or a recording's file."""
        catalogue = cls(data)
        for name in names:
            catalogue.add_named(name)
        for name, folder in shipped().items():
            catalogue.add_model(name, folder, "ships")
            catalogue.add_run(name, folder)
        catalogue.refresh()
        return catalogue

    def add_named(self, name: str) -> None:
        path = Path(name).expanduser()
        if name.endswith(ENDING) and not path.is_dir():
            known = self.add_recording(path)
        else:
            place = where(name)
            known = self.add_model(path.resolve().name if place.kind == "folder" else name, place.folder)
            self.add_run(known, place.folder)
        self.first = self.first or known

    def add_recording(self, path: Path) -> str:
        """It is read when it is first looked at; what it is, is told at once."""
        from regard.lens.recording_api import Recording

        recording, name = Recording.load(path), free(path.stem, self.recordings)
        call = recording.last
        tokens = max((max(call.extent(site)) for site in call.sites), default=0)
        self.recordings[name] = path
        self.described[name] = RecordingInfo(
            name=name, calls=len(recording.calls), sites=len(call.sites), tokens=tokens
        )
        return RECORDING + name

    def add_model(self, name: str, folder: Path, kind: ModelKind | None = None) -> str:
        resolved = folder.resolve()
        for known, place in self.models.items():
            if place.folder.resolve() == resolved:
                return known
        name = free(name, self.models)
        self.models[name] = ModelPlace(model_info(name, folder, kind), folder)
        return name

    def add_run(self, name: str, folder: Path) -> None:
        known = {path.resolve() for path in self.runs.values()}
        if (folder / LOG).is_file() and folder.resolve() not in known:
            self.runs[free(name, self.runs)] = folder

    def refresh(self) -> None:
        """What has come into the folder of runs since; nothing outside of it, wherever a link there points."""
        for folder in self.folders():
            if holds_model(folder):
                self.add_model(folder.name, folder, "run" if (folder / LOG).is_file() else None)
            self.add_run(folder.name, folder)

    def folders(self) -> Iterator[Path]:
        if self.data is None or not self.data.is_dir():
            return
        root = self.data.resolve()
        for path in (root, *sorted(root.iterdir())):
            if path.is_dir() and path.resolve().is_relative_to(root):
                yield path

    def model(self, name: str) -> ModelPlace:
        if name not in self.models:
            raise Refusal(404, f"There is no model {name[:60]!r} here; there is {', '.join(self.models)}")
        return self.models[name]

    def recording(self, name: str) -> Path:
        if name not in self.recordings:
            known = ", ".join(self.recordings) or "none"
            raise Refusal(404, f"There is no recording {name[:60]!r} here; known: {known}")
        return self.recordings[name]

    def run(self, name: str) -> Path:
        if name not in self.runs:
            self.refresh()
        if name not in self.runs:
            raise Refusal(404, f"There is no run {name[:60]!r} here; known: {', '.join(self.runs) or 'none'}")
        return self.runs[name]


def free(name: str, taken: Mapping[str, Any]) -> str:
    """The name, with a number behind it where it is taken."""
    candidates = (name, *(f"{name} ({number})" for number in range(2, len(taken) + 3)))
    return next(one for one in candidates if one not in taken)


def model_info(name: str, folder: Path, kind: ModelKind | None = None) -> ModelInfo:
    """What its files say of a model."""
    listed = entry(name, folder, ships=kind == "ships")
    try:
        settings = read_settings(folder)
    except RegardError:
        settings = {}
    ours = settings.get("format") == "regard"
    task = task_by(settings)
    return ModelInfo(
        name=name, kind=kind or ("folder" if ours else "huggingface"), family=listed.family or "unknown", task=task,
        languages=listed.languages, parameters=listed.parameters, problem=listed.problem or None,
        examples=examples_for(task, listed.languages),
        searches=task in ("translate", "generate") and (ours or architecture_of(settings) in READERS),
    )  # fmt: skip


def architecture_of(settings: Mapping[str, Any]) -> str:
    return str(next(iter(settings.get("architectures") or ()), ""))


def task_by(settings: Mapping[str, Any]) -> StudioTask:
    """What a model is for, by its config.json."""
    if settings.get("format") != "regard":
        return task_named(architecture_of(settings))
    heads: dict[str, StudioTask] = {"class": "classify", "mask": "mask"}
    family = str(settings.get("family"))
    return OURS.get(family) or heads.get(str(settings.get("head")), "other")


def examples_for(task: StudioTask, languages: tuple[str, str] | None) -> list[str]:
    """Texts to begin with."""
    source = languages[0].partition("-")[0].lower() if languages else "en"
    return TEXTS.get(task) or SENTENCES.get(source, SENTENCES["en"])
