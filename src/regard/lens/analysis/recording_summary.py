"""What a recording is, in words and numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regard.lens.recording.fidelity import together
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording_api import Recording

CALLS = 5  # that are told one by one


def describe_recording(path: str | Path) -> dict[str, Any]:
    """Calls, texts, sites, heads, dtype, size and badge of a `.regard` file."""
    recording = Recording.load(path)
    calls, last = recording.calls, recording.last
    badge = together(call.badge for call in calls)
    kinds = {str(one.query.dtype).removeprefix("torch.") for call in calls for one in call.maps.values()}
    return {
        "file": str(path),
        "calls": len(calls),
        "tokens": [tokens_words(call) for call in calls[:CALLS]] + (["…"] if len(calls) > CALLS else []),
        "sites": {site: f"{len(one.heads)} heads{heads_words(one.heads)}" for site, one in last.maps.items()},
        "dtype": " and ".join(sorted(kinds)),
        "values": any(one.norms is not None for one in last.maps.values()),
        "size": Path(path).stat().st_size,
        "true": badge.true and badge.compared,
        "badge": str(badge),
    }


def heads_words(heads: tuple[int, ...]) -> str:
    """Which, where it is not the first so many."""
    return "" if heads == tuple(range(len(heads))) else f" ({', '.join(map(str, heads))})"


def tokens_words(call: ForwardCall) -> str:
    """How many tokens were read."""
    texts = max(len(one.query) for one in call.maps.values())
    many = f"{texts} texts of up to " if texts > 1 else ""
    if call.source is not None:
        return f"{many}{len(call.tokens):,} source and {len(call.target_tokens):,} target tokens"
    count = len(call.tokens) or max(one.queries for one in call.maps.values())
    return f"{many}{count:,} tokens"
