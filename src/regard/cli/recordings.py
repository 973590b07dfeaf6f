"""A recording for a verb: from a file, or by having a model read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.lines import standard_input
from regard.errors import FileError, InputError

if TYPE_CHECKING:
    from regard.attention.tiles import Positions
    from regard.lens.analysis.subject import Subject
    from regard.lens.recording_api import Recording

ENDING = ".regard"
EXTENT = re.compile("(-?[0-9]+)?:(-?[0-9]+)?")
STANDARD = "-"  # the text that means standard input
MODEL = "A folder, a model that ships (grammar), a name on the hub, or a .regard file."


def is_recording(name: str) -> bool:
    return name.endswith(ENDING) and not Path(name).is_dir()


def open_model(name: str, device: str) -> Subject:
    """The model of that name; what its user should know of it is said."""
    from regard.lens.analysis.subject import open_subject

    subject = open_subject(name, device)
    for note in subject.notes:
        typer.echo(f"note: {note}", err=True)
    return subject


def recorded(name: str, text: str | None, target: str | None, device: str) -> Recording:
    """What is in the file, or what the model does with the text."""
    from regard.cli.waiting import ProgressBar
    from regard.lens.recording_api import Recording

    if is_recording(name):
        if text is not None or target is not None:
            raise InputError("a recording holds its text already", found=f"{text or target!r:.60}", do="leave it out")
        return Recording.load(name)
    if text is None:
        raise InputError("there is no text to look at", do=f'regard look {name} "some text"')
    check_input(text, target)
    with ProgressBar("reading"):
        return open_model(name, device).see(given(text), None if target is None else given(target))


def check_input(text: str | None, target: str | None) -> None:
    if text == target == STANDARD:
        raise InputError(
            "standard input holds one text", found="- for the text and its target", do="write one of them out"
        )


def given(text: str) -> str:
    """As it stands, or for "-" all of standard input but the end of its last line."""
    if text == STANDARD:
        return standard_input().read().decode("utf-8", errors="replace").rstrip("\r\n")
    return text.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")  # bytes of another encoding


def read_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise FileError(f"cannot read {path}", found=error.strerror or str(error), do="check the name") from error


def chosen(recording: Recording, call: int | None) -> Recording:
    """The recording with one of its calls: the last, unless another is asked for."""
    from regard.lens.recording_api import Recording as Made

    calls = recording.calls
    if call is None:
        return Made(calls=[recording.last])
    if not -len(calls) <= call < len(calls):
        raise InputError("there is no such call", found=f"{call}, of {len(calls)}", do=f"choose 0 to {len(calls) - 1}")
    return Made(calls=[calls[call]])


def extent(name: str, text: str | None) -> Positions:
    """Tokens "20:50", counted from 0, the last left out; an end may be open, or count from the end."""
    if text is None:
        return None
    if not (ends := EXTENT.fullmatch(text)):
        raise InputError(
            f"{name} must be two numbers of tokens",
            found=f"{text!r}", do=f"{name} 20:50, {name} 20: for all from there, {name}=-5: for the last five",
        )  # fmt: skip
    start, stop = (int(end) if end else None for end in ends.groups())
    return start, stop
