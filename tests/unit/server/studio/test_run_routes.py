"""Training runs: curves, samples, and the model of a checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from fastapi.testclient import TestClient

from regard.interop.folders import shipped
from regard.server.studio.catalogue import StudioCatalogue
from tests.studio_cases import CAT, close, get, look, numbers, post, run_folder, sentence, studio_client

SITE = "encoder.0.self"


def ships() -> list[str]:
    """The models that ship with the log of their training."""
    return [name for name, folder in shipped().items() if (folder / "log.jsonl").is_file()]


def test_runs_are_those_in_the_folder_and_those_that_ship(client: TestClient) -> None:
    runs = {run["name"]: run for run in get(client, "runs")}
    assert set(runs) == {*ships(), "half"}  # and not what a link in the folder leads to
    assert runs["half"] == {
        "name": "half", "status": "running", "step": 40, "steps": 40, "family": "transformer", "best": 12.5,
        "measure": "bleu",
    }  # fmt: skip
    assert (runs["grammar"]["status"], runs["grammar"]["best"]) == ("finished", pytest.approx(100.0))


def test_curves_leave_out_what_is_no_number(client: TestClient) -> None:
    curves = get(client, "runs/half/curves")
    series = {one["name"]: one["points"] for one in curves["series"]}
    assert series["loss"] == [[10, 10.0], [20, 5.0], [40, 2.5]]
    assert series["valid bleu"] == [[20, 12.5], [40, 11.0]]
    assert [sample["output"] for sample in curves["samples"]] == ["<b>20</b>", "<b>40</b>"]
    assert curves["checkpoints"] == [{"step": 10, "name": "step-000010"}, {"step": 20, "name": "model"}]


def test_a_checkpoint_has_weights_of_its_own(client: TestClient) -> None:
    model = post(client, "runs/half/looks", checkpoint="model", text=CAT, target="Le chat dort.")
    early = post(client, "runs/half/looks", checkpoint="step-000010", text=CAT, target="Le chat dort.")
    assert (model["model"], early["model"]) == ("half at model", "half at step-000010")
    then, _ = numbers(client, f"looks/{early['id']}/weights", site=SITE)
    now, _ = numbers(client, f"looks/{model['id']}/weights", site=SITE)
    same, _ = numbers(client, f"looks/{look(client, CAT, 'half', target='Le chat dort.')['id']}/weights", site=SITE)
    close(now, same)
    assert not torch.allclose(then, now, atol=1e-3)
    effect = post(client, "effects", look=early["id"], changes=[])
    assert effect["before"]["tokens"]


@pytest.mark.parametrize("name", ["../half", "nowhere", "half%2f..%2fhalf", "%2e%2e"])
def test_a_name_is_no_path(client: TestClient, name: str) -> None:
    sentence(client.get(f"/api/runs/{name}/curves"), 404)
    asked = {"checkpoint": "../../model", "text": CAT}
    assert "no checkpoint" in sentence(client.post("/api/runs/half/looks", json=asked), 404)


def test_runs_that_come_later_are_there(tmp_path: Path) -> None:
    with studio_client(StudioCatalogue.of([], tmp_path)) as client:
        assert [run["name"] for run in get(client, "runs")] == ships()
        run_folder(tmp_path / "new")
        assert [run["name"] for run in get(client, "runs")] == [*ships(), "new"]
        assert [model["name"] for model in get(client, "studio")["models"]] == [*shipped(), "new"]
        (tmp_path / "empty").mkdir()
        (tmp_path / "empty" / "log.jsonl").write_text("no JSON\n")
        assert get(client, "runs/empty/curves")["checkpoints"] == []
