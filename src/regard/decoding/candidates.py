"""The best continuations of all beams of a text, without sorting through everything that could come next."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from regard.decoding.finite import NEVER

CHUNK = 64  # ids that are looked at by their largest first


class Candidates(NamedTuple):
    """The best of B texts, best first, (B, C) each."""

    scores: Tensor  # the sum of log probabilities, the newest included
    parents: Tensor  # which beam it goes on from
    ids: Tensor  # the newest id


def best_candidates(running_BW: Tensor, logs_BWV: Tensor, count: int) -> Candidates:
    """The `count` best sums of a beam's score and an id's log probability; where there are fewer, -inf fills up."""
    vocabulary = logs_BWV.shape[-1]
    chunks = vocabulary // CHUNK
    if running_BW.shape[1] * chunks <= 2 * count:  # too few to gain anything
        totals, flat = (running_BW[..., None] + logs_BWV).flatten(1), None
    else:
        totals, flat = promising(running_BW, logs_BWV, count, chunks)
    scores, index = totals.topk(min(count, totals.shape[1]), -1)
    index = index if flat is None else flat.gather(1, index)
    missing = count - scores.shape[1]
    if missing:
        scores, index = (torch.nn.functional.pad(x, (0, missing), value=v) for x, v in ((scores, NEVER), (index, 0)))
    parents = torch.div(index, vocabulary, rounding_mode="floor")
    return Candidates(scores, parents, index - parents * vocabulary)


def promising(running_BW: Tensor, logs_BWV: Tensor, count: int, chunks: int) -> tuple[Tensor, Tensor]:
    """Sums that hold the `count` best of all, and where each stands among them all.

    The best so many ids lie in the chunks with the best so many largest ones: to find those, every number is read once
    and hardly any is sorted.
    """
    texts, beams, vocabulary = logs_BWV.shape
    device = logs_BWV.device
    body = logs_BWV[..., : chunks * CHUNK].unflatten(-1, (chunks, CHUNK))
    largest = (body.amax(-1) + running_BW[..., None]).flatten(1)
    best = largest.topk(count, -1, sorted=False).indices
    beam = torch.div(best, chunks, rounding_mode="floor")
    chunk = best - beam * chunks
    text = torch.arange(texts, device=device)[:, None]
    totals = body[text, beam, chunk] + running_BW.gather(1, beam)[..., None]
    flat = (beam * vocabulary + chunk * CHUNK)[..., None] + torch.arange(CHUNK, device=device)
    if chunks * CHUNK == vocabulary:
        return totals.flatten(1), flat.flatten(1)
    rest = torch.arange(chunks * CHUNK, vocabulary, device=device)
    rest_totals = running_BW[..., None] + logs_BWV[..., chunks * CHUNK :]
    rest_flat = (torch.arange(beams, device=device)[:, None] * vocabulary + rest).flatten().expand(texts, -1)
    return torch.cat([totals.flatten(1), rest_totals.flatten(1)], 1), torch.cat([flat.flatten(1), rest_flat], 1)
