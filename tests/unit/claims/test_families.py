"""The three families at one size."""

from __future__ import annotations

from dataclasses import replace

import pytest

from regard.claims.lab.clauses import clause_pairs
from regard.claims.lab.families import FAMILIES, as_read, counted, nearest_hidden, translator
from regard.claims.lab.pair_task import PairIds
from regard.claims.lab.small_models import parameters
from regard.claims.setting import Setting
from regard.models import Recurrent


@pytest.mark.parametrize("full", [False, True])
def test_the_families_have_as_many_parameters(full: bool) -> None:
    task = clause_pairs(100, 1, 10)
    models = {family: translator(family, task, Setting(full=full), 0) for family in FAMILIES}
    wanted = parameters(models["2017"])
    for family in ("2014", "2015"):
        model = models[family]
        assert isinstance(model, Recurrent)
        assert model.config.attention == (family == "2015")
        assert parameters(model) <= wanted < counted(replace(model.config, hidden=model.config.hidden + 1))
        assert nearest_hidden(model.config, parameters(model)) == model.config.hidden


def test_only_the_one_of_2014_reads_backwards() -> None:
    pairs = [PairIds((5, 6, 7), (8, 9))]
    assert as_read("2014", pairs) == (PairIds((7, 6, 5), (8, 9)),)
    assert as_read("2015", pairs) == as_read("2017", pairs) == tuple(pairs)
