"""Word translations against an EM step by hand, against a plain one of dictionaries, and in any order of the pairs."""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.text import word_translations
from regard.text.word_translations import PassProgress, TranslationTable, learn, likeliest, mutual_words

Pairs = list[tuple[tuple[str, ...], tuple[str, ...]]]
BOOKS: Pairs = [
    (("the", "house"), ("la", "maison")),
    (("the", "book"), ("le", "livre")),
    (("a", "book"), ("un", "livre")),
]
WORDS = st.lists(st.sampled_from("abcde"), max_size=4).map(tuple)
PAIRS = st.lists(st.tuples(WORDS, WORDS.map(lambda words: tuple(word.upper() for word in words))), max_size=8)


def learned(pairs: Pairs, rounds: int, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], float]:
    monkeypatch.setattr(word_translations, "ROUNDS", rounds)
    return as_dict(learn(pairs, PassProgress(lambda done, total: None, 0)))


def as_dict(table: TranslationTable) -> dict[tuple[str, str], float]:
    names = [(table.sources[code // len(table.targets)], table.targets[code % len(table.targets)])
             for code in table.codes.tolist()]  # fmt: skip
    return dict(zip(names, table.probabilities.tolist(), strict=True))


def plain(pairs: Pairs, rounds: int) -> dict[tuple[str, str], float]:
    """The equations as they stand, with dictionaries."""
    chances: dict[tuple[str, str], float] = {}
    for _ in range(rounds):
        shares: dict[tuple[str, str], float] = defaultdict(float)
        for source, target in pairs:
            for other in target:
                whole = sum(chances.get((word, other), 1.0) for word in source)
                for word in source:
                    shares[word, other] += chances.get((word, other), 1.0) / whole
        totals: dict[str, float] = defaultdict(float)
        for (word, _other), share in shares.items():
            totals[word] += share
        chances = {key: share / totals[key[0]] for key, share in shares.items()}
    return chances


def test_two_rounds_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """At first every target word is shared equally: "book" gets half of le, livre, un and livre."""
    first = learned(BOOKS, 1, monkeypatch)
    assert first["book", "livre"] == 1 / 2
    assert first["book", "le"] == first["book", "un"] == first["the", "livre"] == first["the", "la"] == 1 / 4
    assert first["a", "livre"] == first["a", "un"] == first["house", "maison"] == 1 / 2
    second = learned(BOOKS, 2, monkeypatch)
    # "livre": of the second pair 1/2 against 1/4 of "the", of the third 1/2 against 1/2 of "a"; "le" half, "un" a third
    assert second["book", "livre"] == pytest.approx((2 / 3 + 1 / 2) / (2 / 3 + 1 / 2 + 1 / 2 + 1 / 3), rel=1e-12)


@settings(deadline=None, max_examples=60)
@given(PAIRS)
def test_it_is_what_the_equations_say(pairs: Pairs) -> None:
    """A sum of at most a hundred terms twice over five rounds: far within 1e-9 of each other."""
    table = as_dict(learn(pairs, PassProgress(lambda done, total: None, 0)))
    expected = plain(pairs, word_translations.ROUNDS)
    assert set(table) == set(expected)
    assert all(table[key] == pytest.approx(expected[key], rel=1e-9) for key in expected)
    totals: dict[str, float] = defaultdict(float)
    for (word, _), probability in table.items():
        totals[word] += probability
    assert all(total == pytest.approx(1, rel=1e-9) for total in totals.values())


def some_pairs(count: int = 400) -> Pairs:
    rng = random.Random(5)
    words = [f"w{number}" for number in range(40)]
    texts = [tuple(rng.choices(words, k=rng.randint(1, 8))) for _ in range(count)]
    return [(text, tuple(word.upper() for word in rng.sample(text, len(text)) if rng.random() < 0.9)) for text in texts]


def test_neither_the_order_of_pairs_nor_the_size_of_blocks_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = some_pairs()
    other = random.Random(1).sample(pairs, len(pairs))
    tables = [learn(one, PassProgress(lambda done, total: None, 0)) for one in (pairs, other)]
    assert tables[0].sources == tables[1].sources
    assert np.array_equal(tables[0].probabilities, tables[1].probabilities)  # bit by bit
    assert mutual_words(pairs) == mutual_words(other)
    monkeypatch.setattr(word_translations, "BLOCK", 50)
    assert [row[:3] for row in mutual_words(other)] == [row[:3] for row in mutual_words(pairs)]
    assert likeliest(pairs) == {f"w{number}": f"W{number}" for number in range(40)}


def test_of_equally_likely_words_the_last_by_spelling_is_taken() -> None:
    assert likeliest([(("x",), ("b", "c", "a"))]) == {"x": "c"}
    assert likeliest([]) == likeliest([(("x",), ())]) == {}
    assert likeliest([((), ("a",))]) == {}


def test_rare_words_are_not_believed() -> None:
    pairs = [(("one",), ("un",)), (("one", "two"), ("un", "deux"))]
    assert likeliest(pairs, fewest=2) == {"one": "un"}
    assert likeliest(pairs) == {"one": "un", "two": "deux"}


def test_nobody_gives_what_has_no_source_word() -> None:
    """ "le" stands in every pair, and no word gives it."""
    pairs = [((f"n{k}",), ("le", f"N{k}")) for k in range(6)]
    pairs += [((f"n{k}", f"n{k + 1}"), ("le", f"N{k}", f"N{k + 1}")) for k in range(5)]
    assert likeliest(pairs) == {f"n{k}": f"N{k}" for k in range(6)}


def test_words_are_mutual_where_both_directions_agree() -> None:
    """ "big" is grand or grande: French agrees on both, English on one; "some thing" is two words for one."""
    pairs = [(("big",), ("grand",))] * 4 + [(("big",), ("grande",))] * 2 + [(("cat",), ("chat",))] * 3
    rows = mutual_words(pairs, fewest=3)
    assert [(row.source, row.target, row.pairs) for row in rows] == [("big", "grand", 4), ("cat", "chat", 3)]
    assert rows[0].probability == pytest.approx(2 / 3, abs=1e-9)
    assert rows[0].reverse == pytest.approx(1, abs=1e-9)
    assert mutual_words(pairs, fewest=4) == rows[:1]


def test_a_word_that_goes_along_makes_a_phrase() -> None:
    pairs = [(("something",), ("quelque", "chose"))] * 5 + [(("dog",), ("chien",))] * 5
    assert {row.source: row.phrase for row in mutual_words(pairs)} == {"something": 1.0, "dog": 0.0}


def test_progress_grows_to_all_of_it() -> None:
    reports: list[tuple[int, int]] = []
    mutual_words(some_pairs(), on_progress=lambda done, total: reports.append((done, total)))
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)
    assert reports[-1][0] == reports[-1][1]
    assert len({total for _, total in reports}) == 1
