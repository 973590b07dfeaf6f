"""The verbs that run a model, as a person meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner, Result

from benchmarks import peers
from regard.cli import app
from regard.cli.lines import plain
from regard.cli.translate import as_json
from regard.models import Transformer, TransformerConfig, save_model
from regard.tasks.translator import Translation
from regard.text.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("models")
    peers.save(peers.marian(1), root / "marian", "seq2seq", num_beams=3, max_length=12)
    peers.save(peers.gpt2(1), root / "gpt2", "gpt2", max_length=50)
    peers.save(peers.bert(), root / "classes", "bert")
    peers.save(peers.bert("BertForMaskedLM"), root / "masks", "bert")
    config = TransformerConfig(
        source_vocabulary=40, target_vocabulary=40, dim=16, heads=2, feedforward=24, encoder_layers=1, decoder_layers=1
    )
    save_model(Transformer(config), root / "own")
    Tokenizer(peers.tokenizer("seq2seq").backend_tokenizer).save(root / "own" / "tokenizer.json")
    save_model(Transformer(config), root / "bare")
    return {path.name: str(path) for path in root.iterdir()}


def run(*arguments: str, given: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=given)


@pytest.mark.parametrize("name", ["marian", "own"])
def test_translate_line_by_line(name: str, folders: dict[str, str]) -> None:
    lines = ["w1 w2 w3", "", "w4", "   ", "w5 w6 w7 w8 w9", "w4"]
    how = ("translate", folders[name], "--max-length", "9", "--batch", "2", "--device", "cpu")
    result = run(*how, given="\n".join(lines) + "\n")
    assert result.exit_code == 0, result.stderr
    out = result.stdout.split("\n")
    assert len(out) == len(lines) + 1
    assert (out[1], out[3], out[6]) == ("", "", "")
    assert out[2] == out[5]
    assert run(*how, given="w4").stdout == out[2] + "\n"
    assert run(*how, "--beams", "1", given="w4\r\n").exit_code == 0
    assert run(*how, given="").stdout == ""


def test_translate_stops_and_computes_as_asked(folders: dict[str, str]) -> None:
    how = ("translate", folders["own"], "--max-length", "9", "--device", "cpu")
    for option, values in {"--stop": ("likely", "proven", "full"), "--dtype": ("bfloat16", "float16")}.items():
        for value in values:
            result = run(*how, option, value, given="w1 w2\n\nw3\n")
            assert result.exit_code == 0, result.stderr
            assert len(result.stdout.splitlines()) == 3
    assert "no stop 'likly'" in run(*how, "--stop", "likly", given="w1\n").stderr
    assert "no dtype 'half'" in run(*how, "--dtype", "half", given="w1\n").stderr


def test_translate_several_and_as_json(folders: dict[str, str]) -> None:
    how = ("translate", folders["marian"], "--nbest", "2", "--beams", "4", "--alpha", "0.5")
    line, empty = run(*how, given="w1 w2\n\n").stdout.split("\n")[:2]
    assert empty == ""
    found = [json.loads(one) for one in run(*how, "--json", given="w1 w2\n\n").stdout.splitlines()]
    assert line.split("\t") == [one["text"] for one in found[0]["nbest"]]
    assert found[0]["source"] == "w1 w2"
    assert found[0]["translation"] == found[0]["nbest"][0]["text"]
    assert found[0]["nbest"][0]["score"] >= found[0]["nbest"][1]["score"]
    assert found[1]["translation"] == ""


def test_bytes_that_are_no_text_and_odd_separators_keep_the_lines(folders: dict[str, str]) -> None:
    result = run(
        "translate", folders["own"], "--max-length", "3", "--beams", "1", given=b"w1 \xff w2\nw3\xe2\x80\xa8w4\n"
    )
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 2


@pytest.mark.parametrize("name", ["marian", "own"])
def test_lines_too_long_for_the_model(name: str, folders: dict[str, str]) -> None:
    longest = {"marian": 64, "own": 256}[name]
    how = ("translate", folders[name], "--plain", "--max-length", "3", "--beams", "1", "--batch", "1")
    lines = ["w1"] * 10 + ["w1 w2. " * longest, "", "w3"]
    result = run(*how, given="\n".join(lines) + "\n")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("\n") == len(lines)
    assert result.stdout.split("\n")[12] == run(*how, given="w3\n").stdout.rstrip("\n")
    refused = run(*how, "--long", "refuse", given="\n".join(lines) + "\n")
    assert refused.exit_code == 2
    assert "line 11 is longer than this model can read" in refused.stderr
    assert f"{2 * longest + 1:,} tokens, where at most {longest} fit" in refused.stderr
    assert refused.stdout.count("\n") == 10  # what came before is said
    assert run(*how, "--long", "cut", given="w1\n").exit_code == 2


def test_translations_that_are_cut_are_counted(folders: dict[str, str]) -> None:
    how = ("translate", folders["marian"], "--max-length", "1", "--beams", "1")
    given = "w1 w2\nw3\n\nw5\n"
    result = run(*how, "--json", given=given)
    found = [json.loads(line) for line in result.stdout.splitlines()]
    cut = [one["cut"] for one in found]
    assert cut == [one["nbest"][0]["cut"] for one in found]
    assert any(cut)
    assert not cut[2]
    many = sum(cut)
    said = "the translation of 1 line" if many == 1 else f"the translations of {many} lines"
    assert result.stderr.count(said) == run(*how, given=given).stderr.count(said) == 1
    assert "reached" not in run(*how, given="\n").stderr


def test_json_stays_on_its_line() -> None:
    odd = "a\u2028b\x85c\nd"
    text = as_json(odd, [Translation(odd, 0.0)])
    assert len(text.splitlines()) == 1
    assert json.loads(text)["source"] == json.loads(text)["translation"] == odd


def test_control_characters_become_spaces() -> None:
    assert plain("a\nb\tc\x85d\u2028e\x7ff é") == "a b c d e f é"


def test_generate_goes_on_from_a_prompt_and_a_seed_draws_the_same(folders: dict[str, str]) -> None:
    result = run("generate", folders["gpt2"], "w1 w2", "--tokens", "6", "--temperature", "0")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("w1 w2")
    found = json.loads(run("generate", folders["gpt2"], "w1 w2", "--tokens", "6", "--json").stdout)
    assert found["text"] == result.stdout.rstrip("\n")
    assert found["prompt_ids"] == [7, 8]
    drawn = ("generate", folders["gpt2"], "w1", "--temperature", "3", "--top-k", "30", "--top-p", "0.99", "--seed", "4")
    assert run(*drawn).stdout == run(*drawn).stdout != run(*drawn[:-1], "5").stdout


def test_classify_names_the_likeliest_label_of_each_text(folders: dict[str, str]) -> None:
    result = run("classify", folders["classes"], "w1 w2", "w3")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == run("classify", folders["classes"], given="w1 w2\nw3\n").stdout
    assert [line.split()[0] in ("bad", "fair", "good") for line in result.stdout.splitlines()] == [True, True]
    found = [json.loads(line) for line in run("classify", folders["classes"], "--json", "w1").stdout.splitlines()]
    assert found[0]["label"] == max(found[0]["probabilities"], key=found[0]["probabilities"].get)


def test_classify_fills_in_masks(folders: dict[str, str]) -> None:
    result = run("classify", folders["masks"], "w1 [MASK]", "--top", "2")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.endswith("w1 [MASK]\n")
    found = json.loads(run("classify", folders["masks"], "w1 [MASK]", "--top", "2", "--json").stdout)
    assert [len(words) for words in found["masks"]] == [2]


@pytest.mark.parametrize(
    ("name", "family", "origin", "tokenizer"),
    [
        ("marian", "transformer", "Hugging Face (MarianMTModel)", "WordLevel, 40 tokens"),
        ("gpt2", "decoder", "Hugging Face (GPT2LMHeadModel)", "WordLevel, 40 tokens"),
        ("classes", "encoder", "Hugging Face (BertForSequenceClassification)", "WordLevel, 40 tokens"),
        ("own", "transformer", "regard", "WordLevel, 40 tokens"),
        ("bare", "transformer", "regard", "none (no tokenizer.json)"),
    ],
)
def test_info_says_family_origin_tokenizer_and_sizes(
    name: str, family: str, origin: str, tokenizer: str, folders: dict[str, str]
) -> None:
    found = json.loads(run("info", folders[name], "--json").stdout)
    assert (found["family"], found["origin"], found["tokenizer"]) == (family, origin, tokenizer)
    assert found["sizes"]["dim"] == 16
    shown = run("info", folders[name]).stdout
    assert f"{found['parameters']:,}" in shown
    assert family in shown


def test_info_counts_each_parameter_once(folders: dict[str, str]) -> None:
    expected = sum(tensor.numel() for tensor in peers.gpt2(1).parameters())
    assert json.loads(run("info", folders["gpt2"], "--json").stdout)["parameters"] == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["generate", "marian", "w1"], "is not a decoder-only model"),
        (["translate", "gpt2"], "is not an encoder-decoder"),
        (["classify", "own", "w1"], "is not an encoder-only model"),
        (["classify", "masks", "w1"], "there is no mask"),
        (["generate", "gpt2", "w1", "--top-k", "3"], "at temperature 0"),
        (["generate", "gpt2", "w1", "--tokens", "0"], "tokens must be at least 1"),
        (["generate", "gpt2", "w1", "--device", "gpu"], "no device 'gpu'"),
        (["translate", "own", "--nbest", "9"], "nbest"),
        (["translate", "bare"], "holds no tokenizer"),
        (["info", "./nowhere"], "no such folder"),
    ],
)
def test_errors_say_what_to_do_and_exit_with_2(arguments: list[str], message: str, folders: dict[str, str]) -> None:
    result = run(*(folders.get(argument, argument) for argument in arguments), given="w1\n")
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert "do: " in result.stderr


def test_without_the_network_a_name_on_the_hub_is_an_error_that_says_so() -> None:
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "regard", "info", "nobody/nothing-of-that-name"],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 2
    assert "could not be had from the Hugging Face hub" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_needs_no_torch() -> None:
    program = (
        "import sys; from typer.testing import CliRunner; from regard.cli import app\n"
        "for verb in ('translate', 'generate', 'classify', 'info'):\n"
        "    assert CliRunner().invoke(app, [verb, '--help']).exit_code == 0\n"
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
