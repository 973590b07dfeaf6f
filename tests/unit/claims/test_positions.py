"""The rule of the claim, what its tests by length are, and both its forms in miniature."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from regard.claims.lab import lengths
from regard.claims.lab.lengths import clause_lengths, real_lengths
from regard.claims.lab.pair_task import PairIds, PairTask, WordIds
from regard.claims.tried import positions
from tests.claim_cases import Invented, check_rule
from tests.tiny_corpora import tiny_multi30k

INVENTED: Invented = {
    "holds": {"order_gained": (0.3, 0.2, 0.4), "long_lost": (0.01, -0.01, 0.03), "long_lost_learned": 0.5},
    "holds in part": {"order_gained": (0.3, 0.2, 0.4), "long_lost": (0.2, 0.1, 0.3), "long_lost_learned": 0.5},
    "does not hold": {"order_gained": (0.01, 0, 0.02), "long_lost": (0.2, 0.1, 0.3), "long_lost_learned": 0.5},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("positions", INVENTED)


def test_no_test_is_learned_from_and_the_longest_are_longer_than_any_that_is_short() -> None:
    tests = clause_lengths(300)
    known = {pair.source for task in (tests.short, tests.mixed) for pair in task.train}
    assert not known & {pair.source for group in tests.tests for pair in group}
    assert len(tests.short.train) == len(tests.mixed.train) == 300
    means = [tests.mean_length(group) for group in range(len(tests.tests))]
    assert means == sorted(means)
    assert means[-1] > max(len(pair.source) for pair in tests.short.train) > means[tests.trained - 1]


def test_real_text_is_parted_by_its_tokens() -> None:
    pairs = tuple(PairIds((5,) * length, (6,)) for length in range(1, 41))
    words = WordIds(["a b c"])
    tests = real_lengths(PairTask(pairs, pairs, pairs, words, words))
    assert [len(group) for group in tests.tests] == [20, 8, 8, 8, 36]
    assert tests.trained == 2
    assert len(tests.short.train) == len(tests.mixed.train) == lengths.SHORT
    assert max(len(pair.source) for pair in tests.short.train) == lengths.SHORT
    assert max(len(pair.source) for pair in tests.mixed.train) > lengths.SHORT


@pytest.mark.parametrize("full", [False, True])
def test_both_forms_in_miniature(full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"dim": 8, "heads": 2, "feedforward": 8, "encoder_layers": 1, "decoder_layers": 1}
    for name, value in {"STEPS": 2, "FULL_STEPS": 2, "SIZES": sizes}.items():
        monkeypatch.setattr(positions, name, value)
    for name, number in {"PAIRS": 60, "TESTS": 5, "SHORT": 18, "BOUNDS": (12, 18, 24, 100)}.items():
        monkeypatch.setattr(lengths, name, number)
    result = regard.claim("positions").run(full=full, data=tiny_multi30k(tmp_path), seeds=[0, 1])
    assert set(result.measurement.numbers) == set(INVENTED["holds"])
    assert all(len(table.rows) == len(positions.VARIANTS) for table in result.measurement.tables)
    assert "words right" in str(result)
