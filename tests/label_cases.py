"""Texts with labels for tests: a language that can be learned whole, and reviews in miniature."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random

from regard.claims.lab.label_task import Labelled, LabelTask
from regard.claims.lab.pair_task import END, START
from tests.tiny_corpora import tiny_wikitext, write_lines

KNOWN = 4 + 8  # words are 4 to 11


def counting(length: int = 5) -> LabelTask:
    """Each word is the one before it and one more, round and round; the label says whether the first is even."""
    texts = tuple((START, *(4 + (first + step) % 8 for step in range(length)), END) for first in range(8))
    labelled = tuple(Labelled(text, text[1] % 2) for text in texts)
    return LabelTask(texts, texts, labelled, labelled, ("odd", "even"), KNOWN)


def tiny_reviews(data: Path) -> Path:
    """`data`, which holds wikitext-2, and sst2 with a few reviews, one of them in both of its files."""
    rng = Random(0)
    likes = [f"{how} {what}" for how, what in product(("good", "bad"), ("film", "play", "story", "scene", "end"))]
    rows = [f"the {rng.choice(('old', 'new'))} one is a {text}\t{int(text.startswith('good'))}" for text in likes * 4]
    write_lines(data / "sst2" / "train.tsv.xz", ["sentence\tlabel", *rows])
    write_lines(data / "sst2" / "train_heldout.tsv.xz", ["sentence\tlabel", rows[0], "no good story \t0", "so good\t1"])
    return tiny_wikitext(data)
