"""The public names are a tested list, imported only when used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import regard

NAMES = [
    "Classifier", "Effect", "Generator", "Recording", "RegardError", "Report", "Sheet", "Statistics", "Steps",
    "Translator", "attend", "check", "claim", "effect", "intervene", "load", "received", "rollout", "steps", "tile",
    "train", "watch",
]  # fmt: skip
METHODS = {
    "Classifier": ["batch", "classify", "fill", "fill_one", "head", "need", "read"],
    "Generator": ["batch", "decode", "drawing", "generate", "go_on", "limits", "prompt"],
}


def test_the_public_names_are_these() -> None:
    assert regard.__all__ == NAMES
    for name in NAMES:
        assert getattr(regard, name).__module__.startswith("regard.")


@pytest.mark.parametrize("name", METHODS)
def test_what_a_task_can_be_asked_is_a_list(name: str) -> None:
    """What only serves its own file is a function there, and no method."""
    assert [method for method in dir(getattr(regard, name)) if not method.startswith("_")] == METHODS[name]


def test_importing_costs_nothing() -> None:
    program = "import sys, regard; dir(regard); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_unknown_name_is_an_attribute_error_that_lists_the_known() -> None:
    with pytest.raises(AttributeError, match="attend"):
        regard.attned  # noqa: B018
