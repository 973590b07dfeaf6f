"""What every attention of a model computes on the way: all six steps of every call, for texts that are short."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention import Steps
from regard.models import seams
from regard.tasks import Translator, load
from regard.text.grammar import Sentence
from regard.text.tokenizer import padded

Attend = Callable[..., Tensor]


@contextmanager
def steps_of(model: nn.Module) -> Iterator[dict[str, list[Steps]]]:
    """While the block runs, the `Steps` of every call of every site."""
    calls: dict[str, list[Steps]] = {}

    def hook(site: str, call: Attend, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        seeing: Callable[..., tuple[Tensor, Steps]] = call  # type: ignore[assignment]
        output, steps = seeing(query, key, value, **options, see="steps")
        calls.setdefault(site, []).append(steps)
        return output

    with ExitStack() as stack:
        for seam in seams(model).values():
            stack.enter_context(seam.hooked(hook, innermost=True))
        yield calls


@torch.no_grad()
def steps_of_shipped(pairs: Sequence[Sentence]) -> dict[str, list[Steps]]:
    """Of the translator that comes along, while it reads these sentences and their translations."""
    translator = load("grammar")
    assert isinstance(translator, Translator)
    model, config = translator.model.eval(), translator.config
    rows = [translator.tokenizer.encode([getattr(pair, side) for pair in pairs]) for side in ("source", "target")]
    source, mask = padded(rows[0], config.pad or 0)
    target = padded([[config.start, *row[:-1]] for row in rows[1]], config.pad or 0).ids
    with steps_of(model) as calls:
        model(source, target, mask)
    return calls
