"""What there is, the worked examples, and the check of a learner's own numbers."""

from __future__ import annotations

import pytest
import torch
from fastapi.testclient import TestClient

import regard
from regard.server.studio import worked_answers
from regard.worked.examples import names
from tests.studio_cases import get, post, sentence


def test_what_there_is(client: TestClient) -> None:
    studio = get(client, "studio")
    models = {model["name"]: model for model in studio["models"]}
    assert (models["grammar"]["kind"], models["grammar"]["languages"]) == ("ships", ["en", "fr"])
    assert {name: model["task"] for name, model in models.items()}.items() >= {
        "decoder": "generate", "encoder-class": "classify", "encoder-mask": "mask", "recurrent-attention": "translate",
        "llama": "generate", "grammar": "translate", "half": "translate",
    }.items()  # fmt: skip
    assert sorted(name for name, model in models.items() if not model["searches"]) == [
        "encoder-class", "encoder-mask", "llama",
    ]  # fmt: skip
    assert models["half"]["kind"] == "run"
    assert all(model["examples"] for model in models.values())
    assert [(one["name"], one["calls"]) for one in studio["recordings"]] == [("cat", 1)]
    assert studio["start"] == {"page": "steps", "model": None, "recording": None, "text": None}


def test_the_worked_examples_with_their_numbers_and_mistakes(client: TestClient) -> None:
    examples = {one["name"]: one for one in get(client, "examples")}
    assert sorted(examples) == names()
    love = examples["i-love-ai"]
    sheet = regard.steps(example="i-love-ai")
    for step in ("x", "w_q", "q", "scores", "scaled", "weights", "output"):
        assert torch.equal(torch.tensor(love[step], dtype=torch.float64), sheet.values[step].double())
    mistakes = regard.check(example="i-love-ai").mistakes
    assert [(one["step"], one["row"], one["column"]) for one in love["mistakes"]] == [
        (mistake.step, mistake.row, mistake.column) for mistake in mistakes
    ]
    assert love["mistakes"][0]["sentence"].startswith("v (love, column 0) [1, 0]: written 2, should be 0")
    assert {"step": "scaled", "row": 0, "column": 1, "written": "0.71", "value": 0.71} in love["stated"]
    assert post(client, "check", toml=love["toml"])["findings"][0]["given"] == 2.0


def test_a_learners_own_numbers_are_checked_by_the_digits_written(client: TestClient) -> None:
    one = [[1, 0], [0, 1]]
    sheet = {"tokens": ["a", "b"], "inputs": {"q": one, "k": one, "v": one}}
    right = post(client, "check", **sheet, stated={"scores": one, "scaled": [["0.71", 0], [None, 0.707]]})
    assert (right["right"], right["findings"], right["checked"]) == (True, [], 7)
    wrong = post(client, "check", **sheet, stated={"scores": [[1, 2], [None, None]]})
    assert not wrong["right"]
    (mistake,) = wrong["findings"]
    assert (mistake["step"], mistake["row"], mistake["column"], mistake["expected"]) == ("scores", 0, 1, 0.0)


def test_a_check_that_would_take_too_long_is_given_up(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worked_answers, "SECONDS", 0)
    asked = {"tokens": ["a"] * 8, "stated": {"weights": [[0.3] * 8] * 8, "scores": [[1] * 8] * 8}}
    assert "fewer numbers" in sentence(client.post("/api/check", json=asked), 413)
    monkeypatch.undo()
    assert post(client, "check", tokens=["a"], inputs={"q": [[1]], "k": [[1]]}, stated={"scores": [[1]]})["right"]


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({}, 400, "toml and tokens"),
        ({"toml": "tokens = ["}, 400, "not TOML"),
        ({"toml": 'tokens = ["a"]'}, 400, "states nothing"),
        ({"tokens": ["a"], "inputs": {"/etc/passwd": [[1]]}, "stated": {"q": [[1]]}}, 400, "no input"),
        ({"tokens": ["a"], "stated": {"q": [["x"]]}}, 400, "must be a number"),
        ({"tokens": ["a"] * 64, "stated": {"scores": [[1] * 64] * 64, "q": [[1] * 64]}}, 413, "at most"),
        ({"tokens": ["a"], "surprise": 1}, 400, "surprise"),
    ],
)
def test_what_cannot_be_checked_is_said(client: TestClient, asked: dict[str, object], status: int, words: str) -> None:
    assert words in sentence(client.post("/api/check", json=asked), status)
