"""Every token of a text is foretold once, and costs what it costs by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import regard
from benchmarks import peers
from regard.errors import InputError
from regard.tasks import Generator
from regard.training.evaluate import (
    evaluate,
    read_data,
)
from regard.training.evaluate.next_words import stream, windows
from tests.bounds import small_apart
from tests.broken_weights import with_nan
from tests.evaluation_cases import Folders, written


@given(st.integers(1, 60), st.integers(1, 17))
def test_every_token_is_foretold_once_with_half_a_window_before_it(tokens: int, size: int) -> None:
    foretold: list[int] = []
    for one in windows(tokens, size):
        assert one.last - one.first <= size
        for place in range(one.first + one.known, one.last):
            foretold.append(place + 1)
            assert one.first == 0 or place + 1 - one.first > size // 2
    assert foretold == list(range(1, tokens + 1))


def test_a_short_text_costs_what_transformers_says(folders: Folders, tmp_path: Path) -> None:
    generator = regard.load(folders["gpt2"], "cpu")
    assert isinstance(generator, Generator)
    found = evaluate(generator, read_data(written(tmp_path / "text", "w1 w2 w3", "", "w4 w5")))
    ids = torch.tensor([[peers.END, *(number + 6 for number in (1, 2, 3, 4, 5))]])
    assert stream(generator, ["w1 w2 w3", "", "w4 w5"]) == ids[0].tolist()
    with torch.no_grad():
        loss = float(peers.gpt2(1, 1.6, n_positions=16)(ids, labels=ids).loss)
    assert found["nats_per_token"] == pytest.approx(loss, abs=small_apart(5.0))
    assert found["perplexity"] == pytest.approx(math.exp(loss), rel=small_apart(5.0))
    characters = len("w1 w2 w3\n\nw4 w5\n")
    assert found["nats_per_character"] == pytest.approx(5 * loss / characters, abs=small_apart(5.0))
    assert found.scores[0].signature == f"window:16|overlap:8|tokens:5|characters:{characters}"
    assert found.baselines["nats_per_token"] == math.log(40)


@pytest.mark.parametrize(("window", "batch"), [(None, None), (None, 1), (6, 3), (7, 2), (1, None), (99, None)])
def test_a_long_text_is_read_in_windows(
    window: int | None, batch: int | None, folders: Folders, tmp_path: Path
) -> None:
    generator = regard.load(folders["gpt2"], "cpu")
    assert isinstance(generator, Generator)
    texts = peers.sentences(8, 12)
    heard: list[tuple[int, int]] = []
    found = evaluate(
        generator, read_data(written(tmp_path / "text", *texts)), window=window, batch=batch,
        on_progress=lambda *how: heard.append(how),
    )  # fmt: skip
    ids, size, nats, reach = stream(generator, texts), min(window or 16, 16), 0.0, 0
    half = size // 2
    for place in range(1, len(ids)):
        if place > reach:
            reach = size if not reach else reach + size - half
        seen = ids[max(0, reach - size) : place]
        with torch.no_grad():
            nats -= float(generator.model(torch.tensor([seen]))[0, -1].log_softmax(-1)[ids[place]])
    assert found["nats_per_token"] == pytest.approx(nats / (len(ids) - 1), abs=small_apart(5.0))
    assert found.count == len(ids) - 1
    assert heard[-1] == (found.count, found.count)
    assert heard == sorted(heard)


def test_a_model_that_knows_nothing_is_the_baseline(folders: Folders, tmp_path: Path) -> None:
    for name in ("gpt2", "masks"):
        task = regard.load(folders[name], "cpu")
        with torch.no_grad():
            for tensor in task.model.parameters():
                tensor.zero_()
        found = evaluate(task, read_data(written(tmp_path / "text", *peers.sentences(9, 20))))
        for score in ("nats_per_token", "perplexity"):
            assert found[score] == pytest.approx(found.baselines[score], rel=small_apart(5.0))


def test_a_model_with_nan_in_its_weights_gets_no_table(folders: Folders, tmp_path: Path) -> None:
    generator = regard.load(folders["gpt2"], "cpu")
    message = with_nan(generator.model)
    with pytest.raises(InputError, match=message):
        evaluate(generator, read_data(written(tmp_path / "text", "w1 w2", "w3")))


def test_a_token_that_never_comes_costs_without_end(folders: Folders, tmp_path: Path) -> None:
    """A logit of -inf bans an id, and is nothing wrong."""
    generator = regard.load(folders["gpt2"], "cpu")
    generator.model.register_forward_hook(lambda *given: given[-1].index_fill(-1, torch.tensor([7]), -math.inf))
    scores = evaluate(generator, read_data(written(tmp_path / "text", "w1 w2", "w3")))
    assert scores["nats_per_token"] == math.inf
