"""Which model a verb means when none is named: the one that ships for the languages."""

from __future__ import annotations

from pathlib import Path

import typer

from regard.errors import FileError, InputError
from regard.interop.folders import general_translators, shipped

USUAL = ("en", "fr")


def split_model(first: str | None, files: list[Path], out: Path | None) -> tuple[str | None, list[Path]]:
    """The model, if the first word names one, and the files: a word that is an existing file is a file."""
    if first is None or not Path(first).is_file():
        if first and out and not files and first not in shipped() and not Path(first).exists():
            raise FileError(f"there is no file {first} to translate", do="see whether it is spelt so, and lies here")
        return first, files
    if first in shipped():
        typer.echo(f"note: {first}: the file here, not the model that ships", err=True)
    return None, [Path(first), *files]


def model_for(model: str | None, source: str | None, target: str | None) -> str:
    """The model that was named, else the one that ships for these languages."""
    if model is None:
        return shipped_model(source, target)
    if source is not None or target is not None:
        raise InputError(
            "a model that is named translates between languages of its own",
            found=f"{model} and --{'to' if source is None else 'from'} {target or source}",
            do="leave out MODEL, or --from and --to",
        )
    return model


def shipped_model(source: str | None, target: str | None) -> str:
    """By either language or both; without any, English to French."""
    known = general_translators()
    if source is None and target is None:
        source, target = USUAL
    fitting = [
        name
        for (one, other), name in known.items()
        if (source or one).lower() == one and (target or other).lower() == other
    ]
    if len(fitting) == 1:
        return fitting[0]
    asked = f"{source or '?'}-{target or '?'}".lower()
    if fitting:
        raise InputError(f"several models are {asked}", found=", ".join(fitting), do="give both --from and --to")
    raise InputError(
        f"no model for {asked} ships with this regard",
        found=f"these ship: {', '.join(shipped())}",
        do="name a model, regard translate MODEL; or train one, such as regard train en-fr --data DIR --out FOLDER",
    )
