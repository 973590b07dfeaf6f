"""A text that goes on, piece by piece as its tokens are chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from regard.decoding import Sampling, sample, stepper_for
from regard.decoding.greedy import greedy
from regard.decoding.stepper import Stepper
from regard.tasks import Generator
from regard.tasks.generator import Continuation
from regard.tasks.text_ids import check_lengths, encode, output_ids

UNFINISHED = "\ufffd"  # what the first bytes of a letter are written as


class AbandonedError(Exception):
    """Nobody listens any more."""


class StreamingStepper:
    """A stepper that tells each id which it is asked to read after the prompt."""

    def __init__(self, stepper: Stepper, listener: Callable[[int], None]) -> None:
        self.stepper, self.listener, self.prompt = stepper, listener, True
        self.followed = stepper.followed

    def advance(self, ids_BT: Tensor) -> Tensor:
        if not self.prompt:
            self.listener(int(ids_BT[0, -1]))
        self.prompt = False
        return self.stepper.advance(ids_BT)

    def widen(self, width: int) -> None:
        self.stepper.widen(width)

    def follow(self, rows: Tensor) -> None:
        self.stepper.follow(rows)

    def select(self, texts: Tensor) -> None:
        self.stepper.select(texts)


@torch.no_grad()
def stream_continuation(
    generator: Generator, text: str, tokens: int, drawn: Sampling | None, on_text: Callable[[str], None]
) -> Continuation:
    """As `Generator.go_on` for one text; `on_text` gets all that was said so far, again and again.

    A folder that asks for several beams has no text before all of them have ended: it is told nothing.
    """
    if drawn is None and generator.generation is not None and generator.generation.beams > 1:
        return generator.go_on([text], tokens)[0]
    check_lengths([text])
    (ids,) = encode(generator.tokenizer, [text], generator.model.config.vocabulary)
    if generator.generation is not None:
        generator.generation.check(may_draw=True)
    prompt = generator.prompt(text, ids)
    limits, new = generator.limits(tokens, len(prompt)), list[int]()

    def listen(token: int) -> None:
        new.append(token)
        on_text(new_text(generator, prompt, new))

    rows = torch.tensor([prompt], device=next(generator.model.parameters()).device)
    stepper, prompt_BN = stepper_for(generator.model, rows)
    telling = StreamingStepper(stepper, listen)
    best = greedy(telling, prompt_BN, limits) if drawn is None else sample(telling, prompt_BN, limits, drawn)
    ids = output_ids(best[0])
    return Continuation(generator.tokenizer.decode([*prompt, *ids]), tuple(prompt), tuple(ids))


def new_text(generator: Generator, prompt: Sequence[int], new: Sequence[int]) -> str:
    """What was added to a prompt, but for a letter whose bytes are not all there."""
    whole, before = generator.tokenizer.decode([*prompt, *new]), generator.tokenizer.decode([*prompt])
    return whole.removeprefix(before).rstrip(UNFINISHED)
