"""What a run began with: weights that no file keeps, drawn again by its seed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from fastapi.testclient import TestClient

from regard.models import load_model
from regard.server.studio.catalogue import StudioCatalogue
from regard.server.studio.model_shelf import ModelShelf
from tests.studio_cases import CAT, get, numbers, post, sentence, studio_client
from tests.training_cases import TINY, go, write_rows  # fmt: skip
from tests.training_cases import numbers as pairs

FRENCH = "Le chat dort."
STILL = {
    "training.steps": 1, "training.rate": 1e-9, "training.warmup": 0, "training.weight_decay": 0.0,
    "training.validate_every": 1, "training.checkpoint_every": 1, "training.seed": 7,
}  # fmt: skip


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has learned next to nothing: its weights are still those that it began with."""
    root = tmp_path_factory.mktemp("runs")
    corpus = write_rows(root / "text" / "pairs.tsv", pairs(40))
    go(corpus, root / "runs" / "still", TINY, STILL)
    return root / "runs" / "still"


def test_it_is_what_training_begins_with(still: Path) -> None:
    started = ModelShelf(StudioCatalogue.of([], still.parent)).subject(("still", "start")).reader.model.state_dict()
    trained = load_model(still).state_dict()
    assert started.keys() == trained.keys()
    for name, tensor in trained.items():
        torch.testing.assert_close(started[name].float(), tensor.float(), rtol=0, atol=1e-3)
    assert max(float(tensor.float().std()) for tensor in trained.values() if tensor.numel() > 1) > 0.01


def test_a_run_of_what_ships_is_followed_from_there(client: TestClient) -> None:
    checkpoints = get(client, "runs/grammar/curves")["checkpoints"]
    assert [one["name"] for one in checkpoints] == ["start", "model"]
    assert checkpoints[0]["step"] == 0 < checkpoints[1]["step"]
    looks = [
        post(client, "runs/grammar/looks", checkpoint=one, text=CAT, target=FRENCH)["id"] for one in ("start", "model")
    ]
    then, now = (numbers(client, f"looks/{one}/weights", site="decoder.2.cross")[0] for one in looks)
    torch.testing.assert_close(then.sum(-1), torch.ones_like(then[..., 0]), rtol=0, atol=1e-5)
    assert float(now.max()) > 0.9 > float(then.max()) + 0.2  # it has learned where to look


def test_a_run_that_began_with_another_model_or_has_no_recipe_has_none(still: Path, tmp_path: Path) -> None:
    for name, change in (("tuned", lambda text: f'start = "elsewhere"\n{text}'), ("broken", lambda _: "steps = ")):
        folder = tmp_path / name
        folder.mkdir()
        for file in still.iterdir():
            if file.is_file():
                (folder / file.name).write_bytes(file.read_bytes())
        recipe = folder / "recipe.toml"
        recipe.write_text(change(recipe.read_text(encoding="utf-8")), encoding="utf-8")
    with studio_client(StudioCatalogue.of([], tmp_path)) as client:
        for name in ("tuned", "broken"):
            assert [one["name"] for one in get(client, f"runs/{name}/curves")["checkpoints"]] == ["model"]
            refused = client.post(f"/api/runs/{name}/looks", json={"checkpoint": "start", "text": CAT})
            assert "no checkpoint" in sentence(refused, 404)
