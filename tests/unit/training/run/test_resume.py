"""A run that is stopped in any way ends as if it had not been."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors import SafetensorError
from typer.testing import CliRunner

import regard
from regard.cli.app import app
from regard.errors import FileError, InputError
from regard.training.loop import loop
from regard.training.loop.checkpoint_files import Position, checkpoints, save_state
from regard.training.optim.workers import Workers
from regard.training.report.events import Event, Finished, Preparing, Saved, Started, Stepped, Validated
from regard.training.run.resume import resume
from tests.threads import THREADS
from tests.training_cases import RANDOM, TINY, EventRecorder, Stop, go, left_by, numbers, same, settings, write_rows

ROOT = Path(__file__).parents[4]


@pytest.fixture(autouse=True)
def every_step_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "REPORT_EVERY", 0.0)


@pytest.fixture(scope="module")
def whole(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nobody interrupted."""
    folder = tmp_path_factory.mktemp("whole") / "model"
    assert go(corpus, folder, TINY, RANDOM).status == "finished"
    return folder


def at(kind: type[Event], **what: Any) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, kind) and all(getattr(event, key) == value for key, value in what.items())


MOMENTS = {
    "reading": at(Preparing, what="reading"),
    "encoding": at(Preparing, what="encoding"),
    "before the first step": at(Started),
    "the first step": at(Stepped, step=1),
    "between checkpoints": at(Stepped, step=5),
    "just saved": at(Saved, step=6),
    "validated, not yet saved": at(Validated, step=8),
    "the last step": at(Stepped, step=10),
    "the last checkpoint": at(Saved, step=10),
    "scoring": at(Preparing, what="scoring valid"),
    "all but the record": at(Finished),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_that_broke_off_goes_on_to_the_very_same_end(
    moment: str, corpus: Path, whole: Path, tmp_path: Path
) -> None:
    with pytest.raises(Stop):
        go(corpus, tmp_path, TINY, RANDOM, listener=EventRecorder(MOMENTS[moment]))
    torch.manual_seed(12345)
    assert go(corpus, tmp_path, TINY, RANDOM).status == "finished"
    same(tmp_path, whole)


def test_a_run_may_be_stopped_after_every_single_step(corpus: Path, whole: Path, tmp_path: Path) -> None:
    for step in range(1, 10):
        assert signalled(corpus, tmp_path, step).step == step
    go(corpus, tmp_path, TINY, RANDOM)
    same(tmp_path, whole)


def test_a_resumed_run_keeps_the_threads_it_began_with(corpus: Path, whole: Path, tmp_path: Path) -> None:
    with pytest.raises(Stop):
        go(corpus, tmp_path, TINY, RANDOM, listener=EventRecorder(at(Saved)))
    others = THREADS + 1
    torch.set_num_threads(others)
    regard.training.train(str(corpus), tmp_path, settings=settings(TINY, RANDOM), device="cpu", threads=others)
    assert json.loads((tmp_path / "run.json").read_text())["threads"] == THREADS
    same(tmp_path, whole)


class FirstOf(Workers):
    """The first of several processes, of which the others say the same."""

    def gather(self, mine: Any) -> list[Any]:
        return [mine] * self.count


@pytest.mark.parametrize(
    ("ranks", "processes", "words"),
    [
        ((), 1, ""),
        (("/1",), 2, ""),
        ((), 2, "random numbers of 1 process, and 2 train now"),  # or of two, by a version that saved the first's alone
        (("/1",), 1, "random numbers of 2 processes, and 1 trains now"),
        (("/1", "/2"), 2, "random numbers of 3 processes, and 2 train now"),
    ],
)
def test_another_number_of_processes_is_said_to_end_elsewhere(
    ranks: tuple[str, ...], processes: int, words: str, tmp_path: Path
) -> None:
    tensors = {f"chance/{device}{rank}": torch.get_rng_state() for device in ("cpu", "cuda") for rank in ("", *ranks)}
    save_state(tmp_path / "checkpoints", Position(step=3), tensors, keep=1)
    heard = EventRecorder()
    stopped: Any = SimpleNamespace(
        folder=tmp_path,
        workers=FirstOf(0, processes),
        listener=heard,
        position=Position(3),
        restore=lambda *state: None,
    )
    resume(stopped)
    assert "going on after step 3" in heard.notes
    assert words in heard.warnings
    assert ("not bit for bit" in heard.warnings) == bool(words)


def test_training_leaves_threads_and_small_numbers_as_they_were(corpus: Path, tmp_path: Path) -> None:
    others = THREADS + 1
    torch.set_num_threads(others)
    small = torch.tensor(1e-40)
    go(corpus, tmp_path / "whole", TINY, {"training.steps": 1})
    assert torch.get_num_threads() == others
    assert float(small * 0.5) > 0
    with pytest.raises(Stop):
        go(corpus, tmp_path / "broken", TINY, listener=EventRecorder(at(Started)))
    assert torch.get_num_threads() == others
    assert float(small * 0.5) > 0


def test_workers_change_nothing_but_the_recipe(corpus: Path, whole: Path, tmp_path: Path) -> None:
    go(corpus, tmp_path, TINY, RANDOM, {"training.workers": 3})
    assert left_by(tmp_path)["model.safetensors"] == left_by(whole)["model.safetensors"]


def test_the_seed_decides_the_weights(corpus: Path, whole: Path, tmp_path: Path) -> None:
    go(corpus, tmp_path, TINY, RANDOM, seed=1)
    assert left_by(tmp_path)["model.safetensors"] != left_by(whole)["model.safetensors"]


def test_patience_at_its_end_stays_at_its_end(corpus: Path, tmp_path: Path) -> None:
    """A run that stopped early and broke off while it was scored does not train on."""
    rest = {"training.steps": 40, "training.validate_every": 2, "training.patience": 2, "training.rate": 1e-9}
    how = (TINY, RANDOM, rest, {"training.select": "accuracy"})
    go(corpus, tmp_path / "whole", *how)
    assert left_by(tmp_path / "whole")["step"] < 40
    with pytest.raises(Stop):
        go(corpus, tmp_path / "broken", *how, listener=EventRecorder(at(Preparing, what="scoring valid")))
    go(corpus, tmp_path / "broken", *how)
    same(tmp_path / "broken", tmp_path / "whole")


LAST = {"training.average": "last", "training.last": 3, "training.checkpoint_every": 2, "training.validate_every": 10}


def test_an_interruption_is_not_averaged_in(corpus: Path, tmp_path: Path) -> None:
    """The checkpoint that a signal causes is one too many for the average of the last ones."""
    go(corpus, tmp_path / "whole", TINY, RANDOM, LAST)
    for step in (5, 7, 9):
        assert signalled(corpus, tmp_path / "broken", step, LAST).status == "interrupted"
    go(corpus, tmp_path / "broken", TINY, RANDOM, LAST)
    same(tmp_path / "broken", tmp_path / "whole")


def signalled(corpus: Path, folder: Path, step: int, *more: dict[str, Any], number: int = signal.SIGTERM) -> Any:
    """A run that gets a signal at a step."""

    def listener(event: Event) -> None:
        if isinstance(event, Stepped) and event.step == step:
            signal.raise_signal(number)

    return go(corpus, folder, TINY, RANDOM, *more, listener=listener)


# Signals


@pytest.mark.parametrize(("number", "why"), [(signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "Ctrl-C")])
def test_a_signal_saves_at_once_and_the_same_call_goes_on(
    number: int, why: str, corpus: Path, whole: Path, tmp_path: Path
) -> None:
    before = signal.getsignal(number)
    outcome = signalled(corpus, tmp_path, 5, number=number)
    assert (outcome.status, outcome.why, outcome.step) == ("interrupted", why, 5)
    assert checkpoints(tmp_path / "checkpoints")[0].name == "step-000005"
    assert signal.getsignal(number) is before
    assert go(corpus, tmp_path, TINY, RANDOM).status == "finished"
    same(tmp_path, whole)


@pytest.mark.parametrize("what", ["encoding", "scoring valid"])
@pytest.mark.parametrize(("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_a_signal_while_reading_or_scoring_is_heeded_at_once_and_loses_nothing(
    what: str, number: signal.Signals, error: type[BaseException], corpus: Path, whole: Path, tmp_path: Path
) -> None:
    def tell(event: Event) -> None:
        if isinstance(event, Preparing) and event.what == what:
            signal.raise_signal(number)

    with pytest.raises(error):
        go(corpus, tmp_path, TINY, RANDOM, listener=tell)
    assert go(corpus, tmp_path, TINY, RANDOM).status == "finished"
    same(tmp_path, whole)


def test_a_signal_at_the_last_step_leaves_only_the_scoring(corpus: Path, whole: Path, tmp_path: Path) -> None:
    outcome = signalled(corpus, tmp_path, 10)
    assert (outcome.status, outcome.why) == ("interrupted", "SIGTERM")
    heard = EventRecorder()
    go(corpus, tmp_path, TINY, RANDOM, listener=heard)
    assert not heard.of(Stepped)
    same(tmp_path, whole)


def test_the_second_ctrl_c_does_not_wait(corpus: Path, tmp_path: Path) -> None:
    def listener(event: Event) -> None:
        if isinstance(event, Stepped) and event.step == 2:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        go(corpus, tmp_path, TINY, listener=listener)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_command_line_says_where_it_was_saved(
    number: int, status: int, corpus: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tell(run: loop.Run, *what: Any) -> None:
        if run.position.step == 5:
            signal.raise_signal(number)

    monkeypatch.setattr(loop.TrainingLoop, "report_step", tell)
    how = [word for one in settings(TINY, RANDOM) for word in ("--set", one)]
    command = ["train", str(corpus), "--out", str(tmp_path), "--threads", str(THREADS), "--device", "cpu", *how]
    said = CliRunner().invoke(app, command)
    assert said.exit_code == status, said.output
    assert "saved at step 5" in said.output
    monkeypatch.undo()
    assert CliRunner().invoke(app, command).exit_code == 0
    same(tmp_path, whole)


def test_a_process_that_is_asked_to_end_saves_first(corpus: Path, whole: Path, tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from tests.training_cases import RANDOM, TINY, go\n"
        "outcome = go(sys.argv[1], Path(sys.argv[2]), TINY, RANDOM, listener=lambda event: time.sleep(0.05))\n"
        "print(outcome.status, outcome.why)\n"
    )
    folder = tmp_path / "model"
    command = [sys.executable, "-c", code, str(corpus), str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    deadline = time.monotonic() + 60
    while not (folder / "checkpoints").is_dir() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.terminate()
    assert process.communicate(timeout=60)[0].split() == ["interrupted", "SIGTERM"]
    go(corpus, folder, TINY, RANDOM)
    same(folder, whole)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a child made by fork")
def test_a_run_killed_again_and_again_ends_the_same(corpus: Path, whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    command = [sys.executable, "-m", "tests.training_cases", str(corpus), str(folder), "3"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 3
    same(folder, whole)
    assert not [path for path in folder.rglob("*") if path.name.endswith(".part")]


# Damage


def cut_short(checkpoint: Path) -> None:
    file = checkpoint / "state.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def emptied(checkpoint: Path) -> None:
    (checkpoint / "state.safetensors").write_bytes(b"")


def one_byte_other(checkpoint: Path) -> None:
    flip(checkpoint / "state.safetensors", -50)


def flip(file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(bytes(content))


def undescribed(checkpoint: Path) -> None:
    (checkpoint / "state.json").unlink()


def tensorless(checkpoint: Path) -> None:
    (checkpoint / "state.safetensors").unlink()


def another_batch(checkpoint: Path) -> None:
    file = checkpoint / "state.json"
    described = json.loads(file.read_text())
    file.write_text(json.dumps({**described, "batch": described["batch"] + 1}))


def no_json(checkpoint: Path) -> None:
    (checkpoint / "state.json").write_text("[1, 2")


DAMAGES = [cut_short, emptied, one_byte_other, undescribed, tensorless, another_batch, no_json]


@pytest.fixture(scope="module")
def broken(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that broke off with two checkpoints."""
    folder = tmp_path_factory.mktemp("broken") / "model"
    with pytest.raises(Stop):
        go(corpus, folder, TINY, RANDOM, listener=EventRecorder(at(Saved, step=6)))
    return folder


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_passed_over_and_said(
    damage: Callable[[Path], None], corpus: Path, broken: Path, whole: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(broken, tmp_path / "model"))
    assert [path.name for path in checkpoints(folder / "checkpoints")] == ["step-000006", "step-000004"]
    damage(folder / "checkpoints" / "step-000006")
    heard = EventRecorder()
    go(corpus, folder, TINY, RANDOM, listener=heard)
    assert "step-000006 is damaged" in heard.warnings
    assert "going on after step 4" in heard.notes
    same(folder, whole)


def test_when_every_checkpoint_is_damaged_it_begins_again_and_says_so(
    corpus: Path, broken: Path, whole: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(broken, tmp_path / "model"))
    for path in checkpoints(folder / "checkpoints"):
        emptied(path)
    heard = EventRecorder()
    go(corpus, folder, TINY, RANDOM, listener=heard)
    assert "step-000006 is damaged" in heard.warnings
    assert "step-000004 is damaged" in heard.warnings
    assert "beginning" in heard.warnings
    same(folder, whole)


@pytest.mark.parametrize("name", ["meta.json", "source.u16"])
def test_text_that_was_half_prepared_is_prepared_again(
    name: str, corpus: Path, broken: Path, whole: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(broken, tmp_path / "model"))
    (folder / "prepared" / name).unlink()
    go(corpus, folder, TINY, RANDOM)
    same(folder, whole)


@pytest.mark.parametrize("name", ["sources.npy", "valid.jsonl", "texts.jsonl", "source.u16", "source.starts.npy"])
def test_a_prepared_file_that_a_power_cut_left_empty_is_prepared_again(
    name: str, corpus: Path, whole: Path, tmp_path: Path
) -> None:
    with pytest.raises(Stop):
        go(corpus, tmp_path, TINY, RANDOM, listener=EventRecorder(lambda event: isinstance(event, Started)))
    (tmp_path / "prepared" / name).write_bytes(b"")
    go(corpus, tmp_path, TINY, RANDOM)
    same(tmp_path, whole)


def test_what_a_kill_left_half_written_is_swept(corpus: Path, broken: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(broken, tmp_path / "model"))
    half = folder / "checkpoints" / "step-000008.part"
    half.mkdir()
    (half / "state.safetensors").write_bytes(b"half")
    (folder / ".model.safetensors.1234.part").write_bytes(b"half")
    go(corpus, folder, TINY, RANDOM)
    assert not [path for path in folder.rglob("*") if path.name.endswith(".part")]


# A full disk


def full(*args: Any, **kwargs: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def full_as_safetensors_says(*args: Any, **kwargs: Any) -> None:
    raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        ("regard.training.loop.checkpoint_files.save_file", full),
        ("regard.training.loop.checkpoint_files.save_file", full_as_safetensors_says),
        ("regard.models.checkpoint.save_file", full_as_safetensors_says),
        ("os.fsync", full),
    ],
)
def test_a_full_disk_stops_with_advice_and_leaves_what_was_saved(
    place: str, fault: Callable[..., None], corpus: Path, whole: Path, tmp_path: Path
) -> None:
    """Full from the fifth step on."""
    with pytest.MonkeyPatch.context() as patch:

        def listener(event: Event) -> None:
            if isinstance(event, Stepped) and event.step == 5:
                patch.setattr(place, fault)

        with pytest.raises(FileError) as error:
            go(corpus, tmp_path, TINY, RANDOM, listener=listener)
    assert "No space left" in error.value.found
    assert "make room" in error.value.do
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".part")]
    assert checkpoints(tmp_path / "checkpoints")[0].name in ("step-000004", "step-000006")
    go(corpus, tmp_path, TINY, RANDOM)
    same(tmp_path, whole)


def test_a_full_disk_while_text_is_prepared_is_told(corpus: Path, whole: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.text.store.np.save", full)
        with pytest.raises(FileError, match="cannot write"):
            go(corpus, tmp_path, TINY, RANDOM)
    go(corpus, tmp_path, TINY, RANDOM)
    same(tmp_path, whole)


def test_a_file_that_grows_too_large_for_the_system_is_told_too(corpus: Path, tmp_path: Path) -> None:
    """The system itself refuses to write more, as a full disk does."""
    code = (
        "import resource, signal, sys; from pathlib import Path; from tests.training_cases import TINY, go\n"
        "from regard.errors import FileError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\n"
        "try: go(sys.argv[1], Path(sys.argv[2]), TINY)\n"
        "except FileError as error: print(error)\n"
    )
    command = [sys.executable, "-c", code, str(corpus), str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    assert "do: make room" in done.stdout, done.stdout + done.stderr
    go(corpus, tmp_path / "model", TINY)


# The same folder again


def test_a_finished_run_says_that_nothing_is_left_to_do(corpus: Path, whole: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.iterdir()}
    outcome = go(corpus, whole, TINY, RANDOM)
    assert outcome.status == "already finished"
    assert outcome.step == 10
    assert outcome.scores == json.loads((whole / "run.json").read_text())["scores"]
    assert {path: path.stat().st_mtime_ns for path in whole.iterdir()} == before


@pytest.mark.parametrize(
    ("key", "then", "now"),
    [
        ("training.rate", "0.002", "0.5"),
        ("model.dropout", "0.2", "0.1"),
        ("tokenizer.vocabulary", "300", "301"),
        ("model.norm", "not set", "'pre'"),
    ],
)
def test_another_setting_is_refused_by_name(key: str, then: str, now: str, corpus: Path, whole: Path) -> None:
    with pytest.raises(InputError) as error:
        go(corpus, whole, TINY, RANDOM, {key: json.loads(now.replace("'", '"'))})
    assert f"{key} was {then}, is {now}" in error.value.found
    assert "another --out" in error.value.do


def test_another_weight_of_a_source_is_refused(corpus: Path, broken: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(broken, tmp_path / "model"))
    with pytest.raises(InputError, match="weight"):
        go(corpus, folder, TINY, RANDOM, {"data.train": [{"file": str(corpus), "weight": 2}]})


def test_text_that_changed_is_refused_by_name(corpus: Path, broken: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(broken, tmp_path / "model"))
    other = tmp_path / corpus.name
    shutil.copy(corpus, other)
    with other.open("a") as file:
        file.write("ten\tdix\n")
    with pytest.raises(InputError, match=corpus.name):
        go(other, folder, TINY, RANDOM)


def test_source_and_target_the_other_way_round_are_another_run(tmp_path: Path) -> None:
    pairs = numbers(80)
    for side, name in enumerate(("n.en", "n.fr")):
        write_rows(tmp_path / name, [[pair[side]] for pair in pairs])
    files = [str(tmp_path / "n.en"), str(tmp_path / "n.fr")]
    how: dict[str, Any] = {"settings": settings(TINY, {"training.steps": 1}), "device": "cpu", "threads": 1}
    regard.training.train(files, tmp_path / "out", **how)
    assert regard.training.train(files, tmp_path / "out", **how).status == "already finished"
    with pytest.raises(InputError, match="the files were"):
        regard.training.train(files[::-1], tmp_path / "out", **how)


def test_the_same_text_under_another_name_is_accepted(corpus: Path, broken: Path, whole: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(broken, tmp_path / "model"))
    moved = tmp_path / "elsewhere" / "numbers.tsv"
    moved.parent.mkdir()
    shutil.copy(corpus, moved)
    go(moved, folder, TINY, RANDOM)
    same(folder, whole)


def test_a_folder_with_a_model_of_another_kind_is_left_alone(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(FileError, match="already holds a model"):
        go(corpus, tmp_path, TINY)
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]
