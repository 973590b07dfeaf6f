"""Which layers of a fine-tuned model learn when, and how fast."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.training.optim.gradients import Gradients
from regard.training.optim.layer_rates import levels_of, share_at
from regard.training.optim.optimizer import optimizer_for, set_rates
from regard.training.optim.schedule import rate_at
from regard.training.optim.updates import Update
from regard.training.optim.workers import Workers
from regard.training.recipe.recipe import Training
from tests.families import FAMILIES
from tests.update_cases import CPU, TASKS, batch_for, objective

STACKED = [name for name in TASKS if FAMILIES[name].config.family != "recurrent"]
TOP = {"encoder_norm", "decoder_norm", "norm", "output", "pooler", "class_head", "mask_head"}
HOW: dict[str, Any] = {"steps": 12, "warmup": 0, "rate": 0.01, "schedule": "constant", "weight_decay": 0.5}


def levels_by_name(model: Any) -> dict[str, int]:
    levels = levels_of(model)
    return {name: levels[id(weight)] for name, weight in model.named_parameters()}


@pytest.mark.parametrize("name", STACKED)
def test_heads_stand_above_the_layers_and_words_below_them(name: str) -> None:
    levels = levels_by_name(FAMILIES[name].model())
    above = int(any(weight.split(".")[0] in TOP for weight in levels))  # 0 where words are the output, and no norm is
    for weight, level in levels.items():
        first, *rest = weight.split(".")
        if first in ("blocks", "encoder", "decoder"):
            assert level == above + 1 - int(rest[0])  # of two layers the upper has the number 1
        else:
            assert level == (0 if first in TOP else above + 2)


def test_stacks_of_other_depths_are_each_counted_from_their_own_top() -> None:
    levels = levels_by_name(FAMILIES["transformer apart"].model())  # one layer that reads, two that write
    assert levels["encoder.0.self_attention.out.weight"] == levels["decoder.1.self_attention.out.weight"] == 1
    assert levels["decoder.0.self_attention.out.weight"] == 2
    assert levels["source.table.weight"] == levels["target.table.weight"] == 3


def test_layers_begin_one_after_the_other_and_learn_less_the_lower_they_are() -> None:
    how = Training(**HOW, unfreeze=0.75, layer_decay=0.5)
    shares = [[share_at(step, level, 3, how) for level in range(4)] for step in (1, 2, 3, 5, 6, 8, 9, 12)]
    top, one, two, three = [1, 0, 0, 0], [1, 0.5, 0, 0], [1, 0.5, 0.25, 0], [1, 0.5, 0.25, 0.125]
    assert shares == [top, top, one, one, two, two, three, three]


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
@pytest.mark.parametrize("fused", [False, True])
def test_every_weight_has_the_rate_of_its_level(optimizer: Any, fused: bool) -> None:
    model, how = FAMILIES["encoder class"].model(), Training(**HOW, optimizer=optimizer, unfreeze=0.5, layer_decay=0.4)
    groups, levels = optimizer_for(model, how, fused=fused), levels_of(model)
    set_rates(groups, 4, how)
    rates = {id(weight): float(group["lr"]) for group in groups.param_groups for weight in group["params"]}
    wanted = {0: 0.01, 1: 0.01 * 0.4, 2: 0.01 * 0.4**2, 3: 0.0}
    assert rates.keys() == levels.keys()
    for number, rate in rates.items():
        assert rate == pytest.approx(wanted[levels[number]], rel=1e-6)  # a recorded step has it in float32


def test_without_these_settings_all_is_as_it_was() -> None:
    model, how = FAMILIES["encoder class"].model(), Training(**{**HOW, "warmup": 9, "schedule": "cosine"})
    optimizer = optimizer_for(model, how)
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.5, 0.0]
    for step in (1.0, 8.5, 11.0):
        set_rates(optimizer, step, how)
        assert {group["lr"] for group in optimizer.param_groups} == {rate_at(step, how)}


@pytest.mark.parametrize("name", STACKED)
def test_what_is_frozen_stands_still_to_the_last_bit_until_its_step(name: str) -> None:
    model = FAMILIES[name].model()
    how, levels = Training(**HOW, unfreeze=0.75), levels_by_name(model)
    update = Update(model, how, Gradients(model, objective(TASKS[name]), CPU, half=False), Workers())
    before = copied(model)
    began: dict[int, int] = {}
    for step in range(1, 13):
        update(batch_for(name, seed=step), step)
        for weight, tensor in copied(model).items():
            if not torch.equal(tensor, before[weight]):
                began.setdefault(levels[weight], step)
    assert began == ({0: 1, 1: 3, 2: 6, 3: 9} if max(levels.values()) == 3 else {0: 1, 1: 5, 2: 9})


def copied(model: Any) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}
