"""Why the first steps take longer is said once, and when they no longer do."""

from __future__ import annotations

import pytest

from regard.training.loop.warm_up import WarmUp
from tests.training_cases import EventRecorder


@pytest.mark.parametrize("compiled", [False, True])
def test_recordings_are_announced_once_and_their_end_is_told(compiled: bool) -> None:
    heard, now = EventRecorder(), iter(range(100))
    warm_up = WarmUp(heard, 3, compiled, clock=lambda: float(next(now)))
    for number in range(3):
        assert len(heard.events) == min(number, 1)
        with warm_up():
            assert "3 shapes" in heard.notes
    assert ("compiled" in heard.notes) is compiled
    assert heard.notes.endswith("warmed up: 3 recorded in 3 s")
    assert len(heard.events) == 2


def test_a_recording_that_fails_is_none() -> None:
    heard = EventRecorder()
    warm_up = WarmUp(heard, 1, False)
    with pytest.raises(MemoryError), warm_up():
        raise MemoryError
    assert "warmed up" not in heard.notes
    with warm_up():
        pass
    assert "warmed up" in heard.notes
