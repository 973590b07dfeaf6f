"""Every wrong argument is met with what is wrong, what was found and what to do; torch's own errors never show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.attention import attend, received, rollout, tile
from regard.errors import InputError, KindError, RegardError, ShapeError

QUERY, KEY, VALUE = torch.ones(2, 4, 5, 8), torch.ones(2, 2, 7, 8), torch.ones(2, 2, 7, 6)
SQUARE = torch.ones(2, 4, 7, 8)


def call(**changed: Any) -> Any:
    return attend(**{"query": QUERY, "key": KEY, "value": VALUE, **changed})


def complaint(wrong: Callable[[], Any], kind: type[RegardError] = InputError) -> RegardError:
    """The error of a wrong call, after checking that it is one a person can act on."""
    with pytest.raises(RegardError) as caught:
        wrong()
    error = caught.value
    assert isinstance(error, kind), type(error)
    assert isinstance(error, ValueError), "except ValueError must keep working"
    assert error.wrong in str(error)
    assert error.do, "an error says what to do"
    assert error.do in str(error)
    return error


def test_the_call_that_the_others_change_is_right() -> None:
    assert call().shape == (2, 4, 5, 6)


# ---- kinds ----------------------------------------------------------------------------------------------------------

NOT_TENSORS = [None, [[1.0]], np.ones((2, 4, 5, 8), dtype=np.float32), 1.0, "query", {"query": 1}, torch.Size((2, 4))]


@pytest.mark.parametrize("given", NOT_TENSORS, ids=lambda given: type(given).__name__)
@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_not_a_tensor(name: str, given: Any) -> None:
    error = complaint(lambda: call(**{name: given}), KindError)
    assert isinstance(error, TypeError)
    assert f"{name} must be a torch tensor" in str(error)
    assert type(given).__qualname__ in error.found


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.uint8, torch.complex64, torch.float8_e4m3fn], ids=str)
@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_tensors_of_other_kinds_of_numbers(name: str, dtype: torch.dtype) -> None:
    given = {"query": QUERY, "key": KEY, "value": VALUE}[name].to(dtype)
    error = complaint(lambda: call(**{name: given}), KindError)
    assert isinstance(error, TypeError)
    assert str(dtype) in error.found
    assert str(tuple(given.shape)) in error.found


@pytest.mark.parametrize("name", ["query", "key", "value", "mask"])
def test_tensors_that_are_not_dense(name: str) -> None:
    given = {"query": QUERY, "key": KEY, "value": VALUE, "mask": torch.ones(5, 7)}[name]
    complaint(lambda: call(**{name: given.to_sparse()}), InputError)


WHOLE = torch.ones(5, 7)
MASKS = [WHOLE.long(), WHOLE.to(torch.uint8), WHOLE.to(torch.complex64), WHOLE.numpy(), [[True]], True, "causal"]


def kind(given: Any) -> str:
    return f"{type(given).__name__} {tuple(given.shape)} {given.dtype}" if hasattr(given, "dtype") else repr(given)


@pytest.mark.parametrize("given", MASKS, ids=kind)
def test_a_mask_of_another_kind(given: Any) -> None:
    error = complaint(lambda: call(mask=given), KindError)
    assert "True = may look" in str(error)
    assert "mask.bool()" in error.do
    if isinstance(given, Tensor):
        assert "(5, 7)" in error.found
        assert str(given.dtype) in error.found


@pytest.mark.parametrize("given", [WHOLE.bool(), WHOLE.int(), 0.5, [[0.0]]], ids=kind)
def test_a_bias_of_another_kind(given: Any) -> None:
    error = complaint(lambda: call(bias=given), KindError)
    assert "bias must be a tensor of real numbers" in str(error)
    assert "mask" in error.do


SINKS = [torch.ones(3), torch.ones(4, 1), torch.ones(2, 2), torch.tensor(1.0), torch.ones(4).long(), [0.0] * 4, 1.0]


@pytest.mark.parametrize("given", SINKS, ids=kind)
def test_sinks_that_are_not_one_logit_a_head(given: Any) -> None:
    error = complaint(lambda: call(sinks=given))
    assert "(4,)" in error.do
    if isinstance(given, Tensor):
        assert str(tuple(given.shape)) in error.found
        assert str(given.dtype) in error.found


# ---- shapes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (8,), (5, 8)], ids=str)
@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_too_few_dims(name: str, shape: tuple[int, ...]) -> None:
    error = complaint(lambda: call(**{name: torch.ones(shape)}), ShapeError)
    assert f"{name} {shape}" in error.found
    assert "unsqueeze" in error.do


SHAPES = [
    ("dims", {"key": torch.ones(2, 2, 7, 9)}, "same dim"),
    ("no dim", {"query": torch.ones(2, 4, 5, 0), "key": torch.ones(2, 2, 7, 0)}, "at least 1"),
    ("batch", {"key": torch.ones(3, 2, 7, 8)}, "batch dims"),
    ("batch of 1", {"key": torch.ones(1, 2, 7, 8)}, "batch dims"),
    ("batch rank", {"key": torch.ones(1, 2, 2, 7, 8)}, "batch dims"),
    ("heads", {"key": torch.ones(2, 3, 7, 8)}, "4 query heads cannot be shared out among 3"),
    ("more key heads", {"key": torch.ones(2, 8, 7, 8)}, "4 query heads cannot be shared out among 8"),
    ("no key heads", {"key": torch.ones(2, 0, 7, 8)}, "among 0"),
    ("no heads", {"query": torch.ones(2, 0, 5, 8)}, "0 query heads"),
]


@pytest.mark.parametrize(("changed", "wrong"), [row[1:] for row in SHAPES], ids=[row[0] for row in SHAPES])
def test_query_and_key_that_do_not_fit(changed: dict[str, Tensor], wrong: str) -> None:
    error = complaint(lambda: call(**changed), ShapeError)
    assert wrong in error.wrong
    for tensor in changed.values():
        assert str(tuple(tensor.shape)) in error.found


@pytest.mark.parametrize("shape", [(2, 2, 6, 6), (2, 4, 7, 6), (1, 2, 7, 6), (2, 7, 6), (2, 2, 2, 7, 6)], ids=str)
def test_a_value_that_does_not_fit_the_key(shape: tuple[int, ...]) -> None:
    error = complaint(lambda: call(value=torch.ones(shape)), ShapeError)
    assert f"key (2, 2, 7, 8), value {shape}" in error.found


NO_BROADCAST = [(5,), (7, 5), (4, 7), (2, 7), (2, 5, 7), (3, 1, 1), (2, 2, 5, 7), (4, 4, 5, 7), (1, 2, 4, 5, 7), (0,)]


@pytest.mark.parametrize("shape", NO_BROADCAST, ids=str)
@pytest.mark.parametrize("name", ["mask", "bias"])
def test_a_mask_or_bias_that_does_not_broadcast(name: str, shape: tuple[int, ...]) -> None:
    error = complaint(lambda: call(**{name: torch.ones(shape)}), ShapeError)
    assert f"{name} {shape}" in error.found
    assert "(2, 4, 5, 7)" in error.found


def test_padding_without_its_dims_is_told_how_to_get_them() -> None:
    error = complaint(lambda: call(mask=torch.ones(2, 7).bool()), ShapeError)
    assert "mask[:, None, None, :]" in error.do


# ---- devices --------------------------------------------------------------------------------------------------------

ELSEWHERE = {
    "key": KEY, "value": VALUE, "mask": torch.ones(5, 7).bool(), "bias": torch.ones(5, 7), "sinks": torch.ones(4),
}  # fmt: skip


@pytest.mark.parametrize("name", ELSEWHERE)
def test_tensors_on_two_devices(name: str) -> None:
    error = complaint(lambda: call(**{name: ELSEWHERE[name].to("meta")}))
    assert "one device" in error.wrong
    assert "cpu" in error.found
    assert "meta" in error.found
    assert name in error.do


@pytest.mark.parametrize(("name", "given"), [("lse", torch.ones(2, 4, 5)), ("weigh", torch.ones(5))])
def test_second_passes_on_two_devices(name: str, given: Tensor) -> None:
    complaint(lambda: received(QUERY, KEY, **{name: given.to("meta")}))


# ---- numbers --------------------------------------------------------------------------------------------------------

NOT_NUMBERS = ["1", None, True, [1.0], torch.tensor(1.0), 1j, float("nan"), float("inf"), -float("inf"), 10**400]


@pytest.mark.parametrize("given", NOT_NUMBERS, ids=lambda given: repr(given)[:12])
@pytest.mark.parametrize("name", ["scale", "softcap", "dropout"])
def test_not_one_finite_number(name: str, given: Any) -> None:
    if given is None and name != "dropout":  # None is how scale and softcap are left out
        assert call(**{name: None}).shape == (2, 4, 5, 6)
        return
    error = complaint(lambda: call(**{name: given}), KindError)
    assert name in error.wrong
    assert error.found


@pytest.mark.parametrize("softcap", [0, 0.0, -1, -50.0])
def test_a_softcap_that_is_not_positive(softcap: float) -> None:
    error = complaint(lambda: call(softcap=softcap))
    assert "greater than 0" in error.wrong
    assert str(float(softcap)) in error.found


@pytest.mark.parametrize("dropout", [-0.1, 1, 1.0, 2.5])
def test_a_dropout_that_is_not_a_share(dropout: float) -> None:
    error = complaint(lambda: call(dropout=dropout))
    assert "less than 1" in error.wrong
    assert str(float(dropout)) in error.found


@pytest.mark.parametrize("offset", [1.0, "0", True, (0,), torch.tensor(0), float("nan"), [1, 2]], ids=str)
def test_an_offset_that_is_not_a_whole_number(offset: Any) -> None:
    error = complaint(lambda: call(offset=offset), KindError)
    assert repr(offset) in error.found


@pytest.mark.parametrize("offset", [10**30, -(10**30), 2**63, -(2**63) - 1], ids=str)
@pytest.mark.parametrize("see", [None, "stats", "steps"])
def test_an_offset_beyond_all_keys_works_or_is_refused_in_words(offset: int, see: str | None) -> None:
    """No position is so far away that torch's own overflow may show."""
    try:
        call(offset=offset, causal=True, see=see)
    except RegardError as error:
        assert "offset" in str(error)  # noqa: PT017 - either way out is fine, a torch error is not


