"""The recurrent models, word by word against their formulas, without batches and without padding."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import attend
from regard.models import seams
from tests.bounds import close
from tests.families import FAMILIES, families

RECURRENT = families(lambda family: family.config.family == "recurrent")


def by_formula(model: Any, source: Tensor, target: Tensor) -> Tensor:
    """Bahdanau's decoder for one text: a_j = softmax_j(w . tanh(W s + U h_j)), then the mean of the h by a."""
    cells = model.cells
    memory, last = cells.encoder(model.source(source)[None])
    memory, state = memory[0], torch.tanh(cells.bridge(last[1, 0]))
    rows = []
    for word in model.target(target):
        scores = torch.stack([cells.scores(torch.tanh(cells.asks(state) + cells.offers(h)))[0] for h in memory])
        seen = (torch.softmax(scores, 0)[:, None] * memory).sum(0)
        state = cells.decoder(torch.cat([word, seen])[None], state[None])[0]
        rows.append(cells.output(torch.tanh(cells.inner(torch.cat([state, seen, word])))))
    return torch.stack(rows)


def test_additive_attention_is_its_formula() -> None:
    family = FAMILIES["recurrent attention"]
    model, example = family.model(dtype=torch.float64), family.example()
    found = family.run(model, example)
    for row in range(3):
        alone = example.row(row)
        close(model, found[row], by_formula(model, alone.ids[0], alone.target[0]))


@pytest.mark.parametrize("name", ["recurrent", "recurrent deep"])
def test_without_attention_it_is_one_lstm_after_another(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(dtype=torch.float64), family.example()
    found = family.run(model, example)
    for row in range(3):
        alone = example.row(row)
        _, state = model.cells.encoder(model.source(alone.ids))
        out, _ = model.cells.decoder(model.target(alone.target), state)
        close(model, found[row], model.cells.output(out[0]))


def test_the_scores_go_through_the_door_as_bias() -> None:
    """Zero query and key of one dim, so that nothing but the additive score decides."""
    family = FAMILIES["recurrent attention"]
    model, example = family.model(), family.example()
    weights = []

    def hook(site: str, door: Any, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        assert not query.any()
        assert not key.any()
        assert options["scale"] == 1.0
        assert options["bias"].shape == (3, 1, 1, 6)
        output, steps = attend(query, key, value, see="steps", **options)
        weights.append(steps.weights[:, 0, 0])
        return output

    with seams(model)["decoder.0.cross"].hooked(hook):
        family.run(model, example)
    assert len(weights) == 5
    for row in weights:
        torch.testing.assert_close(row.sum(-1), torch.ones(3))
        assert not row[~example.mask].any()
        assert (row[example.mask] > 0).all()


@pytest.mark.parametrize("name", RECURRENT)
def test_saying_in_parts_is_saying_at_once(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(dtype=torch.float64), family.example()
    state, parts = model.start(example.ids, example.mask), []
    for part in example.target.split([1, 3, 1], 1):
        logits, state = model.advance(part, state)
        parts.append(logits)
    close(model, torch.cat(parts, 1), family.run(model, example))


@pytest.mark.parametrize("name", RECURRENT)
def test_a_state_can_be_taken_in_another_order(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(dtype=torch.float64), family.example()
    order = torch.tensor([2, 2, 0, 1])
    state = model.start(example.ids, example.mask)
    _, state = model.advance(example.target[:, :2], state)
    found, _ = model.advance(example.target[order, 2:], state.select(order))
    close(model, found, family.run(model, example)[order, 2:])


@pytest.mark.parametrize("name", RECURRENT)
@pytest.mark.parametrize(("left", "right"), [(1, 0), (3, 2)])
def test_padding_on_the_left_is_no_word_either(name: str, left: int, right: int) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example()
    shifted = example.padded(left, right, filler=7)
    close(model, family.run(model, shifted), family.run(model, example))


def test_with_padding_on_the_left_weights_stay_at_the_positions_of_the_words() -> None:
    family = FAMILIES["recurrent attention"]
    model, example = family.model(), family.example().padded(2, 1, filler=7)
    masks = []

    def hook(site: str, door: Any, *inputs: Tensor, **options: Any) -> Tensor:
        masks.append(options["mask"])
        return door(*inputs, **options)

    with seams(model)["decoder.0.cross"].hooked(hook):
        family.run(model, example)
    assert all(torch.equal(mask[:, 0, 0], example.mask) for mask in masks)


@pytest.mark.parametrize("name", RECURRENT)
def test_target_and_source_have_their_own_vocabulary(name: str) -> None:
    model = FAMILIES[name].model(source_vocabulary=30, target_vocabulary=8)
    assert model(torch.tensor([[29, 28]]), torch.tensor([[1, 7, 6]])).shape == (1, 3, 8)
