"""The links of two directions joined."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import UnknownNameError
from regard.lens.alignment.symmetrise import WAYS, symmetrised

LINKS = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)


@given(LINKS, LINKS)
def test_ways_to_join_hold_each_other(there: frozenset[Any], back: frozenset[Any]) -> None:
    least, grown, most = (set(symmetrised(there, back, way)) for way in WAYS)
    assert least == there & back
    assert most == there | back
    assert least <= grown <= most
    exchanged = symmetrised({(j, i) for i, j in there}, {(j, i) for i, j in back}, "union")
    assert {(i, j) for j, i in exchanged} == most


def test_growing_by_hand() -> None:
    """From 0-0 over its neighbour 1-1 to 2-2; 4-0 touches nothing, and 0-1 joins words that both have links."""
    there, back = {(0, 0), (1, 1), (4, 0), (0, 1)}, {(0, 0), (2, 2), (1, 1)}
    assert symmetrised(there, back, "grow-diag") == [(0, 0), (1, 1), (2, 2)]
    assert symmetrised({(0, 0), (0, 1)}, {(0, 0)}) == [(0, 0), (0, 1)]
    with pytest.raises(UnknownNameError, match="way to join"):
        symmetrised(there, back, "both")
