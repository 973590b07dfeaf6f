"""Scores against sacreBLEU itself, against sums worked by hand, and against what must hold for any texts."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import InputError, KindError
from regard.text import scores
from regard.text.scores.bootstrap import counts, resampled, score
from regard.text.scores.moses import known_language, moses

REFERENCES = [
    "Le chat noir dort sur le vieux tapis de la cuisine.",
    "Il pleut depuis ce matin, dit-elle.",
    "L'homme qu'elle a vu n'est pas d'ici.",
    "Deux enfants jouent au ballon dans la rue.",
    "« Venez ! » crie le garçon.",
]
OUTPUTS = [
    "le chat noir dort sur un vieux tapis de cuisine.",
    "Il pleut depuis hier matin, dit-elle.",
    "L'homme qu'il a vu n'est pas d'ici.",
    "Deux enfants jouent au ballon.",
    "« Viens ! » crie un garçon.",
]
WORD = st.sampled_from(["a", "b", "c", "d", "l'e", "F.", "3,5"])
TEXT = st.lists(WORD, max_size=8).map(" ".join)


def spoiled(texts: list[str], share: float, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(word for word in text.split() if rng.random() >= share) for text in texts]


def many(count: int = 80) -> list[str]:
    rng = random.Random(1)
    return [" ".join(rng.choices("abcdefghij", k=rng.randint(4, 14))) for _ in range(count)]


def test_bleu_and_chrf_are_sacrebleus() -> None:
    assert scores.bleu(OUTPUTS, REFERENCES).value == sacrebleu.corpus_bleu(OUTPUTS, [REFERENCES]).score
    lower = scores.bleu(OUTPUTS, REFERENCES, lowercase=True)
    assert lower.value == sacrebleu.corpus_bleu(OUTPUTS, [REFERENCES], lowercase=True).score
    assert scores.chrf(OUTPUTS, REFERENCES).value == sacrebleu.corpus_chrf(OUTPUTS, [REFERENCES]).score
    assert lower.value > scores.bleu(OUTPUTS, REFERENCES).value
    version = sacrebleu.__version__
    assert lower.signature == f"nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:{version}"
    assert scores.chrf(OUTPUTS, REFERENCES).signature.startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0")


def test_bleu_by_hand() -> None:
    # 4 of 5 words, 3 of 4 pairs, 2 of 3, 1 of 2: the fourth root of their product
    assert scores.bleu(["a b c d e"], ["a b c d f"]).value == pytest.approx(100 * 0.2**0.25)
    assert scores.bleu(["x y z w"], ["a b c d"]).value == 0
    assert scores.bleu([""], ["a b c d"]).value == 0


def test_texts_that_look_tokenised_are_no_reason_to_print(capfd: pytest.CaptureFixture[str]) -> None:
    scores.bleu(["a b ."] * 200, ["a b ."] * 200)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("fr", "L'homme est là ; « oui », dit-il.", 'l\' homme est là ; " oui " , dit-il .'),
        ("en", "It's 3,500 men's hats - don't & <b>.", "it 's 3,500 men 's hats - don 't & < b > ."),
        ("de", "Er sagt: „Das ist z.B. gut!“", 'er sagt : " das ist z.b. gut ! "'),
        ("xx", "It's here", "it 's here"),
        ("fr-CA", "L'eau", "l' eau"),
        ("FR", "C’est l’été…", "c' est l' été ..."),
    ],
)
def test_moses(language: str, text: str, tokens: str) -> None:
    assert moses([text], language) == [tokens]


def test_an_unknown_language_is_read_as_english() -> None:
    assert [known_language(name) for name in ("fr", "de", "EN", "pt_BR", "xx", "")] == [
        "fr",
        "de",
        "en",
        "pt",
        "en",
        "en",
    ]


def test_bleu_of_moses_tokens() -> None:
    found = scores.bleu_tokenised(["L'HOMME dort ici."], ["l'homme dort là."], "fr")
    expected = sacrebleu.corpus_bleu(["l' homme dort ici ."], [["l' homme dort là ."]], tokenize="none", force=True)
    assert found.value == expected.score
    assert "|case:lc|" in found.signature
    assert "|tok:moses-fr-sacremoses." in found.signature
    upper = [text.upper() for text in OUTPUTS]
    assert scores.bleu_tokenised(upper, REFERENCES, "fr") == scores.bleu_tokenised(OUTPUTS, REFERENCES, "fr")


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6))
@settings(max_examples=50)
def test_scores_are_percentages_and_what_is_equal_gets_all(pairs: list[tuple[str, str]]) -> None:
    outputs, references = [list(side) for side in zip(*pairs, strict=True)]
    for made in (scores.bleu, scores.chrf, lambda a, b: scores.bleu_tokenised(a, b, "fr")):
        assert 0 <= made(outputs, references).value <= 100 + 1e-9
    if any(len(text.split()) >= 4 for text in references):
        assert scores.bleu(references, references).value == pytest.approx(100)


def test_bleu_by_length() -> None:
    sources = ["w " * length for length in (1, 3, 4, 9, 30)]
    rows = scores.bleu_by_length(sources, OUTPUTS, REFERENCES, edges=(3, 5, 8))
    assert [(row.low, row.high, row.pairs) for row in rows] == [(0, 3, 2), (3, 5, 1), (8, None, 2)]
    for row, (first, last) in zip(rows, ((0, 2), (2, 3), (3, 5)), strict=True):
        assert row.score == scores.bleu(OUTPUTS[first:last], REFERENCES[first:last]).value
    assert scores.bleu_by_length(["", "a"], ["a b", "c"], ["a b", "c"])[0].pairs == 2


@given(st.lists(st.integers(0, 70), min_size=1, max_size=20))
@settings(max_examples=25)
def test_every_pair_has_one_length(lengths: list[int]) -> None:
    sources, texts = ["w " * length for length in lengths], ["a b c d"] * len(lengths)
    rows = scores.bleu_by_length(sources, texts, texts)
    assert sum(row.pairs for row in rows) == len(lengths)
    assert all(row.score == pytest.approx(100) for row in rows)


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8))
@settings(max_examples=50)
def test_counts_of_sentences_add_up_to_the_corpus(pairs: list[tuple[str, str]]) -> None:
    outputs, references = [list(side) for side in zip(*pairs, strict=True)]
    metric = sacrebleu.BLEU(force=True, effective_order=True)
    assert score(counts(metric, outputs, references).sum(0)) == scores.bleu(outputs, references).value


def test_resampling_scores_the_sentences_drawn() -> None:
    references = many(20)
    ours, theirs = spoiled(references, 0.2, 2), spoiled(references, 0.3, 3)
    metric = sacrebleu.BLEU(force=True, effective_order=True)
    found = resampled(counts(metric, ours, references), counts(metric, theirs, references), 5, 7)
    draws = np.random.default_rng(7).choice(20, size=(5, 20), replace=True)  # as sacreBLEU draws them, all at once
    for difference, draw in zip(found, draws, strict=True):
        sides = [[texts[number] for number in draw] for texts in (ours, theirs, references)]
        expected = scores.bleu(sides[0], sides[2]).value - scores.bleu(sides[1], sides[2]).value
        assert difference == pytest.approx(expected, abs=1e-9)


def test_a_model_against_itself_is_no_better() -> None:
    references = many()
    ours = spoiled(references, 0.2, 2)
    found = scores.paired_bootstrap(ours, ours, references, samples=50)
    assert (found.difference, found.low, found.high, found.p) == (0, 0, 0, 1)
    assert found.ours == found.theirs == scores.bleu(ours, references).value


def test_bootstrap_tells_better_from_lucky() -> None:
    references = many()
    good, like, poor = (spoiled(references, share, seed) for share, seed in ((0.1, 2), (0.1, 3), (0.5, 4)))
    better = scores.paired_bootstrap(good, poor, references, samples=200)
    assert better.p == pytest.approx(1 / 201)
    assert 0 < better.low < better.difference < better.high
    lucky = scores.paired_bootstrap(good, like, references, samples=200)
    assert lucky.p > 0.05
    assert lucky.low < lucky.difference < lucky.high
    assert lucky == scores.paired_bootstrap(good, like, references, samples=200)
    turned = scores.paired_bootstrap(like, good, references, samples=200)
    assert turned.difference == -lucky.difference
    assert turned.p == lucky.p
    assert lucky.signature.endswith("|bs:200|seed:12345")


def test_counting_by_hand() -> None:
    truth = ["good", "good", "bad", "bad", "bad"]
    said = ["good", "bad", "bad", "bad", "good"]
    assert scores.accuracy(said, truth) == (0.6, 5)
    assert scores.confusion(said, truth) == {
        ("good", "good"): 1, ("good", "bad"): 1, ("bad", "bad"): 2, ("bad", "good"): 1,
    }  # fmt: skip
    good, fair, bad = scores.per_label(said, truth, ["good", "fair", "bad"])
    assert good == ("good", 0.5, 0.5, 0.5, 2)
    assert fair == ("fair", 0, 0, 0, 0)
    assert bad == ("bad", pytest.approx(2 / 3), pytest.approx(2 / 3), pytest.approx(2 / 3), 3)


def test_pronouns_that_agree() -> None:
    from regard.text import grammar

    sentences = grammar.sentences("test", count=300)
    right = scores.pronoun_agreement(sentences, [one.target for one in sentences])
    assert right.share == 1
    assert 0 < right.asked <= 300
    guessed = scores.pronoun_agreement(sentences, [grammar.word_for_word(one.source) for one in sentences])
    assert guessed.asked == right.asked
    assert 0.2 < guessed.share < 0.8
    plain = [one for one in sentences if grammar.agreement(one, one.target) is None]
    if plain:
        assert scores.pronoun_agreement(plain, [one.target for one in plain]) == (0, 0)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: scores.bleu([], []), InputError, "nothing to score"),
        (lambda: scores.bleu(["a"], ["a", "b"]), InputError, "1 outputs, 2 references"),
        (lambda: scores.bleu("a", "a"), KindError, "must be lists"),
        (lambda: scores.accuracy(["a"], []), InputError, "as many outputs as true ones"),
        (lambda: scores.bleu_by_length(["a"], ["a"], ["a"], edges=(5, 5)), InputError, "lengths that grow"),
        (lambda: scores.paired_bootstrap(["a"], ["a"], ["a"], samples=0), InputError, "samples must be at least 1"),
    ],
)
def test_errors_say_what_was_found(call: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()  # type: ignore[operator]


def test_scores_need_no_torch() -> None:
    program = "import sys, regard.text.scores; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
