"""Texts to their translations by CTranslate2, which computes on a CPU several times as fast, in 8 bits if wanted."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import torch

from regard.decoding import Beams, Hypothesis, Limits
from regard.errors import FileError, InputError, UnknownNameError
from regard.interop.ctranslate2_export import import_ctranslate2, settings_of, vocabulary
from regard.models.checkpoint import read_settings
from regard.tasks.text_ids import TOKENS
from regard.tasks.translator import BaseTranslator
from regard.text.bpe import read_tokenizer, source_of, target_of
from regard.text.slots import are_tokens

# Ended texts for each beam before a search for the likeliest is over. Theirs knows no rule like ours, which compares
# with the open texts; with half as many again as beams ours has stopped as well: of 600 real sentences none came out
# worse than with four times as many, and one did with as many as beams.
ENDED = 1.5


class CTranslate2Translator(BaseTranslator):
    """A folder that `regard export --to ctranslate2` wrote, with the texts of our own search.

    In float32 log probabilities are equal to rounding, and so is what greedy search finds. Theirs divides by another
    penalty for length and stops by another rule: so it is asked for sums of log probabilities of more texts than are
    wanted, and these are ranked by our penalty. A text that our search would have found later still can be missed.
    """

    def __init__(self, folder: Path, device: str = "auto", quantization: str = "default") -> None:
        """`quantization` is what is computed in: by default what the folder holds."""
        self.folder, self.settings = folder, settings_of(read_settings(folder), folder)
        self.engine = open_engine(folder, device, quantization)
        self.threads = self.engine.num_translators
        tokenizer = read_tokenizer(folder)
        slots = are_tokens(tokenizer.encode)
        super().__init__(self.settings.transformer, tokenizer, longest=self.settings.longest, knows_slots=slots)
        self.source_tokens = vocabulary(source_of(tokenizer), self.config.source_vocabulary)
        self.target_tokens = vocabulary(target_of(tokenizer), self.config.target_vocabulary)
        self.target_ids = {token: number for number, token in enumerate(self.target_tokens)}

    def beams(self, width: int | None, alpha: float | None, stop: str | None = None) -> Beams:
        """How to search, if this engine can."""
        how = super().beams(width, alpha, stop)
        if how.stop == "proven" and how.width > 1:
            raise InputError(
                "CTranslate2 has no search that goes on until nothing can win",
                found='stop="proven"',
                do='stop="likely" or "full", or the engine torch',
            )
        return how

    def limits(self, longest: int | None) -> Limits:
        """How long a translation may be: no longer than there are positions."""
        limits = super().limits(longest)
        if limits.longest > self.settings.positions:
            if longest is None:
                return replace(limits, longest=self.settings.positions)
            raise InputError(
                f"a translation by this engine has at most {self.settings.positions:,} tokens",
                found=f"max_length={longest:,}",
                do="256 is usual; the engine torch takes more",
            )
        return limits

    def hypotheses(self, rows: list[list[int]], how: Beams, limits: Limits) -> list[list[Hypothesis]]:
        """From ids to ids; it sorts them by length and puts them together itself."""
        sources = [[self.source_tokens[number] for number in row] for row in rows]
        parts = 1 if self.shared else self.threads
        results = self.engine.translate_batch(
            sources,
            **search_options(how),
            max_batch_size=self.batch or batch_tokens(sum(map(len, rows)), how.width, parts),
            batch_type="tokens" if self.batch is None else "examples",
            max_input_length=0,
            min_decoding_length=max(limits.shortest - 1, 0),  # theirs does not count the end
            max_decoding_length=limits.longest,
            return_scores=True,
            return_end_token=True,
        )
        return [self.ranked(result, how, limits) for result in results]

    def ranked(self, result: Any, how: Beams, limits: Limits) -> list[Hypothesis]:
        """Theirs by our penalty, best first."""
        penalty = search_options(how)["length_penalty"]
        ranked = []
        for tokens, score in zip(result.hypotheses, result.scores, strict=True):
            if not tokens:  # the source was an end and nothing else: they give nothing for nothing
                return [Hypothesis((), 0.0, self.config.end)]
            divisor = how.divisor(len(tokens)) if how.width > 1 else 1.0
            total = score * len(tokens) ** penalty
            ranked.append(limits.hypothesis([self.target_ids[token] for token in tokens], total / divisor))
        return sorted(ranked, key=lambda one: -one.score)[: how.width]

    def log_probabilities(self, sources: list[list[int]], targets: list[list[int]]) -> list[list[float]]:
        """Of each id of each target, and of the end behind it."""
        results = self.engine.score_batch(
            [[self.source_tokens[number] for number in row] for row in sources],
            [[self.target_tokens[number] for number in row] for row in targets],
            max_input_length=0,
        )
        return [list(result.log_probs) for result in results]


def batch_tokens(tokens: int, width: int, parts: int) -> int:
    """How many tokens go side by side: no more than are quick, in so many parts at least, each for a thread."""
    return max(min(TOKENS // width, ceil(tokens / parts)), 1)


def search_options(how: Beams) -> dict[str, Any]:
    """Our search in their words.

    Without a penalty theirs goes on until a text that was ahead of all open ones has ended and as many as asked for
    have; with one, until as many have ended as there are beams, which is our "full".
    """
    if how.width == 1:
        return {"beam_size": 1, "length_penalty": 0.0}
    if how.stop == "full":
        return {"beam_size": how.width, "num_hypotheses": how.width, "length_penalty": how.alpha or 1e-30}
    count = ceil(ENDED * how.width)
    return {"beam_size": how.width, "num_hypotheses": count, "patience": count / how.width, "length_penalty": 0.0}


def open_engine(folder: Path, device: str, quantization: str) -> Any:
    """Their translator of a folder, with as many threads as torch has.

    On a CPU each of them has work of its own: several at one product wait for each other, and on a busy machine long.
    """
    library = import_ctranslate2()
    cuda = library.get_cuda_device_count() > 0
    if device == "auto":
        device = "cuda" if cuda else "cpu"
    if device not in ("cpu", "cuda") or (device == "cuda" and not cuda):
        raise InputError(
            f"CTranslate2 has no {device} device here",
            found="cuda and cpu" if cuda else "cpu alone",
            do="--device auto, or the engine torch",
        )
    known = {"default", *library.get_supported_compute_types(device)}
    if quantization not in known:
        raise UnknownNameError("quantization", quantization, known)
    threads = torch.get_num_threads()
    try:
        return library.Translator(
            str(folder),
            device=device,
            compute_type=quantization,
            inter_threads=threads if device == "cpu" else 1,
            intra_threads=1,
        )
    except (RuntimeError, ValueError) as error:  # they raise nothing narrower
        raise FileError(
            f"{folder} is not a model of CTranslate2's", found=str(error), do="export the model again"
        ) from error
    finally:
        torch.set_num_threads(threads)  # theirs sets it for both libraries
