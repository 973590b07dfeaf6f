"""Sampling: the distribution drawn from against plain Python, and draws that follow it."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.decoding import Limits, Sampling, greedy, sample, stepper_for
from regard.errors import InputError
from tests.bounds import FUNCTIONS, small_apart, sums_apart
from tests.families import FAMILIES, Example, families
from tests.unit.decoding.tables import ScriptedStepper, TableStepper, table

NEVER = float("-inf")

logits = st.lists(st.floats(-8, 8, width=16), min_size=1, max_size=12, unique=True)


def softmax(scores: list[float]) -> list[float]:
    top = max(scores)
    parts = [math.exp(score - top) for score in scores]
    return [part / sum(parts) for part in parts]


def naive(scores: list[float], how: Sampling) -> list[float]:
    """Temperature, then the k likeliest, then the fewest of those that reach p: one after another, in plain Python."""
    kept = {i: score / how.temperature for i, score in enumerate(scores)}
    if how.top_k is not None:
        kept = {i: kept[i] for i in sorted(kept, key=lambda i: -kept[i])[: how.top_k]}
    chances = dict(zip(kept, softmax(list(kept.values())), strict=True))
    if how.top_p is not None:
        chances = fewest(chances, how.top_p)
    return [chances.get(i, 0.0) / sum(chances.values()) for i in range(len(scores))]


def fewest(chances: dict[int, float], share: float) -> dict[int, float]:
    reached, kept = 0.0, {}
    for i in sorted(chances, key=lambda i: -chances[i]):
        assume(abs(reached - share) > 1e-9)  # a sum that only rounding decides
        if reached >= share:
            break
        kept[i] = chances[i]
        reached += chances[i]
    return kept


def drawn_from(scores: list[float], how: Sampling) -> list[float]:
    return how.distribution(torch.tensor([scores], dtype=torch.float64).log_softmax(-1))[0].tolist()


@settings(max_examples=300)
@given(
    logits,
    st.floats(0.05, 5),
    st.none() | st.integers(1, 15),
    st.none() | st.floats(0.01, 1.0),
)
def test_it_is_what_plain_python_says(
    scores: list[float], temperature: float, top_k: int | None, top_p: float | None
) -> None:
    how = Sampling(temperature, top_k, top_p)
    found, expected = drawn_from(scores, how), naive(scores, how)
    assert [chance > 0 for chance in found] == [chance > 0 for chance in expected]
    assert found == pytest.approx(expected, abs=1e-9)


@settings(max_examples=100)
@given(logits, st.integers(1, 12))
def test_top_k_is_exactly_the_k_likeliest(scores: list[float], k: int) -> None:
    found = drawn_from(scores, Sampling(top_k=k))
    kept = {i for i, chance in enumerate(found) if chance > 0}
    assert kept == set(sorted(range(len(scores)), key=lambda i: -scores[i])[:k])


@settings(max_examples=100)
@given(logits, st.floats(0.01, 0.999))
def test_top_p_reaches_its_share_with_the_fewest(scores: list[float], share: float) -> None:
    chances = softmax(scores)
    kept = [chances[i] for i, chance in enumerate(drawn_from(scores, Sampling(top_p=share))) if chance > 0]
    assert sum(kept) >= share - 1e-9
    assert sum(kept) - min(kept) < share + 1e-9
    assert min(kept) >= max([chance for chance in chances if chance < min(kept)], default=0.0)


@settings(max_examples=100)
@given(logits, st.floats(0.1, 3), st.none() | st.integers(1, 5), st.none() | st.floats(0.05, 1.0))
def test_it_is_a_distribution(scores: list[float], temperature: float, top_k: int | None, top_p: float | None) -> None:
    found = drawn_from(scores, Sampling(temperature, top_k, top_p))
    assert sum(found) == pytest.approx(1.0)
    assert min(found) >= 0
    likeliest = max(range(len(scores)), key=lambda i: scores[i])
    assert found[likeliest] == max(found)


def test_rows_have_their_own_limits() -> None:
    logs = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.45, 0.45]]).log()
    found = Sampling(top_p=0.6).distribution(logs)
    torch.testing.assert_close(found, torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]))


@pytest.mark.parametrize("how", [Sampling(), Sampling(top_k=3), Sampling(top_p=0.9), Sampling(0.5, 2, 0.9)])
def test_what_is_forbidden_is_never_drawn(how: Sampling) -> None:
    found = how.distribution(torch.tensor([[0.0, NEVER, -1.0, NEVER, NEVER]]))
    assert found[0, [1, 3, 4]].tolist() == [0.0, 0.0, 0.0]
    assert found.sum().item() == pytest.approx(1.0, abs=sums_apart(5 + FUNCTIONS))


@pytest.mark.parametrize("temperature", [1e-2, 1e-6, 1e-30, 1e-40, 1e-300])
def test_towards_temperature_zero_it_is_greedy(temperature: float) -> None:
    """However cold, a number comes out, and it is the likeliest."""
    logs = torch.tensor([[-3.0, -1.0, -2.0], [-5.0, -6.0, -7.0]])
    found = Sampling(temperature).distribution(logs)
    torch.testing.assert_close(found, torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))


def test_a_cold_text_is_the_greedy_text() -> None:
    limits, prompt = Limits(6, (4,)), torch.arange(10)[:, None]
    cold = sample(TableStepper(0, 5, 10), prompt, limits, Sampling(1e-6))
    assert cold == greedy(TableStepper(0, 5, 10), prompt, limits)


@pytest.mark.parametrize("how", [Sampling(top_k=1), Sampling(top_p=1e-6), Sampling(3.0, 1, 0.9)])
def test_with_one_choice_it_is_greedy(how: Sampling) -> None:
    limits, prompt = Limits(6, (4,)), torch.arange(10)[:, None]
    assert sample(TableStepper(1, 5, 10), prompt, limits, how) == greedy(TableStepper(1, 5, 10), prompt, limits)


def test_hot_is_even_and_one_is_the_models_own() -> None:
    logs = torch.tensor([[0.7, 0.2, 0.1]]).log()
    torch.testing.assert_close(Sampling().distribution(logs), logs.exp())
    torch.testing.assert_close(Sampling(1e6).distribution(logs), torch.full((1, 3), 1 / 3), atol=1e-4, rtol=0)


# Draws


def draws(rows: int, chances: list[float], how: Sampling) -> Tensor:
    stepper = ScriptedStepper({(): chances}, len(chances), rows)
    texts = sample(stepper, torch.zeros(rows, 1, dtype=torch.long), Limits(1), how)
    return torch.tensor([text.ids[0] for text in texts])


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "options", [{}, {"temperature": 0.5}, {"temperature": 2.0}, {"top_k": 2}, {"top_p": 0.7}], ids=str
)
def test_frequencies_follow_the_distribution(options: dict[str, Any], seed: int) -> None:
    rows, chances, how = 20_000, [0.5, 0.3, 0.15, 0.05], Sampling(**options, seed=seed)
    expected = how.distribution(torch.tensor([chances]).log())[0]
    found = torch.bincount(draws(rows, chances, how), minlength=4) / rows
    spread = (expected * (1 - expected) / rows).sqrt()
    assert ((found - expected).abs() <= 5 * spread).all()


def test_two_draws_after_one_another_are_independent() -> None:
    rows = 20_000
    stepper = ScriptedStepper({(): [0.5, 0.5]}, 2, rows)
    texts = sample(stepper, torch.zeros(rows, 1, dtype=torch.long), Limits(2), Sampling())
    pairs = torch.bincount(torch.tensor([2 * text.ids[0] + text.ids[1] for text in texts]), minlength=4) / rows
    assert (pairs - 0.25).abs().max() < 0.016


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    limits, prompt = Limits(8), torch.arange(5)[:, None]
    one, again, other = (sample(TableStepper(0, 9, 5), prompt, limits, Sampling(seed=seed)) for seed in (7, 7, 8))
    assert one == again
    assert one != other


def test_the_global_seed_is_neither_used_nor_moved() -> None:
    limits, prompt = Limits(8), torch.arange(5)[:, None]
    torch.manual_seed(1)
    before = torch.get_rng_state()
    one = sample(TableStepper(0, 9, 5), prompt, limits, Sampling(seed=7))
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert sample(TableStepper(0, 9, 5), prompt, limits, Sampling(seed=7)) == one


def test_rows_with_the_same_prompt_are_drawn_apart() -> None:
    texts = sample(TableStepper(0, 9, 6), torch.zeros(6, 1, dtype=torch.long), Limits(8), Sampling())
    assert len({text.ids for text in texts}) == 6


@pytest.mark.parametrize("shortest", [0, 3, 5])
def test_lengths_are_within_the_limits(shortest: int) -> None:
    limits = Limits(5, (4,), shortest=shortest, banned=(1,))
    texts = sample(TableStepper(0, 5, 200), torch.arange(200)[:, None], limits, Sampling(2.0))
    lengths = [len(text.ids) for text in texts]
    assert min(lengths) == max(shortest - 1, 0)
    assert max(lengths) == 5
    assert not any({1, 4} & set(text.ids) for text in texts)


def test_the_closing_id_is_drawn_at_the_last_place() -> None:
    texts = sample(TableStepper(0, 5, 50), torch.arange(50)[:, None], Limits(3, closing=2), Sampling())
    assert all(len(text.ids) == 3 and text.ids[-1] == 2 for text in texts)


# Models


@pytest.mark.parametrize("name", families(lambda family: family.causal))
def test_what_is_drawn_in_a_batch_has_the_score_it_has_alone(name: str) -> None:
    """Neither the draws of a row nor its probabilities depend on its neighbours."""
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(4, 4, 4))
    for row, text in enumerate(sample(*stepper_for(model, example.ids), Limits(6), Sampling(top_k=5))):
        alone = example.row(row)
        said = torch.tensor([text.ids])
        if family.two_texts:
            logits = model(alone.ids, torch.cat([torch.tensor([[1]]), said[:, :-1]], 1))
        else:
            logits = model(torch.cat([alone.ids, said[:, :-1]], 1))[:, 3:]
        logs = logits.log_softmax(-1).gather(-1, said[..., None])
        assert text.score == pytest.approx(logs.sum().item(), abs=6 * small_apart(4.0))  # six words


@pytest.mark.parametrize("name", families(lambda family: family.causal))
def test_what_is_drawn_in_a_batch_is_what_is_drawn_alone(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(4, 4, 4))
    limits, how = Limits(6, (2,)), Sampling(seed=5)
    together = sample(*stepper_for(model, example.ids), limits, how, [4, 0, 9])
    for row, number in enumerate([4, 0, 9]):
        alone = sample(*stepper_for(model, example.row(row).ids), limits, how, [number])
        assert together[row].ids == alone[0].ids


def test_one_text_is_drawn_as_torch_draws() -> None:
    """The seed of the first text is the seed itself, and its draws those of torch.multinomial."""
    stepper, limits = TableStepper(0, 9, 1), Limits(8)
    generator, prefix = torch.Generator().manual_seed(7), (0,)
    for _ in range(8):
        logits = torch.tensor([table(0, 9, prefix)])
        prefix = (*prefix, int(torch.multinomial(logits.softmax(-1), 1, generator=generator)))
    assert sample(stepper, torch.tensor([[0]]), limits, Sampling(seed=7))[0].ids == prefix[1:]


def texts_of(model: Any, example: Example) -> list[tuple[int, ...]]:
    drawn = sample(*stepper_for(model, example.ids, example.mask), Limits(8, (2,)), Sampling(seed=3))
    return [text.ids for text in drawn]


@pytest.mark.parametrize("name", families(lambda family: family.two_texts))
def test_padding_changes_no_draw(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example()
    more = example.padded(right=4)
    one, other = (
        sample(*stepper_for(model, x.ids, x.mask), Limits(8, (2,)), Sampling(seed=3)) for x in (example, more)
    )
    assert [text.ids for text in one] == [text.ids for text in other]


@pytest.mark.parametrize("name", families(lambda family: family.config.family == "decoder"))
def test_padding_of_prompts_changes_no_draw(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(4, 4))
    more = example.padded(left=3, filler=8)
    one, other = (
        sample(*stepper_for(model, x.ids, x.mask), Limits(8, (2,)), Sampling(seed=3)) for x in (example, more)
    )
    assert [text.ids for text in one] == [text.ids for text in other]


# Refusals


@pytest.mark.parametrize("temperature", [0, 0.0, -1.0, float("nan")])
def test_temperature_is_above_zero(temperature: float) -> None:
    with pytest.raises(InputError, match=r"temperature must be greater than 0(.|\n)*0 is greedy search"):
        Sampling(temperature)


def test_temperature_is_finite() -> None:
    """What is forbidden would be -inf / inf, which is no number."""
    with pytest.raises(InputError, match="temperature"):
        Sampling(float("inf"))


@pytest.mark.parametrize("top_k", [0, -3])
def test_top_k_is_at_least_one(top_k: int) -> None:
    with pytest.raises(InputError, match="top_k must be at least 1"):
        Sampling(top_k=top_k)


def test_top_k_is_a_whole_number() -> None:
    with pytest.raises(InputError, match="top_k"):
        Sampling(top_k=2.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("top_p", [0, -0.1, 1.0001, 90, float("nan")])
def test_top_p_is_a_share(top_p: float) -> None:
    with pytest.raises(InputError, match="top_p must be above 0 and at most 1"):
        Sampling(top_p=top_p)
