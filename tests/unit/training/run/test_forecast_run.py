"""What a run will take, from its recipe alone or from its text."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from regard.errors import FileError, InputError
from regard.training.plan.forecast import EFFICIENCY, Forecast, Prices
from regard.training.plan.throughput import COMPILED
from regard.training.recipe.resolve import Request
from regard.training.run.forecast_run import forecast_run

TINY = [
    "data.train=grammar:train:300", "data.valid=grammar:valid:20", "data.test={}", "tokenizer.vocabulary=300",
    "model.dim=16", "model.heads=2", "model.feedforward=16", "model.encoder_layers=1", "model.decoder_layers=1",
    "training.steps=40", "training.batch_tokens=256",
]  # fmt: skip


def foretold(recipe: str = "multi30k-en-fr", *settings: str, base: Path = Path("nowhere"), **more: Any) -> Forecast:
    return forecast_run(Request(recipe, base, list(settings)), **{"gpu": "h200", **more})


def test_a_run_that_was_made_is_foretold_without_its_text() -> None:
    forecast = foretold()
    assert forecast.parameters == 6_807_552
    assert forecast.seconds == pytest.approx(138, rel=0.25)
    assert forecast.epochs is None
    assert any("assumed, since it is not here" in line for line in forecast.basis)
    assert forecast.kwh == pytest.approx(0.7 * forecast.seconds / 3600)
    assert forecast.cost == {}


def test_prices_are_those_that_were_given() -> None:
    forecast = foretold(count=4, prices=Prices(hour=2.0, kwh=0.5))
    hours = 4 * forecast.seconds / 3600
    assert forecast.kwh == pytest.approx(0.7 * hours)
    assert forecast.cost == pytest.approx({"machine": 2.0 * hours, "energy": 0.5 * 0.7 * hours})


def test_a_power_that_was_given_counts_for_gpus_too() -> None:
    forecast = foretold(count=4, prices=Prices(watts=300.0))
    assert forecast.kwh == pytest.approx(0.3 * 4 * forecast.seconds / 3600)
    assert any("300 W" in line for line in forecast.basis)


def test_more_of_it_takes_longer_and_assumptions_are_called_so() -> None:
    one, half = foretold(), foretold("multi30k-en-fr", "training.steps=6000")
    assert half.seconds == pytest.approx(one.seconds / 2)
    assert half.flops == pytest.approx(one.flops / 2)
    once = foretold("multi30k-en-fr", "training.consistency=0")
    assert once.flops == pytest.approx(one.flops / 2)
    assert once.tokens == one.tokens
    other = foretold(gpu="a100")
    assert other.seconds > one.seconds
    assert not any("assumed, not measured" in line for line in one.basis)
    assert any("NVIDIA A100" in line and "assumed, not measured" in line for line in other.basis)
    two = foretold(count=2)
    assert one.seconds / 2 < two.seconds < one.seconds / EFFICIENCY
    assert two.memory.activations == one.memory.activations / 2
    assert any("2 GPUs" in line and "assumed, not measured" in line for line in two.basis)
    compiled = foretold("multi30k-en-fr", "training.compile=true")
    assert compiled.seconds == pytest.approx(one.seconds / COMPILED)


def test_the_other_families() -> None:
    forecast = foretold("lm-shakespeare", gpu="h200")
    assert any("decoder goes at the rates of translators" in line for line in forecast.basis)
    assert foretold("classify-sst2").flops > 0
    with pytest.raises(InputError, match="recurrent"):
        foretold("multi30k-en-fr-rnn")


def test_text_that_is_here_is_read() -> None:
    forecast = foretold("grammar-tiny", *TINY)
    assert forecast.epochs is not None
    assert any("rows as they are here" in line for line in forecast.basis)
    assert 0 < forecast.tokens <= 40 * 2 * 256


def test_this_machine_is_measured() -> None:
    """The time hangs on the machine; all else does not."""
    forecast = foretold("grammar-tiny", *TINY, gpu="cpu", prices=Prices(kwh=0.5))
    assert math.isfinite(forecast.seconds)
    assert forecast.seconds > 0
    assert forecast.machine == "this machine's CPU"
    assert "measured here and now" in forecast.basis[0]
    assert (forecast.kwh, forecast.cost) == (None, {})
    watts = foretold("grammar-tiny", *TINY, gpu="cpu", prices=Prices(kwh=0.5, watts=100.0))
    assert watts.kwh == pytest.approx(watts.seconds * 0.1 / 3600)
    assert forecast.parameters == foretold("grammar-tiny", *TINY).parameters


def test_what_cannot_be_foretold_says_what_to_do() -> None:
    with pytest.raises(FileError) as error:
        foretold(gpu=None)
    assert "--data DIR" in error.value.do
    assert "--gpu NAME" in error.value.do
    with pytest.raises(InputError, match="budget of minutes"):
        foretold("multi30k-en-fr", "training.minutes=5")
    with pytest.raises(InputError, match="only one"):
        foretold(gpu=None, count=2)
    with pytest.raises(InputError, match="did you mean 'h100'"):
        foretold(gpu="h10")


def test_a_forecast_as_json_has_its_totals() -> None:
    forecast = foretold()
    data = forecast.to_dict()
    assert data["memory"]["total"] == pytest.approx(sum(forecast.memory))
    assert data["tokens_per_second"] == pytest.approx(forecast.tokens / forecast.seconds)
