"""What every family of models promises, asked of each in the same words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.models import RecurrentConfig, build, load_model, save_model, seams
from regard.models.checkpoint import at_most, own_tensors
from tests.bounds import close, outputs_apart
from tests.families import FAMILIES, Example, Family, families, other_words

GARBAGE = 7  # some word


@pytest.fixture(params=families())
def family(request: pytest.FixtureRequest) -> Family:
    return FAMILIES[request.param]


def close_rows(model: Any, found: list[Tensor], expected: list[Tensor]) -> None:
    """As near as two orders of the same sums; what must differ differs by 1e-3, several times more."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        close(model, one, other)


# What may depend on what


def changed_after(family: Family, example: Example, place: int) -> Example:
    """Other words at every place after one."""
    name = "target" if family.two_texts else "ids"
    ids = getattr(example, name).clone()
    ids[:, place + 1 :] = other_words(ids[:, place + 1 :])
    return example._replace(**{name: ids})


@pytest.mark.parametrize("name", families(lambda family: family.causal))
@pytest.mark.parametrize("place", [0, 2, 3])
def test_a_future_word_changes_nothing_before_it(name: str, place: int) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(5, 5))
    before, after = (family.run(model, x) for x in (example, changed_after(family, example, place)))
    close(model, after[:, : place + 1], before[:, : place + 1])
    assert not torch.allclose(after[:, place + 1 :], before[:, place + 1 :], atol=1e-3)


@pytest.mark.parametrize("name", families(lambda family: not family.causal))
def test_an_encoder_looks_both_ways(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(5, 5))
    before, after = (family.run(model, x) for x in (example, changed_after(family, example, 3)))
    assert ((after - before).abs().flatten(1).amax(1) > 1e-3).all()
    if family.per_word:
        assert ((after - before)[:, 0].abs().amax(-1) > 1e-3).all()


