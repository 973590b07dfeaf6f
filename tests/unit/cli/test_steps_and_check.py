"""`regard steps` and `regard check` as a person meets them: output, exit status, errors, and help at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import regard
from regard.cli import app


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_steps_as_json() -> None:
    result = run("steps", "--example", "i-love-ai", "--json")
    assert result.exit_code == 0
    output = json.loads(result.stdout)["output"]
    assert [[round(cell, 3) for cell in row] for row in output] == [[0.599, 2.0], [0.752, 2.255], [0.716, 2.292]]


def test_steps_in_the_terminal() -> None:
    result = run("steps", "I love AI", "--query", "love", "--causal", "--heads", "2", "--d", "6", "--seed", "4")
    assert result.exit_code == 0
    for piece in ("Project", "Score", "Scale", "Mask", "Softmax", "Mix", "Join the heads", 'The row of "love", head 1'):
        assert piece in result.stdout


@pytest.mark.parametrize(
    ("option", "ending", "start"), [("--html", "html", "<!doctype html>"), ("--latex", "tex", "% I love")]
)
def test_a_file_or_standard_output(option: str, ending: str, start: str, tmp_path: Path) -> None:
    target = tmp_path / "deep" / f"sheet.{ending}"
    assert run("steps", "I love AI", option, str(target)).exit_code == 0
    written = target.read_text(encoding="utf-8")
    assert written.startswith(start)
    assert run("steps", "I love AI", option).stdout == written
    assert run("steps", option, "I love AI").stdout == written


def test_ones_own_numbers(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('tokens = ["a", "b"]\nq = [[1], [2]]\nk = [[1], [0]]\nv = [[1], [3]]\n', encoding="utf-8")
    scores = json.loads(run("steps", "--input", str(path), "--json").stdout)["scores"]
    assert scores == [[1, 0], [2, 0]]


def test_check_lists_exactly_the_slips_and_exits_with_1() -> None:
    result = run("check", "--example", "i-love-ai")
    assert result.exit_code == 1
    assert result.stdout.count("✗") == 3
    assert "written 0.71, should be 1.41" in result.stdout
    as_json = run("check", "--example", "i-love-ai", "--json")
    assert as_json.exit_code == 1
    assert len(json.loads(as_json.stdout)["mistakes"]) == 3


def test_check_of_a_right_example_exits_with_0() -> None:
    result = run("check", "--example", "thinking-machines")
    assert result.exit_code == 0
    assert "no mistakes in 6 numbers" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["steps"], "there are no words"),
        (["steps", " "], "tokens must be a list of words"),
        (["steps", "--example", "i-love-a"], "did you mean 'i-love-ai'"),
        (["steps", "I love AI", "--query", "hate"], "there is no word 'hate'"),
        (["steps", "I love AI", "--heads", "3"], "3 heads cannot share 4 dims"),
        (["steps", "--input", "nowhere.toml"], "cannot read nowhere.toml"),
        (["steps", "I love AI", "--json", "--latex"], "only one form at a time"),
        (["check"], "needs a file or the name"),
        (["check", "notes.toml", "--example", "i-love-ai"], "not both"),
        (["check", "nowhere.toml"], "cannot read nowhere.toml"),
        (["check", "--example", "pizza"], "did you mean 'pizza-is-awesome'"),
        (["steps", "I", "--html", "/dev/null/page.html"], "cannot write"),
    ],
)
def test_errors_say_what_to_do_and_exit_with_2(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "do: " in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("broken.toml", "tokens = [", "is not TOML"),
        ("broken.json", "{", "is not JSON"),
        ("list.json", "[1, 2]", "must hold names and values"),
        ("ragged.toml", 'tokens = ["a", "b"]\nx = [[1, 2], [3]]', "x is ragged"),
        ("none.toml", "x = [[1]]", "tokens must be a list of words"),
        ("latin.toml", b"tokens = ['\xe9']", "is not text in UTF-8"),
    ],
)
@pytest.mark.parametrize("verb", [("steps", "--input"), ("check",)])
def test_malformed_files(verb: tuple[str, ...], name: str, text: str | bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    result = run(*verb, str(path))
    assert result.exit_code == 2
    assert message in result.stderr


def test_help_and_version_need_no_torch() -> None:
    """What makes the help slow is importing torch: so that is what must not happen."""
    program = (
        "import sys; from typer.testing import CliRunner; from regard.cli import app\n"
        "result = CliRunner().invoke(app, sys.argv[1:]); assert result.exit_code == 0, result.output\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules; print(result.stdout)"
    )
    for arguments in (["--help"], ["steps", "--help"], ["check", "--help"], ["--version"]):
        done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "regard" in done.stdout


def test_version() -> None:
    assert run("--version").stdout.strip() == f"regard {regard.__version__}"


def test_a_reader_that_leaves_early_is_no_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m regard steps 'a b c d e f g h' --d 8 | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr


def test_steps_say_how_they_are_computed_and_what_is_made_up(tmp_path: Path) -> None:
    how = ("steps", "the cat saw the dog", "--scale", "1/8", "--temperature", "2", "--positions", "--query", "the:2")
    shown = run(*how)
    assert shown.exit_code == 0, shown.stderr
    for told in ("are made up", "X + P", "c = 0.125", "T = 2", 'The row of "the (2 of 2)"'):
        assert told in " ".join(shown.stdout.split())
    assert shown.stderr == ""
    told = json.loads(run(*how, "--json").stdout)
    assert (told["scale"], told["temperature"]) == (0.125, 2.0)
    assert "nothing was trained" in told["made_up"]
    file = tmp_path / "sheet.json"
    file.write_text(json.dumps(told), encoding="utf-8")
    assert run("check", str(file)).exit_code == 0


def test_a_word_that_stands_twice_is_said_to() -> None:
    result = run("steps", "the cat saw the dog", "--query", "the")
    assert result.stderr == 'note: "the" stands there 2 times, and this is the first; for the second: --query the:2\n'
    assert 'The row of "the (1 of 2)"' in result.stdout
    assert run("steps", "the cat", "--query", "the").stderr == ""
    assert "choose the:1 to the:2" in run("steps", "the cat saw the dog", "--query", "the:3").stderr


@pytest.mark.parametrize("option", [("--d", "4096"), ("--d", "1000000000"), ("--heads", "4", "--d", "256")])
def test_a_sheet_that_nobody_could_read_is_refused(option: tuple[str, ...]) -> None:
    result = run("steps", "I love AI", *option)
    assert result.exit_code == 2
    assert "at most 100,000 numbers" in result.stderr
    assert "choose a smaller d" in result.stderr
