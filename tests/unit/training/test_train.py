"""What a new user found: corrected commands, files the wrong way round, and files that a power cut left empty."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from regard.cli.train import next_command
from regard.errors import InputError
from regard.models import EncoderConfig, build, save_model
from regard.training import train
from regard.training.recipe.recipe import with_settings
from regard.training.recipe.resolve import Request, resolve
from regard.training.report.events import Event, Preparing, Started
from tests.training_cases import RANDOM, TINY, EventRecorder, Stop, go, numbers, same, settings, write_rows


@pytest.fixture(scope="module")
def whole(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "model"
    go(corpus, folder, TINY, RANDOM)
    return folder


@pytest.mark.parametrize("wrong", [{"model.heads": 3}, {"model.dimm": 16}, {"start": "pyproject.toml"}])
def test_a_wrong_setting_claims_no_folder(wrong: dict[str, Any], corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(Exception, match=r"heads|dimm|pyproject"):
        go(corpus, out, TINY, wrong)
    assert not out.exists()
    assert go(corpus, out).status == "finished"


def test_a_refused_run_leaves_no_board(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        go(corpus, tmp_path / "out", TINY, {"model.heads": 3}, tensorboard=True)
    assert not (tmp_path / "out").exists()


def test_a_rehearsal_of_going_on_finds_sizes_that_cannot_change(corpus: Path, whole: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot change"):
        train(str(corpus), tmp_path, settings=[f"start={whole}", "model.dim=32"], device="cpu", dry_run=True)


def test_source_and_target_the_other_way_round_are_another_run(tmp_path: Path) -> None:
    pairs = numbers(80)
    for side, name in enumerate(("n.en", "n.fr")):
        write_rows(tmp_path / name, [[pair[side]] for pair in pairs])
    files = [str(tmp_path / "n.en"), str(tmp_path / "n.fr")]
    how: dict[str, Any] = {"settings": settings(TINY, {"training.steps": 1}), "device": "cpu", "threads": 1}
    train(files, tmp_path / "out", **how)
    assert train(files, tmp_path / "out", **how).status == "already finished"
    with pytest.raises(InputError, match="the files were"):
        train(files[::-1], tmp_path / "out", **how)


def test_two_files_of_two_columns_are_not_two_sides(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two columns each"):
        train([str(corpus), str(corpus)], tmp_path, device="cpu")


def test_a_glob_needs_no_suffix(tmp_path: Path) -> None:
    rows = numbers(80)
    write_rows(tmp_path / "part-a", rows[:40])
    write_rows(tmp_path / "part-b", rows[40:])
    assert resolve(Request("part-*", tmp_path)).task == "translate"


@pytest.mark.parametrize("name", ["sources.npy", "valid.jsonl", "texts.jsonl", "source.u16", "source.starts.npy"])
def test_a_prepared_file_that_is_empty_is_made_again(name: str, corpus: Path, whole: Path, tmp_path: Path) -> None:
    with pytest.raises(Stop):
        go(corpus, tmp_path, TINY, RANDOM, listener=EventRecorder(lambda event: isinstance(event, Started)))
    (tmp_path / "prepared" / name).write_bytes(b"")
    go(corpus, tmp_path, TINY, RANDOM)
    same(tmp_path, whole)


def test_a_table_that_was_given_a_value_is_not_offered_again() -> None:
    with pytest.raises(InputError, match="no table 'training'") as error:
        with_settings({}, ["training=3", "training.steps=2"])
    assert "did you mean 'training'" not in str(error.value)


def test_what_fills_in_words_is_given_a_mask_to_fill(tmp_path: Path) -> None:
    config = EncoderConfig(vocabulary=300, dim=16, heads=2, feedforward=32, layers=1, head="mask")
    save_model(build(config), tmp_path)
    assert "[MASK]" in next_command(tmp_path, "")


def test_repaired_rows_are_told_with_an_example(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "numbers.tsv", [["one\u2028two", "un deux"], ["be\x07ll", "cloche"], *numbers(80)])
    heard = EventRecorder()
    go(file, tmp_path / "out", TINY, listener=heard)
    assert "2 of them repaired: control characters became spaces" in heard.warnings
    assert r"one\u2028two" in heard.warnings


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
