"""Texts that go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch

from regard.decoding import Beams, Limits, Sampling, sample, search, stepper_for
from regard.errors import InputError
from regard.interop.generation import Generation
from regard.models import Decoder
from regard.tasks.text_ids import batch_size, check_batch, check_lengths, encode, output_ids
from regard.text.tokenizer import Codec

MOST = 100_000  # tokens that may be asked for
SIDE_BY_SIDE = 128  # texts, where nobody says how many
POSITIONS = 2**17  # of a batch, prompts and new tokens together: each has its keys and values in memory


class Continuation(NamedTuple):
    """A prompt with what followed: the whole text, and the ids of both."""

    text: str
    prompt: tuple[int, ...]
    new: tuple[int, ...]


class Generator:
    """A decoder-only model with its tokenizer."""

    batch: int | None = None  # texts that go on side by side at most; None: as many as are quickest

    def __init__(self, model: Decoder, tokenizer: Codec, generation: Generation | None = None) -> None:
        self.model, self.tokenizer, self.generation = model, tokenizer, generation

    def generate(
        self,
        texts: str | Sequence[str],
        tokens: int = 40,
        *,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
    ) -> Any:
        """Each text with what the model says next, at most so many tokens more: a string for a string, else a list.

        At temperature 0 the likeliest text, found as the folder says (Hugging Face's may ask for beams), else word by
        word. Above 0 it is drawn; the same seed draws the same, text by text: what the third becomes hangs on its
        number, and not on the others or on `batch`.
        """
        if isinstance(texts, str):
            return self.generate([texts], tokens, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed)[0]
        drawn = self.drawing(temperature, top_k, top_p, seed)
        return [one.text for one in self.go_on(texts, tokens, drawn)]

    def drawing(self, temperature: float, top_k: int | None, top_p: float | None, seed: int) -> Sampling | None:
        """How to draw; None when nothing is drawn."""
        if temperature != 0:
            return Sampling(temperature, top_k, top_p, seed)
        if top_k is not None or top_p is not None:
            raise InputError(
                "top_k and top_p choose among what is drawn; at temperature 0 nothing is",
                found=f"temperature=0, top_k={top_k}, top_p={top_p}",
                do="temperature=1",
            )
        return None

    def go_on(self, texts: Sequence[str], tokens: int = 40, drawn: Sampling | None = None) -> list[Continuation]:
        """As `generate`, with the ids."""
        check_batch(self.batch)
        check_lengths(texts)
        rows = encode(self.tokenizer, texts, self.model.config.vocabulary)
        if self.generation is not None:
            self.generation.check(may_draw=True)  # whether to draw is asked here, not in the folder
        prompts = [self.prompt(text, ids) for text, ids in zip(texts, rows, strict=True)]
        continuations: dict[int, Continuation] = {}
        for numbers in prompt_batches(self, [len(prompt) for prompt in prompts], tokens, drawn):
            outputs = self.decode([prompts[number] for number in numbers], tokens, drawn, numbers)
            for number, new in zip(numbers, outputs, strict=True):
                prompt = tuple(prompts[number])
                continuations[number] = Continuation(self.tokenizer.decode([*prompt, *new]), prompt, tuple(new))
        return [continuations[number] for number in range(len(texts))]

    def prompt(self, text: str, ids: list[int]) -> list[int]:
        """The ids to read first: for an empty text, the one that stands between texts."""
        start = self.model.config.end if self.generation is None else self.generation.start
        if ids or start is not None:
            return ids or [start]  # type: ignore[list-item]
        raise InputError("there is no text to go on from", found=f"{text!r}", do="give at least one word")

    @torch.no_grad()
    def decode(
        self, prompts: list[list[int]], tokens: int, drawn: Sampling | None, numbers: Sequence[int] | None = None
    ) -> list[list[int]]:
        """From ids to ids, for prompts of one length; each is drawn by its number among all."""
        length = len(prompts[0])
        limits = self.limits(tokens, length)
        ids = torch.tensor(prompts, device=next(self.model.parameters()).device)
        stepper, prompt = stepper_for(self.model, ids)
        if drawn is not None:
            return [output_ids(one) for one in sample(stepper, prompt, limits, drawn, numbers)]
        theirs = self.generation
        how = Beams(1, 0.0)
        if theirs is not None and theirs.beams > 1:
            how = Beams(theirs.beams, theirs.alpha, penalty="power", stop=theirs.stop)  # type: ignore[arg-type]
        return [output_ids(best[0]) for best in search(stepper, prompt, limits, how)]

    def limits(self, tokens: int, prompt: int) -> Limits:
        if not 1 <= tokens <= MOST:
            raise InputError(f"tokens must be at least 1 and at most {MOST:,}", found=f"{tokens:,}", do="40 is usual")
        config, theirs = self.model.config, self.generation
        if config.positions == "learned" and prompt <= config.max_length:
            tokens = min(tokens, config.max_length - prompt + 1)  # the last one is said, and needs no place
        if theirs is None:
            return Limits(tokens, () if config.end is None else (config.end,))
        return Limits(
            tokens,
            theirs.end,
            shortest=min(theirs.least(prompt), max(tokens, 0)),
            banned=theirs.banned,
            closing=theirs.closing,
            renormalised=theirs.renormalised,
        )


def prompt_batches(
    generator: Generator, lengths: Sequence[int], tokens: int, drawn: Sampling | None
) -> Iterator[list[int]]:
    """The numbers of the prompts that go side by side: of one length, and no more than memory is sure to hold."""
    theirs = generator.generation
    beams = 1 if drawn is not None or theirs is None else theirs.beams  # texts that are followed for each prompt
    # Of one length: nothing is padded, and what counts from the start counts alike.
    for length in sorted(set(lengths)):
        numbers = [number for number, other in enumerate(lengths) if other == length]
        room = POSITIONS // (length + generator.limits(tokens, length).longest)
        batch = batch_size(min(generator.batch or SIDE_BY_SIDE, room), beams)
        yield from (numbers[first : first + batch] for first in range(0, len(numbers), batch))
