"""What the kernels compute, through Triton's interpreter: `test_kernels.py` runs this file in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.unit.attention.kernels import interpreter  # first: it tells Triton to interpret

from regard.attention import attend, received, tile  # isort: skip
from regard.attention.kernels import launches, trial  # isort: skip
from regard.attention.kernels.operands import traits_of  # isort: skip
from tests import oracle  # isort: skip
from tests.attention_cases import CASES, NOWHERE, Case, coin, drawer, holed, make, normal, numpy, run_backend  # isort: skip
from tests.contract.test_backends import twice_the_plain_error, worst  # isort: skip
from tests.contract.test_statistics import check, check_fields, second_pass, tolerance  # isort: skip

HALVES = (torch.bfloat16, torch.float16)
LONG: dict[str, Any] = {"batch": (), "heads": 2, "served": 1, "queries": 41, "keys": 53, "dim": 20, "value_dim": 12}
ROWS = torch.arange(41)[:, None]
LONGER = [
    make("blocks", **LONG),
    make("blocks, causal", **LONG, causal=True),
    make("blocks, offset 0", **LONG, causal=True, offset=0),
    make("blocks, before all keys", **LONG, causal=True, offset=-30),
    make("blocks, behind all keys", **LONG, offset=60),
    make("blocks, window", **LONG, window=(9, 20)),
    make("blocks, window to the left", **LONG, window=(21, None), causal=True),
    make("blocks, window far off", **LONG, window=(3, 3), offset=40),
    make("blocks, window to the right", **LONG, window=(None, 18), offset=-5),
    make("blocks, padding", **LONG, causal=True, mask=torch.arange(53) > 18),
    make("blocks, a mask of cells", **LONG, mask=coin(2, 41, 53)),
    make("blocks, a bias of cells, sinks", **LONG, bias=holed(41, 53), sinks=normal(2), causal=True),
    make("blocks, softcap", **LONG, softcap=3.0, spread=2.0, window=(None, 4)),
    make("blocks, large scores", **LONG, spread=12.0, causal=True),
]  # fmt: skip


@pytest.fixture(autouse=True)
def poisoned() -> Iterator[None]:
    """Tensors begin as NaN, or as the largest whole number, so that what nobody writes is found."""
    interpreter.trust()
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture(autouse=True)
def launched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that a test launched."""
    names: list[str] = []
    launch = launches.launch

    def noted(kernel: Any, *rest: Any) -> None:
        names.append(kernel.__name__)
        launch(kernel, *rest)

    monkeypatch.setattr(launches, "launch", noted)
    return names


def in_some_dtype(cases: list[Case]) -> list[Case]:
    """Each case in float32, and every fourth in half precision, the two in turn. float64 is not the kernels'."""
    halves = [case.to(HALVES[index % 2]) for index, case in enumerate(cases[::4])]
    cases = [case.to(torch.float32) for case in cases] + halves
    return [case for case in cases if torch.float64 not in (case.query.dtype, case.key.dtype, case.value.dtype)]


def name(case: Case) -> str:
    return f"{case}-{str(case.query.dtype).removeprefix('torch.')}"


with_case = pytest.mark.parametrize("case", in_some_dtype([*CASES, *LONGER]), ids=name)
with_some = pytest.mark.parametrize("case", in_some_dtype([*CASES[::8], *LONGER]), ids=name)


@with_case
def test_output_and_every_field(case: Case, launched: list[str]) -> None:
    output, statistics = attend(case.query, case.key, case.value, **case.options, see="stats")
    check_fields(case, statistics)
    # In float32 the plain steps may be luckier than sums in another order have to be.
    assert worst(output, case.answer.output) <= max(twice_the_plain_error(case, output.dtype), case.outputs_apart())
    assert launched == ["row_pass"]


@with_some
def test_output_alone(case: Case, launched: list[str]) -> None:
    output = run_backend("tiled", case)
    assert worst(output, case.answer.output) <= max(twice_the_plain_error(case, output.dtype), case.outputs_apart())
    assert launched == (["row_pass"] if output.numel() else [])


@with_some
def test_received(case: Case, launched: list[str]) -> None:
    check(received(**second_pass(case)), oracle.received(case.answer.weights), tolerance(case))
    assert launched == ["row_pass", "column_pass"]


@with_some
def test_every_weight_and_cells_pooled(case: Case, launched: list[str]) -> None:
    lse = torch.from_numpy(case.answer.lse).float()
    check(tile(**second_pass(case), lse=lse), case.answer.weights, tolerance(case))
    whole = (0, case.query.shape[-2]), (0, case.key.shape[-2])
    pooled = tile(**second_pass(case), lse=lse, cell=(2, 3), pool="max")
    check(pooled, oracle.tile(case.answer.weights, *whole, (2, 3), "max"), tolerance(case))
    assert "tile_pass" in launched


@pytest.mark.parametrize("shape", [(), (5,), (4, 1), (2, 4, 5)], ids=str)
def test_weighted_received(shape: tuple[int, ...]) -> None:
    case = make("weighed", heads=4, served=2, causal=True).to(torch.float32)
    weigh = drawer(f"weigh {shape}")(*shape).float()
    expected = oracle.received(case.answer.weights, numpy(weigh))
    check(received(**second_pass(case), weigh=weigh), expected, 2 * 5 * tolerance(case))


