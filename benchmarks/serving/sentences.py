"""What servers are asked, and what they should answer."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import regard
from benchmarks.serving.servers import ServerCommand
from regard.errors import FileError
from regard.server.served_models import translate_with
from regard.training.evaluate.sets import read_data

REAL: tuple[dict[str, Any], ...] = (  # below --data: everyday sentences and the news, in equal parts
    {"file": "tatoeba-en-fr/pairs.tsv.xz", "columns": [0, 1]},
    {"source": "wmt-news/newstest2012.en-fr.en.xz", "target": "wmt-news/newstest2012.en-fr.fr.xz"},
)
POOL = 20_000  # rows of a file that are drawn from
BATCHES = (1, 16, 64)  # texts side by side when it is seen whether a translation hangs on its neighbours


def english_texts(count: int, data: Path | None) -> list[str]:
    """Real sentences of different lengths, or those of the built-in language."""
    if data is None:
        return distinct(read_data(["grammar:test"], limit=count).pairs().sources)[:count]
    texts: list[str] = []
    for number, files in enumerate(REAL):
        pool = distinct(read_data(files, data, POOL).pairs().sources)
        share = count // len(REAL) + (number < count % len(REAL))
        if len(pool) < share:
            raise FileError(f"{files} has too few sentences", found=f"{len(pool)}", do=f"give --texts {2 * len(pool)}")
        texts += random.Random(number).sample(pool, share)
    return random.Random(0).sample(distinct(texts), len(distinct(texts)))


def distinct(texts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def stable_answers(texts: Sequence[str], translate: Callable[[Sequence[str]], Sequence[str]]) -> dict[str, str]:
    """The translations that do not hang on their neighbours in a batch.

    Two hypotheses may be so near that rounding decides, and sums are rounded otherwise in a batch of another shape.
    """
    ways: list[dict[str, str]] = []
    for seed, size in enumerate(BATCHES):
        order = random.Random(seed).sample(list(texts), len(texts))
        parts = [order[first : first + size] for first in range(0, len(order), size)]
        ways.append({text: one for part in parts for text, one in zip(part, translate(part), strict=True)})
    return {text: ways[0][text] for text in texts if len({way[text] for way in ways}) == 1}


def answers_of(server: ServerCommand, model: str, texts: Sequence[str]) -> dict[str, str]:
    """What a server of ours should say, by the same engine in this process."""
    assert server.engine is not None
    task = regard.load(model, "cpu", server.engine, quantization=server.quantization)
    return stable_answers(texts, lambda some: translate_with(task, some))
