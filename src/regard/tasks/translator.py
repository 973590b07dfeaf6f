"""Texts to their translations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypedDict, Unpack

import torch
import torch.nn.functional as F

from regard.decoding import Beams, Hypothesis, Limits, search, stepper_for
from regard.decoding.recordings import filled
from regard.errors import InputError, UnknownNameError
from regard.interop.generation import Generation
from regard.models import Recurrent, Transformer
from regard.models.config import BlockConfig, RecurrentConfig, TransformerConfig
from regard.tasks.long_texts import LONG, TooLongError, split
from regard.tasks.text_ids import check_batch, check_lengths, encode, output_ids, token_batches
from regard.text.tokenizer import Codec, padded

DTYPES = "float32", "bfloat16", "float16"  # in which a model may compute; the first is what all are loaded in
MOST = 4096  # ids of a translation that may be asked for: what is read at once has far fewer
LONGEST = 256  # ids of a text, read or said, where nothing else is known


class Translation(NamedTuple):
    """One way to say it, and the score it was chosen by: a log probability over a penalty for length.

    `cut` says that it came to the most tokens allowed before it came to an end. `log_probability` is without that
    penalty, over so many `tokens`, the end included. The numbers of a text that was split are sums over its pieces.
    """

    text: str
    score: float
    cut: bool = False
    log_probability: float = 0.0
    tokens: int = 0


class SearchOptions(TypedDict, total=False):
    """How to look for a translation; what is left out is as the folder says, or as in the paper."""

    beams: int | None
    alpha: float | None
    nbest: int
    max_length: int | None
    long: str
    stop: str | None


class BaseTranslator(ABC):
    """An encoder-decoder with its tokenizer, whatever computes it: what is read, how it is searched for, what is told.

    Models of ours are searched with four beams and the paper's penalty, ((5 + length) / 6)^0.6. Those of Hugging Face
    as their folder says, so that the text is the one `transformers` gives.
    """

    batch: int | None = None  # texts translated side by side at most; None: as many as are quickest
    threads: int = 1  # that may call it at the same time
    shared: bool = False  # whether they do: then a call keeps to one thread, where else it would spread over all

    def __init__(
        self,
        config: TransformerConfig | RecurrentConfig,
        tokenizer: Codec,
        generation: Generation | None = None,
        longest: int | None = None,
        *,
        knows_slots: bool = False,
    ) -> None:
        """`longest`: the most tokens of a text in training, where that is known. `knows_slots`: it has learned them."""
        self.config, self.tokenizer, self.generation, self.knows_slots = config, tokenizer, generation, knows_slots
        positions = None if generation is None else getattr(config, "max_length", None)
        known = [number for number in (longest, self.learned, positions) if number is not None]
        self.longest_source = min(known, default=LONGEST)  # tokens of a text that are read at once

    @abstractmethod
    def hypotheses(self, rows: list[list[int]], how: Beams, limits: Limits) -> list[list[Hypothesis]]:
        """From ids to ids: the best of each row, best first."""

    @property
    def learned(self) -> int | None:
        """How many positions the model has learned, if it has learned them: beyond, it cannot count."""
        config = self.config
        return config.max_length if isinstance(config, BlockConfig) and config.positions == "learned" else None

    def translate(self, texts: Sequence[str], **options: Unpack[SearchOptions]) -> list[Any]:
        """The translation of each text, in order; a list of the best `nbest` for each when that is more than one.

        `beams=1` always takes the likeliest next word. `alpha` favours longer texts as it grows. `max_length` counts
        the tokens of a translation. Texts without words stay empty (where transformers would make something up). A
        text of more than `longest_source` tokens is translated in pieces, sentence by sentence if need be;
        `long="refuse"` raises an error instead. `stop` says when a search ends: "likely", once no open text would win
        at its present length (what transformers does), "proven", once none can win at any, or "full", once there are
        as many ended texts as beams.
        """
        results = self.search(texts, **options)
        if options.get("nbest", 1) == 1:
            return [best[0].text for best in results]
        return [[one.text for one in best] for best in results]

    def search(self, texts: Sequence[str], **options: Unpack[SearchOptions]) -> list[list[Translation]]:
        """As `translate`, with scores, and whether a translation was cut."""
        for name in options:
            if name not in SearchOptions.__annotations__:
                raise UnknownNameError("option", name, SearchOptions.__annotations__)
        nbest = options.get("nbest", 1)
        texts_as_pieces = self.pieces(texts, options.get("long", "split"))
        how = self.beams(options.get("beams"), options.get("alpha"), options.get("stop"))
        limits = self.limits(options.get("max_length"))
        if not 1 <= nbest <= how.width:
            raise InputError(
                "nbest must be at least 1 and at most the number of beams",
                found=f"nbest={nbest}, beams={how.width}",
                do=f"beams={max(nbest, 1)}",
            )
        rows = [row for pieces in texts_as_pieces for row in pieces]
        best = iter(self.translations(rows, how, limits, nbest))
        return [join_pieces([next(best) for _ in pieces], nbest) for pieces in texts_as_pieces]

    def pieces(self, texts: Sequence[str], long: str) -> list[list[list[int]]]:
        """The ids of each text: nothing for one without words, one row for most, several for one that is too long."""
        if long not in LONG:
            raise UnknownNameError("way with long texts", long, LONG)
        check_lengths(texts)
        vocabulary = self.config.source_vocabulary
        rows: list[list[list[int]]] = []
        for number, (text, row) in enumerate(zip(texts, encode(self.tokenizer, texts, vocabulary), strict=True), 1):
            if not text.strip():
                rows.append([])
            elif len(row) <= self.longest_source:
                rows.append([row])
            elif long == "refuse":
                raise TooLongError(number, len(row), self.longest_source, text)
            else:
                rows.append(encode(self.tokenizer, split(text, self.tokenizer, self.longest_source), vocabulary))
        return rows

    def translations(self, rows: list[list[int]], how: Beams, limits: Limits, nbest: int) -> list[list[Translation]]:
        """The best translations of each row of ids, in order."""
        check_batch(self.batch)
        return [
            [self.translation(one, how, limits) for one in best[:nbest]] for best in self.hypotheses(rows, how, limits)
        ]

    def translation(self, one: Hypothesis, how: Beams, limits: Limits) -> Translation:
        ids = output_ids(one)
        total = one.score * (how.divisor(len(ids)) if how.width > 1 else 1.0)  # a greedy score is divided by nothing
        return Translation(self.tokenizer.decode(ids), one.score, was_cut(one, limits), total, len(ids))

    def beams(self, width: int | None, alpha: float | None, stop: str | None = None) -> Beams:
        """How to search: as asked, else as the folder says, else as in the paper."""
        theirs = self.generation
        if theirs is None:
            how = Beams(4 if width is None else width, 0.6 if alpha is None else alpha)
            return how if stop is None else replace(how, stop=stop)  # type: ignore[arg-type]
        theirs.check()
        return Beams(
            theirs.beams if width is None else width,
            theirs.alpha if alpha is None else alpha,
            penalty="power",
            stop=theirs.stop if stop is None else stop,  # type: ignore[arg-type]
        )

    def limits(self, longest: int | None) -> Limits:
        theirs = self.generation
        if longest is not None and longest > MOST:
            raise InputError(
                f"a translation has at most {MOST:,} tokens", found=f"max_length={longest:,}", do="256 is usual"
            )
        if theirs is None:
            longest = LONGEST if longest is None else longest
            return Limits(min(longest, self.learned or longest), (self.config.end,))
        positions = getattr(self.config, "max_length", None)
        room = theirs.room(1, positions) if longest is None else longest
        return Limits(
            room,
            theirs.end,
            shortest=min(theirs.least(1), max(room, 0)),
            banned=theirs.banned,
            closing=theirs.closing,
            renormalised=theirs.renormalised,
        )


class Translator(BaseTranslator):
    """An encoder-decoder of ours with its tokenizer."""

    def __init__(
        self,
        model: Transformer | Recurrent,
        tokenizer: Codec,
        generation: Generation | None = None,
        longest: int | None = None,
        *,
        knows_slots: bool = False,
    ) -> None:
        """`longest`: the most tokens of a text in training, where that is known. `knows_slots`: it has learned them."""
        super().__init__(model.config, tokenizer, generation, longest, knows_slots=knows_slots)
        self.model = model

    def compute_in(self, dtype: str) -> None:
        """Round the weights to the dtype of this name, of `DTYPES`: halves suit a GPU, and give other last digits."""
        if dtype not in DTYPES:
            raise UnknownNameError("dtype", dtype, DTYPES)
        self.model.to(getattr(torch, dtype))

    def hypotheses(self, rows: list[list[int]], how: Beams, limits: Limits) -> list[list[Hypothesis]]:
        """From ids to ids, rows of like length together."""
        best_by_number: dict[int, list[Hypothesis]] = {}
        device = next(self.model.parameters()).device
        for numbers in token_batches([len(row) for row in rows], self.batch, how.width, device):
            best_by_number |= dict(zip(numbers, self.decode([rows[n] for n in numbers], how, limits), strict=True))
        return [best_by_number[number] for number in range(len(rows))]

    @torch.no_grad()
    def decode(self, rows: list[list[int]], how: Beams, limits: Limits) -> list[list[Hypothesis]]:
        """From ids to ids, one batch."""
        config = self.config
        count, length = filled(len(rows), max(map(len, rows)), self.model)
        ids, mask = padded([*rows, *[rows[0]] * (count - len(rows))], config.pad or 0)
        more = (0, length - ids.shape[1])
        ids, mask = F.pad(ids, more, value=config.pad or 0), F.pad(mask, more)
        device = next(self.model.parameters()).device
        stepper, prompt = stepper_for(self.model, ids.to(device), mask.to(device))
        if self.generation is not None and self.generation.start is not None:
            prompt = torch.full_like(prompt, self.generation.start)
        return search(stepper, prompt, limits, how)[: len(rows)]


def was_cut(one: Hypothesis, limits: Limits) -> bool:
    """Did the text come to its limit before its end? An end that was forced at the last place is none."""
    return one.end is None or (limits.closing is not None and len(one.ids) + 1 >= limits.longest)


def join_pieces(pieces: list[list[Translation]], nbest: int) -> list[Translation]:
    """The best translations of a whole: the first of each piece together, then the second of each, and so on."""
    if not pieces:
        return [Translation("", 0.0)] * nbest
    whole = []
    for rank in range(max(map(len, pieces))):
        ranked = [best[min(rank, len(best) - 1)] for best in pieces]
        text = " ".join(one.text for one in ranked if one.text)
        _, scores, cut, totals, tokens = zip(*ranked, strict=True)
        whole.append(Translation(text, sum(scores), any(cut), sum(totals), sum(tokens)))
    return whole