@pytest.mark.parametrize("window", [(10**30, 10**30), (2**63, 0), (0, 2**63), (10**30, None)], ids=str)
@pytest.mark.parametrize("see", [None, "stats", "steps"])
def test_a_window_beyond_all_keys_is_no_bound(window: tuple[int, int | None], see: str | None) -> None:
    call(window=window, offset=-3, see=see)


@pytest.mark.parametrize("window", [3, "ab", (), (1,), (1, 2, 3), {1: 2, 3: 4}, torch.ones(2), True], ids=str)
def test_a_window_that_is_not_a_pair(window: Any) -> None:
    error = complaint(lambda: call(window=window), KindError)
    assert "(left, right)" in error.wrong
    assert repr(window) in error.found


@pytest.mark.parametrize("window", [(-1, 0), (0, -5), (1.0, 2), ("1", 2), (True, 0), (None, "0")], ids=str)
def test_a_window_with_a_side_that_is_no_size(window: Any) -> None:
    error = complaint(lambda: call(window=window))
    assert repr(window) in error.found


@pytest.mark.parametrize("window", [(2, 1), [2, 1], (None, 1), [None, None]], ids=str)
def test_windows_that_are_right(window: Any) -> None:
    assert call(window=window).shape == (2, 4, 5, 6)


