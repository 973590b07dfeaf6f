"""Translations that cannot break a file: what must come out as it went in does, whatever the translator did."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][^\s<>/]*)[^<>]*?(?P<empty>/?)>")
PROTECTED = re.compile(
    r"</?[A-Za-z][^<>]*>|<\d[\d:.]*>"  # tags; times inside subtitles
    r"|&(?:#\d+|#[xX][0-9A-Fa-f]+|[A-Za-z]\w*);"  # entities
    r"|\$?\{\{[^{}\n]*\}\}|\$?\{[^{}\n]*\}"  # {name}, ${name}, {{ name }}, {\an8}
    r"|%(?:\(\w+\)|\d+\$)?[-+#0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z|j|t|L)?[diuoxXeEfFgGcrs@](?![A-Za-z])|%\d+|%%"
    r"|\$[A-Za-z_]\w*|\$\d+(?![\d.,]*\d)"
)
MESSAGE_FORMAT = re.compile(r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal)\s*,")  # ICU: a small program, no sentence
VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)
ORDERED = frozenset(("bpt", "ept", "bx", "ex", "sc", "ec", "it"))  # codes that begin and end something, each by itself


class SegmentTranslation(NamedTuple):
    """What a translator says to one text."""

    text: str
    doubt: float = 0.0
    unused_terms: tuple[str, ...] = ()
    cut: bool = False


class GuardedTranslation(NamedTuple):
    """The translation of a segment with all its codes; no text where none could be had."""

    text: str | None
    doubt: float = 0.0
    unused_terms: tuple[str, ...] = ()
    cut: bool = False
    fallback: bool = False  # whether its text had to be translated piece by piece, between the codes


Translate = Callable[[list[str]], Sequence[SegmentTranslation]]


class Piece:
    """A text between two things that are kept, such as line breaks or tags, and the white space around it."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        at = text.find(self.text) if self.text else len(text)
        self.before, self.behind = text[:at], text[at + len(self.text) :]
        self.is_text = has_letters(self.text)

    def with_text(self, text: str) -> str:
        return self.before + text + self.behind


def translate_guarded(sources: Sequence[str], translate: Translate) -> list[GuardedTranslation]:
    """The translation of each text, line by line, with the very tags and placeholders of its source.

    Where a translation has lost, added or disordered any, the pieces between them are translated by themselves; a piece
    that comes back empty, or with codes of its own, stays as it was.
    """
    lines = [[Piece(line) for line in source.split("\n")] for source in sources]
    wanted = [piece for source in lines for piece in source if piece.is_text and not MESSAGE_FORMAT.search(piece.text)]
    whole = dict(zip(map(id, wanted), translated([piece.text for piece in wanted], translate), strict=True))
    broken = [piece for piece in wanted if not keeps_codes(piece.text, whole[id(piece)].text)]
    mended = dict(zip(map(id, broken), piecewise([piece.text for piece in broken], translate), strict=True))
    return [put_together(source, whole, mended) for source in lines]


def translated(texts: list[str], translate: Translate) -> list[SegmentTranslation]:
    """Each text once, however often it stands there, on one line each."""
    unique = list(dict.fromkeys(texts))
    answers = dict(zip(unique, translate(unique) if unique else (), strict=True))
    return [answers[text]._replace(text=" ".join(answers[text].text.split("\n")).strip()) for text in texts]


def put_together(
    source: list[Piece], whole: dict[int, SegmentTranslation], mended: dict[int, GuardedTranslation]
) -> GuardedTranslation:
    """The lines of a segment; None if not one of those with words has a translation."""
    texts: list[str] = []
    answers: list[GuardedTranslation] = []
    for piece in source:
        answer = mended.get(id(piece))
        if answer is None and id(piece) in whole:
            answer = GuardedTranslation(*whole[id(piece)])
        answers += [answer] if answer is not None else []
        texts.append(piece.with_text(answer.text if answer is not None and answer.text else piece.text))
    text = "\n".join(texts) if any(answer.text for answer in answers) else None
    return merged(text, answers, any(answer.fallback for answer in answers))


def piecewise(texts: list[str], translate: Translate) -> list[GuardedTranslation]:
    """Each text translated between its codes, so that these are where they were."""
    split = [[Piece(part) for part in between(text)] for text in texts]
    wanted = [piece for pieces in split for piece in pieces if piece.is_text]
    answers = dict(zip(map(id, wanted), translated([piece.text for piece in wanted], translate), strict=True))
    return [around_codes(text, pieces, answers) for text, pieces in zip(texts, split, strict=True)]


def around_codes(text: str, pieces: list[Piece], answers: dict[int, SegmentTranslation]) -> GuardedTranslation:
    codes = PROTECTED.findall(text)
    used: list[SegmentTranslation] = []
    result = ""
    for piece, code in zip(pieces, [*codes, ""], strict=True):
        answer = answers.get(id(piece))
        good = answer is not None and answer.text != "" and not PROTECTED.search(answer.text)
        used += [answer] if good and answer is not None else []
        result += piece.with_text(answer.text if good and answer is not None else piece.text) + code
    if not used or not keeps_codes(text, result):
        return GuardedTranslation(None, 1.0, fallback=True)
    return merged(result, used, fallback=True)


def merged(
    text: str | None, answers: Sequence[SegmentTranslation | GuardedTranslation], fallback: bool
) -> GuardedTranslation:
    """As doubtful as the most doubtful of its parts."""
    return GuardedTranslation(
        text,
        max((answer.doubt for answer in answers), default=0.0),
        tuple(dict.fromkeys(term for answer in answers for term in answer.unused_terms)),
        any(answer.cut for answer in answers),
        fallback,
    )


def between(text: str) -> list[str]:
    """The pieces around the codes: one more than there are codes."""
    ends = [match.span() for match in PROTECTED.finditer(text)]
    starts = [0, *(end for _, end in ends)]
    return [text[first:last] for first, last in zip(starts, [*(begin for begin, _ in ends), len(text)], strict=True)]


def has_letters(text: str) -> bool:
    """Whether there is anything to translate beside codes and numbers."""
    return any(letter.isalpha() for letter in PROTECTED.sub("", text))


def keeps_codes(source: str, target: str) -> bool:
    """Whether a translation is there, and has all the codes of its source and no others, properly nested."""
    before, after = PROTECTED.findall(source), PROTECTED.findall(target)
    if not target or Counter(before) != Counter(after) or ordered(before) != ordered(after):
        return False
    return nests(after) or not nests(before)


def ordered(codes: list[str]) -> list[str]:
    return [code for code in codes if (match := TAG.fullmatch(code)) and match["name"].rstrip("0123456789") in ORDERED]


def nests(codes: list[str]) -> bool:
    """Whether every tag that opens is closed in its turn."""
    stack: list[str] = []
    for code in codes:
        match = TAG.fullmatch(code)
        if match is None or match["empty"] or match["name"].lower() in VOID:
            continue
        if not match["end"]:
            stack.append(match["name"])
        elif not stack or stack.pop() != match["name"]:
            return False
    return not stack
