"""What to keep of each attention call, and where: which sites and heads, in which dtype, on which device or disk."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.errors import InputError


@dataclass(frozen=True)
class WatchOptions:
    """As `watch` was asked."""

    sites: tuple[str, ...] | None = None  # names, or patterns such as "decoder.*.cross"; None: all
    heads: tuple[int, ...] | None = None  # the model's numbers; None: all
    dtype: torch.dtype | None = None  # of queries and keys; None: as the model has them
    device: str | torch.device = "cpu"
    values: bool = True  # keep the norms of the values through W_O too
    spill: Path | None = None  # a folder on whose disk the tensors lie instead of in memory
    tokenizer: Any = None  # ours, Hugging Face's, or a function from an id to a string

    def wants(self, site: str) -> bool:
        return self.sites is None or any(fnmatchcase(site, pattern) for pattern in self.sites)

    def heads_of(self, site: str, heads: int) -> tuple[int, ...]:
        """The numbers of the heads to keep."""
        if self.heads is None:
            return tuple(range(heads))
        wrong = [head for head in self.heads if not 0 <= head < heads]
        if wrong:
            raise InputError(f"{site} has no such head", found=f"heads={wrong}", do=f"choose among 0 to {heads - 1}")
        return self.heads


def on_disk(tensor: Tensor, folder: Path) -> Tensor:
    """The same numbers in a file that the system reads as they are needed; it vanishes with the last who use it."""
    if not tensor.numel():
        return tensor.contiguous().clone()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".part", delete=False) as file:
        path = Path(file.name)
    mapped = torch.from_file(str(path), shared=True, size=tensor.numel(), dtype=tensor.dtype).view(tensor.shape)
    mapped.copy_(tensor)
    with suppress(OSError):  # some systems do not let go of a name in use
        path.unlink()
    return mapped
