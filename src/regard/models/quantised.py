"""Weights kept in fewer bits on disk: half precision, or each row of a matrix as whole numbers times its scale."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.errors import FileError, InputError

BITS = (8, 16, 32)  # in which a weight can be kept
LEVELS = 127  # whole numbers either side of 0: as many below as above, so that 0 stays 0
SCALES = ".row_scale"  # what is put behind a matrix's name for the scales of its rows
TINY = LEVELS * torch.finfo(torch.float32).tiny  # rows below this are kept as zeros: their scale would have no digits
LARGEST = torch.finfo(torch.float32).max / LEVELS * (1 - 2.0**-23)  # of a scale, so that 127 of them are a number
# Of the largest number in its row, by how much a weight may differ: half a level, and the rounding of float32.
ROW_ERROR = 0.5 / LEVELS + 2.0**-22


def quantise(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Rows as whole numbers from -127 to 127, and the scale of each: its largest number is 127 scales."""
    if not bool(torch.isfinite(matrix).all()):
        raise InputError(
            "weights that are not numbers have no 8 bits",
            found="infinity or NaN in a matrix",
            do="see whether training went wrong; an earlier checkpoint may be whole",
        )
    largest = matrix.abs().amax(1) if matrix.shape[1] else matrix.new_zeros(len(matrix))
    scales = torch.where(largest < TINY, 0.0, (largest.double() / LEVELS).clamp(max=LARGEST)).float()
    divisors = torch.where(scales == 0, torch.inf, scales.double())
    return (matrix / divisors[:, None]).round().to(torch.int8), scales


def dequantise(levels: Tensor, scales: Tensor) -> Tensor:
    """The matrix again, in float32; the largest number there is stays one, though its scale was rounded up."""
    most = torch.finfo(torch.float32).max
    return (levels.double() * scales[:, None].double()).clamp(-most, most).float()


def pack(tensors: dict[str, Tensor], bits: int) -> dict[str, Tensor]:
    """Tensors as they are kept. Vectors are few and matter much: in 8 bits they stay float32."""
    if bits not in BITS:
        raise InputError("weights are kept in 8, 16 or 32 bits", found=f"{bits}", do="choose one of them")
    if bits == 16:
        return {name: half(name, tensor) for name, tensor in tensors.items()}
    if bits == 32:
        return tensors
    packed: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tensor.ndim == 2 and tensor.is_floating_point():
            packed[name], packed[name + SCALES] = quantise(tensor)
        else:
            packed[name] = tensor
    return packed


def half(name: str, tensor: Tensor) -> Tensor:
    if not tensor.is_floating_point():
        return tensor
    rounded = tensor.to(torch.float16)
    if not bool(torch.isfinite(rounded).all()):
        raise InputError(f"{name} does not fit into 16 bits", found=f"{tensor.abs().max():.3g}", do="keep 8 or 32")
    return rounded


def unpack(tensors: dict[str, Tensor], where: object) -> dict[str, Tensor]:
    """Tensors as they are computed with: whole numbers times their scales; all else as it is."""
    names = [name for name, tensor in tensors.items() if tensor.dtype == torch.int8]
    unpacked = {name: tensor for name, tensor in tensors.items() if name.removesuffix(SCALES) not in names}
    for name in names:
        scales = tensors.get(name + SCALES)
        if scales is None or tensors[name].ndim != 2 or scales.shape != tensors[name].shape[:1]:
            raise FileError(
                f"{name} in {where} is kept in 8 bits without a scale for each row",
                found="none" if scales is None else f"{tuple(scales.shape)} for {tuple(tensors[name].shape)}",
                do="restore model.safetensors, or export it again",
            )
        unpacked[name] = dequantise(tensors[name], scales)
    return unpacked


def row_error(ours: Tensor, other: Tensor) -> float:
    """By how much one tensor is off another, as a share of the row's largest number; infinite for another shape."""
    if ours.shape != other.shape:
        return float("inf")
    if not ours.numel():
        return 0.0
    rows, others = (tensor.double().reshape(len(tensor) if tensor.ndim > 1 else 1, -1) for tensor in (ours, other))
    largest = rows.abs().amax(1).clamp(min=TINY)
    return float(((rows - others).abs().amax(1) / largest).max())
