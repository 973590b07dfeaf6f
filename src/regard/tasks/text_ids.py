"""What all tasks do with texts before a model sees them, and with ids after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from regard.decoding import Hypothesis
from regard.errors import InputError, KindError
from regard.text.tokenizer import Codec

ROWS = 1024  # of a batch, beams counted: with many for each text, fewer texts at a time
TOKENS = 16384  # of a batch on a CPU, padding and beams counted: beyond, larger products are not faster per row
DEVICE_TOKENS = 32768  # elsewhere, where a batch costs hardly more than a text
SHORTEST = 8  # tokens a text counts for at least, since what is written of it may be longer
LONGEST_TEXT = 100_000  # characters: some hundreds of pieces to translate, seconds to minutes of work


def encode(tokenizer: Codec, texts: Sequence[str], vocabulary: int) -> list[list[int]]:
    """The ids of each text; one that the model does not have is named, before it fails somewhere inside."""
    if isinstance(texts, str) or any(not isinstance(text, str) for text in texts):
        raise KindError("texts must be a list of strings", found=f"{texts!r:.60}", do='a list such as ["I love AI"]')
    rows = tokenizer.encode(texts)
    for text, ids in zip(texts, rows, strict=True):
        if max(ids, default=0) >= vocabulary:
            raise InputError(
                "the tokenizer has tokens that the model was never trained with",
                found=f"id {max(ids)} in {text!r:.60}; the model knows 0 to {vocabulary - 1}",
                do="leave such tokens out of the text, or use the tokenizer that belongs to the model",
            )
    return rows


def check_lengths(texts: Sequence[str], most: int = LONGEST_TEXT, *, what: str = "text", first: int = 1) -> None:
    """Refuse a text that nobody would wait for, before anything is done with it; `first` is the number of the first."""
    for number, text in enumerate(texts if not isinstance(texts, str) else [texts], first):
        if isinstance(text, str) and len(text) > most:
            raise InputError(
                f"{what} {number} is too long to be read as one",
                found=f"{len(text):,} characters, where at most {most:,} are read: {text.strip()[:40]!r}...",
                do="give it in several texts, such as a sentence or a paragraph a line",
            )


def check_batch(batch: int | None) -> None:
    if batch is not None and batch < 1:
        raise InputError("batch must be at least 1", found=f"{batch}", do="leave it out for as many as are quickest")


def batch_size(texts: int, beams: int) -> int:
    """How many texts go side by side: as many as asked, unless their beams would be too many rows."""
    return max(min(texts, ROWS // beams), 1)


def token_batches(lengths: Sequence[int], most: int | None, beams: int, device: torch.device) -> Iterator[list[int]]:
    """The numbers of the texts that go side by side: those of like length, so that little is spent on padding.

    At most `most` of them if that is said, and no more tokens, counted for every beam, than the device is best at.
    """
    budget = TOKENS if device.type == "cpu" else DEVICE_TOKENS
    most = batch_size(ROWS if most is None else most, beams)
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda number: lengths[number]):
        longest = max(lengths[number], SHORTEST)
        if batch and (len(batch) == most or (len(batch) + 1) * longest * beams > budget):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def output_ids(text: Hypothesis) -> list[int]:
    """All ids of a text, its end too: the tokenizer leaves it out, unless it is an ordinary word as well."""
    return [*text.ids] if text.end is None else [*text.ids, text.end]
