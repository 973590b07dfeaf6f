"""From a name in a recipe to files on disk: globs, and names without their compression suffix."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from regard.errors import FileError

COMPRESSIONS = (".gz", ".xz", ".zst")
MAGIC = re.compile(r"[*?\[]")


def plain_name(path: Path) -> str:
    """The name without its compression suffix."""
    return path.stem if path.suffix.lower() in COMPRESSIONS else path.name


def shown(path: Path, base: Path) -> str:
    """The name people see: relative to the base folder where it lies inside."""
    return (path.relative_to(base) if path.is_relative_to(base) else path).as_posix()


def groups_of(files: tuple[str, ...], base: Path) -> list[tuple[Path, ...]]:
    """The files of a source: one tuple for each file, or for each two files that are aligned."""
    paths = [resolve(name, base) for name in files]
    if len(paths) == 2 and len(paths[0]) != len(paths[1]):
        raise FileError(
            f"{files[0]} and {files[1]} do not match the same number of files",
            found=f"{len(paths[0])} and {len(paths[1])}",
            do="name the files so that each has its partner",
        )
    groups = list(zip(*paths, strict=True))
    if len(paths) == 2:
        for group in groups:
            check_partners(files, group)
    return groups


def resolve(name: str, base: Path) -> list[Path]:
    """The files a name stands for, sorted."""
    path = base / name
    if path.is_file():
        return [path]
    if MAGIC.search(name):
        matches = expand(path)
    else:
        matches = [candidate for suffix in COMPRESSIONS if (candidate := Path(f"{path}{suffix}")).is_file()]
    if not matches:
        raise missing(path)
    refuse_twins(name, matches)
    return matches


def expand(path: Path) -> list[Path]:
    """The files a glob matches, with a compression suffix added where it matches none as it is."""
    parts = path.parts
    fixed = next(number for number, part in enumerate(parts) if MAGIC.search(part))
    root, pattern = Path(*parts[:fixed]), "/".join(parts[fixed:])
    try:
        for suffixes in (("",), COMPRESSIONS):
            matches = [match for suffix in suffixes for match in root.glob(pattern + suffix) if match.is_file()]
            if matches:
                return sorted(matches)
    except ValueError as error:
        raise FileError(f"{path} is no pattern of names", found=str(error), do="for example news.*.tsv.gz") from error
    return []


def refuse_twins(name: str, matches: list[Path]) -> None:
    """Refuse one text under two compressions: it would be read twice, or one of them is stale."""
    by_name: dict[Path, Path] = {}
    for match in matches:
        twin = by_name.setdefault(match.with_name(plain_name(match)), match)
        if twin is not match:
            raise FileError(
                f"{name} could be either of two files", found=f"{twin.name} and {match.name}", do="give the full name"
            )


def missing(path: Path) -> FileError:
    """The error for a file that is not there, with the names that are nearest."""
    if path.is_dir():
        return FileError(f"{path} is a folder", do=f"name a file in it, or several: {path / '*.tsv'}")
    if not path.parent.is_dir():
        return FileError(f"there is no file {path}", found=f"no folder {path.parent}", do="check the name")
    names = sorted(entry.name for entry in path.parent.iterdir() if entry.is_file())
    near = difflib.get_close_matches(path.name, names, n=4, cutoff=0.4) or names[:4]
    nearest = f"the nearest names in {path.parent}: {', '.join(near)}" if near else f"no files in {path.parent}"
    return FileError(f"there is no file {path}", found=nearest, do="check the name")


def check_partners(files: tuple[str, ...], group: tuple[Path, ...]) -> None:
    """Refuse two files of two globs whose stars stand for different things: a shard is missing somewhere."""
    stars = [star(Path(name).name, path) for name, path in zip(files, group, strict=True)]
    if all(stars) and len(stars[0]) == len(stars[1]) and stars[0] != stars[1]:
        raise FileError(
            f"the files of {files[0]} and {files[1]} do not belong together",
            found=f"{group[0].name} beside {group[1].name}",
            do="see which of them lacks its partner",
        )


def star(pattern: str, path: Path) -> tuple[str, ...]:
    """What the stars and question marks of a glob stand for in a name; nothing if that is not plain to see."""
    expression = re.escape(pattern).replace(r"\*", "(.*)").replace(r"\?", "(.)")
    match = re.fullmatch(expression, path.name) or re.fullmatch(expression, plain_name(path))
    return match.groups() if match else ()
