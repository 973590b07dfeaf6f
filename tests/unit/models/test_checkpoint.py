"""A model on disk: what is written, and a sentence for every way in which a folder can be wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from regard.errors import FileError, RegardError, UnknownNameError
from regard.models import build, load_model, save_model
from regard.models import checkpoint as module
from tests.families import FAMILIES, families, transformer

FAMILY = FAMILIES["transformer post"]
FILES = ["config.json", "model.safetensors"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(FAMILY.model(), tmp_path / "model")
    return tmp_path / "model"


def edit(folder: Path, **changes: Any) -> None:
    """Change the settings in config.json."""
    path = folder / "config.json"
    data = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    path.write_text(json.dumps(data), encoding="utf-8")


def rewrite(folder: Path, change: Callable[[dict[str, torch.Tensor]], Any]) -> None:
    """Change the tensors in model.safetensors."""
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


def refusal(folder: Path, kind: type[RegardError] = FileError) -> str:
    """What is said on loading: what went wrong and what to do, in words."""
    with pytest.raises(kind) as caught:
        load_model(folder)
    assert isinstance(caught.value, RegardError)
    assert len(caught.value.wrong.split()) >= 3
    assert caught.value.do
    return str(caught.value)


# What is written


def test_a_folder_holds_a_configuration_and_tensors_and_nothing_else(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == FILES
    data = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert (data["format"], data["version"], data["family"], data["dim"]) == ("regard", 1, "transformer", 16)


@pytest.mark.parametrize("name", families())
def test_what_is_shared_is_written_once(name: str, tmp_path: Path) -> None:
    model = FAMILIES[name].model()
    save_model(model, tmp_path)
    written = sum(tensor.numel() for tensor in load_file(tmp_path / "model.safetensors").values())
    assert written == sum(parameter.numel() for parameter in model.parameters())


def test_what_was_shared_is_shared_again(folder: Path) -> None:
    model = load_model(folder)
    assert model.source.table is model.target.table


def test_folders_are_made_and_names_may_be_strings(tmp_path: Path) -> None:
    save_model(FAMILY.model(), str(tmp_path / "a" / "b"))
    assert load_model(str(tmp_path / "a" / "b")).config == FAMILY.config


def test_a_folder_can_be_written_again(folder: Path) -> None:
    save_model(FAMILIES["decoder"].model(), folder)
    assert load_model(folder).config == FAMILIES["decoder"].config
    assert sorted(path.name for path in folder.iterdir()) == FILES


def test_saving_the_same_writes_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    save_model(load_model(folder), tmp_path / "again")
    for name in FILES:
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_saving_leaves_the_model_alone(tmp_path: Path) -> None:
    model = FAMILY.model().train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    save_model(model, tmp_path)
    assert model.training
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_a_strided_tensor_is_written_as_it_reads(tmp_path: Path) -> None:
    model = FAMILY.model()
    weight = model.encoder[0].feedforward.up.weight
    weight.data = weight.data.T.contiguous().T
    assert not weight.is_contiguous()
    save_model(model, tmp_path)
    assert torch.equal(load_model(tmp_path).encoder[0].feedforward.up.weight, weight)


def test_building_gives_the_family_of_the_configuration() -> None:
    for family in FAMILIES.values():
        model = build(family.config)
        assert model.config is family.config
        assert type(model).__name__.lower() == family.config.family


# A crash while writing


class CrashError(Exception):
    pass


def half_written(write: Callable[..., Any]) -> Callable[..., None]:
    """A writer that breaks in the middle of its file."""

    def crash(tensors: dict[str, torch.Tensor], path: Path, **options: Any) -> None:
        write(tensors, path, **options)
        whole = Path(path).read_bytes()
        Path(path).write_bytes(whole[: len(whole) // 2])
        raise CrashError

    return crash


def test_a_crash_leaves_the_old_files_whole_and_nothing_beside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: (folder / name).read_bytes() for name in FILES}
    monkeypatch.setattr(module, "save_file", half_written(save_file))
    with pytest.raises(CrashError):
        save_model(FAMILY.model(seed=1), folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert load_model(folder).config == FAMILY.config


def test_a_crash_in_a_new_folder_leaves_nothing_that_could_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "save_file", half_written(save_file))
    with pytest.raises(CrashError):
        save_model(FAMILY.model(), tmp_path / "new")
    assert list((tmp_path / "new").iterdir()) == []
    refusal(tmp_path / "new")


def test_a_crash_in_the_settings_leaves_the_old_ones(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (folder / "config.json").read_bytes()
    write_text = Path.write_text

    def crash(path: Path, text: str, **options: Any) -> int:
        write_text(path, text[: len(text) // 2], **options)
        raise CrashError

    monkeypatch.setattr(Path, "write_text", crash)
    with pytest.raises(CrashError):
        save_model(FAMILY.model(seed=1), folder)
    assert (folder / "config.json").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == FILES


# Folders that are wrong


def test_no_folder(tmp_path: Path) -> None:
    assert "holds no model" in refusal(tmp_path / "nowhere")
    assert "holds no model" in refusal(tmp_path)


def test_a_file_for_a_folder(folder: Path) -> None:
    refusal(folder / "config.json")


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert name in refusal(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_folder_for_a_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    (folder / name).mkdir()
    assert name in refusal(folder)


@pytest.mark.parametrize("content", ["", "{", "{'dim': 3}", "dim = 3", '{"format": "regard"', "\x00\x01"])
def test_settings_that_are_not_json(folder: Path, content: str) -> None:
    (folder / "config.json").write_text(content, encoding="utf-8")
    assert "cannot read" in refusal(folder)


def test_settings_that_are_not_text(folder: Path) -> None:
    (folder / "config.json").write_bytes(b"\xff\xfe\x80\x81")
    assert "cannot read" in refusal(folder)


@pytest.mark.parametrize("content", ["[]", "3", '"regard"', "null", "true"])
def test_settings_that_are_not_a_table(folder: Path, content: str) -> None:
    (folder / "config.json").write_text(content, encoding="utf-8")
    assert "is not a configuration" in refusal(folder)


def test_settings_that_are_nested_beyond_reason(folder: Path) -> None:
    (folder / "config.json").write_text("[" * 100_000, encoding="utf-8")
    refusal(folder)


@pytest.mark.parametrize("kind", [None, "gguf", 3, ["regard"]])
def test_a_folder_of_another_kind(folder: Path, kind: Any) -> None:
    edit(folder, format=kind)
    assert "not a folder of regard's" in refusal(folder)


@pytest.mark.parametrize("version", [3, 4, 100])
def test_a_file_from_the_future(folder: Path, version: int) -> None:
    edit(folder, version=version, invention="unheard of")
    said = refusal(folder)
    assert "written by a newer regard" in said
    assert f"format version {version}" in said
    assert "upgrade" in said


@pytest.mark.parametrize("version", ["2", None, [], {}, "new"])
def test_a_version_that_is_no_number(folder: Path, version: Any) -> None:
    edit(folder, version=version)
    refusal(folder)


@pytest.mark.parametrize(("family", "known"), [("transfomer", "transformer"), (None, "decoder"), (3, "encoder")])
def test_an_unknown_family(folder: Path, family: Any, known: str) -> None:
    edit(folder, family=family)
    said = refusal(folder, UnknownNameError)
    assert "there is no family" in said
    assert known in said


@pytest.mark.parametrize("family", [[], {}, ["transformer"]])
def test_a_family_that_is_no_name(folder: Path, family: Any) -> None:
    edit(folder, family=family)
    refusal(folder, RegardError)


def test_an_unknown_setting(folder: Path) -> None:
    edit(folder, droput=0.1)
    assert "did you mean 'dropout'?" in refusal(folder, UnknownNameError)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dim", 15), ("dim", "16"), ("dim", [16]), ("heads", 3), ("dropout", 2), ("norm", "middle"), ("norm", ["pre"]),
        ("activation", None), ("end", 19), ("pad", -1), ("max_length", {}), ("epsilon", "small"), ("start", None),
        ("tied", "no"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be(folder: Path, name: str, value: Any) -> None:
    edit(folder, **{name: value})
    assert name in refusal(folder, RegardError)


# Tensors that are wrong

CUTS = {"nothing": 0.0, "in the length": 4, "after the length": 8, "in the header": 200, "half": 0.5, "the last": -1}


@pytest.mark.parametrize("cut", CUTS)
def test_a_file_cut_short(folder: Path, cut: str) -> None:
    path, at = folder / "model.safetensors", CUTS[cut]
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * at) if isinstance(at, float) else at])
    said = refusal(folder)
    assert "damaged" in said
    assert "model.safetensors" in said


@pytest.mark.parametrize("content", [b"not tensors at all", b"\xff" * 64, b"\x02\x00\x00\x00\x00\x00\x00\x00{]"])
def test_a_file_of_something_else(folder: Path, content: bytes) -> None:
    (folder / "model.safetensors").write_bytes(content)
    assert "damaged" in refusal(folder)


def test_bytes_behind_the_end(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes() + b"more")
    assert "damaged" in refusal(folder)


def test_a_missing_tensor(folder: Path) -> None:
    rewrite(folder, lambda tensors: tensors.pop("encoder.0.self_attention.qkv.weight"))
    assert "missing: encoder.0.self_attention.qkv.weight" in refusal(folder)


def test_an_extra_tensor(folder: Path) -> None:
    rewrite(folder, lambda tensors: tensors.update(surplus=torch.zeros(3)))
    assert "extra: surplus" in refusal(folder)


def test_missing_and_extra_are_both_named_and_many_are_counted(folder: Path) -> None:
    def change(tensors: dict[str, torch.Tensor]) -> None:
        tensors.pop("source.table.weight")
        tensors.update({f"surplus.{i}": torch.zeros(1) for i in range(9)})

    rewrite(folder, change)
    said = refusal(folder)
    assert "missing: source.table.weight" in said
    assert "extra: surplus.0, surplus.1, surplus.2, surplus.3 and 5 more" in said


@pytest.mark.parametrize("shape", [(19, 8), (20, 16), (16, 19), (304,), (1, 19, 16), ()])
def test_a_wrong_shape(folder: Path, shape: tuple[int, ...]) -> None:
    """A shape that could be broadcast or reshaped is wrong too."""
    rewrite(folder, lambda tensors: tensors.update({"source.table.weight": torch.zeros(shape)}))
    said = refusal(folder)
    assert "source.table.weight" in said
    assert f"found: {shape}, by config.json (19, 16)" in said


def test_tensors_of_another_configuration(folder: Path) -> None:
    edit(folder, encoder_layers=3)
    assert "missing: encoder.2" in refusal(folder)
    edit(folder, encoder_layers=1)
    assert "extra: encoder.1" in refusal(folder)


def test_nothing_is_asked_of_the_folder_but_its_two_files(folder: Path) -> None:
    (folder / "notes.txt").write_text("hello", encoding="utf-8")
    assert load_model(folder).config == transformer()
