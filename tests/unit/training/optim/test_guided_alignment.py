"""One head that is shown where words are linked: what is seen of it, what it costs, and what it must not change."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import regard
from regard.errors import InputError, UnknownNameError
from regard.training.optim import loss as losses
from regard.training.optim.gradients import Gradients
from regard.training.optim.graph_update import GraphUpdate
from regard.training.optim.guided_alignment import guided_reading, link_loss, seen_head
from regard.training.optim.optimizer import optimizer_for
from regard.training.optim.updates import Update
from regard.training.optim.workers import Workers
from regard.training.recipe.recipe import Training
from tests.bounds import small_apart
from tests.faked_graphs import FakedGraph, graphs
from tests.families import FAMILIES
from tests.update_cases import CPU, batch_for, close, gradients_of, objective

__all__ = ["graphs"]  # a fixture
NAME = "transformer post"
ONCE = torch.ones(())


def forward(model: Any, batch: dict[str, Tensor]) -> Tensor:
    return model(batch["source"], batch["target"])


def test_a_row_is_asked_for_all_that_it_is_linked_to_alike_and_one_without_links_for_nothing() -> None:
    weights = torch.tensor([[[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [1.0, 0.0, 0.0]]])
    links = torch.tensor([[[True, True, False], [False, True, False], [False, False, False]]])
    by_hand = -(0.5 * torch.tensor(0.5).log() + 0.5 * torch.tensor(0.25).log() + torch.tensor(0.8).log())
    logs = weights.log().clamp(min=-100)
    torch.testing.assert_close(link_loss(logs, links), by_hand)
    torch.testing.assert_close(link_loss(torch.cat([logs, logs]), links), by_hand)


def test_what_is_seen_of_the_head_is_its_attention_and_nothing_else_changes() -> None:
    model, batch = FAMILIES[NAME].model(), batch_for(NAME, linked=True).tensors
    reading = guided_reading(model, "decoder.1.cross:2")
    with torch.no_grad():
        alone = forward(model, batch)
        with regard.watch(model) as watched:
            forward(model, batch)
        with seen_head(model, reading) as seen:
            assert torch.equal(forward(model, batch), alone)
    for row in range(len(alone)):
        wanted = watched.tile("decoder.1.cross", 2, batch=row)
        torch.testing.assert_close(seen[0][row].exp(), wanted, atol=small_apart(), rtol=0)


@pytest.mark.parametrize("consistency", [0.0, 2.0])
def test_the_loss_is_the_plain_one_and_the_links(consistency: float) -> None:
    """Without dropout two passes see the same, so R-Drop asks no more of the head."""
    model, batch = FAMILIES[NAME].model(), batch_for(NAME, linked=True).tensors
    with torch.no_grad(), seen_head(model, guided_reading(model)) as seen:
        plain = objective("translate", consistency=consistency)(model, batch, ONCE)
        guided = objective("translate", consistency=consistency, guided_alignment=0.7)(model, batch, ONCE)
    wanted = plain + 0.7 * link_loss(seen[0], batch["links"])
    torch.testing.assert_close(guided, wanted, atol=small_apart(wanted), rtol=0)


def test_a_loss_in_chunks_is_guided_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = batch_for(NAME, linked=True)
    gradients = []
    for held in (losses.HELD, 0):
        monkeypatch.setattr(losses, "HELD", held)
        model = FAMILIES[NAME].model().train()
        Gradients(model, objective("translate", guided_alignment=0.7), CPU, half=False)(batch, batch.words)
        gradients.append(gradients_of(model))
    close(*gradients)


def test_batches_in_parts_and_in_fixed_shapes_have_the_gradients_of_the_whole() -> None:
    found = []
    for parts, fixed in ((1, False), (3, False), (1, True)):
        model, batch = FAMILIES[NAME].model().train(), batch_for(NAME, fixed=fixed, linked=True)
        work = Gradients(model, objective("translate", guided_alignment=0.7), CPU, half=False)
        work.parts = parts
        work(batch, batch.words)
        found.append(gradients_of(model))
    close(found[1], found[0])
    close(found[2], found[0])


def test_half_precision_sees_the_head_in_full() -> None:
    model, batch = FAMILIES[NAME].model().train(), batch_for(NAME, linked=True)
    with torch.autocast("cpu", torch.bfloat16), seen_head(model, guided_reading(model)) as seen:
        forward(model, batch.tensors)
    assert seen[0].dtype == torch.float32
    sums = seen[0].exp().sum(-1)
    torch.testing.assert_close(sums, torch.ones_like(sums), atol=small_apart(), rtol=0)
    work = Gradients(model, objective("translate", guided_alignment=0.7), CPU, half=True)
    assert torch.isfinite(work(batch, batch.words))
    assert all(torch.isfinite(gradient).all() for gradient in gradients_of(model).values())


def test_only_the_head_s_own_query_and_key_and_what_is_below_learn_from_links() -> None:
    model, batch = FAMILIES[NAME].model().train(), batch_for(NAME, linked=True)
    with seen_head(model, guided_reading(model, "decoder.0.cross:1")) as seen:
        forward(model, batch.tensors)
    link_loss(seen[0], batch.tensors["links"]).backward()
    moved = gradients_of(model)
    assert not any(name.startswith(("decoder.1.", "decoder.0.feedforward", "output")) for name in moved)
    rows = moved["decoder.0.cross_attention.q.weight"].abs().sum(1).unflatten(0, (4, -1)).sum(1)
    assert (rows > 0).tolist() == [False, True, False, False]


@pytest.mark.parametrize("consistency", [0.0, 2.0])
def test_what_a_gpu_replays_is_guided_too(consistency: float, graphs: list[FakedGraph]) -> None:
    updates = []
    for kind in (GraphUpdate, Update):
        how = Training(steps=8, warmup=3, guided_alignment=0.7, consistency=consistency)
        model = FAMILIES[NAME].model(dropout=0.2, attention_dropout=0.1).train()
        loss = objective("translate", guided_alignment=0.7, consistency=consistency)
        updates.append(kind(model, how, Gradients(model, loss, CPU, half=False), Workers()))
        updates[-1].optimizer = optimizer_for(model, how, fused=True)
    for step in range(1, 5):
        batch = batch_for(NAME, seed=step, fixed=bool(step % 2), linked=True)
        found = []
        for update in updates:
            torch.manual_seed(step)
            found.append(update(batch, step).clone())
        assert torch.equal(*found)
    assert [graph.replays for graph in graphs] == [2, 2]


def test_the_last_layer_but_one_is_guided_unless_another_head_is_named() -> None:
    model = FAMILIES[NAME].model()
    assert str(guided_reading(model)) == "decoder.0.cross:0:input:end"
    assert str(guided_reading(FAMILIES[NAME].model(decoder_layers=1))) == "decoder.0.cross:0:input:end"
    assert str(guided_reading(model, "decoder.1.cross:3")) == "decoder.1.cross:3:input:end"
    with pytest.raises(UnknownNameError, match=r"decoder\.7\.cross"):
        guided_reading(model, "decoder.7.cross:0")
    with pytest.raises(InputError, match="one head"):
        guided_reading(model, "decoder.1.cross:4")
    with pytest.raises(InputError, match="one head"):
        guided_reading(model, "decoder.1.cross:0+1")
