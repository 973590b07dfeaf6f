"""The table of runs, and what the others say of each."""

from __future__ import annotations

import pytest

from regard.errors import InputError, UnknownNameError
from regard.models import RecurrentConfig
from regard.training.plan.flops import BatchShape
from regard.training.plan.throughput import (
    FittedRates,
    MeasuredRun,
    UpdateWork,
    find_gpu,
    fit,
    gpus,
    left_out,
    measured_runs,
    product_seconds,
    read_data,
    update_seconds,
    work_of,
)

WORK = UpdateWork(12, 1e10, 6e12)


@pytest.mark.parametrize("run", measured_runs(), ids=lambda run: run.name)
def test_every_run_is_foretold_from_the_others_within_a_quarter(run: MeasuredRun) -> None:
    assert left_out(run) == pytest.approx(run.real_seconds, rel=0.25)


def test_runs_are_what_their_sources_say() -> None:
    parameters = {run.name: run.config.parameters() for run in measured_runs()}
    said = {
        "small general En-Fr translator": 14.5e6, "Multi30k En-Fr": 6.8e6, "Multi30k En-De": 6.8e6,
        "larger general En-Fr translator": 52e6, "base on Tatoeba": 61e6,
    }  # fmt: skip
    assert parameters == pytest.approx(said, rel=0.01)
    for run in read_data("measured.toml")["run"]:
        assert {"command", "versions", "gpu", "steps", "group"} <= set(run)
        assert run["gpu"] in gpus()


def test_a_speed_and_a_time_of_one_run_agree() -> None:
    """Where both were written down, one follows from the other by how full batches are."""
    for run in read_data("measured.toml")["run"]:
        if "seconds" in run and "tokens_per_second" in run:
            tokens = run["seconds"] * run["tokens_per_second"] / run["steps"]
            assert 0.8 < tokens / (2 * run["batch_tokens"]) <= 1.0


def test_a_fit_finds_the_rates_that_times_were_made_with() -> None:
    rates = FittedRates(5e-4, 2e-11)
    runs = [
        MeasuredRun(run.name, run.group, run.gpu, run.steps, run.batch_tokens, run.config, run.consistency,
                    run.steps * update_seconds(run.work, run.gpu, rates))
        for run in measured_runs()
    ]  # fmt: skip
    assert fit(runs) == pytest.approx(rates)


def test_no_rate_is_negative() -> None:
    runs = [
        MeasuredRun(run.name, run.group, run.gpu, run.steps, run.batch_tokens, run.config, run.consistency,
                    run.steps * product_seconds(run.work, run.gpu) * (1 + number))
        for number, run in enumerate(measured_runs())
    ]  # fmt: skip
    assert min(fit(runs)) >= 0


def test_another_gpu_goes_by_its_bandwidth_and_peak() -> None:
    h200, h100, rates = find_gpu("h200"), find_gpu("H100"), FittedRates(1e-3, 1e-11)
    assert update_seconds(WORK, h100, FittedRates(0, 1e-11)) - product_seconds(WORK, h100) == pytest.approx(
        0.1 / h100.bandwidth
    )
    assert product_seconds(WORK, find_gpu("a100")) == pytest.approx(
        product_seconds(WORK, h200) * h200.tflops / find_gpu("a100").tflops
    )
    assert update_seconds(WORK, h100, rates) > update_seconds(WORK, h200, rates)
    alone, eight = update_seconds(WORK, h200, rates), update_seconds(WORK, h200, rates, 8)
    assert eight - 12e-3 == pytest.approx((alone - 12e-3) / 8)


def test_an_unknown_gpu_is_answered_with_the_known() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'h200'"):
        find_gpu("h20")
    assert all(gpu.tflops > 0 and gpu.bandwidth > 0 and gpu.watts > 0 and gpu.memory > 0 for gpu in gpus().values())


def test_what_nobody_measured_is_refused() -> None:
    with pytest.raises(InputError, match="recurrent"):
        work_of(RecurrentConfig(), BatchShape(1, 2, 3))
