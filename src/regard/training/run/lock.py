"""One run a folder: FOLDER/lock is locked while it trains, and the lock of a run that was killed is taken over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.errors import FileError, InputError
from regard.tasks.folder_lock import grab, open_lock, owner_words, read_owner, release, same_file, write_owner
from regard.training.report.events import Listener, Note, silent

NAME = "lock"


@contextmanager
def locked(folder: Path, listener: Listener = silent) -> Iterator[None]:
    """For the length of a with block nobody else trains in the folder; who does already is named."""
    path = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = open_lock(path)
    except OSError as error:
        raise FileError(f"cannot write {path}", found=str(error), do="make room, or choose another --out") from error
    held = False
    try:
        claim(handle, path, listener)
        held = True
        if before := read_owner(handle):
            listener(Note(f"took over the lock of a run that ended without a word: {owner_words(before)}"))
        write_owner(handle)
        yield
    finally:
        release(handle, path, held)


def claim(handle: int, path: Path, listener: Listener) -> None:
    """Take the lock, or say who has it."""
    try:
        free = grab(handle)
    except OSError as error:
        listener(
            Note(f"this file system has no locks ({error}): see to it that nobody else trains in {path.parent}", True)
        )
        return
    if free and same_file(handle, path):
        return
    owner = read_owner(handle)
    raise InputError(
        f"somebody else is training in {path.parent}",
        found=owner_words(owner),
        do=f"wait for it, stop it, or choose another --out; if {owner.get('host', 'that machine')} is gone for good, "
        f"remove {path}",
    )