CELLS = [(3, "mass"), (16, "max"), ((17, 40), "mean"), ((40, 5), "mass"), (100, "max")]
RECTANGLES = [(None, None), ((1, 38), (2, 39)), ((20, 20), (2, 4)), ((5, 6), None)]


@pytest.mark.parametrize(("cell", "pool"), CELLS, ids=str)
@pytest.mark.parametrize("rectangle", RECTANGLES, ids=str)
def test_any_rectangle(rectangle: tuple, cell: int | tuple, pool: str, launched: list[str]) -> None:
    case = make("tiled", **LONG, causal=True, window=(30, None)).to(torch.float32)
    rows, columns = rectangle
    lse = torch.from_numpy(case.answer.lse).float()
    found = tile(**second_pass(case), lse=lse, rows=rows, columns=columns, cell=cell, pool=pool)
    pair = (cell, cell) if isinstance(cell, int) else cell
    check(found, oracle.tile(case.answer.weights, rows or (0, 41), columns or (0, 53), pair, pool), tolerance(case))
    assert set(launched) <= {"tile_pass"}


def test_a_tile_with_a_factor_for_each_key() -> None:
    case = make("tile weighed", **LONG).to(torch.float32)
    weigh = drawer("factors")(2, 53).float()
    expected = case.answer.weights * numpy(weigh)[..., None, :]
    check(tile(**second_pass(case), weigh=weigh), expected, 4 * tolerance(case))


@pytest.mark.filterwarnings("ignore:All-NaN slice")  # of NumPy, for the row that is broken
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_not_finite_stays_visible(number: float) -> None:
    case = make("broken", **LONG, causal=True).to(torch.float32)
    case.query[0, 7, 3] = number
    output, statistics = attend(case.query, case.key, case.value, causal=True, see="stats")
    assert output[0, 7].isnan().all()
    for field in ("lse", "entropy", "top_weight", "distance"):
        assert getattr(statistics, field)[0, 7].isnan(), field
    assert output[0, :7].isfinite().all()
    assert output[1].isfinite().all()
    assert received(case.query, case.key, causal=True)[0, 0].isnan()
    for pool in ("mass", "max"):
        assert tile(case.query, case.key, causal=True, cell=20, pool=pool)[0, 0, 0].isnan()


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES], ids=str)
def test_equal_scores_have_their_first_as_top_key(dtype: torch.dtype) -> None:
    case = make("ties", **LONG).to(dtype)
    key = case.key[..., :1, :].expand(case.key.shape)
    _, statistics = attend(case.query, key, case.value, window=(30, 5), see="stats")
    position = torch.arange(41) + 12
    assert (statistics.top_key == (position - 30).clamp(min=0)).all()


TRAITS = [
    trial.Traits(),
    trial.Traits(mask=1, softcap=True, sinks=True),
    trial.Traits(mask=2, left=True, causal=False),
    trial.Traits(term=1, right=False, causal=False, signed=True),
    trial.Traits(term=2, mask=1, left=True),
]


@pytest.mark.parametrize("traits", TRAITS, ids=str)
def test_the_trial_itself(traits: trial.Traits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "QUERIES", 30)
    monkeypatch.setattr(trial, "KEYS", 40)
    kind = trial.Kind(torch.device("cpu"), torch.bfloat16, 32, traits)
    assert traits_of(trial.problem(kind)[0]) == traits
    assert trial.disagreement(kind) == ""
    right = launches.columns_received
    monkeypatch.setattr(trial, "columns_received", lambda *given: right(*given) * 1.01)
    assert trial.disagreement(kind) == "received not as expected"


class Subclass(torch.Tensor):
    """What another library may hand over: nobody knows what stands behind it."""


def test_what_is_left_to_the_blockwise_pass(launched: list[str]) -> None:
    case = make("left", **LONG).to(torch.float32)
    trained, wide = case.with_grad("value")[0], case.to(torch.float64)
    long = make("left, long", **LONG | {"dim": 300}).to(torch.float32)
    for other in (trained, wide, long):
        attend(other.query, other.key, other.value, see="stats")
    attend(case.query, case.key, case.value, dropout=0.5, see="stats")
    attend(case.query, case.key, case.value, offset=1 << 30, see="stats")
    attend(case.query, case.key, case.value.as_subclass(Subclass), see="stats")
    assert launched == []
    with torch.no_grad():
        attend(trained.query, trained.key, trained.value, see="stats")
    assert launched == ["row_pass"]


def test_a_row_that_sees_nothing_reads_as_documented() -> None:
    case = make("nothing", **LONG, mask=torch.zeros(53, dtype=torch.bool)).to(torch.bfloat16)
    output, statistics = attend(case.query, case.key, case.value, mask=case.options["mask"], see="stats")
    assert (output == 0).all()
    assert (statistics.lse == NOWHERE).all()
    assert (statistics.top_key == -1).all()
