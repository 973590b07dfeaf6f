"""Texts to their translations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict, Unpack

import torch

from regard.decoding import Beams, Hypothesis, Limits, beam, greedy, stepper_for
from regard.errors import InputError, UnknownNameError
from regard.interop.generation import Generation
from regard.models import Recurrent, Transformer
from regard.tasks.shared import encode, said
from regard.text.tokenizer import Codec, padded

LONGEST = 256  # new ids of a text, where nothing else is said


class Translation(NamedTuple):
    """One way to say it, and the score it was chosen by: a log probability over a penalty for length."""

    text: str
    score: float


class SearchOptions(TypedDict, total=False):
    """How to look for a translation; what is left out is as the folder says, or as in the paper."""

    beams: int | None
    alpha: float | None
    nbest: int
    max_length: int | None


class Translator:
    """An encoder-decoder with its tokenizer.

    Models of ours are searched with four beams and the paper's penalty, ((5 + length) / 6)^0.6. Those of Hugging Face
    as their folder says, so that the text is the one `transformers` gives.
    """

    batch = 32  # texts translated side by side

    def __init__(self, model: Transformer | Recurrent, tokenizer: Codec, generation: Generation | None = None) -> None:
        self.model, self.tokenizer, self.generation = model, tokenizer, generation

    def translate(self, texts: Sequence[str], **options: Unpack[SearchOptions]) -> list[Any]:
        """The translation of each text, in order; a list of the best `nbest` for each when that is more than one.

        `beams=1` always takes the likeliest next word. `alpha` favours longer texts as it grows. `max_length` counts
        the tokens of a translation. Texts without words stay empty (where transformers would make something up).
        """
        found = self.search(texts, **options)
        if options.get("nbest", 1) == 1:
            return [best[0].text for best in found]
        return [[one.text for one in best] for best in found]

    def search(self, texts: Sequence[str], **options: Unpack[SearchOptions]) -> list[list[Translation]]:
        """As `translate`, with scores."""
        for name in options:
            if name not in SearchOptions.__annotations__:
                raise UnknownNameError("option", name, SearchOptions.__annotations__)
        nbest = options.get("nbest", 1)
        rows = encode(self.tokenizer, texts, self.model.config.source_vocabulary)
        how, limits = self.beams(options.get("beams"), options.get("alpha")), self.limits(options.get("max_length"))
        if not 1 <= nbest <= how.width:
            raise InputError(
                "nbest must be at least 1 and at most the number of beams",
                found=f"nbest={nbest}, beams={how.width}",
                do=f"beams={max(nbest, 1)}",
            )
        done: list[list[Translation]] = [[Translation("", 0.0)] * nbest for _ in texts]
        # Texts of like length side by side: little is spent on padding.
        waiting = sorted((number for number, text in enumerate(texts) if text.strip()), key=lambda n: len(rows[n]))
        for first in range(0, len(waiting), self.batch):
            numbers = waiting[first : first + self.batch]
            for number, best in zip(numbers, self.decode([rows[n] for n in numbers], how, limits), strict=True):
                done[number] = [Translation(self.tokenizer.decode(said(one)), one.score) for one in best[:nbest]]
        return done

    @torch.no_grad()
    def decode(self, rows: list[list[int]], how: Beams, limits: Limits) -> list[list[Hypothesis]]:
        """From ids to ids, one batch."""
        config = self.model.config
        ids, mask = padded(rows, config.pad or 0)
        device = next(self.model.parameters()).device
        stepper, prompt = stepper_for(self.model, ids.to(device), mask.to(device))
        if self.generation is not None and self.generation.start is not None:
            prompt = torch.full_like(prompt, self.generation.start)
        if how.width == 1:
            return [[best] for best in greedy(stepper, prompt, limits)]
        return beam(stepper, prompt, limits, how)

    def beams(self, width: int | None, alpha: float | None) -> Beams:
        """How to search: as asked, else as the folder says, else as in the paper."""
        theirs = self.generation
        if theirs is None:
            return Beams(4 if width is None else width, 0.6 if alpha is None else alpha)
        theirs.check()
        return Beams(
            theirs.beams if width is None else width,
            theirs.alpha if alpha is None else alpha,
            penalty="power",
            stop=theirs.stop,  # type: ignore[arg-type]
        )

    def limits(self, longest: int | None) -> Limits:
        theirs = self.generation
        if theirs is None:
            return Limits(LONGEST if longest is None else longest, (self.model.config.end,))
        positions = getattr(self.model.config, "max_length", None)
        room = theirs.room(1, positions) if longest is None else longest
        return Limits(
            room,
            theirs.end,
            shortest=min(theirs.least(1), max(room, 0)),
            banned=theirs.banned,
            closing=theirs.closing,
            renormalised=theirs.renormalised,
        )
