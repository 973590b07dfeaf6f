"""A run that first trains a teacher and a model of the other direction, and learns from what they say too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.errors import InputError
from regard.tasks import Translator, translator
from regard.training.data.synthetic_pairs import TAG, read_synthetic
from regard.training.optim.workers import Workers
from regard.training.recipe.recipe import read_toml
from regard.training.recipe.resolve import Request, resolve
from regard.training.report.events import Event, Finished, Preparing, Started, Stepped
from regard.training.run import stages
from regard.training.run.forecast_run import forecast_run
from regard.training.run.stages import Stages
from tests.training_cases import RANDOM, TINY, EventRecorder, Stop, go, same, settings

STAGED = {
    "training.steps": 6,
    "distillation.teacher.training.steps": 4,
    "distillation.teacher.model.dim": 32, "distillation.teacher.model.heads": 2,
    "distillation.teacher.model.encoder_layers": 1, "distillation.teacher.model.decoder_layers": 1,
    "distillation.beams": 1, "distillation.ratio": 1000.0,
    "back_translation.model.training.steps": 4, "back_translation.beams": 1, "back_translation.ratio": 1000.0,
    "back_translation.tag": True, "back_translation.weight": 0.5,
}  # fmt: skip


@pytest.fixture(autouse=True)
def whatever_a_model_says_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """After four steps a model has not learned to come to an end: some of what it says must do."""
    monkeypatch.setattr(translator, "LONGEST", 12)
    monkeypatch.setattr(stages, "ended_text", lambda text, best: " ".join(best[0].text.split())[:40] or "...")


@pytest.fixture(scope="module")
def whole(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, EventRecorder]:
    """The run that nobody interrupted."""
    folder, heard = tmp_path_factory.mktemp("staged") / "model", EventRecorder()
    with pytest.MonkeyPatch.context() as patch:
        whatever_a_model_says_is_used.__wrapped__(patch)  # type: ignore[attr-defined]
        assert go(corpus, folder, TINY, RANDOM, STAGED, listener=heard).status == "finished"
    return folder, heard


def names(heard: EventRecorder) -> list[str]:
    """Which models were trained, in order."""
    lines = [line for event in heard.of(Started) for line in event.recipe.split("\n")]
    return [line.split('"')[1] for line in lines if line.startswith("name = ")]


def test_stages_come_in_order_and_leave_models_of_their_own(whole: tuple[Path, EventRecorder]) -> None:
    folder, heard = whole
    assert names(heard) == ["numbers-reverse", "numbers-teacher", "numbers"]
    for name, dim in (("reverse", 16), ("teacher", 32), (".", 16)):
        task = regard.load(folder / name)
        assert isinstance(task, Translator)
        assert task.model.config.dim == dim
    assert not (folder / "synthetic").exists()


def test_synthetic_rows_are_counted(whole: tuple[Path, EventRecorder]) -> None:
    folder, heard = whole
    report = json.loads((folder / "run.json").read_text(encoding="utf-8"))["synthetic"]
    assert [one["stage"] for one in report] == ["back_translation", "distillation"]
    rows = [int(line.split()[0]) for line in heard.notes.split("\n") if "rows to train on" in line]
    real = rows[1]
    assert all(one["pairs"] + sum(one["left_out"].values()) == real for one in report)
    made = sum(one["pairs"] for one in report)
    assert made > real
    assert real < rows[2] <= real + made  # some of what was made up looks like what is held back, and is left out
    assert f"{report[1]['pairs']} synthetic pairs of source 1" in heard.notes


def test_a_second_start_finds_all_done(whole: tuple[Path, EventRecorder], corpus: Path) -> None:
    heard = EventRecorder()
    assert go(corpus, whole[0], TINY, RANDOM, STAGED, listener=heard).status == "already finished"
    assert names(heard) == []


def ended(name: str) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, Finished) and Path(event.folder).name == name


def reached(what: str) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, Preparing) and event.what == what


class Nth:
    """True the n-th time that something happens."""

    def __init__(self, what: Callable[[Event], bool], n: int) -> None:
        self.what, self.left = what, n

    def __call__(self, event: Event) -> bool:
        self.left -= self.what(event)
        return self.left == 0 and self.what(event)


def stepped(step: int) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, Stepped) and event.step == step


MOMENTS: dict[str, tuple[Callable[[], Callable[[Event], bool]], list[str]]] = {
    "within the first stage": (lambda: stepped(2), ["numbers-reverse", "numbers-teacher", "numbers"]),
    "before its translations": (lambda: reached("back_translation: translating"), ["numbers-teacher", "numbers"]),
    "between the stages": (lambda: ended("teacher"), ["numbers-teacher", "numbers"]),
    "within the run itself": (lambda: Nth(stepped(4), 3), ["numbers"]),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_that_broke_off_in_any_stage_goes_on_to_the_very_same_end(
    moment: str, corpus: Path, whole: tuple[Path, EventRecorder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regard.training.loop.loop, "REPORT_EVERY", 0.0)  # type: ignore[attr-defined]
    when, rest = MOMENTS[moment]
    with pytest.raises(Stop):
        go(corpus, tmp_path, TINY, RANDOM, STAGED, listener=EventRecorder(when()))
    torch.manual_seed(12345)
    heard = EventRecorder()
    assert go(corpus, tmp_path, TINY, RANDOM, STAGED, listener=heard).status == "finished"
    assert names(heard) == rest
    for name in ("reverse", "teacher", "."):
        same(tmp_path / name, whole[0] / name)


def test_a_teacher_that_is_there_is_taken_and_its_good_translations_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    heard = EventRecorder(lambda event: isinstance(event, Started))
    data = {
        "distillation.teacher": "grammar", "distillation.chrf": 80.0, "distillation.beams": 1,
        "data.train": "grammar:train:40:3", "data.valid": "grammar:valid:5", "data.test.test": "grammar:test:5",
    }  # fmt: skip
    with pytest.raises(Stop):
        go("grammar-tiny", tmp_path, TINY, data, listener=heard)
    (made,) = read_synthetic(tmp_path) or []
    assert made.pairs + sum(made.left_out.values()) == 40
    assert made.pairs >= 25
    sides = [(tmp_path / "synthetic" / file).read_text(encoding="utf-8").split("\n") for file in made.files]
    written = regard.load("grammar").translate(sides[0][:5], beams=1)
    assert written == sides[1][:5]
    assert f"{made.pairs + 40} rows to train on" in heard.notes


def test_what_was_translated_back_is_read_with_a_tag(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(Stop):
        go(corpus, tmp_path, TINY, STAGED, listener=EventRecorder(ended("teacher")))
    place = tmp_path / "synthetic" / "back_translation"
    sources = (place / "0.source").read_text(encoding="utf-8").splitlines()
    assert sources
    assert all(line.startswith(f"{TAG} ") for line in sources)
    targets = (place / "0.target").read_text(encoding="utf-8").splitlines()
    assert set(targets) <= set((tmp_path / "synthetic/text/0.target").read_text(encoding="utf-8").splitlines())
    assert set(read_toml(tmp_path / "reverse" / "recipe.toml")["data"]["train"][0]) == {"source", "target", "weight"}


def test_several_processes_are_told_to_begin_with_one(corpus: Path, tmp_path: Path) -> None:
    recipe = resolve(Request(str(corpus), Path(), settings(TINY, STAGED)))
    options: Any = type("Options", (), {"out": tmp_path})
    with pytest.raises(InputError, match="by one process"):
        Stages(recipe, options, Workers(0, 2), None)(EventRecorder())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"task": "generate"}, "task = 'generate'"),
        ({"training.minutes": 1.0}, "training.minutes"),
        ({"start": "grammar"}, "start, unless"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(changed: dict[str, Any], words: str, corpus: Path) -> None:
    staged = {name: value for name, value in STAGED.items() if name != "training.steps"}
    small = {name: value for name, value in TINY.items() if name != "training.steps"}
    with pytest.raises(InputError, match=words):
        resolve(Request(str(corpus), Path(), settings(small, staged, changed)))


def test_stages_are_shown_before_anything_happens(corpus: Path, tmp_path: Path) -> None:
    heard = EventRecorder()
    go(corpus, tmp_path / "none", TINY, STAGED, listener=heard, dry_run=True)
    assert f"would first train {tmp_path / 'none' / 'teacher'}" in heard.notes
    assert "4 steps), then translate all source sides" in heard.notes
    assert not (tmp_path / "none").exists()
    forecast = forecast_run(Request(str(corpus), Path(), settings(TINY, STAGED)), "h200")
    assert any("back_translation, distillation: not counted" in line for line in forecast.basis)
