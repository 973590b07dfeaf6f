"""How many operations must wait for each other: the longest path through what autograd has recorded."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def graph_depth(result: Tensor) -> int:
    """From a result back to a parameter. What does not wait could be done at once, on hardware with room for it."""
    root: Any = result.grad_fn
    if root is None:
        return 0
    depths: dict[Any, int] = {}
    waiting: list[Any] = [root]
    while waiting:
        node = waiting[-1]
        before = [one for one, _ in node.next_functions if one is not None]
        unknown = [one for one in before if one not in depths]
        if unknown and node not in depths:
            waiting += unknown
            continue
        waiting.pop()
        depths.setdefault(node, 1 + max((depths[one] for one in before), default=0))
    deepest: int = depths[root]
    return deepest
