"""Beam search against every text there is, on vocabularies small enough to walk through."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from regard.decoding import Beams, Hypothesis, Limits, beam, greedy, stepper_for
from regard.decoding.beam_state import BeamState
from regard.errors import InputError, UnknownNameError
from tests.bounds import logs_apart, small_apart
from tests.families import FAMILIES, families
from tests.unit.decoding.tables import ScriptedStepper, TableStepper, divisor, every_text

WORDS = 4
END = (3,)
LIMITS = {
    "plain": Limits(4, END),
    "one": Limits(1, END),
    "long": Limits(5, END),
    "shortest": Limits(4, END, shortest=3),
    "exactly": Limits(4, END, shortest=4),
    "closing": Limits(4, END, closing=3),
    "closing with a word": Limits(4, END, closing=1),
    "banned": Limits(5, END, banned=(1,)),
    "banned, renormalised": Limits(5, END, banned=(0,), renormalised=True),
    "shortest, renormalised": Limits(4, END, shortest=3, renormalised=True),
    "two ends": Limits(4, (3, 0)),
    "no end": Limits(3),
    "everything": Limits(4, END, shortest=2, banned=(2,), closing=3, renormalised=True),
}
LENGTHENED = 10  # by no more than this does the length's power multiply a score: of alpha -0.7, (5 + 6) / 6 or 6
NEAR = LENGTHENED * logs_apart(WORDS, 10.0, steps=6)  # logits of the table are normal, their spread 1.5
ALPHAS = [0.0, 0.6, 1.0, 2.5, -0.7]
PENALTIES = ["paper", "power"]
STOPS: list[Any] = ["proven", "likely", "full"]  # the most patient first


def search(seed: int, limits: Limits, how: Beams, rows: int = 1) -> list[list[Hypothesis]]:
    return beam(TableStepper(seed, WORDS, rows), torch.arange(rows)[:, None], limits, how)


def same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [(text.ids, text.end) for text in found] == [(text.ids, text.end) for text in expected]
    assert [text.score for text in found] == pytest.approx([text.score for text in expected], abs=NEAR)


# The truth


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_wide_enough_it_finds_every_text_in_order(name: str, alpha: float, penalty: Any) -> None:
    """No text is left out of so many beams, so the list must be the list of all texts."""
    limits = LIMITS[name]
    width = sum(WORDS**step for step in range(limits.longest + 1)) if limits.longest < 5 else WORDS**4
    how = Beams(width, alpha, penalty, "proven")
    same(search(1, limits, how)[0], every_text(1, WORDS, (0,), limits, how)[:width])


@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_narrow_or_not_every_score_is_true_and_in_order(width: int, stop: Any, alpha: float) -> None:
    limits, how = LIMITS["long"], Beams(width, alpha, "paper", stop)
    for seed in range(5):
        truth = {text.ids: text.score for text in every_text(seed, WORDS, (0,), limits, how)}
        found = search(seed, limits, how)[0]
        assert 1 <= len(found) <= width
        assert len({text.ids for text in found}) == len(found)
        assert found == sorted(found, key=lambda text: -text.score)
        assert [text.score for text in found] == pytest.approx([truth[text.ids] for text in found], abs=NEAR)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_rows_are_searched_each_by_itself(alpha: float) -> None:
    limits, how = LIMITS["plain"], Beams(100, alpha, stop="proven")
    for row, found in enumerate(search(2, limits, how, rows=4)):
        same(found, every_text(2, WORDS, (row,), limits, how)[:100])


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_row_in_a_batch_finds_what_it_finds_alone(width: int, stop: Any) -> None:
    """Rows that are done wait for the others and must not change meanwhile."""
    limits, how = LIMITS["long"], Beams(width, 0.6, "paper", stop)
    for row, found in enumerate(search(4, limits, how, rows=6)):
        alone = beam(TableStepper(4, WORDS, 1), torch.tensor([[row]]), limits, how)[0]
        same(found, alone)


def test_prompts_may_have_several_ids() -> None:
    limits, how = LIMITS["plain"], Beams(200, 0.6, stop="proven")
    found = beam(TableStepper(3, WORDS, 2), torch.tensor([[5, 1, 2], [6, 0, 0]]), limits, how)
    for texts, prompt in zip(found, [(5, 1, 2), (6, 0, 0)], strict=True):
        same(texts, every_text(3, WORDS, prompt, limits, how)[:200])


# Greedy


@pytest.mark.parametrize("name", LIMITS)
def test_one_beam_without_penalty_is_greedy(name: str) -> None:
    limits = LIMITS[name]
    for seed, stop in itertools.product(range(5), STOPS):
        straight = greedy(TableStepper(seed, WORDS, 3), torch.arange(3)[:, None], limits)
        beams = search(seed, limits, Beams(1, 0.0, "paper", stop), rows=3)
        assert [len(row) for row in beams] == [1, 1, 1]
        same([row[0] for row in beams], straight)


# The finish


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_text_that_ends_early_is_not_lost(width: int, stop: Any) -> None:
    """Nothing said is the likeliest text; the open ones go on for long and never come near it."""
    script = {(): [0.25, 0.25, 0.05, 0.45]}
    stepper = ScriptedStepper(script, WORDS)
    found = beam(stepper, torch.tensor([[0]]), Limits(6, END), Beams(width, 0.0, "paper", stop))[0]
    assert found[0].ids == ()
    assert found[0].score == pytest.approx(torch.tensor(0.45).log().item(), abs=NEAR)


def test_an_end_that_only_the_overflow_reaches_is_no_result() -> None:
    """The end comes third among two beams: it has not been searched for, and does not count."""
    script = {(): [0.5, 0.3, 0.0, 0.2], (0,): [0.0, 0.0, 0.1, 0.9]}
    found = beam(ScriptedStepper(script, WORDS), torch.tensor([[0]]), Limits(2, END), Beams(2, 0.0))[0]
    assert () not in [text.ids for text in found]
    assert found[0].ids == (0,)


def test_beams_stay_full_when_half_of_the_candidates_end() -> None:
    """Both beams end at once; the open texts behind them go on."""
    script = {
        (): [0.5, 0.5, 0.0, 0.0],
        (0,): [0.1, 0.0, 0.0, 0.9],
        (1,): [0.0, 0.2, 0.0, 0.8],
        (1, 1): [0.0, 0.0, 1.0, 0.0],
        (1, 1, 2): [0.0, 0.0, 0.0, 1.0],
    }
    how = Beams(2, 3.0, "power", "proven")
    found = beam(ScriptedStepper(script, WORDS), torch.tensor([[0]]), Limits(4, END), how)[0]
    assert found[0].ids == (1, 1, 2)
    assert found[0].score == pytest.approx(torch.tensor(0.1).log().item() / 4**3, abs=NEAR)


@pytest.mark.parametrize("ends", [(3,), (2, 3), (1, 2, 3)])
@pytest.mark.parametrize("width", [1, 2])
def test_beams_stay_full_whichever_end_is_likelier(ends: tuple[int, ...], width: int) -> None:
    """Every end is likelier than the one word that leads on; the text behind it is longer, and wins."""
    leading = [0.1, *(0.9 / len(ends) if word in ends else 0.0 for word in (1, 2, 3))]
    script = {**{(0,) * n: leading for n in range(4)}, (0,) * 4: [0.0, 0.0, 0.0, 1.0]}
    how = Beams(width, 4.0, "power", "proven")
    found = beam(ScriptedStepper(script, WORDS), torch.tensor([[0]]), Limits(5, ends), how)[0]
    assert (found[0].ids, found[0].end) == ((0, 0, 0, 0), 3)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 3.0, -1.0])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_proven_is_never_worse_than_likely_nor_likely_than_full(width: int, alpha: float) -> None:
    limits = Limits(6, END)
    for seed in range(12):
        best = [search(seed, limits, Beams(width, alpha, "power", stop))[0][0].score for stop in STOPS]
        assert best == sorted(best, reverse=True)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_going_on_after_the_proof_finds_nothing_else(
    penalty: Any, alpha: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = list(itertools.product(range(8), (1, 2, 4), (Limits(7, END), Limits(7, END, shortest=3, closing=3))))
    stopped = [search(seed, limits, Beams(width, alpha, penalty, "proven"))[0] for seed, width, limits in cases]
    monkeypatch.setattr(BeamState, "update_closed", lambda self, divisors: None)
    for (seed, width, limits), found in zip(cases, stopped, strict=True):
        assert found == search(seed, limits, Beams(width, alpha, penalty, "proven"))[0]


def test_proven_waits_where_likely_gives_up() -> None:
    """A long text wins by its length alone, and only who waits hears of it."""
    script = {(): [0.4, 0.0, 0.0, 0.6], **{(0,) * n: [1.0, 0.0, 0.0, 0.0] for n in range(1, 5)}}
    script[(0,) * 5] = [0.0, 0.0, 0.0, 1.0]
    proven, likely = (
        beam(ScriptedStepper(script, WORDS), torch.tensor([[0]]), Limits(6, END), Beams(1, 1.0, "power", stop))[0]
        for stop in STOPS[:2]
    )
    assert likely[0].ids == ()
    assert proven[0].ids == (0,) * 5
    assert proven[0].score > likely[0].score


def test_where_length_costs_an_open_text_may_still_win_by_ending_soon() -> None:
    """Two poor texts have ended; the likely one needs just one id more, and is not judged by the longest length."""
    script = {(): [0.7, 0.1, 0.0, 0.2], (0,): [0.1, 0.6, 0.0, 0.3], (0, 1): [0.0, 0.0, 0.0, 1.0]}
    how = Beams(2, -1.0, "power", "proven")
    found = beam(ScriptedStepper(script, WORDS), torch.tensor([[0]]), Limits(20, END), how)[0]
    assert [text.ids for text in found] == [(), (0, 1)]


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("alpha", [0.6, 0.0, -1.0])
def test_it_stops_when_nothing_can_improve(stop: Any, alpha: float) -> None:
    stepper = ScriptedStepper({(): [0.004, 0.003, 0.003, 0.99]}, WORDS)
    found = beam(stepper, torch.tensor([[0]]), Limits(50, END), Beams(1, alpha, "paper", stop))[0]
    assert found[0].ids == ()
    assert stepper.asked == 1


def test_it_stops_at_the_longest() -> None:
    stepper = ScriptedStepper({}, WORDS)
    found = beam(stepper, torch.tensor([[0]]), Limits(7), Beams(2))[0]
    assert stepper.asked == 7
    assert all(len(text.ids) == 7 for text in found)


def test_full_stops_with_as_many_ended_texts_as_beams() -> None:
    script = {(): [0.3, 0.1, 0.0, 0.6], (0,): [0.05, 0.0, 0.0, 0.95]}
    asked = {}
    for stop in STOPS:
        stepper = ScriptedStepper(script, WORDS)
        beam(stepper, torch.tensor([[0]]), Limits(20, END), Beams(2, 1.0, "power", stop))
        asked[stop] = stepper.asked
    assert asked["full"] == 2
    assert asked["full"] <= asked["likely"] <= asked["proven"]


def test_impossible_texts_are_not_given_back() -> None:
    """Fewer texts than beams exist: the list is shorter, without fillers."""
    script = {(): [1.0, 0.0, 0.0, 0.0], (0,): [0.0, 0.0, 0.0, 1.0]}
    found = beam(ScriptedStepper(script, WORDS), torch.tensor([[0]]), Limits(3, END), Beams(5))[0]
    assert [text.ids for text in found] == [(0,)]


# Leaving


@pytest.mark.parametrize("stop", STOPS)
def test_texts_that_are_done_leave_the_batch(stop: Any) -> None:
    """Eight texts, of which some end at once: later calls have fewer rows, and nothing else changes."""
    limits, how = LIMITS["long"], Beams(2, 0.6, "paper", stop)
    stepper = TableStepper(4, WORDS, 8)
    found = beam(stepper, torch.arange(8)[:, None], limits, how)
    assert stepper.rows[0] == 8
    assert stepper.rows[1:] == sorted(stepper.rows[1:], reverse=True)
    assert stepper.rows[-1] < stepper.rows[1] == 16
    waiting = TableStepper(4, WORDS, 8)
    waiting.followed = True
    assert beam(waiting, torch.arange(8)[:, None], limits, how) == found
    assert set(waiting.rows[1:]) == {16}


# Penalties and options


@pytest.mark.parametrize("length", [1, 2, 10, 100])
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_penalties_are_their_formulas(penalty: Any, alpha: float, length: int) -> None:
    how = Beams(4, alpha, penalty)
    assert how.divisor(length) == pytest.approx(divisor(how, length))


def test_a_larger_alpha_favours_longer_texts() -> None:
    lengths = [
        len(search(6, LIMITS["long"], Beams(WORDS**4, alpha, "power"))[0][0].ids) for alpha in (-2.0, 0.0, 1.0, 4.0)
    ]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


@pytest.mark.parametrize("width", [0, -1])
def test_at_least_one_beam(width: int) -> None:
    with pytest.raises(InputError, match="at least one beam"):
        Beams(width)


def test_beams_are_counted_in_whole_numbers() -> None:
    with pytest.raises(InputError, match="beam"):
        Beams(1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("alpha", [float("nan"), float("inf"), float("-inf")])
def test_alpha_is_a_number(alpha: float) -> None:
    with pytest.raises(InputError, match="alpha"):
        Beams(alpha=alpha)


@pytest.mark.parametrize(("name", "value", "known"), [("penalty", "papers", "paper"), ("stop", "prove", "proven")])
def test_unknown_ways_are_answered_with_the_nearest(name: str, value: str, known: str) -> None:
    with pytest.raises(UnknownNameError, match=f"no {name} '{value}'(.|\n)*did you mean '{known}'"):
        Beams(**{name: value})  # type: ignore[arg-type]


# Models

SPEAKERS = families(lambda family: family.two_texts)


@pytest.mark.parametrize("name", SPEAKERS)
@pytest.mark.parametrize("width", [1, 3])
def test_batched_is_one_by_one(name: str, width: int) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(6, 2, 4, 1))
    limits, how = Limits(8, (model.config.end,), banned=(0, 1)), Beams(width)
    together = beam(*stepper_for(model, example.ids, example.mask), limits, how)
    for row in range(4):
        same(together[row], beam(*stepper_for(model, example.row(row).ids), limits, how)[0])


@pytest.mark.parametrize("name", families(lambda family: family.config.family == "decoder"))
def test_prompts_of_different_lengths_are_one_by_one(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(6, 2, 4))
    ids, mask = right_aligned(example)
    limits, how = Limits(8, (2,)), Beams(3)
    together = beam(*stepper_for(model, ids, mask), limits, how)
    for row in range(3):
        same(together[row], beam(*stepper_for(model, example.row(row).ids), limits, how)[0])


def right_aligned(example: Any) -> tuple[torch.Tensor, torch.Tensor]:
    shifts = (~example.mask).sum(1).tolist()
    return tuple(
        torch.stack([row.roll(shift) for row, shift in zip(x, shifts, strict=True)])
        for x in (example.ids, example.mask)
    )  # type: ignore[return-value]


@pytest.mark.parametrize("name", [*SPEAKERS, "decoder"])
def test_scores_are_the_models_own(name: str) -> None:
    """What the search summed up step by step is what the model says of the whole text at once."""
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(5,))
    limits, how = Limits(6, (2,)), Beams(3, 0.6)
    for text in beam(*stepper_for(model, example.ids), limits, how)[0]:
        said = torch.tensor([[*text.ids, *([] if text.end is None else [text.end])]])
        if family.two_texts:
            logits = model(example.ids, torch.cat([torch.tensor([[1]]), said[:, :-1]], 1))
        else:
            logits = model(torch.cat([example.ids, said[:, :-1]], 1))[:, example.ids.shape[1] - 1 :]
        total = logits.log_softmax(-1).gather(-1, said[..., None]).sum()
        assert text.score == pytest.approx(total.item() / how.divisor(said.shape[1]), abs=6 * small_apart(4.0))


class NoRows(TableStepper):
    """A batch that nobody stands in."""

    def __init__(self) -> None:
        super().__init__(0, WORDS, rows=0)

    def advance(self, ids_BT: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(ids_BT), WORDS)


def test_no_texts_have_no_translations() -> None:
    none = torch.zeros(0, 1, dtype=torch.long)
    assert beam(NoRows(), none, Limits(4, END), Beams(2)) == []
