"""What went wrong, what was found, and what to do: one small tree of exceptions.

Every error a person can cause is a `RegardError`; each is also the built-in exception a Python programmer would
expect (`ValueError`, `TypeError`), so `except ValueError` keeps working.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class RegardError(Exception):
    """Any error of this package that its user can mend."""

    def __init__(self, wrong: str, *, found: str = "", do: str = "") -> None:
        self.wrong, self.found, self.do = wrong, found, do
        lines = [wrong]
        if found:
            lines.append(f"  found: {found}")
        if do:
            lines.append(f"  do: {do}")
        super().__init__("\n".join(lines))


class InputError(RegardError, ValueError):
    """A value that cannot be worked with."""


class ShapeError(InputError):
    """Tensors or matrices whose sizes do not fit each other."""


class KindError(InputError, TypeError):
    """The wrong kind of thing: a list for a tensor, integers for real numbers."""


class FileError(RegardError):
    """A file that is missing, unreadable or not what it should be."""


class UnknownNameError(InputError):
    """A name that is not among the known ones; the message offers the nearest."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        guess = nearest(name, names)
        advice = f"did you mean {guess!r}? " if guess else ""
        super().__init__(f"there is no {what} {name!r}", do=f"{advice}known: {', '.join(names) if names else 'none'}")


def nearest(name: str, names: list[str]) -> str | None:
    """The known name that was probably meant: one that contains it, or one spelt much like it."""
    lower = {known.lower(): known for known in names}
    inside = [known for known in lower if len(name) > 2 and name.lower() in known]
    near = inside or difflib.get_close_matches(name.lower(), list(lower), n=1, cutoff=0.5)
    return lower[near[0]] if near else None


def some(names: list[str], most: int = 4) -> str:
    """The first of them, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
