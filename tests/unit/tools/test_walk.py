"""The walk of a watched forward stays short, and its files call in one direction."""

from __future__ import annotations

import pytest

from tools.walk import entered, imported, in_order, watch_call


@pytest.fixture(scope="module")
def watched() -> list[str]:
    return in_order(entered(watch_call()))


def test_a_watched_forward_goes_through_few_files(watched: list[str]) -> None:
    lens = [file for file in watched if file.startswith("lens/")]
    assert len(lens) <= 17, "\n".join(lens)


def test_every_file_imports_only_files_after_it(watched: list[str]) -> None:
    back = [(file, other) for place, file in enumerate(watched) for other in watched[:place] if other in imported(file)]
    assert back == []
