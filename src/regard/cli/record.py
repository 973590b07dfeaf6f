"""`regard record`: what every head does with a text, kept in one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.recordings import ENDING, check_input, given, open_model, read_file
from regard.cli.verb import size
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.lens.recording_api import Recording


def record(
    model: str = typer.Argument(
        ..., metavar="MODEL", help="A folder, a model that ships (grammar), or a name on the hub."
    ),
    text: str | None = typer.Argument(None, metavar="TEXT", help="What it reads; - for standard input."),
    out: Path = typer.Option(..., metavar="FILE.regard", help="Where to write the recording."),
    file: Path | None = typer.Option(None, metavar="FILE", help="Read this file instead, as one text."),
    lines: bool = typer.Option(False, "--lines", help="Each line is a text (source, tab, target), and a call."),
    target: str | None = typer.Option(None, help="What the decoder reads (what the model says itself)."),
    sites: list[str] | None = typer.Option(None, help='Keep only these, such as "decoder.*.cross"; may be repeated.'),
    heads: str | None = typer.Option(None, metavar="N,N", help="Keep only these heads, from 0."),
    dtype: str | None = typer.Option(None, help="Of what is kept (the model's own, which is exact)."),
    values: bool = typer.Option(True, help="Keep the norm of each value through W_O too, for look --by value."),
    pool: bool = typer.Option(False, "--pool", help="Keep each whole map in coarse cells too: a long text from afar."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
) -> None:
    """Write what every head does with a text into one .regard file.

    The file holds queries, keys and the log-sum-exp of each row, not the map itself: every weight can be had from it,
    exactly, with `regard look FILE.regard`, `regard heads FILE.regard` or regard.Recording.load.
    """
    from regard.cli.waiting import ProgressBar
    from regard.lens.analysis.survey import read_lines

    if (text is None) == (file is None):
        raise InputError("there must be one text to record", do=f'regard record {model} "some text", or --file FILE')
    if out.suffix != ENDING:
        raise InputError(f"a recording is a {ENDING} file", found=str(out), do=f"--out {out.with_suffix(ENDING)}")
    check_input(text, target)
    whole = given(text) if text is not None else read_file(file) if file is not None else ""
    options: dict[str, Any] = {"sites": sites or None, "heads": numbers(heads), "dtype": dtype, "values": values}
    with ProgressBar("recording") as on_progress:
        subject = open_model(model, device)
        if not lines:
            recording = subject.see(whole.strip("\n"), None if target is None else given(target), **options)
        else:
            if target is not None:
                raise InputError(
                    "with --lines each line brings its own target", do="put a tab and the target behind it"
                )
            recording = one_by_one(
                subject, read_lines(iter(whole.splitlines()), pair=subject.pair), options, on_progress
            )
        if pool:
            recording = recording.pool()
        recording.save(out)
    typer.echo(f"wrote {out}: {words(recording, out)}", err=True)
    typer.echo(f"{'✓' if recording.badge.true else '✗ not what the model used:'} {recording.badge}", err=True)


def one_by_one(subject: Any, lines: list[Any], options: dict[str, Any], on_progress: Any) -> Recording:
    """A call for each line."""
    from regard.lens.recording_api import Recording

    calls = []
    for number, line in enumerate(lines, 1):
        calls.append(subject.see(line.text, line.target, **options).last)
        on_progress(number, len(lines))
    if not calls:
        raise InputError("there is no text to record", found="no line with words", do="give one text a line")
    return Recording(calls=calls)


def numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise InputError("heads are numbers, from 0", found=f"--heads {text}", do="--heads 0,3")
    return [int(part) for part in parts]


def words(recording: Recording, path: Path) -> str:
    """What is in it, in a line."""
    from regard.lens.analysis.recording_summary import tokens_words

    call, calls = recording.last, len(recording.calls)
    many = f"{calls} calls, the last of " if calls > 1 else ""
    heads = sum(len(one.heads) for one in call.maps.values())
    sites = f"{len(call.sites)} site{'s' * (len(call.sites) != 1)}"
    return f"{many}{tokens_words(call)}, {sites}, {heads} heads, {size(path.stat().st_size)}"
