"""A lock on a file that the system lets go of when its owner ends, however it ends.

The file says who holds it; what holds it is the system's own lock on that file, so that of a process that was killed
nothing is left but the file, which the next one takes over.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

FAR = 1 << 30  # Windows hides the bytes that it locks: one that nobody reads


def open_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)


def grab(handle: int) -> bool:
    """Whether the lock was free and is now ours. Raises OSError where there is no such thing."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def same_file(handle: int, path: Path) -> bool:
    """Its owner may have removed the file between our opening and our locking it: then the lock is on nothing."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def release(handle: int, path: Path, held: bool) -> None:
    """Close it; the file goes with the lock, and stays with whoever holds it."""
    if held and sys.platform != "win32":  # while it is locked, nobody can have taken it
        path.unlink(missing_ok=True)
    os.close(handle)
    if held and sys.platform == "win32":  # which removes nothing that is open
        path.unlink(missing_ok=True)


def read_owner(handle: int) -> dict[str, Any]:
    """What the file says; nothing where it is new, or was cut short."""
    os.lseek(handle, 0, os.SEEK_SET)
    try:
        owner = json.loads(os.read(handle, 1 << 16))
    except (OSError, ValueError):
        return {}
    return owner if isinstance(owner, dict) else {}


def write_owner(handle: int) -> None:
    name = Path(sys.argv[0]).name.replace("__main__.py", "regard")
    owner = {
        "pid": os.getpid(), "host": socket.gethostname(), "since": f"{datetime.now():%Y-%m-%d %H:%M:%S}",
        "command": shlex.join([name, *sys.argv[1:]]),
    }  # fmt: skip
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, (json.dumps(owner, ensure_ascii=False) + "\n").encode())


def owner_words(owner: dict[str, Any]) -> str:
    """Process 1234 on this-machine, since 2025-05-17 09:30:00: regard train ..."""
    if not owner:
        return "a process that has not yet said its name"
    return (
        f"process {owner.get('pid', '?')} on {owner.get('host', '?')}, since {owner.get('since', '?')}: "
        f"{owner.get('command', '?'):.200}"
    )
