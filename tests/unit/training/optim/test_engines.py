"""Several processes do what one does, by either of PyTorch's engines."""

from __future__ import annotations

import os

import pytest

from regard.errors import InputError
from regard.training.optim.engines import engine_for
from regard.training.optim.workers import Workers
from regard.training.recipe.recipe import Training
from tests.families import FAMILIES
from tests.two_processes import Launcher
from tests.update_cases import objective

pytestmark = [
    pytest.mark.xdist_group("processes"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are made by fork"),
]
LAYOUTS = ("replicated", "sharded")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("processes", [2, 3])
def test_several_processes_make_the_updates_of_one(processes: int, layout: str, together: Launcher) -> None:
    together.call("tests.engine_cases:run", processes, "like_one", layout)


def test_a_guided_head_learns_alike_in_several_processes(together: Launcher) -> None:
    together.call("tests.engine_cases:run", 3, "guided_like_one")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_gradient_that_is_not_finite_anywhere_is_skipped_everywhere(layout: str, together: Launcher) -> None:
    together.call("tests.engine_cases:run", 2, "skipped_together", layout)


def test_where_memory_runs_out_all_take_smaller_parts(together: Launcher) -> None:
    together.call("tests.engine_cases:run", 3, "split_together")


def test_sharded_weights_are_not_compiled() -> None:
    how = Training(layout="sharded", compile=True)
    with pytest.raises(InputError, match="not compiled"):
        engine_for(FAMILIES["decoder"].model(), objective("generate"), how, Workers(0, 2))
