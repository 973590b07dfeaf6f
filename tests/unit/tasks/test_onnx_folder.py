"""ONNX graphs run in onnxruntime and equal the model: for any number of texts, any length, any past."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.errors import FileError, InputError
from regard.interop import onnx_export
from regard.interop.onnx_export import import_onnx
from regard.interop.onnx_greedy import OnnxModel
from regard.models import load_model
from regard.tasks import load
from regard.tasks.onnx_folder import compare_logits
from regard.tasks.verified_export import export
from tests.bounds import outputs_apart
from tests.export_cases import folder_of

KINDS: dict[str, dict[str, Any]] = {
    "post": {"encoder_layers": 1},
    "pre": {
        "norm": "pre",
        "positions": "learned",
        "max_length": 20,
        "activation": "gelu",
        "tied": False,
        "encoder_layers": 1,
    },
}


@pytest.fixture(scope="module", params=KINDS)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """A folder of ours, the same as ONNX, and the code that its card shows: exporting takes seconds."""
    place = tmp_path_factory.mktemp(request.param)
    folder = folder_of("transformer", place / "ours", **KINDS[request.param])
    report = export(folder, place / "onnx", "onnx")
    assert report.files == ["README.md", "config.json", "decoder.onnx", "encoder.onnx", "tokenizer.json"]
    return folder, place / "onnx", report.usage


def test_logits_are_equal_to_rounding_for_every_size(exported: tuple[Path, Path, str]) -> None:
    folder, onnx, _ = exported
    model, graphs = load_model(folder), OnnxModel(onnx)
    rng = torch.Generator().manual_seed(4)
    for lengths in ((1,), (7, 3), (2, 9, 9, 4)):
        rows = [torch.randint(3, 290, (length,), generator=rng).tolist() for length in lengths]
        share = compare_logits(model, graphs, rows, 8, "onnxruntime")  # type: ignore[arg-type]
        assert share <= outputs_apart(model)  # of the largest


def test_greedy_ids_are_those_of_our_search(exported: tuple[Path, Path, str]) -> None:
    folder, onnx, _ = exported
    translator, graphs = load(folder, "cpu"), OnnxModel(onnx)
    for text in ("one two three", "nine"):
        source = np.array(translator.tokenizer.encode([text]))
        ids, logits = graphs.greedy(source, np.ones(source.shape, bool), 12)
        assert (ids == logits.argmax(-1)).all()
        assert translator.tokenizer.decode(ids[0]) == translator.translate([text], beams=1, max_length=12)[0]


def test_the_code_on_the_card_runs(exported: tuple[Path, Path, str]) -> None:
    folder, onnx, usage = exported
    text = (onnx / "README.md").read_text(encoding="utf-8")
    assert usage.split("\n")[-1] in text
    assert text.startswith("---\n")
    assert json.loads((onnx / "config.json").read_text())["format"] == onnx_export.FORMAT
    names: dict[str, Any] = {}
    exec(usage.replace("< 256", "< 13"), names)
    expected = load(folder, "cpu").translate(["The cat sleeps."], beams=1, max_length=12)[0]
    assert names["text"] == expected
    with pytest.raises(InputError, match=r"was exported for another program(.|\n)*README.md"):
        load(onnx)


def test_a_graph_of_another_model_is_not_kept(
    exported: tuple[Path, Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, onnx, _ = exported

    def spoilt(model: Any, tokenizer: Any, place: Path, *, longest: int) -> None:
        place.mkdir()
        for file in onnx.iterdir():
            (place / file.name).write_bytes(file.read_bytes())
        with torch.no_grad():
            model.decoder[0].self_attention.qkv.weight.copy_(model.decoder[0].self_attention.qkv.weight.flip(0))

    monkeypatch.setattr("regard.tasks.onnx_folder.write_onnx", spoilt)
    with pytest.raises(FileError, match="what was written is not the model, read by onnxruntime"):
        export(folder, tmp_path / "onnx", "onnx")
    assert not list(tmp_path.iterdir())


def test_without_the_libraries_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r'onnxruntime is not installed(.|\n)*pip install "regard\[onnx\]"'):
        import_onnx()
