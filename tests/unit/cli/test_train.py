"""`regard train` as a person meets it, with the training itself put aside."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

import regard.training
from regard.cli.train import next_command, train
from regard.cli.verb import VerbCommand
from regard.errors import InputError
from regard.models import DecoderConfig, EncoderConfig, TransformerConfig, build, save_model
from regard.training.optim.workers import SharedError
from regard.training.report.events import Note, Planned, Sample, Started, Validated

RECIPE = 'name = "x"\n\n[training]\nsteps = 10\n'


@dataclass
class Outcome:
    """As training gives it back."""

    folder: Path
    status: str = "finished"
    step: int = 1200
    seconds: float = 3723.0
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    why: str = "all steps done"
    recipe: str = RECIPE
    parameters: int = 4321


@dataclass
class Core:
    """A training that does nothing but remember what it was asked, tell some events and answer."""

    outcome: dict[str, Any] = field(default_factory=dict)
    events: list[Any] = field(default_factory=list)
    asked: dict[str, Any] = field(default_factory=dict)
    error: BaseException | None = None

    def __call__(self, what: Any, out: Any, **how: Any) -> Outcome:
        self.asked = {"what": what, "out": out, **how}
        for event in self.events:
            how["listener"](event)
        if self.error is not None:
            raise self.error
        return Outcome(Path(out), **self.outcome)


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Core:
    made = Core()
    monkeypatch.setattr(regard.training, "train", made, raising=False)
    return made


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command(cls=VerbCommand)(train)
    app.callback()(lambda: None)
    return CliRunner().invoke(app, ["train", *arguments])


def test_every_option_reaches_training(core: Core, tmp_path: Path) -> None:
    result = run(
        "a.en", "a.fr", "--out", str(tmp_path), "--data", "d", "--set", "training.steps=5", "--set", "name=x",
        "--task", "translate", "--strict", "--device", "cpu", "--seed", "3", "--threads", "2", "--encoding", "cp1252",
        "--columns", "2,name", "--start", "m", "--scratch", "--minutes", "2.5", "--layout", "sharded",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    listener = core.asked.pop("listener")
    assert callable(listener)
    assert core.asked == {
        "what": ["a.en", "a.fr"], "out": tmp_path, "data": Path("d"), "settings": ["training.steps=5", "name=x"],
        "task": "translate", "strict": True, "device": "cpu", "minutes": 2.5, "seed": 3, "threads": 2,
        "tensorboard": False, "columns": [2, "name"], "encoding": "cp1252", "start": "m", "scratch": True,
        "layout": "sharded",
    }  # fmt: skip


def test_what_is_left_out_is_as_training_has_it(core: Core, tmp_path: Path) -> None:
    assert run("multi30k-en-fr", "--out", str(tmp_path)).exit_code == 0
    core.asked.pop("listener")
    assert core.asked == {
        "what": "multi30k-en-fr", "out": tmp_path, "data": None, "settings": [], "task": None, "strict": False,
        "device": "auto", "minutes": None, "seed": None, "threads": None, "tensorboard": False,
        "columns": None, "encoding": None, "start": None, "scratch": False, "layout": None,
    }  # fmt: skip


def translator(folder: Path) -> None:
    sizes: dict[str, Any] = {"source_vocabulary": 9, "target_vocabulary": 9, "encoder_layers": 1, "decoder_layers": 1}
    save_model(build(TransformerConfig(dim=8, heads=2, feedforward=8, **sizes)), folder)


def test_the_end_says_where_how_good_and_what_next(core: Core, tmp_path: Path) -> None:
    folder = tmp_path / "my model"
    translator(folder)
    (folder / "curves.html").touch()
    core.outcome = {"scores": {"valid": {"loss": 1.5, "bleu": 40.0}, "test2016": {"bleu": 41.344}}}
    core.events = [
        Note("careful", warning=True),
        Validated(5, 1.0, {"loss": 1.0}, True, [Sample("It's a dog.", "r", "o")]),
    ]
    result = run("x.tsv", "--out", str(folder))
    assert result.exit_code == 0
    assert result.stdout.split("\n") == [
        f"{folder} is ready: 1,200 steps in 1:02:03 (all steps done)",
        "  valid     loss 1.500  BLEU 40.00",
        "  test2016  BLEU 41.34",
        f"how it learned: {folder}/curves.html",
        f"""next: echo 'It'"'"'s a dog.' | regard translate '{folder}'""",
        "",
    ]
    assert "warning: careful" in result.stderr
    assert "valid 5" in result.stderr
    assert "valid 5" not in run("x.tsv", "--out", str(folder), "--quiet").stderr


def test_what_to_type_for_other_models(core: Core, tmp_path: Path) -> None:
    assert f"next: regard info {tmp_path}" in run("x.txt", "--out", str(tmp_path)).stdout
    save_model(build(DecoderConfig(dim=8, heads=2, feedforward=8, layers=1, vocabulary=9)), tmp_path)
    assert f"next: regard generate {tmp_path} Hello." in run("x.txt", "--out", str(tmp_path)).stdout


def test_already_finished(core: Core, tmp_path: Path) -> None:
    core.outcome = {"status": "already finished"}
    result = run("x.tsv", "--out", str(tmp_path))
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{tmp_path} is finished: 1,200 steps in 1:02:03")


@pytest.mark.parametrize(("why", "code"), [("Ctrl-C", 130), ("SIGTERM", 143)])
def test_an_interruption_says_where_it_was_saved_and_ends_with_its_signal(
    why: str, code: int, core: Core, tmp_path: Path
) -> None:
    core.outcome = {"status": "interrupted", "why": why}
    result = run("x.tsv", "--out", str(tmp_path))
    assert result.exit_code == code
    assert "saved at step 1,200; the same command goes on from there" in result.stderr
    assert result.stdout == ""
    result = run("x.tsv", "--out", str(tmp_path), "--json")
    assert result.exit_code == code
    assert json.loads(result.stdout)["status"] == "interrupted"


def test_interrupted_before_anything_could_be_saved(core: Core, tmp_path: Path) -> None:
    core.error = KeyboardInterrupt()
    result = run("x.tsv", "--out", str(tmp_path))
    assert result.exit_code == 130
    assert result.stderr.endswith("regard: stopped\n")


def test_as_json(core: Core, tmp_path: Path) -> None:
    core.outcome = {"scores": {"valid": {"loss": math.nan, "bleu": 1.0}}}
    found = json.loads(run("x.tsv", "--out", str(tmp_path), "--json").stdout)
    assert found["folder"] == str(tmp_path)
    assert (found["status"], found["step"], found["seconds"]) == ("finished", 1200, 3723.0)
    assert found["scores"] == {"valid": {"loss": None, "bleu": 1.0}}


def test_a_dry_run_prints_a_recipe_with_remarks(core: Core, tmp_path: Path) -> None:
    core.outcome = {"status": "dry run"}
    core.events = [Note("would read a.tsv,\n29,000 rows"), Started(0, 10, 4321, "cpu", RECIPE)]
    result = run("x.tsv", "--out", str(tmp_path), "--dry-run")
    assert result.exit_code == 0
    assert core.asked["dry_run"] is True
    assert tomllib.loads(result.stdout) == tomllib.loads(RECIPE)
    assert result.stdout.endswith("# 4,321 parameters\n# would read a.tsv,\n# 29,000 rows\n")
    found = json.loads(run("x.tsv", "--out", str(tmp_path), "--dry-run", "--json").stdout)
    assert (found["parameters"], found["recipe"], found["notes"]) == (4321, RECIPE, ["would read a.tsv,\n29,000 rows"])


LONG = Planned(None, 4000.0, "128 dims, 4 + 4 layers", 8000, 0.5, 1500.0, 1000, 800)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["x.tsv", "--out", "m"], "regard train x.tsv --out m-10min --minutes 10"),
        (["--out=m", "x y.tsv", "--seed", "3"], "regard train --out m-10min 'x y.tsv' --seed 3 --minutes 10"),
        (
            ["x.tsv", "--set", "training.steps=9", "--set=training.steps=8", "--set", "name=y", "--out", "m"],
            "regard train x.tsv --set name=y --out m-10min --minutes 10",
        ),
    ],
)
def test_who_did_not_know_how_long_it_takes_is_told_what_to_type(
    typed: list[str], offered: str, core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["regard", "train", *typed])
    core.events = [LONG]
    said = run(*typed).stderr
    assert "expected: 1:06:40 for 8,000 steps of 1,500 tokens at 0.5 s each, as measured here" in said
    assert f"what ten minutes can do: {offered}\n" in said
    core.events = [replace(LONG, seconds=500.0)]
    assert "ten minutes" not in run(*typed).stderr


def test_a_plan_for_a_budget(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    core.events = [replace(LONG, minutes=10.0, steps=3400, step_seconds=0.15, warmup=340, validate_every=425)]
    said = run("x.tsv", "--out", "m", "--minutes", "10").stderr
    assert "plan for 10 minutes: 128 dims, 4 + 4 layers; 3,400 steps of 1,500 tokens at 0.15 s each" in said
    assert "warm-up 340; a validation every 1:04" in said
    assert "what ten minutes can do" not in said


def test_without_arguments_the_recipes_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.training.recipe import recipe

    monkeypatch.setattr(recipe, "names", lambda: ["one", "two"])
    result = run()
    assert result.exit_code == 0
    assert "  one\n  two\n" in result.stdout
    assert "regard train RECIPE --out FOLDER" in result.stdout
    assert json.loads(run("--json").stdout) == ["one", "two"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x.tsv"], "do: regard train x.tsv --out FOLDER"),
        (["a", "b", "c", "--out", "m"], "one or two files"),
        (["wrong", "--out", "m"], "what was wrong"),
        (["x.tsv", "--out", "m", "--threads", "0"], "greater than or equal to 1"),
    ],
)
def test_errors_end_with_2(arguments: list[str], message: str, core: Core) -> None:
    core.error = InputError("what was wrong", do="mend it")
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_the_next_command_for_what_fills_in_words_has_a_mask(tmp_path: Path) -> None:
    config = EncoderConfig(vocabulary=300, dim=16, heads=2, feedforward=32, layers=1, head="mask")
    save_model(build(config), tmp_path)
    assert "[MASK]" in next_command(tmp_path, "")


def test_help_needs_no_torch() -> None:
    program = "import sys, regard.cli.train; assert not {'torch', 'rich.live', 'pydantic'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(("rank", "words"), [("0", "is ready"), ("1", "")])
def test_of_several_processes_the_first_speaks(
    rank: str, words: str, core: Core, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("WORLD_SIZE", "2")
    core.outcome = {"status": "finished"}
    core.events = [Note("reading")]
    done = run("x.tsv", "--out", str(tmp_path))
    assert done.exit_code == 0
    assert bool(done.output) == bool(words)
    assert words in done.output
    core.outcome = {"status": "interrupted", "why": "SIGTERM"}
    stopped = run("x.tsv", "--out", str(tmp_path))
    assert stopped.exit_code == 143
    assert bool(stopped.output) == bool(words)
    core.error = SharedError("all say so")
    failed = run("x.tsv", "--out", str(tmp_path))
    assert failed.exit_code == 2
    assert ("all say so" in failed.output) == bool(words)
    core.error = InputError("only this one")
    assert "only this one" in run("x.tsv", "--out", str(tmp_path)).output
