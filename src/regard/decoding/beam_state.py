"""What a beam search knows: the open texts, the ended ones, and which texts nothing can improve any more.

Everything is a tensor, and no step waits for a number: the same lines run on a CPU and as what a GPU replays. Texts are
kept as who came from whom, and written out once, when they are asked for. B texts, W beams, T steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.decoding.beams import Beams
from regard.decoding.candidates import Candidates, best_candidates
from regard.decoding.finite import NEVER
from regard.decoding.limits import Hypothesis, Limits


@dataclass
class BeamState:
    """The open and the ended texts of every source or prompt."""

    how: Beams
    limits: Limits
    running_BW: Tensor  # sums of log probabilities of the open texts, best first
    ids_TBW: Tensor  # what each open text said at each step, and which beam it came from
    parents_TBW: Tensor
    ended_scores_BW: Tensor  # divided by length, best first
    ended_BW: Tensor  # where these stand: (step * W + parent) * vocabulary + id
    closed_B: Tensor  # texts for which nothing can improve any more
    vocabulary: int = 0

    @classmethod
    def start(cls, texts: int, how: Beams, limits: Limits, device: torch.device, room: int = 32) -> BeamState:
        """Before the first step there is one beam, the prompt, for each text."""
        history = torch.zeros(min(room, limits.longest), texts, how.width, dtype=torch.long, device=device)
        no_scores = torch.full((texts, how.width), NEVER, device=device)
        return cls(
            how, limits, torch.zeros(texts, 1, device=device), history, history.clone(), no_scores,
            history.new_zeros(texts, how.width), torch.zeros(texts, dtype=torch.bool, device=device),
        )  # fmt: skip

    @property
    def spare(self) -> int:
        """Each open text can end in as many ways as there are ends: with that many to spare, the beams stay full."""
        return max(1, len(self.limits.end)) * self.how.width

    def branch(self, logs_BWV: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """Every open text with every next id; keep the best. Gives the beams to go on from and their ids, (B, W)."""
        if step == len(self.ids_TBW):
            more = min(step, self.limits.longest - step)
            self.ids_TBW, self.parents_TBW = (
                torch.cat([x, x.new_zeros(more, *x.shape[1:])]) for x in (self.ids_TBW, self.parents_TBW)
            )
        self.vocabulary = logs_BWV.shape[-1]
        candidates = best_candidates(self.running_BW, logs_BWV, self.how.width + self.spare)
        ending = self.limits.ends(candidates.ids)
        if step == self.limits.longest - 1:
            ending = torch.ones_like(ending)
        self.close(candidates, ending, step, self.how.divisor(step + 1))
        self.running_BW, parents, ids = self.best_open(candidates, ending)
        self.parents_TBW[step], self.ids_TBW[step] = parents, ids
        return parents, ids

    def best_open(self, candidates: Candidates, ending: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The scores, parents and newest ids of the open texts that go on."""
        best = candidates.scores.masked_fill(ending, NEVER).topk(self.how.width, -1)
        return best.values, candidates.parents.gather(1, best.indices), candidates.ids.gather(1, best.indices)

    def close(self, candidates: Candidates, ending: Tensor, step: int | Tensor, divisor: float | Tensor) -> None:
        """Texts that end among the first `width` join the ended ones, of which the best are kept."""
        width = self.how.width
        ended_now = ending[:, :width] & ~self.closed_B[:, None]
        if ended_now.device.type == "cpu" and not bool(ended_now.any()):
            return  # as in most steps; elsewhere asking would wait for the device
        scores = (candidates.scores[:, :width] / divisor).masked_fill(~ended_now, NEVER)
        positions = (step * width + candidates.parents[:, :width]) * self.vocabulary + candidates.ids[:, :width]
        best = torch.cat([self.ended_scores_BW, scores], -1).topk(width, -1)
        self.ended_scores_BW = best.values
        self.ended_BW = torch.cat([self.ended_BW, positions], -1).gather(1, best.indices)

    def update_closed(self, divisors: Sequence[float | Tensor]) -> None:
        """Which texts can find no better one any more: not even with the kindest of these divisors."""
        full = (self.ended_scores_BW > NEVER).all(-1)
        if self.how.stop != "full":
            best_possible = torch.stack([self.running_BW[:, 0] / divisor for divisor in divisors]).amax(0)
            full = full & (best_possible <= self.ended_scores_BW[:, -1])
        self.closed_B = self.closed_B | full

    def over_and_stuck(self) -> tuple[list[bool], bool]:
        """Which texts are done or have nowhere to go, and has one come to nothing? The numbers a step waits for."""
        over_B = self.closed_B | (self.running_BW[:, 0] == NEVER)
        *over, stuck = torch.cat([over_B, self.stuck_B(over_B).any()[None]]).tolist()
        return over, stuck

    def stuck_B(self, over_B: Tensor) -> Tensor:
        """Texts whose open beams have no score (NaN comes first among the best), or that are over without a result."""
        return (self.running_BW[:, 0].isnan() & ~self.closed_B) | (over_B & ~(self.ended_scores_BW[:, 0] > NEVER))

    def stuck(self) -> bool:
        """At the end, when every text is over: has one no result?"""
        return bool(self.stuck_B(torch.ones_like(self.closed_B)).any())

    def select(self, texts: Tensor) -> BeamState:
        """The same of some texts only."""
        return BeamState(
            self.how, self.limits, self.running_BW[texts], self.ids_TBW[:, texts], self.parents_TBW[:, texts],
            self.ended_scores_BW[texts], self.ended_BW[texts], self.closed_B[texts], self.vocabulary,
        )  # fmt: skip

    def results(self) -> list[list[Hypothesis]]:
        """The ended texts of each, best first."""
        scores, ended = self.ended_scores_BW.tolist(), self.ended_BW.tolist()
        last = max((place for row in ended for place in row), default=0) // (self.vocabulary or 1) // self.how.width
        ids, parents = (x[: last + 1].transpose(0, 1).tolist() for x in (self.ids_TBW, self.parents_TBW))
        return [
            [
                self.limits.hypothesis(self.written(place, ids[text], parents[text]), score)
                for place, score in zip(ended[text], scores[text], strict=True) if score > NEVER
            ]
            for text in range(len(scores))
        ]  # fmt: skip

    def written(self, place: int, ids_TW: list[list[int]], parents_TW: list[list[int]]) -> list[int]:
        """The ids of an ended text, followed back from its end."""
        place, token = divmod(place, self.vocabulary)
        step, beam = divmod(place, self.how.width)
        output_ids = [token]
        for earlier in range(step - 1, -1, -1):
            output_ids.append(ids_TW[earlier][beam])
            beam = parents_TW[earlier][beam]
        return output_ids[::-1]


def results_of(state: BeamState, numbers: list[int], over: list[bool]) -> dict[int, list[Hypothesis]]:
    """By number, what was found for the texts that are over."""
    rows = [row for row, done in enumerate(over) if done]
    results = state.select(torch.tensor(rows, dtype=torch.long, device=state.closed_B.device)).results()
    return {numbers[row]: texts for row, texts in zip(rows, results, strict=True)}
