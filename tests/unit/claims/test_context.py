"""The rule of the claim; and senses that are in vectors, or are not."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
import torch

import regard
from regard.claims.lab.two_senses import WRITTEN, translated, written
from regard.claims.lab.word_vectors import folds_of, layer_vectors, parting, read_share, shuffled_labels
from regard.claims.tried import context
from regard.text.grammar import words
from tests.claim_cases import Invented, check_rule

READ = {
    "sense_read": (0.93, 0.88, 0.98), "sense_gained": (0.4, 0.3, 0.5), "it_read": (0.97, 0.95, 0.99),
    "it_gained": (0.47, 0.45, 0.49),
}  # fmt: skip
INVENTED: Invented = {
    "holds": READ,
    "holds in part": {**READ, "it_read": (0.55, 0.5, 0.6)},
    "does not hold": {**READ, "it_read": (0.52, 0.48, 0.56), "sense_read": (0.5, 0.45, 0.55)},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("context", INVENTED)


def test_what_could_be_read_before_any_layer_is_not_read_from_context() -> None:
    check_rule("context", {**INVENTED, "holds in part": {**READ, "sense_gained": (0.05, 0.0, 0.1)}})


@pytest.mark.parametrize("word", WRITTEN)
def test_every_sentence_has_its_word_once_and_is_written_once(word: str) -> None:
    texts = [text for some in WRITTEN[word] for text in some]
    assert len(set(texts)) == len(texts) == 16
    for text, place, _ in written()[word]:
        known = [one.lower() for one in words(text)]
        assert known[place] == word
        assert known.count(word) == 1


def test_senses_are_told_by_translations() -> None:
    pairs = [
        ("The bank lends money.", "La banque prête de l'argent."),
        ("He sat on the bank.", "Il était assis sur la rive."),
        ("The bank stands on the river.", "La banque est sur la rive."),  # both: not known
        ("A bank is a bank.", "Une banque est une banque."),  # which of the two?
        ("A match!", "Un match !"),  # no sentence of the other sense
    ]
    assert translated(pairs, 5, 1) == {"bank": [(pairs[0][0], 1, 0), (pairs[1][0], 4, 1)]}
    assert translated(pairs, 5, 2) == {}


def test_a_sense_that_is_in_the_vectors_is_read_and_one_that_is_not_is_not() -> None:
    rng = torch.Generator().manual_seed(0)
    vectors, labels = torch.randn(200, 8, generator=rng).double(), torch.arange(200) % 2
    with_sense = vectors + 4 * labels[:, None] * torch.eye(8)[0]
    folds = folds_of(100).repeat_interleave(2)
    assert read_share(with_sense, labels, folds) > 0.9
    assert 0.35 < read_share(vectors, labels, folds) < 0.65  # four standard deviations
    assert 0.35 < read_share(with_sense, shuffled_labels(labels, 0), folds) < 0.65
    same, different = parting(with_sense, labels)
    assert same > different


def test_vectors_that_are_all_alike_tell_nothing() -> None:
    assert read_share(torch.ones(8, 4).double(), torch.arange(8) % 2, folds_of(4).repeat_interleave(2)) == 0.5


def test_before_any_layer_a_word_knows_nothing_of_its_sentence() -> None:
    first, second = (layer_vectors("grammar", text, 1) for text in ("The dog sleeps.", "The dog is eating an apple."))
    assert len(first) == 3
    torch.testing.assert_close(first[0], second[0])
    assert float((first[1] - second[1]).abs().max()) > 1e-3


def test_both_forms_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "PAIRS", (4, 4))
    monkeypatch.setattr(context, "LEAST", 2)
    monkeypatch.setattr(context, "written", lambda: {word: written()[word][6:10] for word in ("bank", "light")})
    folder = tmp_path / "tatoeba-en-fr"
    folder.mkdir()
    rows = [f"The bank has {n} doors.\tLa banque a {n} portes." for n in range(3)]
    rows += [f"The bank of river {n}.\tLa rive du fleuve {n}." for n in range(3)]
    (folder / "pairs.tsv.xz").write_bytes(lzma.compress("\n".join(rows).encode()))
    for options in ({}, {"full": True, "data": tmp_path}):
        result = regard.claim("context").run(seeds=[0, 1], **options)
        assert {"sense_read", "it_read"} < set(result.measurement.numbers)
        assert "bank" in str(result)
