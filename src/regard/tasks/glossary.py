"""Terms that must be translated in one way: a TSV file of source term and target term."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from regard.errors import FileError


@dataclass(frozen=True)
class Glossary:
    """Target terms by source term, the latter in small letters."""

    terms: dict[str, str]

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The terms of a file: source, a tab, target; what follows # at the start of a line is a comment."""
        terms: dict[str, str] = {}
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"cannot read {path}", found=str(error), do="give a file of terms in UTF-8") from error
        for line in lines:
            if line.strip() and not line.startswith("#"):
                source, _, target = line.partition("\t")
                terms[source.strip().lower()] = target.strip()
        return cls(terms)
