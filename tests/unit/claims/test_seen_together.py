"""The rule of the claim; and differences of scores that were put there, or not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import torch

import regard
from regard.claims.lab.paired_words import PairedWords
from regard.claims.lab.small_models import small_transformer
from regard.claims.setting import Setting
from regard.claims.tried import seen_together
from regard.claims.tried.seen_together import between, centred, common_less_rare, common_mask, seen_less_never
from tests.claim_cases import Invented, check_rule

INVENTED: Invented = {
    "holds": {"common_less_rare": (1.0, 0.8, 1.2), "seen_less_never": (0.4, 0.3, 0.5)},
    "holds in part": {"common_less_rare": (1.0, 0.8, 1.2), "seen_less_never": (0.0, -0.1, 0.1)},
    "does not hold": {"common_less_rare": (0.01, -0.05, 0.07), "seen_less_never": (0.0, -0.1, 0.1)},
}
WORDS = PairedWords(4, 0)


def test_the_rule_gives_every_verdict() -> None:
    check_rule("seen-together", INVENTED)


def test_every_word_is_common_with_half_of_the_others() -> None:
    common = WORDS.common()
    assert Counter(adjective for adjective, _ in common) == Counter(dict.fromkeys(range(4), 2))
    assert Counter(noun for _, noun in common) == Counter(dict.fromkeys(range(4), 2))
    assert replace(WORDS, swapped=True).common().isdisjoint(common)


def test_common_pairs_are_as_common_as_it_is_said() -> None:
    common = {(WORDS.adjectives[a].lemma, WORDS.nouns[n].lemma) for a, n in WORDS.common()}
    met = [(one.source_words[1], one.source_words[2]) for one in WORDS.sentences(1_000)]
    share = sum(one in common for one in met) / len(met)
    assert share == pytest.approx(20 / 21, abs=0.03)  # four standard deviations


def test_a_difference_that_was_put_there_is_found_and_words_cancel_out() -> None:
    rng = torch.Generator().manual_seed(0)
    noise = torch.randn(4, 1, generator=rng).double() + torch.randn(1, 4, generator=rng).double()  # of words alone
    mask = common_mask(WORDS)
    assert mask.sum() == 8
    torch.testing.assert_close(common_less_rare((noise + mask).expand(2, 4, 4), WORDS), torch.ones(2).double())
    torch.testing.assert_close(common_less_rare(noise.expand(2, 4, 4), WORDS), torch.zeros(2).double())
    assert seen_less_never(noise + mask, ~mask) == pytest.approx(1)
    assert seen_less_never(noise, ~mask) == pytest.approx(0, abs=1e-12)


def test_centred_scores_do_not_see_what_softmax_does_not_see() -> None:
    scores = torch.tensor([0.0, 1.0, 3.0], dtype=torch.float64)
    torch.testing.assert_close(centred(scores), centred(2 * scores + 5))


def test_a_head_made_to_like_common_pairs_is_seen() -> None:
    """A key of its own for each noun, and queries of adjectives that point at their common nouns."""
    setting, task = Setting(), WORDS.task(10)
    model = small_transformer(task, setting, 0, heads=1, encoder_layers=1, positions="none", dim=64).eval()
    layer, table = model.encoder[0].self_attention, model.source.table
    common = common_mask(WORDS).double()
    with torch.no_grad():
        plain, _ = between(model, WORDS, task, setting)
        table.weight.zero_()
        layer.qkv.weight.zero_()
        layer.qkv.bias.zero_()
        for noun, word in enumerate(WORDS.nouns):
            table.weight[task.source.encode(word.lemma)[0], noun] = 1.0
        for number, word in enumerate(WORDS.adjectives):
            table.weight[task.source.encode(word.lemma)[0], 8 + number] = 1.0
        layer.qkv.weight[:4, 8:12] = common.mT.float()  # query: its common nouns
        layer.qkv.weight[64:68, :4] = torch.eye(4)  # key: which noun it is
        model.encoder[0].self_residual.norm = torch.nn.Identity()
        made, _ = between(model, WORDS, task, setting)
    assert float(common_less_rare(made, WORDS)[0]) > 1
    assert float(common_less_rare(plain, WORDS)[0]) < 1


def test_both_forms_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "SIZES": (4, 4),
        "SENTENCES": (60, 60),
        "STEPS": (2, 2),
        "BATCH": (4, 4),
        "MOST": (4, 4),
    }.items():
        monkeypatch.setattr(seen_together, name, value)
    quick = regard.claim("seen-together").run(seeds=[0, 1])
    assert "common" in str(quick)
    smaller = {"dim": 16, "heads": 2, "feedforward": 16, "encoder_layers": 1, "decoder_layers": 1}
    monkeypatch.setattr("regard.claims.lab.small_models.FULL", smaller)
    full = regard.claim("seen-together").run(full=True, seeds=[0])
    assert set(full.measurement.numbers) == set(quick.measurement.numbers)
