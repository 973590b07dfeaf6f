"""What moves the weights, and the averages that are kept of them."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from regard.models import build
from regard.training.loop.checkpoint_files import checkpoints, read_state
from regard.training.optim.gradients import Gradients
from regard.training.optim.optimizer import Average, moments, optimizer_for, restore_moments
from regard.training.optim.updates import Update
from regard.training.optim.workers import Workers
from regard.training.recipe.recipe import Training
from tests.families import FAMILIES
from tests.training_cases import TINY, go
from tests.update_cases import CPU, batch_for, close, objective


def test_matrices_decay_and_nothing_else() -> None:
    model = FAMILIES["transformer post"].model()
    optimizer = optimizer_for(model, Training(weight_decay=0.5))
    decayed = {id(p) for group in optimizer.param_groups if group["weight_decay"] for p in group["params"]}
    names = {name for name, p in model.named_parameters() if id(p) in decayed}
    assert names
    assert all(dict(model.named_parameters())[name].ndim == 2 for name in names)
    assert not any("embed" in name or "norm" in name or "bias" in name for name in names)
    every = {id(p) for group in optimizer.param_groups for p in group["params"]}
    assert every == {id(p) for p in model.parameters()}


def test_the_memory_of_the_optimizer_comes_back_by_name() -> None:
    model, batch = FAMILIES["transformer separate"].model(), batch_for("transformer separate")
    how = Training(warmup=0)

    def fresh(weights: nn.Module) -> Update:
        return Update(weights, how, Gradients(weights, objective("translate"), CPU, half=False), Workers())

    first = fresh(model)
    for step in (1, 2):
        first(batch, step)
    other = build(model.config)
    other.load_state_dict(model.state_dict())
    other.eval()
    second = fresh(other)
    kept = {name: tensor.clone() for name, tensor in moments(first.optimizer, model).items()}
    restore_moments(second.optimizer, other, kept)
    first(batch, 3), second(batch, 3)
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), other.parameters(), strict=True))


def test_the_moving_average_is_the_recursion_by_hand() -> None:
    model = nn.Linear(2, 2)
    average = Average(model, 0.9)
    by_hand = {name: p.detach().clone() for name, p in model.named_parameters()}
    for step in range(1, 200):
        with torch.no_grad():
            for p in model.parameters():
                p.add_(torch.randn_like(p))
        average.update(average.share(step))
        keep = min(0.9, (1 + step) / (10 + step))
        by_hand = {name: keep * by_hand[name] + (1 - keep) * p.detach() for name, p in model.named_parameters()}
    close(average.tensors(), by_hand)
    live = {name: p.detach().clone() for name, p in model.named_parameters()}
    average.swap()
    close(dict(model.named_parameters()), by_hand)
    average.swap()
    assert all(torch.equal(live[name], p) for name, p in model.named_parameters())


def test_the_average_stands_in_the_folder_and_the_live_weights_in_the_checkpoint(corpus: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    go(corpus, tmp_path, TINY, {"training.average": "moving", "training.decay": 0.5, "training.select": "end"})
    tensors = read_state(checkpoints(tmp_path / "checkpoints")[0])[1]
    for name, tensor in load_file(tmp_path / "model.safetensors").items():
        assert torch.equal(tensor, tensors[f"average/{name}"])
    assert any(
        not torch.equal(t, tensors[name.replace("average/", "model/")])
        for name, t in tensors.items()
        if "average/" in name
    )


def test_the_last_checkpoints_are_averaged(corpus: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    how = {"training.average": "last", "training.last": 3, "training.checkpoint_every": 2, "training.validate_every": 5}
    go(corpus, tmp_path, TINY, how)
    kept = checkpoints(tmp_path / "checkpoints")
    assert [path.name for path in kept] == ["step-000010", "step-000008", "step-000006"]
    states = [read_state(path)[1] for path in kept]
    for name, tensor in load_file(tmp_path / "model.safetensors").items():
        mean = torch.stack([state[f"model/{name}"].double() for state in states]).mean(0)
        torch.testing.assert_close(tensor, mean.float())
