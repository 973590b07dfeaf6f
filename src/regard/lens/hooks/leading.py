"""An attention call led through all who hold its model, on its way to what computes it.

Each holder stands between the model and `attend` as a hook of `regard.models.seam` does, the newest outermost: it gets
the site, the next in line and the arguments, and gives back the output. Those who only look on stand innermost.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from torch import Tensor, nn

from regard.attention import attend
from regard.attention.inputs import ScoreOptions
from regard.lens.hooks.attention_call import Call, unchanged
from regard.lens.hooks.module_stack import recomputing
from regard.lens.hooks.session import Grip
from regard.models.seam import Attend

GRIPS: list[Grip] = []
BUSY = threading.local()  # is an attention being computed in this thread? What it calls itself is no other attention


def computing() -> bool:
    return getattr(BUSY, "now", False)


@contextmanager
def busy() -> Iterator[None]:
    before, BUSY.now = computing(), True
    try:
        yield
    finally:
        BUSY.now = before


def lead(call: Call, module: nn.Module | None) -> tuple[Tensor, Call]:
    """The output (B, H, Q, V) of a call, through everyone who holds this module or, without one, is calling one.

    And the call as it was computed in the end, after their changes.
    """
    made = [call]
    compute: Attend = partial(plainly, call, made)
    for grip in GRIPS:
        if grip.called if module is None else id(module) in grip.stack.names:
            site = grip.stack.name(module) if recomputing() else grip.stack.site(module)
            compute = partial(grip.stand, call, site, compute)
    options: dict[str, Any] = {**call.options, "dropout": call.dropout}
    if call.first_key:
        options["first_key"] = call.first_key  # for hooks that count positions, as a cache forgets its first keys
    with busy():
        output: Tensor = compute(call.query, call.key, call.value, **options)
    return output, made[-1]


def plainly(call: Call, made: list[Call], query: Tensor, key: Tensor, value: Tensor, **more: Any) -> Tensor:
    """As the model would have computed it; by `attend` once a hook has changed something, which is then noted."""
    more.pop("first_key", None)
    if unchanged(call, query, key, value, more):
        return call.compute(query, key, value, **more)
    options: ScoreOptions = {name: more[name] for name in ScoreOptions.__annotations__ if name in more}  # type: ignore[assignment]
    made.append(replace(call, query=query, key=key, value=value, options=options))
    output: Tensor = attend(query, key, value, **more)
    return output


def calling() -> bool:
    """Is a module of a held model being called in this thread?"""
    return any(grip.called for grip in GRIPS)


@contextmanager
def gripped(grip: Grip) -> Iterator[None]:
    GRIPS.insert(0 if grip.hook is None else len(GRIPS), grip)  # who only looks on stands next to the attention
    try:
        yield
    finally:
        newest = next(place for place in reversed(range(len(GRIPS))) if GRIPS[place] is grip)
        del GRIPS[newest]
