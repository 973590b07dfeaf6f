"""The seam: the one place of a layer where its attention can be taken hold of from outside.

A hook gets the site's name, the next function in line and the arguments of `attend`, and gives back the output. Hooks
nest, the newest outermost, and leave in any order; those that only look on stand innermost, so that what they
see is what is computed, whatever others change before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn

from regard.attention import attend

HOOKING = threading.Lock()
Attend = Callable[..., Tensor]
Hook = Callable[..., Tensor]  # (site, next: Attend, query, key, value, **options) -> output


class Seam:
    """What an attention layer calls instead of `attend`; without hooks it is `attend`."""

    def __init__(self, site: str) -> None:
        self.site = site
        self.hooks: tuple[Hook, ...] = ()  # a new one whenever one comes or goes: another thread may be calling

    def __reduce__(self) -> tuple[type[Seam], tuple[str]]:
        """A copy of a model is its own, without those who hooked into this one."""
        return Seam, (self.site,)

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        call: Attend = attend
        for hook in self.hooks:
            call = partial(hook, self.site, call)
        return call(query, key, value, **options)

    @contextmanager
    def hooked(self, hook: Hook, *, innermost: bool = False) -> Iterator[None]:
        """Let `hook` stand between the layer and `attend` for the length of a with block."""
        with HOOKING:
            self.hooks = (hook, *self.hooks) if innermost else (*self.hooks, hook)
        try:
            yield
        finally:  # the newest that is this very hook: others may be equal to it, or be let go in another order
            with HOOKING:
                newest = max(place for place, one in enumerate(self.hooks) if one is hook)
                self.hooks = (*self.hooks[:newest], *self.hooks[newest + 1 :])


def seams(model: nn.Module) -> dict[str, Seam]:
    """Every seam of a model by its site's name, in the order of the layers."""
    candidates = (getattr(module, "seam", None) for module in model.modules())
    return {seam.site: seam for seam in candidates if isinstance(seam, Seam)}
