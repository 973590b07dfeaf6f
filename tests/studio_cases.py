"""A studio to ask: models of several kinds, a recording, a run with a checkpoint, and numbers read from its answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fastapi.testclient import TestClient

import regard
from regard.interop.folders import shipped
from regard.models import load_model, save_model
from regard.models.checkpoint import own_tensors
from regard.server.studio.catalogue import StudioCatalogue
from regard.server.studio.studio_app import StudioOptions, create_studio
from regard.training.loop.checkpoint_files import Position, save_state

LOCAL = "http://127.0.0.1"
TIRED = "The animal didn't cross the street because it was too tired."
CAT = "The cat sleeps."
WORDS = "w1 w2 w3 w2 w1"  # in the tokenizers of `tests.subjects`


@contextmanager
def studio_client(catalogue: StudioCatalogue, options: StudioOptions | None = None) -> Iterator[TestClient]:
    """Whoever asks from this machine; what the server fails at is an answer, and no exception."""
    with TestClient(create_studio(catalogue, options), base_url=LOCAL, raise_server_exceptions=False) as client:
        yield client


def look(client: TestClient, text: str = TIRED, model: str = "grammar", **more: Any) -> dict[str, Any]:
    """A model reads a text; what the look is."""
    answer = client.post("/api/looks", json={"model": model, "text": text, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def get(client: TestClient, path: str, **fields: Any) -> Any:
    """The JSON of an answer."""
    answer = client.get(f"/api/{path}", params=fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


def post(client: TestClient, path: str, **fields: Any) -> Any:
    answer = client.post(f"/api/{path}", json=fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


def numbers(client: TestClient, path: str, **fields: Any) -> tuple[torch.Tensor, dict[str, Any]]:
    """The numbers of a binary answer, and what is said of them."""
    answer = client.get(f"/api/{path}", params=fields)
    assert answer.status_code == 200, answer.text
    return read_numbers(answer), json.loads(answer.headers["X-Meta"])


def read_numbers(answer: Any) -> torch.Tensor:
    kind = np.dtype("<f2" if answer.headers["X-Dtype"] == "float16" else "<f4")
    shape = [int(size) for size in answer.headers["X-Shape"].split(",")]
    return torch.from_numpy(np.frombuffer(answer.content, kind).astype(np.float32).reshape(shape))


def sentence(answer: Any, status: int) -> str:
    """The one sentence of a refusal."""
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert list(body) == ["error"]
    assert "\n" not in body["error"]
    return str(body["error"])


def recording(folder: Path, text: str = CAT) -> Path:
    """What the model that ships does with a text, in a file."""
    task = regard.load("grammar", "cpu")
    with regard.watch(task) as seen:
        task.translate([text], beams=1)
    path = folder / "cat.regard"
    seen.save(path)
    return path


def run_folder(folder: Path) -> Path:
    """A run that has validated twice, with a checkpoint whose weights are half of those that are kept."""
    ships = shipped()["grammar"]
    model = load_model(ships)
    save_model(model, folder)
    (folder / "tokenizer.json").write_bytes((ships / "tokenizer.json").read_bytes())
    halves = {f"model/{name}": tensor.detach() / 2 for name, tensor in own_tensors(model).items()}
    save_state(folder / "checkpoints", Position(step=10), halves, keep=3)
    rows = [{"event": "started", "step": 0, "steps": 40, "parameters": 3, "device": "cpu", "recipe": ""}]
    rows += [step_row(step) for step in range(10, 50, 10)]
    rows += [validation_row(20, 12.5, best=True), validation_row(40, 11.0, best=False)]
    (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "run.json").write_text(json.dumps({"status": "running", "step": 40}), encoding="utf-8")
    return folder


def step_row(step: int) -> dict[str, Any]:
    loss = float("nan") if step == 30 else 100 / step
    return {"event": "step", "step": step, "loss": loss, "rate": 0.001, "seconds": step, "tokens_per_second": 7.0}


def validation_row(step: int, bleu: float, *, best: bool) -> dict[str, Any]:
    sample = {"source": CAT, "reference": "Le chat dort.", "output": f"<b>{step}</b>"}
    return {
        "event": "valid", "step": step, "seconds": 1.0, "scores": {"loss": 2.0, "bleu": bleu}, "best": best,
        "samples": [sample],
    }  # fmt: skip


def close(values: Sequence[float] | torch.Tensor, expected: torch.Tensor) -> None:
    """Equal, but for the order in which float32 was summed: exponentials of scores of some tens of ulps."""
    torch.testing.assert_close(torch.as_tensor(values, dtype=torch.float64), expected.double(), rtol=1e-4, atol=1e-5)
