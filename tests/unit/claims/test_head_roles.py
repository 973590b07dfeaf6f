"""The rule of the claim; which words belong together, and whose weights between them are summed."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
import torch

import regard
from regard.claims.lab import word_roles
from regard.claims.lab.word_roles import RoleSentence, role_weights, word_weights
from regard.claims.setting import Setting
from regard.claims.tried import head_roles
from regard.claims.tried.head_roles import KEYS
from regard.text.grammar import lecture
from tests.claim_cases import Invented, check_rule

SURE = {"": (0.8, 0.7, 0.9), "_times": (6.0, 4.0, 9.0), "_over_next": (0.6, 0.5, 0.7)}
DONE = {f"{one}{name}": number for one in KEYS for name, number in SURE.items()}
INVENTED: Invented = {
    "holds": DONE,
    "holds in part": {**DONE, "pronoun_grammar": (0.1, 0.0, 0.2)},
    "does not hold": {**DONE, **dict.fromkeys(KEYS, (0.2, 0.1, 0.3))},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("head-roles", INVENTED)


def test_weight_that_does_not_hang_on_order_is_no_role() -> None:
    check_rule("head-roles", {**INVENTED, "does not hold": {**DONE, **{f"{one}_times": 1.0 for one in KEYS}}})


def test_a_head_that_looks_at_any_next_word_has_no_role() -> None:
    next_word = {f"{one}_over_next": (-0.1, -0.12, -0.08) for one in KEYS}
    check_rule("head-roles", {**INVENTED, "does not hold": {**DONE, **next_word}})
    check_rule("head-roles", {**INVENTED, "holds in part": {**DONE, "adjective_en_fr_over_next": (-0.1, -0.2, -0.05)}})


def test_which_word_belongs_to_which() -> None:
    one = RoleSentence.of("The old animal eats.", None)
    assert one.links == {
        "previous": ((1, 0), (2, 1), (3, 2)),
        "next": ((0, 1), (1, 2), (2, 3)),
        "adjective": ((1, 2),),
        "pronoun": (),
    }
    tired = lecture()[0]
    known = RoleSentence.of(tired.source, tired)
    ((it, noun),) = known.links["pronoun"]
    assert (known.words[it], known.words[noun]) == ("it", "animal")


def test_shuffled_sentences_have_the_same_words_together() -> None:
    tired = lecture()[0]
    known = RoleSentence.of(tired.source, tired)
    mixed = known.shuffled("0")
    assert mixed.words != known.words
    assert sorted(mixed.words) == sorted(known.words)
    assert mixed.words[-1] == "."
    for role, links in known.links.items():
        assert [(known.words[a], known.words[b]) for a, b in links] == [
            (mixed.words[a], mixed.words[b]) for a, b in mixed.links[role]
        ]


def test_weights_of_words_are_sums_over_their_ids() -> None:
    known = RoleSentence.of("The panther explores the clearing.").words
    for weights in word_weights("grammar", known).values():
        assert weights.shape[1:] == (len(known), len(known))
        assert float(weights.sum(-1).max()) <= 1 + 1e-6  # the rest is on the sentence's end; float32 weights
        assert float(weights.min()) >= 0


def test_a_head_that_does_a_role_is_told_from_one_that_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_order(name: str, words: tuple[str, ...], device: str) -> dict[str, torch.Tensor]:
        size = len(words)
        return {"site": torch.stack([torch.full((size, size), 1 / size), torch.eye(size).roll(-1, 1)])}

    monkeypatch.setattr(word_roles, "word_weights", by_order)
    monkeypatch.setattr(head_roles, "LINKS", (6, 6))
    previous = head_roles.run(Setting(), ("grammar", "previous", 0))
    assert previous.head == ("site", 1)
    assert previous.weight == 1
    assert previous.shuffled < 0.5
    pronoun = head_roles.run(Setting(), ("grammar", "pronoun", 0))
    assert pronoun.weight == pytest.approx(pronoun.shuffled, abs=0.2)
    assert role_weights("grammar", RoleSentence.of("The old animal eats."), "adjective")["site", 1] == [0.0]


def test_both_forms_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_roles, "LINKS", (4, 4))
    folder = tmp_path / "multi30k"
    folder.mkdir()
    lines = [f"A man in a blue shirt with {number} small dogs." for number in range(9)]
    for side in ("en", "fr"):
        for name in ("train", "val", "test_2016_flickr"):
            (folder / f"{name}.{side}.xz").write_bytes(lzma.compress("\n".join(lines).encode()))
    for options in ({}, {"full": True, "data": tmp_path}):
        result = regard.claim("head-roles").run(seeds=[0, 1], **options)
        assert set(KEYS) < set(result.measurement.numbers)
        assert "an adjective" in str(result)
