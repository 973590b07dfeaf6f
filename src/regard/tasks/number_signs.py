"""Numbers and what they count: whether a translation has the same, however it writes them."""

from __future__ import annotations

import re

SEVERAL = r"(?<![\w.,])\d(?:[.,]?\d)+(?![\w]|[.,]\d)"
# What a translation may have for a sign: the sign itself, or the beginning of its name in English or French.
SIGNS = {
    "$": r"\$|dollar|dollars?",
    "€": r"€|euro",
    "£": r"£|pound|livre|sterling",
    "¥": r"¥|yen|yuan",
    "%": r"%|per\s?cent|pour\s?cent|pourcent",
    "°F": r"°\s?F|fahrenheit",
    "°C": r"°\s?C|celsius|centigrade",
}
NUMBER = re.compile(
    r"(?<![\w.,])[$€£¥]\s?\d+(?:[.,]\d+)*(?![\w]|[.,]\d)"
    rf"|(?<![\w.,])\d+(?:[.,]\d+)*\s?(?:[$€£¥%](?!\w)|°\s?[CF]\b)|{SEVERAL}"
)
THOUSANDS = re.compile(r"(?<=\d)[ .,\u00a0\u202f](?=\d{3}(?!\d))")
CLOCK = re.compile(r"\d\s?(?:[AaPp]\.?[Mm]\b|h\b|h\d)")


def keeps_numbers(source: str, output: str) -> bool:
    """Whether the numbers of several digits are the same, and no sign is lost; times of day may well change."""
    return keeps_signs(source, output) and (bool(CLOCK.search(source)) or numbers_of(source) == numbers_of(output))


def numbers_of(text: str) -> list[str]:
    return sorted(run for run in re.findall(r"\d+", THOUSANDS.sub("", text)) if len(run) > 1)


def keeps_signs(source: str, output: str) -> bool:
    """Whether what the numbers of the source count is there in the output: a currency, percent or degrees."""
    counted = " ".join(match[0] for match in NUMBER.finditer(source)).replace("° ", "°")
    return all(re.search(names, output, re.IGNORECASE) for sign, names in SIGNS.items() if sign in counted)
