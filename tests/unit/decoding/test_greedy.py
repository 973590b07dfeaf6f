"""Greedy search: the likeliest id at every place, for all rows at once."""

from __future__ import annotations

import pytest
import torch

from regard.decoding import Hypothesis, Limits, greedy, stepper_for
from tests.bounds import logs_apart, small_apart
from tests.families import FAMILIES, families
from tests.unit.decoding.tables import ScriptedStepper, TableStepper, log_probabilities, table

WORDS = 5
LIMITS = {
    "plain": Limits(6, (4,)),
    "no end": Limits(6),
    "one": Limits(1, (4,)),
    "shortest": Limits(6, (4,), shortest=4),
    "closing": Limits(4, (4,), closing=4),
    "banned": Limits(6, (4,), banned=(0, 1)),
    "renormalised": Limits(6, (4,), shortest=3, banned=(0,), renormalised=True),
    "two ends": Limits(6, (4, 2)),
}


def by_hand(seed: int, prompt: int, limits: Limits) -> Hypothesis:
    said: tuple[int, ...] = ()
    total = 0.0
    for step in range(limits.longest):
        logs = log_probabilities(table(seed, WORDS, (prompt, *said)), limits, step)
        best = max(logs, key=lambda token: logs[token])
        total += logs[best]
        if best in limits.end:
            return Hypothesis(said, total, best)
        said = (*said, best)
    return Hypothesis(said, total)


@pytest.mark.parametrize("name", LIMITS)
def test_it_takes_the_likeliest_every_time(name: str) -> None:
    limits = LIMITS[name]
    for seed in range(5):
        found = greedy(TableStepper(seed, WORDS, 4), torch.arange(4)[:, None], limits)
        for row, text in enumerate(found):
            expected = by_hand(seed, row, limits)
            assert (text.ids, text.end) == (expected.ids, expected.end)
            assert text.score == pytest.approx(expected.score, abs=logs_apart(WORDS, 10.0, steps=6))


def test_lengths_are_within_the_limits() -> None:
    limits = Limits(5, (4,), shortest=3)
    found = greedy(TableStepper(0, WORDS, 40), torch.arange(40)[:, None], limits)
    lengths = {len(text.ids) for text in found}
    assert min(lengths) == 2  # with the end, three
    assert max(lengths) == 5  # cut, without an end


def test_it_stops_when_all_rows_have_ended() -> None:
    stepper = ScriptedStepper({(): [0.0, 0.0, 1.0], (2,): [1.0, 0.0, 0.0]}, 3, rows=2)
    found = greedy(stepper, torch.tensor([[0], [0]]), Limits(50, (0,)))
    assert [text.ids for text in found] == [(2,), (2,)]
    assert stepper.asked == 2


def test_it_asks_no_more_than_it_needs() -> None:
    stepper = TableStepper(0, WORDS, 1)
    greedy(stepper, torch.tensor([[0]]), Limits(7))
    assert stepper.asked == 7


def test_a_row_that_has_ended_gathers_no_more_score() -> None:
    script = {(): [0.25, 0.75], (1,): [0.25, 0.75], (1, 1): [0.9, 0.1]}
    short = greedy(ScriptedStepper({(): [0.75, 0.25]}, 2), torch.tensor([[0]]), Limits(5, (0,)))
    assert short[0].score == pytest.approx(torch.tensor(0.75).log().item(), abs=logs_apart(2, 2.0, steps=3))
    long = greedy(ScriptedStepper(script, 2), torch.tensor([[0]]), Limits(5, (0,)))
    assert long[0].ids == (1, 1)
    assert long[0].score == pytest.approx(
        (torch.tensor(0.75).log() * 2 + torch.tensor(0.9).log()).item(), abs=logs_apart(2, 2.0, steps=3)
    )


@pytest.mark.parametrize("name", families(lambda family: family.two_texts))
def test_batched_is_one_by_one(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(6, 2, 4, 1))
    limits = Limits(10, (2,), banned=(0, 1))
    together = greedy(*stepper_for(model, example.ids, example.mask), limits)
    for row in range(4):
        alone = greedy(*stepper_for(model, example.row(row).ids), limits)[0]
        assert together[row].ids == alone.ids
        assert together[row].score == pytest.approx(alone.score, abs=10 * small_apart(4.0))


@pytest.mark.parametrize("name", families(lambda family: family.config.family == "decoder"))
def test_prompts_of_different_lengths_are_one_by_one(name: str) -> None:
    family = FAMILIES[name]
    model = family.model()
    prompts = [[5, 6, 7, 8, 9], [10], [11, 12, 13]]
    ids = torch.tensor([[17] * (5 - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[False] * (5 - len(prompt)) + [True] * len(prompt) for prompt in prompts])
    together = greedy(*stepper_for(model, ids, mask), Limits(10, (2,)))
    for prompt, text in zip(prompts, together, strict=True):
        alone = greedy(*stepper_for(model, torch.tensor([prompt])), Limits(10, (2,)))[0]
        assert text.ids == alone.ids
        assert text.score == pytest.approx(alone.score, abs=10 * small_apart(4.0))


@pytest.mark.parametrize("name", families(lambda family: family.causal))
def test_it_is_the_argmax_of_the_whole_forward(name: str) -> None:
    """Without a cache: the text so far is read again for every word."""
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(4, 4))
    found = greedy(*stepper_for(model, example.ids), Limits(6))
    said = torch.full((2, 1), 1) if family.two_texts else example.ids
    begin = said.shape[1]
    for _ in range(6):
        logits = model(example.ids, said) if family.two_texts else model(said)
        said = torch.cat([said, logits[:, -1:].argmax(-1)], 1)
    assert [list(text.ids) for text in found] == said[:, begin:].tolist()


def test_no_graph_is_kept() -> None:
    family = FAMILIES["transformer post"]
    model, example = family.model(), family.example()
    stepper, prompt = stepper_for(model, example.ids)
    greedy(stepper, prompt, Limits(3))
    assert not any(key.requires_grad for key, _ in stepper.cache.growing.values())
