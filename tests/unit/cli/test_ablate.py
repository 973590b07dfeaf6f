"""`regard ablate` as a person uses it, on small models: one head after the other, some together, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import regard
from benchmarks import peers
from regard.cli import app
from regard.lens.intervene import intervene
from regard.training.evaluate import evaluate, read_data

RUNNER = CliRunner()
TEXTS = [f"w{n} w{n + 3} w{(7 * n) % 20} w{n + 1}" for n in range(6)]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("ablate")
    peers.save(peers.marian(1, 1.6), root / "marian", "seq2seq", num_beams=2, max_length=12)
    peers.save(peers.gpt2(1), root / "gpt2", "gpt2")
    peers.save(peers.bert(), root / "classes", "bert")
    (root / "texts.txt").write_text("".join(f"{text}\n" for text in TEXTS))
    (root / "pairs.tsv").write_text("".join(f"{text}\t{text[::-1]}\n" for text in TEXTS))
    labels = ("bad", "good")
    (root / "labels.tsv").write_text("".join(f"{text}\t{labels[n % 2]}\n" for n, text in enumerate(TEXTS)))
    return {path.name: str(path) for path in root.iterdir()}


def run(*args: str) -> str:
    found = RUNNER.invoke(app, ["ablate", *args])
    assert found.exit_code == 0, found.output
    return found.stdout


def refused(*args: str) -> str:
    found = RUNNER.invoke(app, ["ablate", *args])
    assert found.exit_code == 2, found.output
    return found.stderr


def test_one_head_after_the_other(places: dict[str, str], tmp_path: Path) -> None:
    model, data = places["gpt2"], places["texts.txt"]
    files = str(tmp_path / "effect.svg"), str(tmp_path / "effect.csv")
    told = run(model, data, "--svg", files[0], "--csv", files[1])
    assert "nats per token" in told
    found = json.loads(run(model, data, "--json"))
    task = regard.load(model, "cpu")
    heads = task.model.config.heads
    assert found["score"] == "nats_per_token"
    assert len(found["heads"]) == heads * 2
    one = found["heads"][-1]
    with intervene(task, silence=(one["site"], one["head"])):
        assert one["score"] == evaluate(task, read_data([data]))["nats_per_token"]
    assert one["site"] in told
    assert f"{one['score']}" in (tmp_path / "effect.csv").read_text()
    assert one["site"] in (tmp_path / "effect.svg").read_text()


def test_a_translator_is_scored_by_bleu_and_a_classifier_by_accuracy(places: dict[str, str]) -> None:
    assert json.loads(run(places["marian"], places["pairs.tsv"], "--limit", "2", "--json"))["score"] == "bleu"
    assert "chrF" in run(places["marian"], places["pairs.tsv"], "--limit", "2", "--score", "chrf")
    assert "accuracy" in run(places["classes"], places["labels.tsv"])


def test_some_heads_together(places: dict[str, str]) -> None:
    heads = "decoder.0.self:0", "decoder.1.self:1"
    asked = [part for head in heads for part in ("--silence", head)]
    found = json.loads(run(places["gpt2"], places["texts.txt"], *asked, "--json"))
    task = regard.load(places["gpt2"], "cpu")
    with intervene(task, silence=[("decoder.0.self", 0), ("decoder.1.self", 1)]):
        assert found["without"] == evaluate(task, read_data([places["texts.txt"]]))["nats_per_token"]
    told = run(places["gpt2"], places["texts.txt"], *asked)
    assert "with all heads" in told
    assert "without decoder.0.self:0, decoder.1.self:1" in told


def test_pronouns_are_a_score_of_some_heads_together_too(places: dict[str, str]) -> None:
    asked = places["marian"], "grammar:valid:12", "--silence", "decoder.0.cross:0", "--json", "--score"
    assert json.loads(run(*asked, "pronouns")) == json.loads(run(*asked, "pronoun_agreement"))


def test_what_cannot_be_done_is_said(places: dict[str, str]) -> None:
    model, data = places["gpt2"], places["texts.txt"]
    assert "did you mean 'nats_per_token'" in refused(model, data, "--score", "nats_per_tokn")
    assert "named by its site and number" in refused(model, data, "--silence", "decoder.0.self")
    assert "decoder.0.self" in refused(model, data, "--silence", "decoder.0.slef:1")
    assert "no head 9" in refused(model, data, "--silence", "decoder.0.self:9")
    assert "it is known what each stands for" in refused(model, "grammar:valid:20")
    assert "no map of all heads" in refused(model, data, "--silence", "decoder.0.self:1", "--svg", "x.svg")
    assert "both kinds of sentences" in refused(places["marian"], "grammar:valid:1")
    assert "tell il from elle" in refused(places["marian"], "grammar:valid:20")
    assert "grammar:valid" in refused(places["marian"], "grammar:valdi")
    assert "count and seed" in refused(places["marian"], "grammar:valid:20", "--test", "grammar:test:20:seven")
