"""The rule of the claim; looks and patches where it is known what heads do."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

import regard
from regard.claims.lab.it_pairs import ItPair, it_pairs
from regard.claims.lab.it_reading import ItBatch, choice, it_batch, patched_choices, readable, run_of
from regard.claims.lab.shipped_reading import shipped
from regard.claims.tried import it
from regard.claims.tried.it import looking_most, shipped_codecs, task_codecs
from regard.lens.hooks.activations import Activations, SiteActivations
from regard.text.grammar import agreement, lecture
from regard.text.grammar.sentence_sets import home
from tests.claim_cases import Invented, check_rule

SURE = {
    "looks_shipped": 0.97, "flips_shipped": 0.9, "control_shipped": 0.01,
    "looks_trained": (0.96, 0.93, 0.99), "flips_trained": (0.8, 0.7, 0.9), "control_trained": (0.02, 0.0, 0.04),
}  # fmt: skip
INVENTED: Invented = {
    "holds": SURE,
    "holds in part": {**SURE, "flips_trained": (0.5, 0.2, 0.8)},
    "does not hold": {**SURE, "looks_shipped": 0.5, "flips_trained": (0.04, 0.0, 0.08)},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("it", INVENTED)


def test_a_control_that_turns_as_much_is_not_overlooked() -> None:
    check_rule("it", {**INVENTED, "holds in part": {**SURE, "control_shipped": 0.9}})


@pytest.mark.parametrize("trained_on", [True, False])
def test_pairs_differ_in_one_adjective_and_in_what_it_is(trained_on: bool) -> None:
    for pair in it_pairs(5, 0, trained_on=trained_on):
        differing = [one != two for one, two in zip(pair.subject.source_words, pair.thing.source_words, strict=True)]
        assert sum(differing) == 1
        assert {pair.subject.pronouns[0].form, pair.thing.pronouns[0].form} == {"il", "elle"}
        assert pair.subject_again.pronouns[0] == pair.subject.pronouns[0]
        assert all((home(one.source) == "train") == trained_on for one in (pair.subject, pair.thing))
        assert agreement(pair.subject, pair.subject.target)


def test_the_batch_knows_where_everything_stands() -> None:
    tired, wide = lecture()[:2]
    batch, tokens = it_batch([tired], [wide], shipped_codecs()), shipped("grammar").tokenizer

    def words(ids: Tensor) -> str:
        return tokens.decode(ids.tolist()).strip()

    assert words(batch.own) == "il"
    assert words(batch.other) == "elle"
    assert words(batch.source[0, batch.it]) == "it"
    assert [words(batch.source[some]) for some in (batch.antecedent, batch.rival, batch.reason)] == [
        "animal", "street", "tired",
    ]  # fmt: skip
    with torch.no_grad():
        assert float(choice(shipped("grammar").model, batch)) > 0


def test_a_patch_from_the_other_sentence_turns_il_into_elle_and_one_of_the_same_noun_does_not() -> None:
    model, codecs = shipped("grammar").model, shipped_codecs()
    pairs = readable(it_pairs(8, 3), codecs)
    assert pairs
    batch, other, again = (
        it_batch([getattr(one, name) for one in pairs], [one.thing for one in pairs], codecs)
        if name != "thing" else it_batch([one.thing for one in pairs], [one.subject for one in pairs], codecs)
        for name in ("subject", "thing", "subject_again")
    )  # fmt: skip
    head = ("decoder.1.cross", 3)
    assert (patched_choices(model, batch, run_of(model, other), [head]) < 0).float().mean() > 0.8
    assert (patched_choices(model, batch, run_of(model, again), [head]) < 0).float().mean() < 0.2
    unimportant = ("encoder.0.self", 0)
    assert (patched_choices(model, batch, run_of(model, other), [unimportant]) < 0).float().mean() < 0.2


def scores_of(batch: ItBatch, heads: list[Tensor]) -> Activations:
    """Of one site whose heads give every row these scores (B, K)."""
    unit = torch.eye(batch.source.shape[1]).expand(len(batch.source), len(heads), -1, -1)
    query = torch.stack(heads, 1)[:, :, None].expand_as(unit)
    return Activations({"encoder.0.self": SiteActivations(query, unit, unit, unit, {"scale": 1.0})})


def test_a_head_that_looks_at_the_noun_meant_is_told_from_one_that_always_looks_at_the_subject() -> None:
    one = lecture()[:2]
    pair = ItPair(one[0], one[1], one[0], one[1])
    both = [pair, pair, pair.other_way, pair.other_way]
    batch = it_batch([some.subject for some in both], [some.thing for some in both], shipped_codecs())
    chosen = torch.tensor([True, False, True, False])
    meant, subject = batch.antecedent * 9.0, batch.antecedent[:1].expand_as(batch.antecedent) * 9.0
    assert looking_most(scores_of(batch, [subject, meant]), batch, chosen) == (("encoder.0.self", 1), 1.0)
    assert looking_most(scores_of(batch, [subject]), batch, chosen) == (("encoder.0.self", 0), 0.5)
    assert looking_most(scores_of(batch, [subject, meant]), batch, chosen, same=True)[1] == 1.0
    assert looking_most(scores_of(batch, [subject]), batch, chosen, same=True)[1] == 0.0


def test_both_forms_run(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"PAIRS": (6, 6), "STEPS": (2, 2), "BATCH": (4, 4), "SENTENCES": (80, 80), "STRONGEST": 1}
    for name, value in small.items():
        monkeypatch.setattr(it, name, value)
    monkeypatch.setattr(it, "FULL_SIZE", {**it.FULL_SIZE, "dim": 16, "feedforward": 16})
    monkeypatch.setattr(it, "grammar_pairs", lambda count: it.it_task(count // 4))
    for full in (False, True):
        result = regard.claim("it").run(full=full, seeds=[0, 1])
        assert not math.isnan(result.measurement.numbers["flips_trained"].value)
        assert "animal" in str(result)


def test_words_of_a_task_are_numbered_as_in_the_sentence() -> None:
    task = it.it_task(20, it.QUICK_PATTERNS)
    sentence = task.train[0].sentence
    assert sentence is not None
    ids, owners = task_codecs(task).source(sentence.source)
    assert owners == list(range(len(sentence.source_words)))
    assert replace(task.train[0], sentence=None).source == tuple(ids)
