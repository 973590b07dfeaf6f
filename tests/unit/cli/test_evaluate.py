"""`regard evaluate` as a person meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

import regard
from benchmarks import peers
from regard.cli.attention_tables import antecedents_view
from regard.cli.evaluate import evaluate
from regard.cli.verb import VerbCommand
from regard.cli.waiting import ProgressBar
from regard.drawing.plain import as_text
from regard.text import scores
from regard.training.evaluate.antecedents import Antecedents, HeadShare

PAIRS = list(zip(peers.sentences(3, 12), peers.sentences(4, 12), strict=True))


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Models and files, by name."""
    root = tmp_path_factory.mktemp("models")
    peers.save(peers.marian(1, 1.6), root / "marian", "seq2seq", num_beams=2, max_length=12)
    peers.save(peers.marian(2, 1.6), root / "other", "seq2seq", num_beams=2, max_length=12)
    peers.save(peers.gpt2(1), root / "gpt2", "gpt2")
    peers.save(peers.bert(), root / "classes", "bert")
    peers.save(peers.bert("BertForMaskedLM"), root / "masks", "bert")
    texts = {
        "pairs.tsv": [f"{source}\t{target}" for source, target in PAIRS],
        "a.en": [source for source, _ in PAIRS],
        "a.fr": [target for _, target in PAIRS],
        "labels.tsv": [f"{source}\t{('bad', 'good', 'good')[n % 3]}" for n, (source, _) in enumerate(PAIRS)],
    }
    for name, lines in texts.items():
        (root / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return {path.name: str(path) for path in root.iterdir()}


def run(places: dict[str, str], *arguments: str) -> Result:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command(cls=VerbCommand)(evaluate)
    return CliRunner().invoke(app, [places.get(argument, argument) for argument in arguments])


def found(places: dict[str, str], *arguments: str) -> dict[str, dict[str, dict[str, float]]]:
    result = run(places, *arguments, "--json", "--device", "cpu")
    assert result.exit_code == 0, result.stderr
    kept: dict[str, dict[str, dict[str, float]]] = json.loads(result.stdout)
    return kept


def test_a_translator(places: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    result = run(
        places, "marian", "pairs.tsv", "--beams", "1", "--batch", "4", "--output", str(file), "--language", "fr"
    )
    assert result.exit_code == 0, result.stderr
    outputs = file.read_text(encoding="utf-8").split("\n")[:-1]
    assert outputs == regard.load(places["marian"], "cpu").translate([source for source, _ in PAIRS], beams=1)
    bleu = scores.bleu(outputs, [target for _, target in PAIRS])
    assert f"{bleu.value:.2f}" in result.stdout
    assert f"BLEU: {bleu.signature}\n" in result.stdout
    assert "tok:moses-fr" in result.stdout
    assert "12 pairs" in result.stdout
    assert "words in the source  pairs  BLEU" in result.stdout
    assert result.stderr == f"wrote {file}\n"


def test_two_files_are_a_tsv(places: dict[str, str]) -> None:
    pairs, aligned = found(places, "marian", "pairs.tsv"), found(places, "marian", "a.en", "a.fr")
    assert pairs["scores"] == aligned["scores"]
    assert found(places, "marian", "pairs.tsv", "--limit", "3")["pairs"] == 3


def test_against_another(places: dict[str, str]) -> None:
    result = run(places, "marian", "pairs.tsv", "--against", "other")
    assert result.exit_code == 0, result.stderr
    assert f"against {places['other']}: BLEU" in result.stdout.replace("\n", " ")
    assert found(places, "marian", "pairs.tsv", "--against", "marian")["comparison"]["p"] == 1


def test_the_language_is_that_of_the_recipe(places: dict[str, str]) -> None:
    recipe = Path(places["marian"]) / "recipe.toml"
    recipe.write_text('[data]\nlanguages = ["en", "de"]\n', encoding="utf-8")
    try:
        signature = found(places, "marian", "pairs.tsv")["scores"]["bleu_tokenised"]["signature"]
        asked = found(places, "marian", "pairs.tsv", "--language", "fr")["scores"]["bleu_tokenised"]["signature"]
    finally:
        recipe.unlink()
    assert "moses-de" in str(signature)
    assert "moses-fr" in str(asked)


def test_a_grammar_set_has_a_dictionary_beside_it_and_says_what_attention_did(places: dict[str, str]) -> None:
    result = run(places, "marian", "grammar:unseen", "--limit", "20", "--beams", "1")
    assert result.exit_code == 0, result.stderr
    assert "a dictionary, word for word" in result.stdout
    assert "pronouns that agree" in result.stdout
    assert "chance:50" in result.stdout
    for words in ("alignment error rate, sure links only", "mean of all heads", "row that writes il or elle", "head 1"):
        assert words in result.stdout
    assert 'the antecedent of "it" above the rival noun, of' in result.stdout
    assert "chance: 50 %" in result.stdout


def test_of_many_heads_the_best_are_shown() -> None:
    heads = [
        HeadShare("output", f"decoder.{layer}.cross", head, (16 * layer + head) / 100)
        for layer in range(2)
        for head in range(16)
    ]
    shown = as_text(antecedents_view(Antecedents(heads, 100)))
    assert "best 8 of 32" in shown
    assert "decoder.1.cross" in shown
    assert "31.0 %" in shown
    assert "decoder.0.cross" not in shown


def test_a_classifier(places: dict[str, str], tmp_path: Path) -> None:
    result = run(places, "classes", "labels.tsv", "--output", str(tmp_path / "labels"))
    assert result.exit_code == 0, result.stderr
    assert "always saying 'good'" in result.stdout
    assert "66.7 %" in result.stdout
    assert "true label, and what was said  bad  fair  good" in result.stdout
    assert set((tmp_path / "labels").read_text(encoding="utf-8").split()) <= {"bad", "fair", "good"}
    assert found(places, "classes", "labels.tsv")["scores"]["accuracy"]["baseline"] == pytest.approx(200 / 3)


@pytest.mark.parametrize(
    ("model", "words"), [("gpt2", "nats per character"), ("masks", "accuracy"), ("masks", "perplexity per token")]
)
def test_models_of_words(model: str, words: str, places: dict[str, str]) -> None:
    result = run(places, model, "a.en")
    assert result.exit_code == 0, result.stderr
    assert words in result.stdout
    assert "every token alike" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["marian", "a.en", "a.fr", "pairs.tsv"], "one file, or two"),
        (["marian", "grammar:lang"], "grammar:long"),
        (["marian", "missing.tsv"], "there is no file missing.tsv"),
        (["marian", "pairs.tsv", "--against", "gpt2"], "is not an encoder-decoder"),
        (["gpt2", "a.en", "--against", "marian"], "only translators are compared"),
        (["gpt2", "a.en", "--output", "x"], "without writing texts"),
        (["masks", "a.en", "--output", "x"], "without writing texts"),
        (["classes", "pairs.tsv"], "labels that the model does not know"),
        (["./nowhere", "pairs.tsv"], "no such folder"),
    ],
)
def test_errors_say_what_to_do_and_exit_with_2(arguments: list[str], message: str, places: dict[str, str]) -> None:
    result = run(places, *arguments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert "do: " in result.stderr


def test_progress_is_for_people_who_wait(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    with ProgressBar("evaluating") as told:
        told(1, 2)
        monkeypatch.setattr("regard.cli.waiting.PATIENCE", -1.0)
        told(2, 2)
    assert capfd.readouterr() == ("", "")  # nobody watches: this is no terminal
    monkeypatch.setenv("FORCE_COLOR", "1")
    with ProgressBar("evaluating") as told:
        told(1, 2)
    out, err = capfd.readouterr()
    assert out == ""
    assert "evaluating" in err


def test_help_needs_no_torch() -> None:
    program = (
        "import sys, typer; from typer.testing import CliRunner; from regard.cli.evaluate import evaluate\n"
        "app = typer.Typer(); app.command()(evaluate)\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "assert not {'torch', 'sacrebleu', 'sacremoses'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_columns_and_encodings_on_the_command_line(places: dict[str, str], tmp_path: Path) -> None:
    wide, old = tmp_path / "wide.tsv", tmp_path / "old.tsv"
    wide.write_text("".join(f"{source}\t{target}\tnote\n" for source, target in PAIRS), encoding="utf-8")
    old.write_bytes("".join(f"{source} é\t{target}\n" for source, target in PAIRS).encode("cp1252"))
    both = [found(places, "marian", *more)["scores"] for more in (("pairs.tsv",), (str(wide),))]
    assert both[0] == both[1]
    turned = found(places, "marian", str(wide), "--columns", "1,0")
    assert turned["scores"] != both[0]
    refused = run(places, "marian", str(old))
    assert refused.exit_code == 2
    remedy = refused.stderr.split("do: ")[1].split(" reads it")[0].split()
    assert remedy == ["--encoding", "cp1252"]
    assert run(places, "marian", str(old), *remedy).exit_code == 0
    assert "columns are for a single file" in run(places, "marian", "a.en", "a.fr", "--columns", "0,1").stderr
    assert "no columns and no encoding" in run(places, "marian", "grammar:test", "--columns", "0,1").stderr
