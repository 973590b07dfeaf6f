"""What would take for ever, or overflow, is answered in words at once; a text without words has no class."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

import regard
from benchmarks import peers
from regard.cli.classify import classify
from regard.cli.translate import translate
from regard.cli.verb import VerbCommand
from regard.decoding import Beams
from regard.errors import InputError
from regard.lens.alignment.pairs import align_pairs
from regard.lens.analysis.subject import open_subject
from regard.models import DecoderConfig, TransformerConfig, build, checkpoint, load_model, save_model
from regard.tasks.classifier import Classification

LONG = "w1 " * 3_400_000  # ten megabytes


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    peers.save(peers.marian(1, 1.6), root / "marian", "seq2seq", num_beams=2, max_length=12)
    peers.save(peers.gpt2(1), root / "gpt2", "gpt2")
    peers.save(peers.bert(), root / "classes", "bert")
    peers.save(peers.bert("BertForMaskedLM"), root / "masks", "bert")
    return {path.name: path for path in root.iterdir()}


def run(verb: Any, folder: Path, given: str, *more: str) -> Result:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command(cls=VerbCommand)(verb)
    return CliRunner().invoke(app, [str(folder), *more, "--device", "cpu"], input=given)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": 1e9}, "alpha must lie between -5 and 5"),
        ({"alpha": -1e9}, "alpha must lie between -5 and 5"),
        ({"alpha": math.nan}, "alpha must lie between -5 and 5"),
        ({"alpha": math.inf}, "alpha must lie between -5 and 5"),
        ({"beams": 100_000}, "at least one beam, and at most 500"),
        ({"beams": 0}, "at least one beam, and at most 500"),
        ({"max_length": 10**9}, "at most 4,096 tokens"),
        ({"max_length": 0}, "at least one id"),
        ({"nbest": 5}, "at most the number of beams"),
    ],
)
def test_searches_are_bounded(folders: dict[str, Path], options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        regard.load(folders["marian"], "cpu").translate(["w1 w2"], **options)


def test_the_bounds_themselves_work(folders: dict[str, Path]) -> None:
    task = regard.load(folders["marian"], "cpu")
    for alpha in (-5.0, 5.0):
        ((best,),) = task.search(["w1 w2"], alpha=alpha, beams=3)
        assert math.isfinite(best.score)
    assert Beams(500).width == 500
    # many beams go through with fewer texts side by side, and say what one text alone would
    texts = peers.sentences(3, 9)
    assert task.translate(texts, beams=200) == [task.translate([text], beams=200)[0] for text in texts]


@pytest.mark.parametrize("tokens", [0, 10**9])
def test_generation_is_bounded(folders: dict[str, Path], tokens: int) -> None:
    with pytest.raises(InputError, match="tokens must be at least 1 and at most 100,000"):
        regard.load(folders["gpt2"], "cpu").generate("w1", tokens)


@pytest.mark.parametrize("batch", [0, -1])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("marian", lambda task: task.translate(["w1"])),
        ("marian", lambda task: align_pairs(task, ["w1"], ["w2"])),
        ("gpt2", lambda task: task.generate("w1", 2)),
        ("classes", lambda task: task.classify(["w1"])),
    ],
)
def test_fewer_than_one_text_side_by_side_is_refused(
    folders: dict[str, Path], name: str, call: Callable[[Any], Any], batch: int
) -> None:
    task = regard.load(folders[name], "cpu")
    task.batch = batch
    with pytest.raises(InputError, match=rf"batch must be at least 1\n  found: {batch}\n"):
        call(task)


def test_a_line_of_ten_megabytes_is_refused_before_it_is_read(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No clock: nothing but its length is looked at, since no tokenizer may be asked."""
    monkeypatch.setattr("regard.text.tokenizer.Tokenizer.encode", lambda *_: pytest.fail("it was read"))
    tasks = {name: regard.load(folder, "cpu") for name, folder in folders.items()}
    for call in (
        lambda: tasks["marian"].translate(["w1", LONG]),
        lambda: tasks["gpt2"].generate(["w1", LONG]),
        lambda: tasks["classes"].classify(["w1", LONG]),
        lambda: tasks["masks"].fill(["w1", LONG]),
    ):
        with pytest.raises(InputError, match=r"text 2 is too long to be read as one(.|\n)*10,200,000 characters"):
            call()
    with pytest.raises(InputError, match="text 1 is too long"):
        open_subject(folders["gpt2"], "cpu").see(LONG)


def test_the_command_line_counts_lines(folders: dict[str, Path]) -> None:
    result = run(translate, folders["marian"], "w1\n" * 20 + LONG + "\n", "--batch", "1")
    assert result.exit_code == 2
    assert "line 21 is too long" in result.stderr
    assert len(result.stdout.splitlines()) == 20  # what came before is there


# Models that do not fit


def config_of(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dim": 4_000_000_000}, "dim is larger than any model's"),
        ({"dim": 4e9}, "dim must be a whole number"),
        ({"layers": 10**9}, r"layers is larger than any model's(.|\n)*at most 1,000"),
        ({"dim": 10**6, "heads": 2}, r"a model of [\d,]+ parameters does not fit(.|\n)*GB in float32, where there are"),
    ],
)
def test_sizes_that_cannot_be_are_refused_before_anything_is_allocated(
    changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    save_model(build(DecoderConfig(dim=16, heads=2, feedforward=16, layers=1, vocabulary=6)), tmp_path)
    config_of(tmp_path, **changes)
    with pytest.raises(InputError, match=words):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("marian", {"d_model": 10**6, "encoder_attention_heads": 2}),
        ("gpt2", {"n_embd": 10**6}),
        ("classes", {"hidden_size": 10**6}),
    ],
)
def test_theirs_too(folders: dict[str, Path], model: str, changes: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    for path in folders[model].iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    config_of(folder, **changes)
    with pytest.raises(InputError, match="parameters does not fit"):
        regard.load(folder, "cpu")


def test_room_is_measured_by_what_the_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    config = TransformerConfig.preset("tiny", 300)
    monkeypatch.setattr(checkpoint, "memory_here", lambda: 4 * config.parameters())
    build(config)
    monkeypatch.setattr(checkpoint, "memory_here", lambda: 4 * config.parameters() - 1)
    with pytest.raises(InputError, match=f"a model of {config.parameters():,} parameters does not fit"):
        build(config)
    monkeypatch.setattr(checkpoint, "memory_here", lambda: None)  # a system that does not say
    build(config)


# Nothing to classify


def test_a_text_without_words_has_no_class(folders: dict[str, Path]) -> None:
    task = regard.load(folders["classes"], "cpu")
    texts = ["w1 w2", "", " \t ", "w3"]
    found = task.classify(texts)
    assert found[1] == found[2] == Classification(None, {})
    assert [one.label for one in task.classify(["w1 w2", "w3"])] == [found[0].label, found[3].label]
    assert task.classify(["", ""]) == [Classification(None, {})] * 2


def test_empty_lines_stay_where_they_are(folders: dict[str, Path]) -> None:
    lines = run(classify, folders["classes"], "w1 w2\n\nw3\n").stdout.split("\n")
    assert (lines[0].endswith("  w1 w2"), lines[1], lines[2].endswith("  w3")) == (True, "", True)
    objects = [json.loads(line) for line in run(classify, folders["classes"], "w1\n\n", "--json").stdout.splitlines()]
    assert objects[1] == {"text": "", "label": None, "probabilities": {}}
    masked = run(classify, folders["masks"], "w1 [MASK]\n\n").stdout.split("\n")
    assert masked[0].endswith("  w1 [MASK]")
    assert masked[1:] == ["", ""]
