"""What is true of attention whatever its arguments: random shapes, dtypes, masks and options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from regard.attention import attend, received, rollout, tile
from tests import oracle
from tests.attention_cases import Case, attend_module, drawer, fits_fused, numpy, oracle_of, run_backend
from tests.bounds import FUNCTIONS, eps, sums_apart

SETTINGS = settings(deadline=None, derandomize=True, max_examples=60)
DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]

# The largest that can be drawn: nine dims, keys and queries, of normal numbers that stay below 6, scaled by 2 at most.
LARGEST, MOST = 6.0, 9
APART = 2 * sums_apart(MOST + 1, 2 * LARGEST**2, torch.float64) + sums_apart(MOST + FUNCTIONS, LARGEST, torch.float64)
EXACT = MOST**2 * APART  # of sums over a whole map, or of weights times places

sizes = st.integers(1, 9)
sides = st.none() | st.integers(0, 6)


@st.composite
def cases(draw: st.DrawFn, *, square: bool = False) -> Case:
    """Any case: sizes, then each option present or not."""
    batch = tuple(draw(st.lists(st.integers(0 if not square else 1, 2), max_size=2)))
    served, group = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    queries, dim, value_dim = draw(sizes), draw(sizes), draw(sizes)
    keys = queries if square else draw(st.integers(0, 9))
    numbers = drawer(draw(st.integers(0, 2**32)))
    whole = (*batch, served * group, queries, keys)
    options: dict[str, Any] = {
        "causal": draw(st.booleans()),
        "window": draw(st.none() | st.tuples(sides, sides)),
        "offset": draw(st.none() | st.integers(-10, 10)),
        "scale": draw(st.none() | st.floats(-2, 2)),
        "softcap": draw(st.none() | st.floats(0.5, 20)),
    }
    if draw(st.booleans()):
        options["mask"] = numbers(*draw(broadcastable(whole))) > draw(st.sampled_from([-1.0, 0.5]))
    if draw(st.booleans()):
        bias = numbers(*draw(broadcastable(whole)))
        options["bias"] = bias.masked_fill(bias < draw(st.sampled_from([-9.0, -0.7])), -torch.inf)
    if draw(st.booleans()):
        options["sinks"] = numbers(served * group) * 3
    heads = (*batch, served * group)
    query, key = numbers(*heads, queries, dim), numbers(*batch, served, keys, dim)
    return Case("drawn", query, key, numbers(*batch, served, keys, value_dim), options)


@st.composite
def broadcastable(draw: st.DrawFn, whole: tuple[int, ...]) -> tuple[int, ...]:
    """Some of the last dims of a shape, each as it is or 1."""
    kept = whole[len(whole) - draw(st.integers(0, len(whole))) :]
    return tuple(size if draw(st.booleans()) else 1 for size in kept)


def run(case: Case, **changed: Any) -> torch.Tensor:
    return attend(case.query, case.key, case.value, **{**case.options, **changed})


def score_options(case: Case) -> dict[str, Any]:
    return {"query": case.query, "key": case.key, **case.options}


# ---- against the oracle ---------------------------------------------------------------------------------------------


@SETTINGS
@given(cases())
def test_every_backend_agrees_with_the_oracle(case: Case) -> None:
    expected = oracle_of(case)
    for name in attend_module.BACKENDS:
        if name != "fused" or fits_fused(case):
            np.testing.assert_allclose(
                numpy(run_backend(name, case)), expected.output, atol=LARGEST * EXACT, err_msg=name
            )


@SETTINGS
@given(cases(), st.sampled_from(DTYPES))
def test_every_depth_agrees_with_the_oracle_in_any_dtype(case: Case, dtype: torch.dtype) -> None:
    case = case.to(dtype)
    expected = oracle_of(case)
    wide = torch.promote_types(dtype, torch.float32)  # in which halves are computed; only the output is rounded
    bound = LARGEST * (APART * eps(wide) / eps(torch.float64) + eps(dtype))
    for see in (None, "stats", "steps"):
        found = attend(case.query, case.key, case.value, **case.options, see=see)
        output = found if see is None else found[0]
        np.testing.assert_allclose(numpy(output), expected.output, atol=bound, err_msg=str(see))


@SETTINGS
@given(cases(), st.integers(1, 5), st.integers(1, 5))
def test_statistics_agree_with_the_oracle_whatever_the_blocks(case: Case, rows: int, columns: int) -> None:
    expected = oracle_of(case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.attention.scores.block_shape", lambda scores: (rows, columns))
        statistics = attend(case.query, case.key, case.value, **case.options, see="stats")[1]
    for name in ("lse", "entropy", "top_weight", "top_key", "distance", "self_weight", "first_weight"):
        found = numpy(getattr(statistics, name))
        np.testing.assert_allclose(found, getattr(expected, name), atol=EXACT, err_msg=name)


@SETTINGS
@given(cases(), st.data())
def test_tiles_agree_with_the_oracle(case: Case, data: st.DataObject) -> None:
    weights = oracle_of(case).weights
    extents = []
    for length in weights.shape[-2:]:
        start = data.draw(st.integers(0, length))
        extents.append((start, data.draw(st.integers(start, length))))
    cell = data.draw(st.tuples(sizes, sizes))
    pool = data.draw(st.sampled_from(["mass", "max", "mean"]))
    limits = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    with pytest.MonkeyPatch.context() as patch:
        for module in ("scores", "tiles"):
            patch.setattr(f"regard.attention.{module}.block_shape", lambda scores: limits)
        found = tile(**score_options(case), rows=extents[0], columns=extents[1], cell=cell, pool=pool)
    np.testing.assert_allclose(numpy(found), oracle.tile(weights, *extents, cell, pool), atol=EXACT)


# ---- laws -----------------------------------------------------------------------------------------------------------


@SETTINGS
@given(cases())
def test_rows_of_weights_sum_to_one_or_to_what_the_sink_leaves(case: Case) -> None:
    weights = attend(case.query, case.key, case.value, **case.options, see="steps")[1].weights
    assert (weights >= 0).all()
    totals = numpy(weights.sum(-1))
    empty = ~oracle_of(case).visible.any(-1)
    assert (totals[empty] == 0).all()
    if "sinks" in case.options:
        assert (totals <= 1 + APART).all()
    else:
        np.testing.assert_allclose(totals[~empty], 1, atol=APART)


@SETTINGS
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter_to_the_output(case: Case, random: Any) -> None:
    """Without a band attention is a mean over a set; mask and bias move with their keys."""
    order = list(range(case.key.shape[-2]))
    random.shuffle(order)
    moved = {name: case.options[name] for name in ("mask", "bias") if name in case.options}
    moved = {name: term[..., order] if term.shape[-1:] == (len(order),) else term for name, term in moved.items()}
    unbanded = {"causal": False, "window": None, "offset": None}
    shuffled = case.giving(key=case.key[..., order, :], value=case.value[..., order, :])
    torch.testing.assert_close(run(shuffled, **unbanded, **moved), run(case, **unbanded))


@SETTINGS
@given(cases(), st.data())
def test_no_row_depends_on_what_causality_hides(case: Case, data: st.DataObject) -> None:
    keys = case.key.shape[-2]
    assume(keys > 0)
    future = data.draw(st.integers(0, keys - 1))
    offset = case.options["offset"]
    shift = keys - case.query.shape[-2] if offset is None else offset
    before = torch.arange(case.query.shape[-2]) + shift < future
    changed = case.giving(key=case.key.clone(), value=case.value.clone())
    changed.key[..., future, :] += 10
    changed.value[..., future, :] -= 10
    one, other = (run(each, causal=True)[..., before, :] for each in (case, changed))
    torch.testing.assert_close(one, other)


@SETTINGS
@given(cases(), st.floats(-30, 30))
def test_a_constant_added_to_every_score_changes_nothing_but_lse(case: Case, constant: float) -> None:
    case.options.pop("sinks", None)  # a sink is a score of its own, which the bias does not reach
    bias = case.options.pop("bias", torch.zeros((), dtype=torch.float64))
    inputs = case.query, case.key, case.value
    plain, one = attend(*inputs, **case.options, bias=bias, see="stats")
    shifted, other = attend(*inputs, **case.options, bias=bias + constant, see="stats")
    torch.testing.assert_close(plain, shifted)
    torch.testing.assert_close(one.lse + constant, other.lse)
    for name in ("entropy", "top_weight", "distance", "self_weight", "first_weight"):
        torch.testing.assert_close(getattr(one, name), getattr(other, name), atol=EXACT, rtol=0, msg=name)


@SETTINGS
@given(cases())
def test_a_constant_value_comes_out_as_it_went_in(case: Case) -> None:
    case.options.pop("sinks", None)
    output = numpy(run(case.giving(value=torch.ones_like(case.value))))
    empty = ~oracle_of(case).visible.any(-1)
    np.testing.assert_allclose(output, np.broadcast_to(~empty[..., None], output.shape), atol=APART)


@SETTINGS
@given(cases())
def test_the_output_is_linear_in_the_value(case: Case) -> None:
    doubled = case.giving(value=2 * case.value + 1)
    ones = case.giving(value=torch.ones_like(case.value))
    torch.testing.assert_close(run(doubled), 2 * run(case) + run(ones))


@SETTINGS
@given(cases())
def test_received_sums_to_the_rows_that_looked(case: Case) -> None:
    case.options.pop("sinks", None)
    total = numpy(received(**score_options(case)).sum(-1))
    np.testing.assert_allclose(total, oracle_of(case).visible.any(-1).sum(-1), atol=EXACT)


@SETTINGS
@given(cases(), st.integers(1, 10), st.integers(1, 10))
def test_the_mass_of_all_tiles_is_what_was_received(case: Case, down: int, across: int) -> None:
    mass = tile(**score_options(case), cell=(down, across), pool="mass")
    torch.testing.assert_close(mass.sum((-2, -1)), received(**score_options(case)).sum(-1))


@SETTINGS
@given(cases())
def test_statistics_stay_within_their_bounds(case: Case) -> None:
    statistics = attend(case.query, case.key, case.value, **case.options, see="stats")[1]
    choices = case.key.shape[-2] + ("sinks" in case.options)
    assert (statistics.entropy >= 0).all()
    assert (statistics.entropy <= np.log(max(choices, 1)) + EXACT).all()
    assert (statistics.top_weight <= 1 + APART).all()
    for name in ("self_weight", "first_weight"):
        assert (getattr(statistics, name) <= statistics.top_weight + APART).all(), name
    assert (statistics.distance >= 0).all()


@SETTINGS
@given(cases())
def test_lse_recovers_every_weight(case: Case) -> None:
    """The promise a recording rests on: w = exp(s - lse)."""
    lse = attend(case.query, case.key, case.value, **case.options, see="stats")[1].lse
    steps = attend(case.query, case.key, case.value, **case.options, see="steps")[1]
    recovered = (steps.masked - lse.masked_fill(lse == -torch.inf, 0.0)[..., None]).exp()
    torch.testing.assert_close(recovered, steps.weights)


@SETTINGS
@given(st.lists(cases(square=True), min_size=1, max_size=1), st.floats(0, 1), st.integers(1, 4))
def test_rollout_hands_on_no_more_than_everything(layers: list[Case], residual: float, depth: int) -> None:
    case = layers[0]
    share = rollout([score_options(case)] * depth, 0, residual=residual)
    assert (share >= 0).all()
    assert (share.sum(-1) <= 1 + EXACT).all()


@SETTINGS
@given(cases())
def test_a_cache_changes_nothing(case: Case) -> None:
    """Row by row against the keys so far, as a decoder runs, is the same as all at once."""
    options = {name: case.options[name] for name in ("softcap", "sinks", "scale") if name in case.options}
    length = min(case.query.shape[-2], case.key.shape[-2])
    query, key, value = (tensor[..., :length, :] for tensor in (case.query, case.key, case.value))
    whole = attend(query, key, value, **options, causal=True)
    for end in range(1, length + 1):
        row = attend(query[..., end - 1 : end, :], key[..., :end, :], value[..., :end, :], **options, causal=True)
        torch.testing.assert_close(row[..., 0, :], whole[..., end - 1, :])
