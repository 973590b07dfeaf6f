"""How tensors of ours and of others correspond: one table a format, read in both directions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.errors import FileError, some
from regard.models.checkpoint import own_tensors


class TensorMapping(NamedTuple):
    """One tensor of ours is these of theirs, one under the other; `transposed` when theirs lies on its side."""

    ours: str
    theirs: tuple[str, ...]
    transposed: bool = False


def layer(ours: str, *theirs: str, transposed: bool = False) -> Iterator[TensorMapping]:
    """Weight and bias of a linear layer, or of a norm."""
    yield TensorMapping(f"{ours}.weight", tuple(f"{name}.weight" for name in theirs), transposed)
    yield TensorMapping(f"{ours}.bias", tuple(f"{name}.bias" for name in theirs))


def take(links: Iterable[TensorMapping], theirs: dict[str, Tensor], folder: Path) -> dict[str, Tensor]:
    """Our tensors, in float32, from theirs."""
    links = list(links)
    missing = sorted({name for link in links for name in link.theirs} - theirs.keys())
    if missing:
        raise FileError(
            f"the tensors in {folder} do not fit its config.json",
            found=f"missing: {some(missing)}",
            do="keep the two together, or download the folder again",
        )
    parts = {link.ours: [oriented(theirs[name].float(), link.transposed) for name in link.theirs] for link in links}
    return {name: torch.cat(part) if len(part) > 1 else part[0] for name, part in parts.items()}


def give(links: Iterable[TensorMapping], ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """Their tensors from ours."""
    theirs: dict[str, Tensor] = {}
    for link in links:
        for name, part in zip(link.theirs, ours[link.ours].chunk(len(link.theirs)), strict=True):
            theirs[name] = oriented(part, link.transposed).contiguous()
    return theirs


def oriented(tensor: Tensor, transposed: bool) -> Tensor:
    return tensor.mT if transposed else tensor


def ours_of(model: nn.Module) -> dict[str, Tensor]:
    """Every tensor of a model of ours once, apart from the model."""
    return {name: tensor.detach().cpu().float() for name, tensor in own_tensors(model).items()}
