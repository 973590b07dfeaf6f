"""All claims by name: one file each in `tried`, in the order of a lecture."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from regard.claims.claim import Claim
from regard.claims.claim_result import ClaimRun
from regard.errors import UnknownNameError

NAMES = (
    "softmax", "zero-score", "mask", "sizes", "permutation", "sinusoids", "lookup",
    "order-and-length", "long-sentences", "long-range", "sequential", "better", "scales",
    "sqrt-d", "heads", "heads-for-speed", "head-roles", "it", "seen-together", "weight-is-influence", "qkv",
    "residuals", "positions", "feed-forward", "encoder-decoder-only", "pre-training", "context", "overfit",
    "quadratic", "one-mechanism",
)  # fmt: skip

# Whose full form trains nothing and times nothing: on any machine it takes minutes.
ANY_MACHINE = (
    "softmax", "zero-score", "mask", "sizes", "permutation", "sinusoids", "lookup",
    "head-roles", "weight-is-influence", "context",
)  # fmt: skip


def claim(name: str) -> ClaimRun:
    """A claim by its name, to be run: `regard.claim("sqrt-d").run()`."""
    return ClaimRun(claim_named(name))


@cache
def claim_named(name: str) -> Claim:
    if name not in NAMES:
        raise UnknownNameError("claim", name, NAMES)
    one = import_module(f"regard.claims.tried.{name.replace('-', '_')}").CLAIM
    assert isinstance(one, Claim), name
    assert one.name == name, f"{one.name} stands in the file of {name}"
    return one
