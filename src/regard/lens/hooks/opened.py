"""What is given as a model: a module, or a task around one."""

from __future__ import annotations

from typing import Any

from torch import nn

from regard.errors import KindError


def opened(model: Any) -> tuple[nn.Module, Any]:
    """The module to hold, and the tokenizer that comes with it."""
    if isinstance(model, nn.Module):
        return model, None
    inner = getattr(model, "model", None)
    if not isinstance(inner, nn.Module):
        raise KindError(
            "only a model has attention to look at",
            found=f"{type(model).__module__}.{type(model).__qualname__}",
            do="give a torch module, or what regard.load(FOLDER) gives",
        )
    return inner, getattr(model, "tokenizer", None)