@pytest.mark.parametrize("causal", ["no", "True", 2, torch.tensor([True, False]), [True], 0.5], ids=str)
def test_causal_is_a_yes_or_a_no(causal: Any) -> None:
    """A string would read as yes, whatever it says; a mask given here by mistake must not pass for True."""
    complaint(lambda: call(causal=causal))


@pytest.mark.parametrize("see", ["stat", "", "STEPS", 1, True, ["stats"], ("stats",), torch.ones(2)], ids=str)
def test_an_unknown_depth(see: Any) -> None:
    error = complaint(lambda: call(see=see))
    assert "'stats'" in error.wrong
    assert repr(see) in error.found


def test_steps_that_would_fill_the_memory_are_refused_before_they_do() -> None:
    long = torch.zeros(1, 1, 1).expand(1, 20_000, 1)
    error = complaint(lambda: attend(long, long, long, see="steps"))
    assert "400,000,000" in error.found
    assert "stats" in error.do


# ---- the second passes ----------------------------------------------------------------------------------------------

SECOND = {"received": received, "tile": tile}


@pytest.mark.parametrize("name", SECOND)
@pytest.mark.parametrize("lse", [torch.ones(2, 4), torch.ones(2, 4, 7), torch.ones(2, 2, 5), 1.0, [1.0]], ids=kind)
def test_an_lse_that_is_not_one_number_a_row(name: str, lse: Any) -> None:
    error = complaint(lambda: SECOND[name](QUERY, KEY, lse), ShapeError)
    assert "query (2, 4, 5, 8)" in error.found
    if isinstance(lse, Tensor):
        assert str(tuple(lse.shape)) in error.found


@pytest.mark.parametrize("name", SECOND)
def test_second_passes_check_like_attend(name: str) -> None:
    complaint(lambda: SECOND[name](QUERY, None), KindError)
    complaint(lambda: SECOND[name](QUERY, KEY[..., :3]), ShapeError)
    complaint(lambda: SECOND[name](QUERY, KEY, mask=torch.ones(3)), ShapeError)
    complaint(lambda: SECOND[name](QUERY, KEY, window=(1,)), KindError)


@pytest.mark.parametrize("name", SECOND)
@pytest.mark.parametrize("unknown", ["casual", "dropout", "masks", "value"])
def test_an_unknown_option_is_not_ignored(name: str, unknown: str) -> None:
    """A misspelt option that is swallowed gives the numbers of another attention."""
    with pytest.raises((TypeError, RegardError), match=unknown):
        SECOND[name](QUERY, KEY, **{unknown: True})


