"""Texts in capitals: lowered for a model that has hardly met any, and what it answers raised again."""

from __future__ import annotations

import re
from collections.abc import Iterable

from regard.text.slots import SLOT

MARKS = ".!?…:;,"
STOP = re.compile(
    rf"(?:[^\W_][^.\s]+|{SLOT.pattern})[\"'»”’)]*\.$"
)  # at the end of a sentence, not of an initial or of dots
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
VOWELS = frozenset("AEIOUYÀÂÄÉÈÊËÎÏÔÖÙÛÜŒ")
# Names by their first letters, which are read letter by letter or as a word, and stay.
ACRONYMS = re.compile(
    "NASA|UNESCO|UNICEF|NATO|OTAN|ONU|EU|USA|UK|AIDS|SIDA|COVID|ISO|IEEE|IBM|AOL|API|URL|URI|USB|UEFI|BIOS|ASCII|ADN|AI|IA|CIA|"
    "FBI|OMS|OPEC|OPEP|OECD|OCDE|FAQ|GIF|JPEG|IP|RAM|CPU|GPU|LED|VIP|OK|TV|CEO|CIO|CTO|HIV|VIH|IQ|UFO|OVNI|SNCF|RATP|EDF|INSEE|"
    "CNRS|SIM|SIRET|IBAN|BIC|TVA|ASAP|DIY"
)


def is_acronym(word: str) -> bool:
    """Whether a word in capitals is the name of something rather than a word that is shouted."""
    return len(word) > 1 and word.isupper() and (VOWELS.isdisjoint(word) or ACRONYMS.fullmatch(word) is not None)


def is_acronyms(text: str) -> bool:
    """Whether its words are acronyms, all of them: they stay as they are."""
    words = WORD.findall(text)
    return bool(words) and all(map(is_acronym, words))


def is_shouted(text: str) -> bool:
    """Whether all its letters are capitals, and it says more than an acronym."""
    if text != text.upper() or text == text.lower():
        return False
    return any(len(word) > 1 and not is_acronym(word) for word in WORD.findall(text))


def lowered(text: str) -> str:
    """As a sentence is written: small letters but for the first, for acronyms and for the English I. Nothing moves."""

    def lower(match: re.Match[str]) -> str:
        word = match[0]
        if word == "I" or word.startswith(("I'", "I’")):
            return "I" + small(word[1:])
        return word if is_acronym(word) else small(word)

    text = WORD.sub(lower, text)
    first = next((number for number, char in enumerate(text) if char.isalpha()), len(text))
    return text[:first] + text[first : first + 1].upper() + text[first + 1 :]


def small(text: str) -> str:
    """In small letters, as many as there were: a few capitals have two small ones, and stay."""
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def raised(text: str, untouched: Iterable[str] = ()) -> str:
    """In capitals, but for what must stay as it is."""
    parts = sorted({part for part in untouched if part}, key=len, reverse=True)
    if not parts:
        return text.upper()
    stays = re.compile("(" + "|".join(map(re.escape, parts)) + ")")
    return "".join(part if number % 2 else part.upper() for number, part in enumerate(stays.split(text)))


def like_source(source: str, output: str) -> str:
    """The output without the full stop and the capital that its source has not, where a model has put them."""
    source, output = source.rstrip(), output.strip()
    if source[-1:] not in MARKS and STOP.search(output):
        output = output[:-1]
    first = WORD.match(output)
    if first is None or not source[:1].islower() or first[0][1:] != small(first[0][1:]):
        return output
    names = map(small, WORD.findall(source))
    return output if small(first[0]) in names else small(output[:1]) + output[1:]
