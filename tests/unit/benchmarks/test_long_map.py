"""The benchmark's map, small: what it records is what the studio shows."""

from __future__ import annotations

from pathlib import Path

from benchmarks.long_map import SITE, asked, described, record
from regard.lens.recording_api import Recording


def test_a_small_map_is_recorded_and_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "map.regard"
    told = record(600, file)
    assert (told["true"], told["cell"]) == (True, 8)
    seen = Recording.load(file)
    assert seen.tokens[0] == " " + str(seen.tokens[0]).strip()
    best = seen.last.pick(SITE, 0, 0).pooled
    assert best is not None
    assert float(best.apart.max()) > 0.1  # words look at their like
    answers = asked(file)
    assert {"opened", "20 strongest cells", "tile of 256 x 256, cells of 1"} <= {name for name, _, _ in answers}
    assert described(600, told, answers)[0].startswith("One causal head of 64, 600 tokens")
