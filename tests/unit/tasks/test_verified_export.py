"""Models of ours written for transformers, which then says the same; what is not the same is not written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
import typer
from typer.testing import CliRunner, Result

from benchmarks import peers
from regard.cli.export import export as export_verb
from regard.cli.verb import VerbCommand
from regard.errors import FileError, InputError, UnknownNameError
from regard.interop import transformers_export
from regard.models import RecurrentConfig, TransformerConfig, build, save_model
from regard.tasks import load
from regard.tasks.verified_export import export
from regard.text.bpe import Paired, train_tokenizer
from tests.export_cases import LAYERS, LINES, SMALL, folder_of

TEXTS = ["one two three", "nine", "four four zero seven", "a </s> in a text, L\u2019été\u00a0…"]


def theirs(folder: Path, auto: str) -> tuple[Any, Any]:
    return getattr(transformers, auto).from_pretrained(folder).eval(), transformers.AutoTokenizer.from_pretrained(
        folder
    )


@pytest.mark.parametrize(
    ("more", "fold"),
    [({}, False), ({"norm": "pre"}, True), ({"tied": False}, False)],
    ids=["post", "pre, normalised", "untied"],
)
def test_a_translator_says_the_same_there(more: dict[str, Any], fold: bool, tmp_path: Path) -> None:
    folder = folder_of("transformer", tmp_path / "ours", fold=fold, **more)
    found = export(folder, tmp_path / "hf")
    assert found.loads == "AutoModelForSeq2SeqLM"
    assert [one.reader.split()[0] for one in found.compared] == ["regard", "transformers"]
    model, tokenizer = theirs(tmp_path / "hf", found.loads)
    ours, again = load(folder, "cpu"), load(tmp_path / "hf", "cpu")
    for text in TEXTS:
        batch = tokenizer(text, return_tensors="pt")
        assert batch["input_ids"][0].tolist() == ours.tokenizer.encode([text])[0]
        for beams in (1, 4):
            ids = model.generate(**batch, num_beams=beams, max_new_tokens=12, max_length=None)
            said = tokenizer.decode(ids[0], skip_special_tokens=True)
            assert said == again.translate([text], beams=beams, max_length=12)[0]
        greedy = tokenizer.decode(model.generate(**batch, num_beams=1, max_new_tokens=12, max_length=None)[0], True)
        assert greedy == ours.translate([text], beams=1, max_length=12)[0]


def test_a_decoder_goes_on_the_same_there(tmp_path: Path) -> None:
    folder = folder_of("decoder", tmp_path / "ours")
    found = export(folder, tmp_path / "hf")
    model, tokenizer = theirs(tmp_path / "hf", found.loads)
    assert found.loads == "AutoModelForCausalLM"
    assert tokenizer.padding_side == "left"
    for text in TEXTS:
        batch = tokenizer(text, return_tensors="pt")
        ids = model.generate(**batch, do_sample=False, max_new_tokens=9, pad_token_id=tokenizer.pad_token_id)
        assert tokenizer.decode(ids[0], skip_special_tokens=True) == load(folder, "cpu").generate(text, 9)


def test_a_classifier_judges_the_same_there(tmp_path: Path) -> None:
    folder = folder_of("encoder", tmp_path / "ours", head="class", labels=("no", "yes", "both"), segments=0)
    found = export(folder, tmp_path / "hf")
    model, tokenizer = theirs(tmp_path / "hf", found.loads)
    batch = tokenizer(TEXTS, return_tensors="pt", padding=True)
    with torch.no_grad():
        probabilities = model(**batch).logits.softmax(-1)
    for row, one in zip(probabilities, load(folder, "cpu").classify(TEXTS), strict=True):
        assert model.config.id2label[int(row.argmax())] == one.label
        # float32: rounding leaves about 1e-6 of a logit, and a probability moves by no more than that
        assert row.tolist() == pytest.approx(list(one.probabilities.values()), abs=1e-5)


def test_masks_are_filled_the_same_there(tmp_path: Path) -> None:
    folder = folder_of("encoder", tmp_path / "ours", head="mask", segments=0)
    found = export(folder, tmp_path / "hf")
    model, tokenizer = theirs(tmp_path / "hf", found.loads)
    assert tokenizer.mask_token == "[MASK]"
    batch = tokenizer("one [MASK] three", return_tensors="pt")
    place = batch["input_ids"][0].tolist().index(tokenizer.mask_token_id)
    with torch.no_grad():
        best = int(model(**batch).logits[0, place].argmax())
    ((words,),) = load(folder, "cpu").fill(["one [MASK] three"], top=1)
    assert tokenizer.decode([best]).strip() == words[0].token


def test_bare_encoders_too(tmp_path: Path) -> None:
    folder = folder_of("encoder", tmp_path / "ours", head="none")
    assert export(folder, tmp_path / "hf").loads == "AutoModel"


@pytest.mark.parametrize("wrong", ["weights", "tokenizer"])
def test_what_is_not_the_model_is_not_kept(wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of("transformer", tmp_path / "ours")
    true = transformers_export.write_folder

    def spoilt(model: Any, tokenizer: Any, place: Path) -> None:
        other = train_tokenizer(LINES[:4], 280) if wrong == "tokenizer" else tokenizer
        if wrong == "weights":
            with torch.no_grad():
                model.source.table.weight[5] += 1.0
        true(model, other, place)
        if wrong == "weights":
            with torch.no_grad():
                model.source.table.weight[5] -= 1.0

    monkeypatch.setattr("regard.tasks.verified_export.write_folder", spoilt)
    monkeypatch.setattr(transformers_export, "sample_ids", lambda model: torch.full((2, 4), 5))
    with pytest.raises(FileError, match="what was written is not the model, read by regard"):
        export(folder, tmp_path / "hf")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ours"]


def test_without_transformers_our_reader_checks_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    folder = folder_of("transformer", tmp_path / "ours")
    assert [one.reader for one in export(folder, tmp_path / "hf").compared] == ["regard"]


def test_what_cannot_be_exported_is_refused_in_words(tmp_path: Path) -> None:
    folder = folder_of("transformer", tmp_path / "ours")
    with pytest.raises(UnknownNameError, match="did you mean 'huggingface'"):
        export(folder, tmp_path / "hf", to="hugging")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    with pytest.raises(FileError, match=r"not empty(.|\n)*mine.txt"):
        export(folder, tmp_path / "full")
    with pytest.raises(FileError, match="is a file"):
        export(folder, tmp_path / "full" / "mine.txt")
    peers.save(peers.marian(), tmp_path / "marian", "seq2seq")
    with pytest.raises(InputError, match="in that format already"):
        export(tmp_path / "marian", tmp_path / "hf")
    with pytest.raises(InputError, match="learned positions only"):
        export(folder_of("decoder", tmp_path / "d", positions="sinusoidal"), tmp_path / "hf")
    assert not (tmp_path / "hf").exists()
    (tmp_path / "empty").mkdir()
    assert export(folder, tmp_path / "empty").files[:2] == ["README.md", "config.json"]
    with pytest.raises(InputError, match=r"only a folder for CTranslate2 is quantised(.|\n)*--to onnx"):
        export(folder, tmp_path / "hf", to="onnx", quantization="int8")


def test_two_vocabularies_and_recurrent_models_have_no_place_there(tmp_path: Path) -> None:
    first, second = train_tokenizer(LINES[::2], 270), train_tokenizer(LINES[1::2], 280)
    sizes = {"source_vocabulary": first.size, "target_vocabulary": second.size}
    save_model(build(TransformerConfig(**SMALL, **LAYERS, **sizes, shared=False)), tmp_path / "two")
    Paired(first, second).save(tmp_path / "two" / "tokenizer.json")
    with pytest.raises(InputError, match=r"one for each side(.|\n)*joint = true"):
        export(tmp_path / "two", tmp_path / "hf")
    sizes = {"source_vocabulary": first.size, "target_vocabulary": first.size}
    save_model(build(RecurrentConfig(**sizes, dim=8, hidden=8)), tmp_path / "rnn")
    first.save(tmp_path / "rnn" / "tokenizer.json")
    with pytest.raises(InputError, match="no form in transformers"):
        export(tmp_path / "rnn", tmp_path / "hf")


def run(*arguments: str) -> Result:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command(cls=VerbCommand)(export_verb)
    return CliRunner().invoke(app, list(arguments))


def test_the_verb_says_what_it_wrote_and_how_to_load_it(tmp_path: Path) -> None:
    folder = folder_of("transformer", tmp_path / "ours")
    result = run(str(folder), "--to", "huggingface", "--out", str(tmp_path / "hf"))
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(f"{tmp_path / 'hf'} is ready: README.md, config.json, generation_config.json")
    typed = "\n".join(
        line.strip() for line in result.stdout.split("\n") if line.startswith("  ") and "read by" not in line
    )
    code = "\n".join(line for line in typed.split("\n") if "num_beams" not in line)
    made: dict[str, Any] = {}
    exec(code, made)  # what is printed can be pasted
    assert type(made["model"]).__name__ == "MarianMTModel"
    assert made["tokenizer"].eos_token == "</s>"
    again = run(str(folder), "--out", str(tmp_path / "hf"))
    assert (again.exit_code, "is not empty" in again.stderr) == (2, True)
    told = json.loads(run(str(folder), "--out", str(tmp_path / "other"), "--json").stdout)
    assert (told["format"], told["loads"]) == ("huggingface", "AutoModelForSeq2SeqLM")
