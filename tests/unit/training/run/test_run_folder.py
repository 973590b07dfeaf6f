"""A run that is refused leaves no folder behind: the same command, corrected, finds its way free."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from regard.errors import InputError
from tests.training_cases import TINY, go


@pytest.mark.parametrize("wrong", [{"model.heads": 3}, {"model.dimm": 16}, {"start": "pyproject.toml"}])
def test_a_wrong_setting_claims_no_folder(wrong: dict[str, Any], corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(Exception, match=r"heads|dimm|pyproject"):
        go(corpus, out, TINY, wrong)
    assert not out.exists()
    assert go(corpus, out).status == "finished"


def test_a_refused_run_leaves_no_board(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        go(corpus, tmp_path / "out", TINY, {"model.heads": 3}, tensorboard=True)
    assert not (tmp_path / "out").exists()
