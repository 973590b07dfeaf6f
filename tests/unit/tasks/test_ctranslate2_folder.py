"""A folder for CTranslate2 says what the model says, in every kind of it; what does not is not kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from regard.errors import FileError, UnknownNameError
from regard.interop import ctranslate2_export
from regard.models import RecurrentConfig, Transformer, TransformerConfig, build, load_model, save_model
from regard.tasks.ctranslate2_folder import logs_of, our_logs, samples, write_compared
from regard.tasks.ctranslate2_translator import CTranslate2Translator
from regard.tasks.verified_export import export
from regard.text.bpe import Paired, read_tokenizer, train_tokenizer
from tests.bounds import logs_apart, outputs_apart
from tests.export_cases import LAYERS, LINES, SMALL, folder_of

KINDS: dict[str, dict[str, Any]] = {
    "post": {},
    "pre": {"norm": "pre", "activation": "gelu"},
    "learned": {"positions": "learned", "max_length": 40, "activation": "gelu_new"},
    "none": {"positions": "none", "norm": "pre", "activation": "silu"},
    "apart": {"shared": False, "tied": False, "output_bias": True, "scaled": False, "activation": "tanh"},
    "epsilon": {"epsilon": 1e-2, "pad": None},
}


def own(folder: Path) -> Transformer:
    model = load_model(folder)
    assert isinstance(model, Transformer)
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_log_probabilities_are_equal_to_rounding(kind: str, tmp_path: Path) -> None:
    folder = folder_of("transformer", tmp_path / "ours", **KINDS[kind])
    report = export(folder, tmp_path / "ct", "ctranslate2")
    model = own(folder)
    expected = our_logs(model, *samples(model))
    actual = logs_of(CTranslate2Translator(tmp_path / "ct", "cpu"), model)
    bound = 2 * outputs_apart(model, expected) + logs_apart(model.config.target_vocabulary, float(expected.abs().max()))
    torch.testing.assert_close(actual, expected, atol=bound, rtol=0)
    assert [one.exact for one in report.compared] == [True]


def test_the_samples_tell_a_wrong_norm_from_rounding(tmp_path: Path) -> None:
    model = own(folder_of("transformer", tmp_path / "ours"))
    before = our_logs(model, *samples(model))
    with torch.no_grad():
        nn.init.ones_(model.decoder[0].feedforward_residual.norm.weight)  # type: ignore[union-attr, arg-type]
    assert (our_logs(model, *samples(model)) - before).abs().max() > 1e-2


def test_two_vocabularies_go_there(tmp_path: Path) -> None:
    first, second = train_tokenizer(LINES[::2], 270), train_tokenizer(LINES[1::2], 280)
    sizes = {"source_vocabulary": first.size, "target_vocabulary": second.size}
    torch.manual_seed(1)
    save_model(build(TransformerConfig(**SMALL, **LAYERS, **sizes, shared=False)), tmp_path / "two")
    Paired(first, second).save(tmp_path / "two" / "tokenizer.json")
    files = export(tmp_path / "two", tmp_path / "ct", "ctranslate2").files
    assert {"source_vocabulary.json", "target_vocabulary.json", "tokenizer.target.json"} <= set(files)


@pytest.mark.parametrize("quantization", ["int8", "float16", "bfloat16"])
def test_fewer_bits_are_compared_too(quantization: str, tmp_path: Path) -> None:
    folder = folder_of("transformer", tmp_path / "ours")
    report = export(folder, tmp_path / "ct", "ctranslate2", quantization=quantization)
    whole = export(folder, tmp_path / "whole", "ctranslate2")
    assert report.compared[-1].exact == (quantization != "int8")
    assert report.compared[-1].difference > whole.compared[0].difference
    assert (tmp_path / "ct" / "model.bin").stat().st_size < (tmp_path / "whole" / "model.bin").stat().st_size
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ct", "ours", "whole"]


@pytest.mark.parametrize("wrong", ["order of queries and keys", "cross values", "sinusoid", "tokenizer"])
def test_what_is_not_the_model_is_not_kept(wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of("transformer", tmp_path / "ours")
    true_linear, true_sinusoids, true_vocabulary = (
        ctranslate2_export.fill_linear, ctranslate2_export.sinusoids, ctranslate2_export.vocabulary,
    )  # fmt: skip

    def linear(place: Any, layer: nn.Linear) -> None:
        true_linear(place, layer)
        rows, columns = place.weight.shape
        if wrong.startswith("order") and rows == 3 * columns:
            place.weight = place.weight.reshape(3, columns, columns)[[1, 0, 2]].reshape(rows, columns).copy()
        if wrong.startswith("cross") and rows == 2 * columns:
            place.weight = place.weight.reshape(2, columns, columns)[[1, 0]].reshape(rows, columns).copy()

    monkeypatch.setattr(ctranslate2_export, "fill_linear", linear)
    if wrong == "sinusoid":
        monkeypatch.setattr(ctranslate2_export, "sinusoids", lambda positions, dim: true_sinusoids(positions + 1, dim))
    if wrong == "tokenizer":
        monkeypatch.setattr(ctranslate2_export, "vocabulary", lambda side, size: true_vocabulary(side, size)[::-1])
    with pytest.raises(FileError, match="what was written is not the model, read by ctranslate2"):
        export(folder, tmp_path / "ct", "ctranslate2")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ours"]


def test_unknown_quantizations_and_other_families_are_refused_by_name(tmp_path: Path) -> None:
    folder = folder_of("transformer", tmp_path / "ours")
    with pytest.raises(UnknownNameError, match="did you mean 'int8'"):
        write_compared(own(folder), read_tokenizer(folder), tmp_path / "ct", longest=9, quantization="int7")
    tokenizer = train_tokenizer(LINES, 280)
    sizes = {"source_vocabulary": tokenizer.size, "target_vocabulary": tokenizer.size}
    save_model(build(RecurrentConfig(**sizes, dim=8, hidden=8)), tmp_path / "rnn")
    tokenizer.save(tmp_path / "rnn" / "tokenizer.json")
    for form in ("ctranslate2", "onnx"):
        with pytest.raises(ValueError, match="family 'recurrent'"):
            export(tmp_path / "rnn", tmp_path / "ct", form)
    assert not (tmp_path / "ct").exists()
