"""Many prompts go through a generator in batches, and what a text becomes does not hang on its neighbours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import peers
from regard.decoding.sampling import text_seed
from regard.tasks import Generator, load
from regard.tasks.generator import POSITIONS, SIDE_BY_SIDE

MANY = 5 * SIDE_BY_SIDE


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    peers.save(peers.gpt2(1, gain=1.6), root / "greedy", "gpt2")
    peers.save(peers.gpt2(1, gain=1.6), root / "beams", "gpt2", num_beams=64)
    return {path.name: path for path in root.iterdir()}


def loaded(folder: Path) -> Generator:
    task = load(folder, "cpu")
    assert isinstance(task, Generator)
    return task


def shapes(task: Generator) -> list[tuple[int, int]]:
    """Rows and positions of each call of the model from now on."""
    seen: list[tuple[int, int]] = []
    task.model.register_forward_pre_hook(lambda _, given: seen.append(tuple(given[0].shape)))
    return seen


def prompts(count: int) -> list[str]:
    return [f"w{number % 9 + 1} w{number % 7 + 1}" + " w3" * (number % 2) for number in range(count)]


@pytest.mark.parametrize("how", [{}, {"temperature": 1.0}])
def test_no_call_sees_more_than_a_batch(folders: dict[str, Path], how: dict[str, Any]) -> None:
    task = loaded(folders["greedy"])
    seen = shapes(task)
    texts = task.generate(prompts(MANY), 3, **how)
    assert max(rows for rows, _ in seen) == SIDE_BY_SIDE
    assert all(text.startswith(prompt) for text, prompt in zip(texts, prompts(MANY), strict=True))


def test_beams_count_too(folders: dict[str, Path]) -> None:
    task = loaded(folders["beams"])
    seen = shapes(task)
    task.generate(prompts(40), 2)
    assert max(rows for rows, _ in seen) == 1024  # 16 prompts, 64 beams each


def test_so_do_positions(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    task, batches = loaded(folders["greedy"]), []

    def decode(prompts: list[list[int]], *_: Any) -> list[list[int]]:
        batches.append(len(prompts))
        return [[1]] * len(prompts)

    monkeypatch.setattr(task.model, "config", replace(task.model.config, positions="none"))
    monkeypatch.setattr(task, "decode", decode)
    task.go_on(prompts(20), POSITIONS // 8)
    assert max(batches) == 7  # an eighth each, and the prompt
    batches.clear()
    task.go_on(prompts(3), 100_000)
    assert batches == [1, 1, 1]


@pytest.mark.parametrize("how", [{}, {"temperature": 2.0, "seed": 3}, {"temperature": 2.0, "top_k": 20}])
def test_a_text_does_not_hang_on_its_batch(folders: dict[str, Path], how: dict[str, Any]) -> None:
    task = loaded(folders["greedy"])
    given = prompts(24)
    found = task.generate(given, 8, **how)
    for batch in (1, 5):
        task.batch = batch
        assert task.generate(given, 8, **how) == found
    assert task.generate(given[:9], 8, **how) == found[:9]  # nor on what comes after it
    assert task.generate(given[0], 8, **how) == found[0]


def test_equal_prompts_are_drawn_apart_and_so_are_seeds(folders: dict[str, Path]) -> None:
    task = loaded(folders["greedy"])
    task.batch = 4
    drawn = [text for seed in range(3) for text in task.generate(["w1 w2"] * 10, 12, temperature=3.0, seed=seed)]
    assert len(set(drawn)) == 30


def test_seeds_of_texts() -> None:
    """The first has the seed itself; no two of the others meet, of this seed or of its neighbours."""
    assert [text_seed(seed, 0) for seed in (0, 7, -3)] == [0, 7, -3]
    seeds = {text_seed(seed, number) for seed in range(20) for number in range(50)}
    assert len(seeds) == 20 * 50
