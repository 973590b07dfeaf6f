"""The name under which transformers finds our attention, and which still answers to the one it replaces.

Some models ask their config by name ("is this eager or sdpa?") and prepare masks accordingly. They get the answer they
would have got; the tables in which transformers looks functions up know only ours.
"""

from __future__ import annotations

from copy import copy
from typing import Any

from regard.lens.hooks.transformers_names import implementation, name_implementation

NAME = "regard"  # not "flash..." nor "a/b", which transformers takes for kernels to fetch


class Name(str):
    """`NAME`, in one config, for as long as somebody holds it."""

    before: str | None  # the implementation that this config had
    holds: int

    @classmethod
    def of(cls, config: Any) -> Name:
        """A name for this config, not yet put there; the one that it has, if it is held already."""
        found = implementation(config)
        if not isinstance(found, Name):
            before, found = found, cls(NAME)
            found.before, found.holds = before, 0
        found.holds += 1
        return found

    def put(self, config: Any) -> None:
        """Into the config, if transformers has let it be switched to us."""
        if implementation(config) == NAME:
            name_implementation(config, self)

    def let_go(self, config: Any) -> None:
        """With the last hold the config is as it was, whatever the order in which holds end."""
        self.holds -= 1
        if not self.holds:
            name_implementation(config, self.before)

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True or other == ("eager" if self.before == "eager" else "sdpa")

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A copy is nobody's to let go of: it is the name that was there before."""
        return copy, (self.before,)


def usual(config: Any) -> str | None:
    """The implementation that a config would have without us."""
    name = implementation(config, "sdpa")
    return name.before if isinstance(name, Name) else name
