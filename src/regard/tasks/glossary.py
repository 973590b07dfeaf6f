"""Terms that must be translated in one way: a TSV file of source terms and target terms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

from regard.errors import FileError
from regard.text.protect import Span


class Term(NamedTuple):
    """Where a term stands in a text, and how the glossary has it."""

    source: str
    span: Span


@dataclass(frozen=True)
class Glossary:
    """Target terms by source term. Capitals do not count, and a single word may stand in the plural with s."""

    terms: dict[str, str]

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The terms of a file: source, a tab, target. A line that begins with # is a comment."""
        try:
            lines = Path(path).read_text(encoding="utf-8-sig").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"cannot read {path}", found=str(error), do="give a file of terms in UTF-8") from error
        terms: dict[str, str] = {}
        numbers: dict[str, int] = {}
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            source, target = term_of(line, f"{path}, line {number}")
            if source.lower() in numbers:
                raise FileError(
                    f"{path} has a term twice",
                    found=f"{source!r} in line {numbers[source.lower()]} and in line {number}",
                    do="leave one of them",
                )
            terms[source], numbers[source.lower()] = target, number
        return cls(terms)

    @cached_property
    def by_form(self) -> dict[str, tuple[str, str]]:
        """The term and its translation for every form of it, in small letters with single spaces."""
        forms = {}
        for source, target in self.terms.items():
            if is_word(source) and is_word(target):
                forms[f"{source}s".lower()] = source, target if target[-1] in "sxz" else f"{target}s"
        return forms | {form_of(source): (source, target) for source, target in self.terms.items()}

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        forms = sorted(self.by_form, key=len, reverse=True)
        words = "|".join(r"\s+".join(map(re.escape, form.split())) for form in forms)
        return re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)

    def find(self, text: str, spans: Sequence[Span] = ()) -> list[Term]:
        """The terms of a text in order, longest first where several begin; none inside of these spans."""
        if not self.terms:
            return []
        found_terms = []
        for match in self.pattern.finditer(text):
            form = self.by_form.get(form_of(match[0]))
            inside = any(span.start < match.end() and match.start() < span.stop for span in spans)
            if form is not None and not inside:  # a letter whose small form has another length is no match
                found_terms.append(Term(form[0], Span(match.start(), match.end(), "term", form[1])))
        return found_terms


def term_of(line: str, where: str) -> tuple[str, str]:
    """Both sides of a line."""
    sides = [side.strip() for side in line.rstrip("\r").split("\t")]
    if len(sides) != 2 or not all(sides):
        raise FileError(
            f"{where}: a term needs a source and a target", found=repr(line[:60]), do="write source, a tab, target"
        )
    return sides[0], sides[1]


def is_word(term: str) -> bool:
    return term.isalpha() and len(term) > 1 and not term.isupper() and term[-1].lower() != "s"


def form_of(text: str) -> str:
    return " ".join(text.lower().split())


def unused_terms(terms: Iterable[Term], translation: str) -> tuple[str, ...]:
    """The terms, each once, whose translations are not in the text as often as they should be."""
    terms, lower = list(terms), translation.lower()
    fills = [term.span.fill.lower() for term in terms]
    missing = [term.source for term, fill in zip(terms, fills, strict=True) if lower.count(fill) < fills.count(fill)]
    return tuple(dict.fromkeys(missing))
