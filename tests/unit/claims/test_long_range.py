"""The rule of the claim, sentences whose agreement is as far as they say, and both forms of it in miniature."""

from __future__ import annotations

import pytest
from torch import Tensor, nn

import regard
from regard.claims.claim_names import claim_named
from regard.claims.lab import small_models
from regard.claims.lab.families import translator
from regard.claims.lab.far_agreement import FarTask, far_task, people, qualities, share_with_nearest
from regard.claims.lab.fit import Fit, fit_pairs
from regard.claims.setting import Setting
from regard.claims.tried import long_range
from regard.claims.tried.long_range import FULL_DISTANCES, Outcome, agreement
from regard.text.grammar import Sentence
from tests.claim_cases import Invented, check_rule

ALL, HALF, MOST = (99.5, 99.0, 100.0), (50.0, 45.0, 55.0), (90.0, 70.0, 100.0)
NONE_LOST, HALF_LOST = (0.5, 0.0, 1.0), (50.0, 40.0, 60.0)
FORGETFUL = {"far_2014": HALF, "far_2015": HALF, "lost_2014": HALF_LOST, "lost_2015": HALF_LOST}
INVENTED: Invented = {
    "holds": {**FORGETFUL, "far_2017": ALL},
    "holds in part": {**FORGETFUL, "far_2017": ALL, "far_2015": ALL, "lost_2015": NONE_LOST},
    "does not hold": {
        "far_2014": ALL, "far_2015": ALL, "far_2017": MOST, "lost_2014": NONE_LOST, "lost_2015": NONE_LOST,
    },
}  # fmt: skip
GENDERS = {noun.lemma: gender for gender, some in people().items() for noun in some}


class NextWord(nn.Module):
    """Thinks the next word of the target the likeliest, or instead of an adjective's form that of the other gender."""

    def __init__(self, task: FarTask, wrong: bool) -> None:
        super().__init__()
        self.size, self.rivals = task.pairs.target.size, task.rivals if wrong else {}

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        words = target.roll(-1, 1).apply_(lambda one: self.rivals.get(one, one))
        return nn.functional.one_hot(words, self.size).float()


@pytest.fixture(scope="module")
def task() -> FarTask:
    return far_task(600, 60, FULL_DISTANCES)


def sentences_of(task: FarTask, distance: int) -> list[Sentence]:
    return [pair.sentence for pair in task.tests[distance] if pair.sentence]


def test_the_rule_gives_every_verdict() -> None:
    check_rule("long-range", INVENTED)


def test_a_transformer_that_forgets_too_has_not_what_is_claimed() -> None:
    numbers = {**FORGETFUL, "far_2017": HALF}
    check_rule("long-range", {**INVENTED, "holds in part": numbers})


@pytest.mark.parametrize("distance", FULL_DISTANCES)
def test_the_adjective_stands_so_far_from_the_noun_it_agrees_with(task: FarTask, distance: int) -> None:
    forms = {gender: {one.french.form(gender, False) for one in qualities()} for gender in "mf"}
    for sentence in sentences_of(task, distance):
        source = sentence.source_words
        noun = next(position for position, word in enumerate(source) if word in GENDERS)
        assert source[-2] in {one.lemma for one in qualities()}
        assert len(source) - 2 - noun == distance
        assert sentence.target_words[-2] in forms[GENDERS[source[noun]]]


def test_no_form_is_of_both_genders(task: FarTask) -> None:
    assert len(task.rivals) == 2 * len(qualities())
    assert all(task.rivals[other] == one != other for one, other in task.rivals.items())


def test_nothing_but_the_noun_tells_the_gender(task: FarTask) -> None:
    """Of the nearest noun it is as often the other; both are as frequent; and English does not say."""
    assert share_with_nearest(task.tests[FULL_DISTANCES[0]]) == 1
    far = [pair for distance in FULL_DISTANCES[1:] for pair in task.tests[distance]]
    assert share_with_nearest(far) == pytest.approx(0.5, abs=0.15)
    feminine = {task.pairs.target.encode(one.french.form("f", False)) for one in qualities()}
    share = sum((pair.target[-2],) in feminine for pair in task.pairs.train) / len(task.pairs.train)
    assert share == pytest.approx(0.5, abs=0.1)


def test_no_test_was_learned_from(task: FarTask) -> None:
    learned = {pair.source for pair in task.pairs.train}
    assert not any(pair.source in learned for pairs in task.tests.values() for pair in pairs)


@pytest.mark.parametrize(("wrong", "share"), [(False, 100.0), (True, 0.0)])
def test_the_measurement_asks_for_the_adjective_alone(task: FarTask, wrong: bool, share: float) -> None:
    model = NextWord(task, wrong)
    for pairs in task.tests.values():
        assert agreement(model, pairs, task.rivals, "cpu", 7) == share  # type: ignore[arg-type]


def test_agreement_that_is_near_is_learned() -> None:
    near = far_task(2_000, 100, (2,))
    model = translator("2017", near.pairs, Setting(), 0, feedforward=64, encoder_layers=1, decoder_layers=1)
    before = agreement(model.eval(), near.tests[2], near.rivals, "cpu")
    fit_pairs(model, near.pairs, Fit(300, 32, 5e-3))
    assert before < 80 < 90 < agreement(model, near.tests[2], near.rivals, "cpu")


@pytest.mark.parametrize(
    ("of_2014", "of_2015", "verdict"),
    [(50, 60, "holds"), (50, 99, "holds in part"), (98, 99, "does not hold")],
)
def test_the_measurement_sees_who_forgets(
    of_2014: float, of_2015: float, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = {"2014": of_2014, "2015": of_2015, "2017": 99.0}

    def run(_: Setting, case: tuple[str, int]) -> Outcome:
        family, seed = case
        return Outcome((100.0, 100.0, 99.0, 98.0, far[family] - seed / 10), 90.0, 20.0)

    monkeypatch.setattr(long_range, "run", run)
    monkeypatch.setattr(long_range, "SENTENCES", 600)
    claim = claim_named("long-range")
    assert claim.rule.verdict(claim.measure(Setting((0, 1, 2))).numbers) == verdict


@pytest.mark.parametrize("full", [False, True])
def test_both_forms_in_miniature(full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = dict.fromkeys(long_range.STEPS, 1)
    for form in ("", "FULL_"):
        for name, value in {"SENTENCES": 600, "TESTS": 4, "STEPS": steps}.items():
            monkeypatch.setattr(long_range, f"{form}{name}", value)
    monkeypatch.setattr("regard.claims.lab.families.FULL_BATCH", 4)
    monkeypatch.setattr(small_models, "FULL", {**small_models.QUICK, "dim": 16, "feedforward": 16})
    result = regard.claim("long-range").run(full=full, seeds=[0, 1])
    assert set(result.measurement.numbers) == set(INVENTED["holds"])
    assert [len(table.rows) for table in result.measurement.tables] == [4, 3]
    assert ("80" in result.measurement.tables[1].columns) == full
    assert "nearest noun" in str(result)
