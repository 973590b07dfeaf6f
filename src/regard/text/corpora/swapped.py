"""Columns the wrong way round: told by the small words of a language, or by comparing with rows known to be right."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice

from regard.errors import InputError

SAMPLE = 2000  # rows of a file that are all looked at; after them every SPARSE-th
SPARSE = 16
CLEARLY = 3  # times as many words of the other language as of its own
ENOUGH = 5  # words of the other language, before anything is said
SHARE = 0.1  # of all words, that small ones of a language are at least
AHEAD = 1.3  # times as many as of any other language: Romance ones share some
PART = 0.01  # the share of rows the wrong way round that is worth a note
MARGIN = 0.05  # by which profiles must be nearer when crossed, as cosines
FEWEST = 10  # rows that make a profile
WORD = re.compile(r"[^\W\d_]+")

# words that are frequent whatever the text is about
SMALL_WORDS = {
    "en": "the of and to in is that for it was on with as be at by this have from are not but they his he she you we",
    "fr": "le la les de des du et est un une que qui dans pour pas sur ce il elle nous vous ne au aux avec sont je se",
    "de": "der die das und ist nicht ein eine zu den von mit sich auf für dem im es auch ich er sie wir wird als einem",
    "es": "el la los las de que y en un una es por con no para se su del al lo como más pero sus está fue este ha",
    "it": "il la le gli di che e è un una per non con del della in si da sono come ma più anche questo nel al dei lo",
    "pt": "o a os as de que e do da em um uma é não para com por se na no dos mais como mas foi ao das ele você",
    "nl": "de het een en van is dat niet in op te met voor zijn er aan ik je hij ze wij maar ook als bij door naar",
}
LONG_CODES = {
    "eng": "en",
    "fra": "fr",
    "fre": "fr",
    "deu": "de",
    "ger": "de",
    "spa": "es",
    "ita": "it",
    "por": "pt",
    "nld": "nl",
    "dut": "nl",
}


def small_words(language: str) -> frozenset[str]:
    """The small words of a language, none if it is not among ours."""
    code = re.split("[-_]", language.lower())[0]
    return frozenset(SMALL_WORDS.get(LONG_CODES.get(code, code), "").split())


def guess_language(texts: Iterable[str]) -> str | None:
    """Which of the languages of SMALL_WORDS some texts are in, if it is plain to see."""
    words = Counter(word for text in islice(texts, SAMPLE) for word in WORD.findall(text.lower()))
    hits = {language: sum(words[word] for word in small_words(language)) for language in SMALL_WORDS}
    (best, most), (_, next_most) = Counter(hits).most_common(2)
    enough = most >= max(ENOUGH, SHARE * words.total())
    return best if enough and most >= AHEAD * next_most else None


class Sides:
    """Counts in one file how much each column reads as each of two languages."""

    def __init__(self, languages: tuple[str, str], file: str, remedy: str) -> None:
        self.languages, self.file, self.remedy = languages, file, remedy
        first, second = small_words(languages[0]), small_words(languages[1])
        self.telling = (first - second, second - first)
        self.known = bool(first and second and first != second)
        self.hits = [[0, 0], [0, 0]]  # column, language
        self.rows = self.samples = self.turned = self.first_turned = 0

    def add(self, texts: tuple[str, ...], line: int) -> None:
        """Look at one row; after SAMPLE of them, refuse a file that is the wrong way round."""
        self.rows += 1
        if not self.known or (self.rows > SAMPLE and self.rows % SPARSE):
            return
        words = [WORD.findall(text.lower()) for text in texts]
        row = [[sum(word in own for word in column) for own in self.telling] for column in words]
        for column in (0, 1):
            for language in (0, 1):
                self.hits[column][language] += row[column][language]
        self.samples += 1
        (own, other), (others, its) = row
        if other > 1 and not own and others and not its:
            self.turned += 1
            self.first_turned = self.first_turned or line
        if self.rows == SAMPLE:
            self.refuse()

    def refuse(self) -> None:
        """Raise if the columns look swapped."""
        (own, other), (others, its) = self.hits
        if other >= max(ENOUGH, CLEARLY * own) and others >= max(ENOUGH, CLEARLY * its):
            source, target = self.languages
            raise InputError(
                f"the columns of {self.file} look swapped: the first should be {source}, the second {target}",
                found=f"the first reads as {target} ({other} small words of it, {own} of {source}), "
                f"the second as {source} ({others} against {its})",
                do=self.remedy,
            )

    def finish(self, note: Callable[[str], None]) -> None:
        """Judge the file as a whole, and note it if a part of it is the wrong way round."""
        self.refuse()
        if not self.known:
            unknown = [language for language in self.languages if not small_words(language)] or self.languages
            note(f"{self.file}: whether columns are swapped was not checked for {' and '.join(unknown)}")
        elif self.turned >= ENOUGH and self.turned >= PART * self.samples:
            share = self.turned / self.samples
            note(f"{self.file}: about {share:.0%} of the rows look swapped, the first at line {self.first_turned}")


def looks_swapped(reference: Iterable[tuple[str, str]], rows: Iterable[tuple[str, str]]) -> bool:
    """Whether rows have their columns the other way round than rows known to be right, by their letters alone."""
    right, asked = list(islice(reference, SAMPLE)), list(islice(rows, SAMPLE))
    if min(len(right), len(asked)) < FEWEST:
        return False
    known = [profile(row[column] for row in right) for column in (0, 1)]
    profiles = [profile(row[column] for row in asked) for column in (0, 1)]
    straight = [likeness(known[column], profiles[column]) for column in (0, 1)]
    crossed = [likeness(known[column], profiles[1 - column]) for column in (0, 1)]
    return all(cross > along + MARGIN for cross, along in zip(crossed, straight, strict=True))


def profile(texts: Iterable[str]) -> Counter[str]:
    """How often each three letters in a row occur."""
    counts: Counter[str] = Counter()
    for text in texts:
        padded = f" {text.lower()} "
        counts.update(padded[start : start + 3] for start in range(len(padded) - 2))
    return counts


def likeness(first: Counter[str], second: Counter[str]) -> float:
    """The cosine of two profiles."""
    product = sum(count * second[key] for key, count in first.items() if key in second)
    sizes = [math.sqrt(sum(count * count for count in counts.values())) for counts in (first, second)]
    return product / (sizes[0] * sizes[1]) if all(sizes) else 0.0
