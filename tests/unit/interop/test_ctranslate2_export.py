"""What is written for CTranslate2: copies, our own positions, every token by its id; what has no place is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.errors import FileError, InputError
from regard.interop import ctranslate2_export
from regard.interop.ctranslate2_export import (
    ROWS,
    import_ctranslate2,
    settings_of,
    specification,
    transformer_only,
    vocabulary,
    write_ctranslate2,
)
from regard.models import DecoderConfig, RecurrentConfig, Transformer, TransformerConfig, build, load_model
from regard.models.checkpoint import own_tensors, read_settings
from regard.models.layers import sinusoids
from regard.text.bpe import read_tokenizer
from regard.text.tokenizer import Tokenizer
from tests.export_cases import folder_of


def model_of(folder: Path) -> tuple[Transformer, Tokenizer]:
    model, tokenizer = load_model(folder), read_tokenizer(folder)
    assert isinstance(model, Transformer)
    assert isinstance(tokenizer, Tokenizer)
    return model, tokenizer


def test_eight_bits_leave_the_model_as_it_was(tmp_path: Path) -> None:
    model, tokenizer = model_of(folder_of("transformer", tmp_path / "ours"))
    before = {name: tensor.clone() for name, tensor in own_tensors(model).items()}
    write_ctranslate2(model, tokenizer, tmp_path / "ct", longest=16, quantization="int8")
    assert all(torch.equal(tensor, before[name]) for name, tensor in own_tensors(model).items())


def test_positions_are_ours_and_start_where_ours_start(tmp_path: Path) -> None:
    model, _ = model_of(folder_of("transformer", tmp_path / "ours"))
    spec = specification(model, rows=ROWS)
    written = spec.encoder.position_encodings.encodings
    assert written.shape == (ROWS, 16)
    assert np.array_equal(written, sinusoids(torch.arange(ROWS), 16).float().numpy())
    assert written[0].tolist() == [0.0, 1.0] * 8


def test_what_is_written_can_be_read_as_settings(tmp_path: Path) -> None:
    model, tokenizer = model_of(folder_of("transformer", tmp_path / "ours"))
    write_ctranslate2(model, tokenizer, tmp_path / "ct", longest=2000)
    settings = settings_of(read_settings(tmp_path / "ct"), tmp_path / "ct")
    assert settings.transformer == model.config
    assert (settings.longest, settings.positions, settings.quantization) == (2000, 2000, "float32")
    with pytest.raises(FileError, match=r"config.json is damaged(.|\n)*longest"):
        settings_of({"transformer": model.config.to_dict()}, tmp_path)


def test_ids_without_a_token_have_names_of_their_own(tmp_path: Path) -> None:
    _, tokenizer = model_of(folder_of("transformer", tmp_path / "ours"))
    tokens = vocabulary(tokenizer, tokenizer.size + 2)
    assert tokens[:3] == ["<pad>", "<s>", "</s>"]
    assert len(set(tokens)) == tokenizer.size + 2


@pytest.mark.parametrize(
    "config",
    [
        DecoderConfig(vocabulary=9, dim=8, heads=2, feedforward=8, layers=1),
        RecurrentConfig(source_vocabulary=9, target_vocabulary=9, dim=8, hidden=8),
    ],
    ids=lambda config: config.family,
)
def test_other_families_are_refused_by_name(config: Any) -> None:
    with pytest.raises(InputError, match=rf"only an encoder-decoder(.|\n)*family '{config.family}'"):
        transformer_only(build(config))


def test_every_activation_of_ours_is_one_of_theirs() -> None:
    from regard.models.config import ACTIVATIONS

    assert set(ctranslate2_export.ACTIVATIONS) == set(ACTIVATIONS)
    assert TransformerConfig().activation in ACTIVATIONS


def test_without_the_library_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ctranslate2", None)
    with pytest.raises(InputError, match=r'not installed(.|\n)*pip install "regard\[fast\]"'):
        import_ctranslate2()
