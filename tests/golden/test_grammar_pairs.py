"""A hundred pairs of the built-in language that were read one by one, and that it must keep writing like this.

When the lexicon or a rule changes, the draws change with it: take a hundred new pairs from the sets below, at least
one of each pattern, and read them before they are stored.
"""

from __future__ import annotations

from pathlib import Path

from regard.text.grammar import PATTERNS, Sentence, lecture, sentences

PAIRS = [line.split("\t") for line in Path(__file__).with_name("grammar_pairs.tsv").read_text("utf-8").splitlines()]


def written_now() -> dict[str, Sentence]:
    drawn = [*lecture(), *sentences("test"), *sentences("unseen", 300), *sentences("long", 100)]
    return {sentence.source: sentence for sentence in drawn}


def test_pairs_that_were_read_are_written_the_same() -> None:
    now = written_now()
    assert len(PAIRS) == len({source for source, _ in PAIRS}) == 100
    assert [(source, now[source].target if source in now else None) for source, _ in PAIRS] == [
        (source, target) for source, target in PAIRS
    ]
    assert {now[source].pattern for source, _ in PAIRS} == set(PATTERNS)
