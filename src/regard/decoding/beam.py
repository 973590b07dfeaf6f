"""Beam search: several texts at once, the best by score over a penalty for length, with a proof when to stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from regard.decoding.finite import NEVER, not_finite
from regard.decoding.limits import Hypothesis, Limits
from regard.decoding.stepper import Stepper
from regard.errors import InputError, UnknownNameError

PENALTIES = ("paper", "power")
MAX_ALPHA = 5.0  # beyond, length alone would decide, and its power leaves what float32 can hold
MAX_WIDTH = 500  # beams, each of which is a text to follow
STOPS = ("proven", "likely", "full")


@dataclass(frozen=True)
class Beams:
    """How wide to search, how length counts and when to stop.

    penalty  "paper": ((5 + length) / 6)^alpha; "power": length^alpha, as Hugging Face divides
    stop     "proven": when no open text can still win; "likely": when none would at its present length; "full": as soon
             as there are as many ended texts as beams
    """

    width: int = 4
    alpha: float = 0.6
    penalty: Literal["paper", "power"] = "paper"
    stop: Literal["proven", "likely", "full"] = "proven"

    def __post_init__(self) -> None:
        """Refuse what is no beam search."""
        if not abs(self.alpha) <= MAX_ALPHA:  # also of what is not a number
            raise InputError(
                f"alpha must lie between -{MAX_ALPHA:g} and {MAX_ALPHA:g}",
                found=f"{self.alpha:g}",
                do="0.6 is the paper's",
            )
        if not isinstance(self.width, int) or not 1 <= self.width <= MAX_WIDTH:
            raise InputError(
                f"a beam search needs at least one beam, and at most {MAX_WIDTH}",
                found=f"{self.width:,}" if isinstance(self.width, int) else f"{self.width!r}",
                do="4 is usual; more than 10 seldom help",
            )
        for name, known in (("penalty", PENALTIES), ("stop", STOPS)):
            if getattr(self, name) not in known:
                raise UnknownNameError(name, str(getattr(self, name)), known)

    def divisor(self, length: int) -> float:
        """What a text of so many ids, its end included, has its score divided by."""
        return float(((5 + length) / 6) ** self.alpha if self.penalty == "paper" else length**self.alpha)

    def best_still(self, running: Tensor, length: int, longest: int) -> Tensor:
        """The best score an open text can come to. Its sum only falls, so only its divisor can help it."""
        at_most = [self.divisor(length)] if self.stop != "proven" else [self.divisor(n) for n in (length + 1, longest)]
        return torch.stack([running / divisor for divisor in at_most]).amax(0)


@torch.no_grad()
def beam(stepper: Stepper, prompt_BN: Tensor, limits: Limits, how: Beams) -> list[list[Hypothesis]]:
    """The best `how.width` texts of each row, best first."""
    rows, width = len(prompt_BN), how.width
    logits = stepper.advance(prompt_BN)
    stepper.select(torch.arange(rows, device=prompt_BN.device).repeat_interleave(width))
    state = BeamState.start(rows, how, limits, prompt_BN.device)
    logits = logits.repeat_interleave(width, 0)
    for step in range(limits.longest):
        parents, ids = state.branch(limits.log_probabilities(logits, step), step)
        if step == limits.longest - 1 or state.done(step + 1):
            break
        stepper.select(parents, source=False)  # parents are beams of the same text
        logits = stepper.advance(ids[:, None])
    if state.stuck():
        raise not_finite(logits, getattr(stepper, "model", None), step)
    return state.results()


@dataclass
class BeamState:
    """The open and the ended texts of every row. B rows, W beams."""

    how: Beams
    limits: Limits
    running_BW: Tensor  # sums of log probabilities of the open texts, best first
    open_BWT: Tensor
    ended_scores_BW: Tensor  # divided by length, best first
    ended_texts: list[list[tuple[int, ...]]]
    closed_B: Tensor  # rows in which nothing can improve any more

    @classmethod
    def start(cls, rows: int, how: Beams, limits: Limits, device: torch.device) -> BeamState:
        running = torch.full((rows, how.width), NEVER, device=device)
        running[:, 0] = 0.0  # all beams are the same prompt: only one of them may branch at first
        open_BWT = torch.zeros(rows, how.width, 0, dtype=torch.long, device=device)
        no_scores = torch.full((rows, how.width), NEVER, device=device)
        closed = torch.zeros(rows, dtype=torch.bool, device=device)
        return cls(how, limits, running, open_BWT, no_scores, [[()] * how.width for _ in range(rows)], closed)

    def branch(self, logs: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """Every open text with every next id; keep the best. Gives the rows to go on from, and their new ids."""
        rows, width = self.running_BW.shape
        total = (self.running_BW[..., None] + logs.view(rows, width, -1)).flatten(1)
        # Each open text can end in as many ways as there are ends: with that many to spare, the beams stay full.
        spare = max(1, len(self.limits.end)) * width
        scores, index = total.topk(min(width + spare, total.shape[1]), -1)
        vocabulary = logs.shape[-1]
        parents, ids = index // vocabulary, index % vocabulary
        texts = torch.cat([self.open_BWT.gather(1, parents[..., None].expand(-1, -1, step)), ids[..., None]], -1)
        ending = self.limits.ends(ids) | (step == self.limits.longest - 1)
        self.close(scores, texts, ending, step + 1)
        best = scores.masked_fill(ending, NEVER).topk(width, -1)
        self.running_BW = best.values
        self.open_BWT = texts.gather(1, best.indices[..., None].expand(-1, -1, step + 1))
        first = torch.arange(rows, device=logs.device)[:, None] * width
        parent_rows = parents.gather(1, best.indices) + first
        return parent_rows.flatten(), self.open_BWT[..., -1].flatten()

    def close(self, scores: Tensor, texts: Tensor, ending: Tensor, length: int) -> None:
        """Texts that end among the first `width` join the ended ones, of which the best are kept."""
        width = self.how.width
        within_width = torch.arange(scores.shape[1], device=scores.device) < width
        new_scores = (scores / self.how.divisor(length)).masked_fill(
            ~(ending & within_width) | self.closed_B[:, None], NEVER
        )
        both = torch.cat([self.ended_scores_BW, new_scores], -1)
        best = both.topk(width, -1)
        self.ended_scores_BW = best.values
        for row, picks in enumerate(best.indices.tolist()):
            if any(pick >= width for pick in picks):
                pool = [*self.ended_texts[row], *map(tuple, texts[row].tolist())]
                self.ended_texts[row] = [pool[pick] for pick in picks]

    def done(self, length: int) -> bool:
        """Can no row still find a better text, or one none at all?"""
        full = (self.ended_scores_BW > NEVER).all(-1)
        if self.how.stop == "full":
            self.closed_B = self.closed_B | full
        else:
            best_possible = self.how.best_still(self.running_BW[:, 0], length, self.limits.longest)
            self.closed_B = self.closed_B | (full & (best_possible <= self.ended_scores_BW[:, -1]))
        over_B = self.closed_B | (self.running_BW[:, 0] == NEVER)
        return bool(over_B.all() | self.stuck_B(over_B).any())  # the one number a step that is waited for

    def stuck_B(self, over_B: Tensor) -> Tensor:
        """Rows whose open texts have no score (NaN comes first among the best), or that are over without a text."""
        return (self.running_BW[:, 0].isnan() & ~self.closed_B) | (over_B & ~(self.ended_scores_BW[:, 0] > NEVER))

    def stuck(self) -> bool:
        """At the end, when every row is over: has one no text?"""
        return bool(self.stuck_B(torch.ones_like(self.closed_B)).any())

    def results(self) -> list[list[Hypothesis]]:
        return [
            [self.limits.hypothesis(text, score) for text, score in zip(texts, scores, strict=True) if score > NEVER]
            for texts, scores in zip(self.ended_texts, self.ended_scores_BW.tolist(), strict=True)
        ]
