"""BLEU and chrF, by sacreBLEU. Percentages, as everyone prints them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from regard.errors import InputError
from regard.text.scores.moses import moses, moses_signature
from regard.text.scores.pairing import check_pairs

EDGES = (10, 20, 30, 40, 50)


class Score(NamedTuple):
    """A number with its name, and how it came about: only scores of one signature may be compared."""

    name: str
    value: float
    signature: str = ""


class LengthRow(NamedTuple):
    """How many pairs have a source of more than `low` and at most `high` words (None: any number), and their BLEU."""

    low: int
    high: int | None
    pairs: int
    score: float


def bleu(outputs: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Score:
    """BLEU of detokenised texts, which sacreBLEU tokenises itself (13a)."""
    from sacrebleu.metrics.bleu import BLEU  # here and below: who only translates or looks need not wait for it

    check_pairs(outputs, references)
    metric = BLEU(lowercase=lowercase, force=True)  # force: no warning on the terminal when texts look tokenised
    result = metric.corpus_score(list(outputs), [list(references)])
    return Score("bleu_lowercase" if lowercase else "bleu", result.score, str(metric.get_signature()))


def bleu_tokenised(outputs: Sequence[str], references: Sequence[str], language: str, how: str = "") -> Score:
    """BLEU as the papers on Multi30k print it: both sides lower-cased and tokenised by Moses before they are compared.

    Its tokens are not those of sacreBLEU ("l'homme" is two here, one there), so neither score stands for the other.
    `how` the language is known ("guessed") goes into the signature.
    """
    from sacrebleu.metrics.bleu import BLEU

    check_pairs(outputs, references)
    metric = BLEU(tokenize="none", force=True)
    result = metric.corpus_score(moses(outputs, language), [moses(references, language)])
    signature = str(metric.get_signature())
    signature = signature.replace("case:mixed", "case:lc").replace("tok:none", f"tok:{moses_signature(language)}")
    return Score("bleu_tokenised", result.score, f"{signature}|language:{how}" if how else signature)


def chrf(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """The F score of character n-grams: fairer than BLEU to languages with long words."""
    from sacrebleu.metrics.chrf import CHRF

    check_pairs(outputs, references)
    metric = CHRF()
    result = metric.corpus_score(list(outputs), [list(references)])
    return Score("chrf", result.score, str(metric.get_signature()))


def bleu_by_length(
    sources: Sequence[str], outputs: Sequence[str], references: Sequence[str], edges: Sequence[int] = EDGES
) -> list[LengthRow]:
    """BLEU of short texts, of longer ones, and so on: a row for each length of source that occurs."""
    check_pairs(outputs, references)
    check_pairs(sources, references)
    if list(edges) != sorted(set(edges)) or any(edge < 1 for edge in edges):
        raise InputError("edges must be lengths that grow", found=f"{tuple(edges)}", do=f"such as {EDGES}")
    lengths = [len(source.split()) for source in sources]
    rows: list[LengthRow] = []
    for low, high in zip((-1, *edges), (*edges, None), strict=True):
        inside = [n for n, length in enumerate(lengths) if low < length and (high is None or length <= high)]
        if inside:
            score = bleu([outputs[n] for n in inside], [references[n] for n in inside])
            rows.append(LengthRow(max(low, 0), high, len(inside), score.value))
    return rows
