"""How well a language model foresees a text: nats and perplexity per token, and nats per character.

Tokens of two tokenizers are not alike, so only nats per character compare models with different ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby
from time import perf_counter
from typing import NamedTuple

import torch

from regard.decoding.finite import check_finite
from regard.errors import InputError
from regard.tasks import Generator
from regard.tasks.eval_mode import eval_mode
from regard.tasks.text_ids import encode
from regard.text.scores import Score
from regard.training.evaluate.batching import ProgressCallback, batched, perplexity, rows_per_batch, uniform
from regard.training.evaluate.result import Evaluation
from regard.training.evaluate.sets import EvaluationData


class Window(NamedTuple):
    """Tokens first to last of the stream are read; of what they foretell, the first `known` were scored before."""

    first: int
    last: int
    known: int


def evaluate_next_words(
    generator: Generator, data: EvaluationData, window: int | None, batch: int | None, on_progress: ProgressCallback
) -> Evaluation:
    """Read the text from end to end in windows that overlap by half.

    Each token is foretold once: in the first window from whatever stands before it, in each later one only from the
    middle on, so that at least half a window stands before it. A window has as many tokens as the model has positions,
    or `window`.
    """
    given, config = data.texts(blank_lines=True), generator.model.config
    size = min(window or config.max_length, config.max_length)
    ids = stream(generator, given.texts)
    if len(ids) < 2:
        raise InputError(f"{data.name} has no words to foretell", found=f"{len(ids)} tokens", do="give a longer text")
    start, tokens = perf_counter(), len(ids) - 1
    with eval_mode(generator.model):
        nats = total_nats(generator, ids, size, batch, on_progress)
    characters = sum(len(text) + 1 for text in given.texts)  # each line with its end
    signature = f"window:{size}|overlap:{size // 2}|tokens:{tokens}|characters:{characters}"
    return Evaluation(
        task="next words",
        data=data.name,
        count=tokens,
        unit="tokens",
        seconds=perf_counter() - start,
        scores=[
            Score("nats_per_token", nats / tokens, signature),
            Score("perplexity", perplexity(nats / tokens), signature),
            Score("nats_per_character", nats / characters, signature),
        ],
        baseline="every token alike",
        baselines=uniform(config.vocabulary, tokens / characters),
        notes=given.notes,
    )


def stream(generator: Generator, texts: list[str]) -> list[int]:
    """The ids of all lines as one text, after the token that stands between texts, where the model has one.

    Without such a token nothing stands before the first id, and it is not foretold.
    """
    config, theirs = generator.model.config, generator.generation
    start = config.end if theirs is None or theirs.start is None else theirs.start
    (ids,) = encode(generator.tokenizer, ["".join(f"{text}\n" for text in texts)], config.vocabulary)
    return ids if start is None else [start, *ids]


def windows(foretold: int, size: int) -> Iterator[Window]:
    """Windows over a stream in which so many tokens are foretold."""
    half = size // 2
    yield Window(0, min(size, foretold), 0)
    for first in range(size - half, foretold - half, size - half):
        yield Window(first, min(first + size, foretold), half)


@torch.no_grad()
def total_nats(
    generator: Generator, ids: list[int], size: int, batch: int | None, on_progress: ProgressCallback
) -> float:
    """What all tokens cost, each given those before it."""
    model = generator.model
    row = torch.tensor(ids, device=next(model.parameters()).device)
    total, foretold = 0.0, len(ids) - 1
    rows = rows_per_batch(size, model.config.vocabulary, batch)
    for (_, known), alike in groupby(windows(foretold, size), key=lambda one: (one.last - one.first, one.known)):
        for some in batched(list(alike), rows):
            input_ids = torch.stack([row[one.first : one.last] for one in some])
            labels = torch.stack([row[one.first + known + 1 : one.last + 1] for one in some])
            logits = model(input_ids)[:, known:].flatten(0, 1).float()
            nats = float(torch.nn.functional.cross_entropy(logits, labels.flatten(), reduction="sum"))
            if math.isnan(nats):
                check_finite(logits, model)
            total += nats
            on_progress(some[-1].last, foretold)
    return total
