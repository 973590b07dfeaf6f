"""Training runs as the page shows them: curves, samples, and the checkpoints that are kept."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.models.checkpoint import read_settings
from regard.server.refusals import Refusal
from regard.server.studio.schema import CheckpointInfo, CurvesAnswer, CurveSeries, RunInfo, RunSample
from regard.tasks.model_list import holds_model
from regard.training.loop.checkpoint_files import checkpoints, step_of
from regard.training.recipe.recipe import read_recipe, read_toml
from regard.training.report.run_log import RunLog, number, read_run, scores, thin
from regard.training.run.run_folder import RunFolder

WEIGHTS = ("*.safetensors", "config.json", "state.json")
LOG = "log.jsonl"
MODEL = "model"  # the name of the weights that a run keeps in the end, or that were best so far
START = "start"  # and of those that it began with: no file keeps them, they are drawn again
SAMPLES = 600  # that are told at most
MEASURES = ("bleu", "accuracy", "loss")  # the first that a run has says how good it is


def run_info(name: str, folder: Path) -> RunInfo:
    """A run in a line."""
    return known_info(name, folder, stamp(folder, LOG, "run.json"))


@lru_cache(maxsize=256)
def known_info(name: str, folder: Path, _: str) -> RunInfo:
    """Read again when its files have changed: a long log takes a while."""
    return info_of(name, folder, read_run(RunFolder(folder).log()))


def info_of(name: str, folder: Path, log: RunLog) -> RunInfo:
    try:
        status = str(RunFolder(folder).run.get("status", "unknown"))
    except RegardError:
        status = "unknown"
    measure = next((one for one in MEASURES if one in log.score_names()), None)
    steps = number(log.starts[-1].get("steps")) if log.starts else math.nan
    return RunInfo(
        name=name, status=status, step=int(log.last_step()), steps=int(steps) if math.isfinite(steps) else None,
        family=family_of(folder), best=best_of(log, measure), measure=measure,
    )  # fmt: skip


def best_of(log: RunLog, measure: str | None) -> float | None:
    """What the validation of the model that is kept gave."""
    if measure is None:
        return None
    chosen = [row for row in log.validations if row.get("best") is True] or log.validations
    value = number(scores(chosen[-1]).get(measure)) if chosen else math.nan
    return value if math.isfinite(value) else None


def family_of(folder: Path) -> str:
    try:
        return str(read_settings(folder).get("family", "unknown"))
    except RegardError:
        return "unknown"


def run_curves(name: str, folder: Path) -> CurvesAnswer:
    """All curves of a run, thinned to what a screen can show."""
    log = read_run(RunFolder(folder).log())
    curves = [("loss", log.curve("loss")), ("rate", log.curve("rate"))]
    curves += [("tokens_per_second", log.curve("tokens_per_second"))]
    curves += [(f"valid {one}", log.score(one)) for one in log.score_names()]
    series = [CurveSeries(name=one, points=finite_points(points)) for one, points in curves]
    return CurvesAnswer(
        run=info_of(name, folder, log), series=[one for one in series if one.points],
        samples=list(samples_of(log))[-SAMPLES:], checkpoints=kept_checkpoints(folder, log),
    )  # fmt: skip


def finite_points(points: list[Any]) -> list[tuple[int, float]]:
    return [(int(step), value) for step, value in thin(points) if math.isfinite(value)]


def samples_of(log: RunLog) -> Iterator[RunSample]:
    """What the model made of the same texts, validation by validation."""
    for row in log.validations:
        for sample in row.get("samples") or ():
            if isinstance(sample, dict):
                words = {key: str(sample.get(key) or "") for key in ("source", "reference", "output")}
                yield RunSample(step=int(number(row["step"])), **words)


def kept_checkpoints(folder: Path, log: RunLog) -> list[CheckpointInfo]:
    """Oldest first, where it can be from the beginning; the model itself last."""
    if not holds_model(folder):
        return []  # nothing can be loaded before the first validation
    known = [] if seed_of(folder) is None else [CheckpointInfo(step=0, name=START)]
    known += [CheckpointInfo(step=step_of(path), name=path.name) for path in checkpoints(folder / "checkpoints")[::-1]]
    best = log.best()
    step = int(log.last_step() if best is None else best)
    return [*known, CheckpointInfo(step=step, name=MODEL)]


def seed_of(folder: Path) -> int | None:
    """What a run's first weights were drawn by; None where it began with another model, or its recipe is not there."""
    try:
        recipe = read_recipe(read_toml(folder / "recipe.toml"))
    except RegardError:
        return None
    return recipe.training.seed if recipe.start is None else None


def checkpoint_path(folder: Path, name: str) -> Path | None:
    """The folder of a checkpoint; None for the model itself, and for what it began with. No other names are known."""
    if name == MODEL or (name == START and seed_of(folder) is not None):
        return None
    for path in checkpoints(folder / "checkpoints"):
        if path.name == name:
            return path
    raise Refusal(404, f"There is no checkpoint {name[:60]!r} of this run; its curves name those that are kept")


def stamp(folder: Path, *patterns: str) -> str:
    """Changes when these files of a folder do."""
    paths = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    return json.dumps([(path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in paths if path.is_file()])
