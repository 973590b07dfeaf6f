"""Weights in 8 bits: how far a weight can move follows from the bits, and from nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors.torch import load_file, save_file

from regard.errors import FileError, InputError
from regard.models import load_model, save_model
from regard.models.checkpoint import own_tensors
from regard.models.quantised import LEVELS, ROW_ERROR, SCALES, TINY, dequantise, pack, quantise, row_error, unpack
from tests.families import FAMILIES, families

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)
MATRICES = arrays.arrays(np.float32, arrays.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=FINITE)


@given(MATRICES)
@example(np.array([[3.4028235e38, -1.0]], dtype=np.float32))  # float32 has none larger
@example(np.array([[1e-45, 0.0], [1.5e-36, 1e-38]], dtype=np.float32))
def test_no_weight_moves_by_more_than_half_a_level_of_its_row(numbers: np.ndarray) -> None:
    matrix = torch.from_numpy(numbers)
    levels, scales = quantise(matrix)
    again = dequantise(levels, scales).double()
    largest = matrix.double().abs().amax(1, keepdim=True)
    bound = torch.where(largest < TINY, TINY, largest * (1 / (2 * LEVELS) + 2.0**-22))
    assert bool(((again - matrix.double()).abs() <= bound).all())
    assert (levels.dtype, scales.dtype, levels.shape) == (torch.int8, torch.float32, matrix.shape)
    assert int(levels.abs().max()) <= LEVELS
    assert bool((again[matrix == 0] == 0).all())
    assert row_error(matrix, again.float()) <= max(ROW_ERROR, 1.0 if bool((largest < TINY).any()) else 0.0)


@given(MATRICES)
@example(np.array([[3.4028235e38]], dtype=np.float32))
def test_each_row_uses_all_of_its_levels_and_twice_is_as_once(numbers: np.ndarray) -> None:
    matrix = torch.from_numpy(numbers)
    levels, scales = quantise(matrix)
    top = levels.abs().amax(1)
    assert top.tolist() == [LEVELS if large >= TINY else 0 for large in matrix.abs().amax(1).tolist()]
    assert torch.equal(quantise(dequantise(levels, scales))[0], levels)


@given(MATRICES)
def test_the_signs_are_treated_alike(numbers: np.ndarray) -> None:
    matrix = torch.from_numpy(numbers)
    assert torch.equal(quantise(-matrix)[0], -quantise(matrix)[0])


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_rows_without_numbers_stay_without(shape: tuple[int, int]) -> None:
    assert dequantise(*quantise(torch.zeros(shape))).shape == shape


def test_zeros_stay_zeros_beside_other_rows() -> None:
    levels, scales = quantise(torch.tensor([[0.0, 0.0], [1.0, -2.0]]))
    assert (levels.tolist(), scales.tolist()) == ([[0, 0], [64, -127]], [0.0, pytest.approx(2 / 127)])


@pytest.mark.parametrize("number", [float("inf"), -float("inf"), float("nan")])
def test_what_is_no_number_is_refused(number: float) -> None:
    with pytest.raises(InputError, match="not numbers"):
        quantise(torch.tensor([[1.0, number]]))


def test_sixteen_bits_refuse_what_would_be_infinite_in_them() -> None:
    with pytest.raises(InputError, match="table does not fit"):
        pack({"table": torch.tensor([70_000.0])}, 16)


@pytest.mark.parametrize("name", families())
def test_a_model_in_eight_bits_is_read_as_float32(name: str, tmp_path: Path) -> None:
    model = FAMILIES[name].model()
    save_model(model, tmp_path, bits=8)
    again = load_model(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))["version"] == 2
    before, after = own_tensors(model), own_tensors(again)
    assert before.keys() == after.keys()
    for key, tensor in before.items():
        assert after[key].dtype == torch.float32
        assert row_error(tensor.detach(), after[key].detach()) <= (ROW_ERROR if tensor.ndim == 2 else 0.0)
    written = load_file(tmp_path / "model.safetensors")
    assert all((tensor.dtype == torch.int8) == (tensor.ndim == 2) for tensor in written.values())


@pytest.mark.parametrize("bits", [16, 32])
def test_other_bits_are_read_by_the_first_version_too(bits: int, tmp_path: Path) -> None:
    save_model(FAMILIES["decoder"].model(), tmp_path, bits=bits)
    assert json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))["version"] == 1
    assert {tensor.element_size() * 8 for tensor in load_file(tmp_path / "model.safetensors").values()} == {bits}


@pytest.mark.parametrize("bits", [0, 4, 7, 64])
def test_other_numbers_of_bits_write_nothing(bits: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="8, 16 or 32"):
        save_model(FAMILIES["decoder"].model(), tmp_path / "new", bits=bits)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("damage", ["missing", "short"])
def test_whole_numbers_without_their_scales_are_refused(damage: str, tmp_path: Path) -> None:
    save_model(FAMILIES["decoder"].model(), tmp_path, bits=8)
    tensors = load_file(tmp_path / "model.safetensors")
    name = next(name for name in tensors if name.endswith(SCALES))
    scales = tensors.pop(name)
    save_file(tensors | ({name: scales[1:]} if damage == "short" else {}), tmp_path / "model.safetensors")
    with pytest.raises(FileError, match="without a scale for each row"):
        load_model(tmp_path)


def test_tensors_without_whole_numbers_are_left_alone() -> None:
    tensors = {"a": torch.ones(2), "b" + SCALES: torch.ones(3)}
    assert unpack(tensors, "memory") == tensors