WEIGHS = [torch.ones(4), torch.ones(2, 5), torch.ones(3, 4, 5), torch.ones(1, 2, 4, 5), [1.0], 2.0, "x"]


@pytest.mark.parametrize("weigh", WEIGHS, ids=kind)
def test_a_weigh_that_does_not_broadcast(weigh: Any) -> None:
    error = complaint(lambda: received(QUERY, KEY, weigh=weigh), ShapeError)
    assert "(2, 4, 5, 8)" in error.found
    assert "(2, 4, 5)" in error.do
    error = complaint(lambda: tile(QUERY, KEY, weigh=torch.ones(9) if weigh is WEIGHS[0] else weigh), ShapeError)
    assert "each key" in error.wrong
    assert f"(2, 4, {KEY.shape[-2]})" in error.do


def test_a_weigh_of_complex_numbers() -> None:
    complaint(lambda: received(QUERY, KEY, weigh=torch.ones(5, dtype=torch.complex64)))


EXTENTS = [(0, 6), (-1, 2), (3, 2), (1.0, 2), ("0", 1), (True, 2), (None, 9), 9, (1,), (1, 2, 3), "ab", slice(0, 4, 2)]


@pytest.mark.parametrize("extent", EXTENTS, ids=str)
def test_an_extent_outside_the_map(extent: Any) -> None:
    error = complaint(lambda: tile(QUERY, KEY, rows=extent))
    assert repr(extent) in error.found
    assert "rows" in error.wrong
    if extent != (0, 6):  # six queries are too many, six keys are not
        assert "columns" in complaint(lambda: tile(QUERY, KEY, columns=extent)).wrong


@pytest.mark.parametrize(
    "cell", [0, -1, 1.5, "2", None, True, (2, 0), (1.0, 2), (2,), (1, 2, 3), (), [None, 1]], ids=str
)
def test_a_cell_that_is_no_size(cell: Any) -> None:
    error = complaint(lambda: tile(QUERY, KEY, cell=cell))
    assert "cell" in error.wrong


@pytest.mark.parametrize("pool", ["sum", "avg", "", None, 1, ["mass"], "Max"], ids=str)
def test_an_unknown_pooling(pool: Any) -> None:
    error = complaint(lambda: tile(QUERY, KEY, pool=pool))
    assert "mass, max, mean" in error.do


def test_the_nearest_pooling_is_offered() -> None:
    assert "did you mean 'mean'?" in complaint(lambda: tile(QUERY, KEY, pool="men")).do


# ---- rollout --------------------------------------------------------------------------------------------------------

LAYER = {"query": SQUARE, "key": SQUARE}


NO_LAYERS = {
    "none": [], "None": None, "a tensor": SQUARE, "a string": "layers", "a number": 3, "tensors": [SQUARE],
    "empty": [{}], "no key": [{"query": SQUARE}],
}  # fmt: skip


@pytest.mark.parametrize("layers", NO_LAYERS.values(), ids=NO_LAYERS)
def test_layers_that_are_not_layers(layers: Any) -> None:
    complaint(lambda: rollout(layers, 0))


@pytest.mark.parametrize("part", ["query", "key"])
@pytest.mark.parametrize("given", [None, [[1.0]], torch.ones(7, 8), torch.ones(2, 4, 7, 8).long()], ids=kind)
def test_a_layer_made_of_something_else(part: str, given: Any) -> None:
    complaint(lambda: rollout([LAYER, {**LAYER, part: given}], 0))


@pytest.mark.parametrize("token", [7, -8, 1.0, "0", None, True, torch.tensor(0)], ids=str)
def test_a_token_that_is_not_there(token: Any) -> None:
    error = complaint(lambda: rollout([LAYER], token))
    assert repr(token) in error.found
    assert "0 to 6" in error.do


@pytest.mark.parametrize("residual", [-0.1, 1.1, float("nan"), "half", None, [0.5], 1j], ids=str)
def test_a_residual_that_is_no_share(residual: Any) -> None:
    error = complaint(lambda: rollout([LAYER], 0, residual=residual))
    assert repr(residual) in error.found


def test_layers_of_different_lengths() -> None:
    error = complaint(lambda: rollout([LAYER, {"query": QUERY, "key": KEY}], 0))
    assert "5 queries and 7 keys" in error.found
    complaint(lambda: rollout([{"query": QUERY, "key": QUERY}, LAYER], 0))


def test_a_misspelt_option_of_a_layer_is_not_ignored() -> None:
    with pytest.raises((TypeError, RegardError), match="casual"):
        rollout([{**LAYER, "casual": True}], 0)