@pytest.mark.parametrize("name", families(lambda family: family.two_texts))
def test_every_word_of_the_source_reaches_the_first_output(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(dtype=torch.float64), family.example(lengths=(5, 5))
    before = family.run(model, example)
    for place in range(5):
        other = example.ids.clone()
        other[:, place] = other_words(other[:, place])
        after = family.run(model, example._replace(ids=other))
        assert ((after - before)[:, 0].abs().amax(-1) > 1e-6).all()


def test_rows_of_a_batch_do_not_meet(family: Family) -> None:
    model, example = family.model(), family.example(lengths=(5, 5, 5))
    order = torch.tensor([2, 0, 1])
    turned = Example(*(None if x is None else x[order] for x in example))
    close(model, family.run(model, turned), family.run(model, example)[order])


# Padding


def test_batched_is_one_by_one(family: Family) -> None:
    model, example = family.model(), family.example(lengths=(5, 1, 3, 6))
    alone = [family.told(model, example.row(index))[0] for index in range(4)]
    close_rows(model, family.told(model, example), alone)


@pytest.mark.parametrize("more", [1, 4])
def test_more_padding_changes_nothing(family: Family, more: int) -> None:
    model, example = family.model(), family.example()
    close_rows(model, family.told(model, example.padded(right=more)), family.told(model, example))


def test_what_stands_under_the_mask_changes_nothing(family: Family) -> None:
    model, example = family.model(), family.example().padded(right=2)
    close_rows(model, family.told(model, example.garbled(GARBAGE)), family.told(model, example))


@pytest.mark.parametrize("name", families(lambda family: family.config.family in ("transformer", "decoder")))
@pytest.mark.parametrize(("left", "right"), [(1, 0), (3, 0), (2, 2)])
def test_padding_on_the_left_changes_nothing(name: str, left: int, right: int) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example()
    shifted = example.padded(left, right, filler=GARBAGE)
    close_rows(model, family.told(model, shifted), family.told(model, example))


@pytest.mark.parametrize("name", families(lambda family: family.config.pad is not None))
def test_without_a_mask_the_id_of_padding_makes_it(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example()
    second = [] if example.target is None else [example.target]
    assert torch.equal(model(example.ids, *second), family.run(model, example))


@pytest.mark.parametrize("name", families(lambda family: family.config.pad is not None))
def test_without_an_id_of_padding_every_id_is_a_word(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(pad=None), family.example()
    second = [] if example.target is None else [example.target]
    everything = example._replace(mask=torch.ones_like(example.mask))
    close(model, model(example.ids, *second), family.run(model, everything))
    assert not torch.allclose(family.run(model, everything), family.run(model, example), atol=1e-3)


def test_a_text_of_padding_alone_is_finite_in_value_and_gradient(family: Family) -> None:
    model, example = family.model(), family.example()
    empty = example._replace(ids=torch.zeros_like(example.ids), mask=torch.zeros_like(example.mask))
    output = family.run(model, empty)
    output.square().sum().backward()
    assert output.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


# Positions


@pytest.mark.parametrize("name", ["encoder unplaced", "transformer unplaced"])
def test_without_positions_the_encoder_is_permutation_equivariant(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(6, 6))
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    straight, turned = (model.encode(ids) for ids in (example.ids, example.ids[:, order]))
    close(model, turned, straight[:, order])


@pytest.mark.parametrize("name", ["encoder", "encoder mask", "transformer post", "transformer learned"])
def test_with_positions_it_is_not(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(6, 6))
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    straight, turned = (model.encode(ids) for ids in (example.ids, example.ids[:, order]))
    assert not torch.allclose(turned, straight[:, order], atol=1e-2)


# Gradients, seeds, dtypes, files


def test_gradients_reach_every_parameter(family: Family) -> None:
    model = family.model().train()
    family.loss(model, family.example()).backward()
    without = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert without == []


def test_gradients_are_those_of_the_function(family: Family) -> None:
    """Along a random direction, against a central difference in float64."""
    model = family.model(dtype=torch.float64, **smooth(family))
    example = family.example(lengths=(3, 2), target=3)
    parameters = list(model.parameters())
    generator = torch.Generator().manual_seed(5)
    direction = [torch.randn(p.shape, generator=generator, dtype=p.dtype) for p in parameters]
    gradients = torch.autograd.grad(family.loss(model, example), parameters)
    slope = sum((g * d).sum() for g, d in zip(gradients, direction, strict=True))
    up, down = (moved_loss(family, model, example, direction, step) for step in (1e-6, -1e-6))
    # The difference of two losses keeps what they are off by, and 1 / (2 steps) times that; the curve adds little.
    noise = outputs_apart(model, family.loss(model, example)) / 2e-6
    torch.testing.assert_close((up - down) / 2e-6, slope, rtol=1e-5, atol=max(1e-5, noise))


def smooth(family: Family) -> dict[str, str]:
    """relu has corners, near which a difference is not the slope."""
    return {"activation": "gelu"} if hasattr(family.config, "activation") else {}


@torch.no_grad()
def moved_loss(family: Family, model: Any, example: Example, direction: list[Tensor], step: float) -> Tensor:
    for parameter, way in zip(model.parameters(), direction, strict=True):
        parameter.add_(step * way)
    loss = family.loss(model, example)
    for parameter, way in zip(model.parameters(), direction, strict=True):
        parameter.sub_(step * way)
    return loss


def test_the_same_seed_makes_the_same_model(family: Family) -> None:
    def fresh(seed: int) -> dict[str, Tensor]:
        torch.manual_seed(seed)
        return build(family.config).state_dict()

    one, again, other = fresh(3), fresh(3), fresh(4)
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


def trained(family: Family, dropout: float) -> list[Tensor]:
    """The parameters after a few steps of learning under a seed."""
    model = family.model(dropout=dropout).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    torch.manual_seed(9)
    for step in range(3):
        optimizer.zero_grad()
        family.loss(model, family.example(seed=step)).backward()
        optimizer.step()
    return [p.detach() for p in model.parameters()]


def test_learning_is_deterministic_under_a_seed(family: Family) -> None:
    one, again = trained(family, 0.2), trained(family, 0.2)
    assert all(torch.equal(a, b) for a, b in zip(one, again, strict=True))


def test_dropout_acts_in_training_only(family: Family) -> None:
    model, example = family.model(dropout=0.5), family.example()
    assert torch.equal(family.run(model, example), family.run(model, example))
    kept = family.run(family.model(dropout=0.0), example)
    assert torch.equal(family.run(model, example), kept)
    model.train()
    assert not torch.allclose(family.run(model, example), family.run(model, example), atol=1e-3)


@pytest.mark.parametrize("kind", ["attention_dropout", "feedforward_dropout"])
@pytest.mark.parametrize("name", families(lambda family: family.config.family != "recurrent"))
def test_each_dropout_acts_by_itself(name: str, kind: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(**{kind: 0.5}), family.example()
    assert torch.equal(family.run(model, example), family.run(model, example))
    model.train()
    assert not torch.allclose(family.run(model, example), family.run(model, example), atol=1e-3)


def test_training_without_dropout_says_what_eval_says(family: Family) -> None:
    model, example = family.model(), family.example()
    evaluated = family.run(model, example)
    close(model, family.run(model.train(), example), evaluated)


def test_float64_agrees_with_float32_and_stays_float64(family: Family) -> None:
    example = family.example()
    model = family.model()
    exact, single = family.run(family.model(dtype=torch.float64), example), family.run(model, example)
    assert exact.dtype == torch.float64
    close(model, single.double(), exact)


def test_saved_and_loaded_it_is_the_same_bit_for_bit(family: Family, tmp_path: Path) -> None:
    model, example = family.model(), family.example()
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert type(again) is type(model)
    assert again.config == model.config
    assert not again.training
    states = model.state_dict(), again.state_dict()
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert torch.equal(family.run(again, example), family.run(model, example))


# The seam


class Spy:
    """A hook that notes what it sees and passes everything on."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = []

    def __call__(self, site: str, attend: Any, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        self.calls.append((site, tuple(query.shape), tuple(key.shape), tuple(value.shape)))
        output: Tensor = attend(query, key, value, **options)
        assert output.shape == (*query.shape[:-1], value.shape[-1])
        return output


def expected_calls(family: Family, site: str) -> list[tuple[str, tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """What one forward should do at a site, for three rows of up to 6 words and a target of 5."""
    config = family.config
    if config.family == "recurrent":
        return [(site, (3, 1, 1, 1), (3, 1, 6, 1), (3, 1, 6, 2 * config.hidden))] * 5
    queries = 5 if family.two_texts and site.startswith("decoder") else 6
    keys = 6 if site.endswith("cross") else queries
    shape = 3, config.heads, queries, config.dim // config.heads
    other = 3, config.heads, keys, config.dim // config.heads
    return [(site, shape, other, other)]


def test_sites_have_the_promised_names_in_order(family: Family) -> None:
    found = seams(family.model())
    assert tuple(found) == family.sites
    assert all(seam.site == site for site, seam in found.items())


def test_every_attention_goes_through_its_seam(family: Family) -> None:
    model, example = family.model(), family.example()
    plain = family.run(model, example)
    for site, seam in seams(model).items():
        spy = Spy()
        with seam.hooked(spy):
            watched = family.run(model, example)
        assert spy.calls == expected_calls(family, site)
        assert torch.equal(watched, plain)


def silence(site: str, attend: Any, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
    return torch.zeros_like(attend(query, key, value, **options))


def test_a_hook_can_change_what_any_site_says(family: Family) -> None:
    model, example = family.model(), family.example()
    plain = family.run(model, example)
    for seam in seams(model).values():
        with seam.hooked(silence):
            assert not torch.allclose(family.run(model, example), plain, atol=1e-4)
        assert torch.equal(family.run(model, example), plain)


def test_the_quick_bound_on_parameters_holds(family: Family) -> None:
    """What is refused as too large for a machine is counted exactly only where this bound leaves the question open."""
    count = sum(tensor.numel() for tensor in own_tensors(family.model()).values())
    assert count <= at_most(family.config)


@pytest.mark.parametrize("sizes", [{"dim": 4, "hidden": 300}, {"dim": 300, "hidden": 4}])
@pytest.mark.parametrize("attention", [False, True])
def test_it_holds_for_recurrent_models_of_any_shape(attention: bool, sizes: dict[str, int]) -> None:
    config = RecurrentConfig(source_vocabulary=5, target_vocabulary=5, attention=attention, **sizes)
    assert sum(tensor.numel() for tensor in own_tensors(build(config)).values()) <= at_most(config)
