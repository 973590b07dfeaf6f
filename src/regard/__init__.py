"""The Transformer with nothing hidden: train it, run it fast, and look at every attention weight it used.

The names below are the whole public API. Each is imported when it is first used, so `import regard` costs nothing and
loads torch only when something needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from regard.version import __version__ as __version__

if TYPE_CHECKING:
    from regard.attention import Statistics, Steps, attend, received, rollout, tile
    from regard.claims import claim
    from regard.errors import RegardError
    from regard.lens.effect import Effect, effect
    from regard.lens.intervene import intervene
    from regard.lens.recording_api import Recording
    from regard.lens.watch import watch
    from regard.tasks import Classifier, Generator, Translator, load
    from regard.training.train import train
    from regard.worked import Report, Sheet, check, steps

__all__ = [
    "Classifier",
    "Effect",
    "Generator",
    "Recording",
    "RegardError",
    "Report",
    "Sheet",
    "Statistics",
    "Steps",
    "Translator",
    "attend",
    "check",
    "claim",
    "effect",
    "intervene",
    "load",
    "received",
    "rollout",
    "steps",
    "tile",
    "train",
    "watch",
]

_ROOMS = {
    "regard.attention": ("Statistics", "Steps", "attend", "received", "rollout", "tile"),
    "regard.claims": ("claim",),
    "regard.errors": ("RegardError",),
    "regard.lens.effect": ("Effect", "effect"),
    "regard.lens.intervene": ("intervene",),
    "regard.lens.recording_api": ("Recording",),
    "regard.lens.watch": ("watch",),
    "regard.worked": ("Report", "Sheet", "check", "steps"),
    "regard.tasks": ("Classifier", "Generator", "Translator", "load"),
    "regard.training": ("train",),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'regard' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
