"""The seam: hooks nest, the newest outermost, and are let go whatever happens."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.attention import attend
from regard.models import Seam, seams
from tests.families import FAMILIES

QUERY, KEY, VALUE = (torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(i)) for i in range(3))
Log = list[str]


def noting(log: Log, name: str) -> Callable[..., Tensor]:
    """A hook that says when it is entered and left."""

    def hook(site: str, call: Any, *inputs: Tensor, **options: Any) -> Tensor:
        log.append(f"{name} in")
        output: Tensor = call(*inputs, **options)
        log.append(f"{name} out")
        return output

    return hook


def adding(number: float) -> Callable[..., Tensor]:
    return lambda site, call, *inputs, **options: call(*inputs, **options) + number


def doubling(site: str, call: Any, *inputs: Tensor, **options: Any) -> Tensor:
    return 2 * call(*inputs, **options)


def test_without_hooks_it_is_attend() -> None:
    mask = torch.tensor([True, True, False, True])
    for options in ({}, {"causal": True}, {"mask": mask, "scale": 0.3}):
        assert torch.equal(Seam("here")(QUERY, KEY, VALUE, **options), attend(QUERY, KEY, VALUE, **options))


def test_a_hook_gets_the_site_the_inputs_and_the_options() -> None:
    seen: list[Any] = []

    def hook(site: str, call: Any, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        seen.append((site, query, key, value, options))
        return call(query, key, value, **options)

    seam = Seam("decoder.3.cross")
    with seam.hooked(hook):
        output = seam(QUERY, KEY, VALUE, causal=True, dropout=0.0)
    ((site, query, key, value, options),) = seen
    assert site == "decoder.3.cross"
    assert query is QUERY
    assert key is KEY
    assert value is VALUE
    assert options == {"causal": True, "dropout": 0.0}
    assert torch.equal(output, attend(QUERY, KEY, VALUE, causal=True))


def test_a_hook_may_change_inputs_options_and_output() -> None:
    seam = Seam("here")
    with seam.hooked(lambda site, call, query, key, value, **options: call(query, key, 2 * value, causal=True) + 1):
        found = seam(QUERY, KEY, VALUE)
    torch.testing.assert_close(found, 2 * attend(QUERY, KEY, VALUE, causal=True) + 1)


def test_a_hook_need_not_call_on() -> None:
    seam, own = Seam("here"), torch.ones(2, 3, 4, 5)
    with seam.hooked(lambda site, call, *inputs, **options: own):
        assert seam(QUERY, KEY, VALUE) is own


def test_hooks_nest_the_newest_outermost() -> None:
    seam, log, plain = Seam("here"), [], attend(QUERY, KEY, VALUE)
    with seam.hooked(noting(log, "old")), seam.hooked(noting(log, "new")):
        seam(QUERY, KEY, VALUE)
    assert log == ["new in", "old in", "old out", "new out"]
    with seam.hooked(adding(3)), seam.hooked(doubling):
        torch.testing.assert_close(seam(QUERY, KEY, VALUE), 2 * (plain + 3))
    with seam.hooked(doubling), seam.hooked(adding(3)):
        torch.testing.assert_close(seam(QUERY, KEY, VALUE), 2 * plain + 3)
    assert torch.equal(seam(QUERY, KEY, VALUE), plain)


def test_a_hook_held_twice_acts_twice_and_is_let_go_in_turn() -> None:
    seam, plain, three = Seam("here"), attend(QUERY, KEY, VALUE), adding(3)
    with seam.hooked(three):
        with seam.hooked(doubling):
            with seam.hooked(three):
                torch.testing.assert_close(seam(QUERY, KEY, VALUE), 2 * (plain + 3) + 3)
            torch.testing.assert_close(seam(QUERY, KEY, VALUE), 2 * (plain + 3))
        torch.testing.assert_close(seam(QUERY, KEY, VALUE), plain + 3)
    assert torch.equal(seam(QUERY, KEY, VALUE), plain)


class Alike:
    """A hook that equals every other of its kind, as dataclasses do."""

    def __init__(self, number: float) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike)

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, site: str, call: Any, *inputs: Tensor, **options: Any) -> Tensor:
        return self.number * call(*inputs, **options)


def test_hooks_that_are_equal_are_still_two() -> None:
    seam, plain = Seam("here"), attend(QUERY, KEY, VALUE)
    with seam.hooked(Alike(2)):
        with seam.hooked(Alike(5)):
            torch.testing.assert_close(seam(QUERY, KEY, VALUE), 10 * plain)
        torch.testing.assert_close(seam(QUERY, KEY, VALUE), 2 * plain)
    assert seam.hooks == ()


def test_hooks_can_be_let_go_in_another_order() -> None:
    seam, plain = Seam("here"), attend(QUERY, KEY, VALUE)
    first, second = ExitStack(), ExitStack()
    first.enter_context(seam.hooked(doubling))
    second.enter_context(seam.hooked(adding(3)))
    first.close()
    torch.testing.assert_close(seam(QUERY, KEY, VALUE), plain + 3)
    second.close()
    assert seam.hooks == ()


def failing(*inputs: Any, **options: Any) -> Tensor:
    raise KeyError("broken")


def test_an_exception_in_a_hook_lets_all_go() -> None:
    seam, plain = Seam("here"), attend(QUERY, KEY, VALUE)
    with pytest.raises(KeyError, match="broken"), seam.hooked(doubling), seam.hooked(failing):
        seam(QUERY, KEY, VALUE)
    assert seam.hooks == ()
    assert torch.equal(seam(QUERY, KEY, VALUE), plain)


def test_an_exception_in_the_block_lets_all_go() -> None:
    seam = Seam("here")
    with pytest.raises(KeyError, match="broken"), seam.hooked(doubling), seam.hooked(adding(3)):
        failing()
    assert seam.hooks == ()


def test_an_exception_inside_lets_only_the_inner_go() -> None:
    seam, plain = Seam("here"), attend(QUERY, KEY, VALUE)
    with seam.hooked(doubling):
        with pytest.raises(KeyError), seam.hooked(adding(3)):
            raise KeyError
        torch.testing.assert_close(seam(QUERY, KEY, VALUE), 2 * plain)


def test_gradients_pass_through_hooks() -> None:
    seam, value = Seam("here"), VALUE.clone().requires_grad_()
    with seam.hooked(doubling):
        seam(QUERY, KEY, value).sum().backward()
    torch.testing.assert_close(value.grad.sum(), torch.tensor(2.0 * QUERY[..., 0].numel() * 5))


# The seams of a model


def test_seams_are_those_of_the_layers() -> None:
    model = FAMILIES["transformer post"].model()
    found = seams(model)
    assert found["encoder.1.self"] is model.encoder[1].self_attention.seam
    assert found["decoder.0.cross"] is model.decoder[0].cross_attention.seam


def test_seams_are_not_parameters() -> None:
    assert not any("seam" in name for name in FAMILIES["transformer post"].model().state_dict())


def test_a_module_without_attention_has_none() -> None:
    assert seams(nn.Linear(2, 2)) == {}


def test_the_sites_follow_the_number_of_layers() -> None:
    model = FAMILIES["transformer post"].model(encoder_layers=1, decoder_layers=4)
    cross = [f"decoder.{i}.{kind}" for i in range(4) for kind in ("self", "cross")]
    assert list(seams(model)) == ["encoder.0.self", *cross]


def test_holding_one_model_does_not_hold_its_copy() -> None:
    family = FAMILIES["decoder"]
    model, example = family.model(), family.example()
    other = copy.deepcopy(model)
    plain = family.run(model, example)
    with seams(model)["decoder.0.self"].hooked(doubling):
        assert torch.equal(family.run(other, example), plain)
        assert not torch.allclose(family.run(model, example), plain, atol=1e-3)
