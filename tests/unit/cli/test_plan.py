"""`regard plan`, as a person meets it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from regard.cli import app
from regard.cli.plan import flops_words


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["plan", *arguments])


def test_a_table_and_what_it_rests_on() -> None:
    result = run("multi30k-en-fr", "--gpu", "h100", "--gpus", "2", "--price", "3", "--data", "nowhere")
    assert result.exit_code == 0, result.stderr
    rows = {line.split("  ")[0]: line for line in result.stdout.splitlines() if line and not line.startswith(" ")}
    assert set(rows) == {"run", "parameters", "tokens", "arithmetic", "time", "memory", "energy", "cost of machine"}
    assert "2 x NVIDIA H100 SXM" in rows["run"]
    assert "6,807,552" in rows["parameters"]
    assert "80.0 GB are" in rows["memory"]
    assert result.stdout.count("assumed") >= 3


def test_the_same_as_json() -> None:
    result = run("wmt14-big", "--gpu", "a100-40gb", "--json", "--data", "nowhere")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["steps"] > 0
    assert found["memory"]["weights"] > 4 * found["parameters"]
    assert found["basis"]


def test_a_model_that_does_not_fit_is_said() -> None:
    result = run("wmt14-big", "--gpu", "l4", "--set", "training.batch_tokens=200000", "--data", "nowhere")
    assert "too little" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["multi30k-en-fr", "--gpu", "h20"], "did you mean 'h200'"),
        (["multi30k-en-fr", "--data", "nowhere"], "--gpu NAME"),
        (["multi30k-en-ft", "--gpu", "h200"], "did you mean 'multi30k-en-fr'"),
        (["a", "b", "c"], "one or two files"),
    ],
)
def test_errors_say_what_to_do(arguments: list[str], words: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_arithmetic_in_words() -> None:
    assert [flops_words(number) for number in (3.9e15, 1.2e9, 5e6, 2e22)] == [
        "3.9 PFLOP", "1.2 GFLOP", "0.005 GFLOP", "20 ZFLOP",
    ]  # fmt: skip
