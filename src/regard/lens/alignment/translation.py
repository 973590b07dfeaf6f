"""Translations together with which word became which."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple, Unpack

from regard.lens.alignment.choice import ReadingChoice, choose_by_itself
from regard.lens.alignment.links import AttentionReading, candidates
from regard.lens.alignment.pairs import align_pairs, cross_sites, fits
from regard.lens.alignment.word_spans import Split, spans_of
from regard.tasks import Translator
from regard.tasks.long_texts import LANGUAGE, split
from regard.tasks.translator import SearchOptions, Translation, join_pieces
from regard.text.scores.alignment_error import Link

Pairs = list[tuple[str, str]]


class AlignedTranslation(NamedTuple):
    """The best translations of a text, and the links of each: (source word, target word)."""

    best: list[Translation]
    links: list[list[Link]]


def search_aligned(
    translator: Translator,
    texts: Sequence[str],
    choice: ReadingChoice | None = None,
    words: Split = str.split,
    **options: Unpack[SearchOptions],
) -> tuple[ReadingChoice | None, list[AlignedTranslation]]:
    """As `Translator.search`, with alignments: each translation is read again, beside its source.

    Without a choice of where to read, it is made by how well each map agrees with itself on these texts. What was
    translated in pieces is aligned in pieces. A text without words has no links, nor has one that is too long.
    """
    whole = options.get("long", "split") == "split"
    pieces = [in_pieces(translator, text) if whole else [text] for text in texts]
    translations = iter(translator.search([piece for some in pieces for piece in some], **options))
    hypotheses = [[next(translations) for _ in some] for some in pieces]
    pairs = [
        (piece, one.text)
        for some, bests in zip(pieces, hypotheses, strict=True)
        for piece, best in zip(some, bests, strict=True)
        for one in best
        if fits(translator, piece, one.text)
    ]
    choice = chosen(translator, pairs, words) if choice is None else choice
    links = {} if choice is None else read(translator, pairs, words, choice.reading)
    nbest = options.get("nbest", 1)
    return choice, [
        put_together(text, some, join_pieces(bests, nbest), bests, links, words)
        for text, some, bests in zip(texts, pieces, hypotheses, strict=True)
    ]


def in_pieces(translator: Translator, text: str) -> list[str]:
    """The text itself, or what it is translated in when it is too long."""
    (row,) = translator.tokenizer.encode([text])
    longest = translator.longest_source
    return [text] if len(row) <= longest else split(text, translator.tokenizer, longest)


def chosen(translator: Translator, pairs: Pairs, words: Split) -> ReadingChoice | None:
    """By itself; nothing can be chosen by nothing."""
    readings = candidates(cross_sites(translator.model))
    sides = [pair for pair in pairs if pair[0].strip() and pair[1].strip()]
    return choose_by_itself(align_pairs(translator, *apart(sides), readings, words=words)) if sides else None


def read(
    translator: Translator, pairs: Pairs, words: Split, reading: AttentionReading
) -> dict[tuple[str, str], list[Link]]:
    links = align_pairs(translator, *apart(pairs), [reading], words=words).links(reading)
    return dict(zip(pairs, links, strict=True))


def apart(pairs: Pairs) -> tuple[list[str], list[str]]:
    return [source for source, _ in pairs], [target for _, target in pairs]


def put_together(
    text: str,
    pieces: list[str],
    best: list[Translation],
    bests: list[list[Translation]],
    links: dict[tuple[str, str], list[Link]],
    words: Split,
) -> AlignedTranslation:
    """The links of the pieces as links of the whole: for each rank those of the pieces of that rank."""
    sources = numbers(text, pieces, words) if len(pieces) > 1 else []
    ranked_links: list[list[Link]] = []
    for rank in range(len(best)):
        ranked = [some[min(rank, len(some) - 1)].text for some in bests]
        mine, before = set(), 0
        for number, output in enumerate(ranked):
            for i, j in links.get((pieces[number], output), []):
                mine.add((sources[number][i] if sources else i, before + j))
            before += len(words(output))
        ranked_links.append(sorted(mine))
    return AlignedTranslation(best, ranked_links)


def numbers(text: str, pieces: list[str], words: Split) -> list[list[int]]:
    """For each word of each piece its number among the words of the whole, of which every piece is a part.

    The code of a language, which stands in front of every piece, stands once in front of the whole.
    """
    code = LANGUAGE.match(text)
    front = len(code[0]) if code and all(piece.startswith(code[0]) for piece in pieces) else 0
    starts = [start for start, _ in spans_of(text, words(text))]
    by_piece, at = [], front
    for piece in pieces:
        at = text.index(piece[front:], at)
        inside = [start for start, _ in spans_of(piece, words(piece))]
        moved = [start if start < front else at + start - front for start in inside]
        by_piece.append([bisect_right(starts, start) - 1 for start in moved])
        at += len(piece) - front
    return by_piece
