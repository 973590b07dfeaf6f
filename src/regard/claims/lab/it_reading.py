"""What heads do with an "it": how much they look at either noun, and whether their outputs make il into elle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from regard.claims.lab.it_pairs import ItPair
from regard.lens.hooks.activations import Activations
from regard.lens.intervene import activations, intervene
from regard.text.grammar import Sentence
from regard.text.tokenizer import padded

SourceIds = Callable[[str], tuple[list[int], list[int]]]  # ids, and the word of each
TargetIds = Callable[[str], list[int]]
SiteHead = tuple[str, int]


@dataclass(frozen=True)
class Codecs:
    """How a model's texts become ids."""

    source: SourceIds
    target: TargetIds
    start: int
    pad: int


@dataclass(frozen=True)
class ItBatch:
    """Sentences with an "it" as a model reads them, up to where it must say il or elle."""

    source: Tensor  # (B, N)
    mask: Tensor
    target: Tensor  # (B, T)
    row: Tensor  # (B): of the decoder, where il or elle is said
    own: Tensor  # (B): the id that is right here
    other: Tensor  # (B): the id that the other sentence of the pair has
    it: Tensor  # (B): where "it" stands
    antecedent: Tensor  # (B, N): which ids are of the noun that is meant
    rival: Tensor  # (B, N): and of the other
    reason: Tensor  # (B, N): of what is said of it, the last word

    def to(self, device: str) -> ItBatch:
        return ItBatch(*(getattr(self, field.name).to(device) for field in fields(self)))


def readable(pairs: Sequence[ItPair], codecs: Codecs) -> list[ItPair]:
    """Those whose sentences have as many ids each, so that what is computed for one can stand in another."""
    return [pair for pair in pairs if len({len(codecs.source(one.source)[0]) for one in pair.all}) == 1]


def it_batch(sentences: Sequence[Sentence], others: Sequence[Sentence], codecs: Codecs) -> ItBatch:
    """Each sentence, and beside it the one that differs in il or elle."""
    read = [codecs.source(one.source) for one in sentences]
    targets = [
        (codecs.target(one.target), codecs.target(two.target)) for one, two in zip(sentences, others, strict=True)
    ]
    parted = [next(place for place, (a, b) in enumerate(zip(*both, strict=False)) if a != b) for both in targets]
    source, mask = padded([ids for ids, _ in read], codecs.pad)
    prefixes = [[codecs.start, *both[0][:place]] for both, place in zip(targets, parted, strict=True)]
    pronouns = [one.pronouns[0] for one in sentences]
    owners = padded([[owner + 1 for owner in words] for _, words in read], 0).ids - 1
    antecedents, rivals, its = (
        torch.tensor([[getattr(pronoun, name)] for pronoun in pronouns]) for name in ("antecedent", "rival", "source")
    )
    reasons = torch.tensor([[len(one.source_words) - 2] for one in sentences])
    return ItBatch(
        source, mask, padded(prefixes, codecs.pad).ids, torch.tensor(parted),
        torch.tensor([both[0][place] for both, place in zip(targets, parted, strict=True)]),
        torch.tensor([both[1][place] for both, place in zip(targets, parted, strict=True)]),
        (owners == its).long().argmax(-1), owners == antecedents, owners == rivals, owners == reasons,
    )  # fmt: skip


def choice(model: Any, batch: ItBatch) -> Tensor:
    """(B): log odds of the right pronoun against the other."""
    logits = model(batch.source, batch.target, batch.mask)
    written = logits[torch.arange(len(batch.row), device=logits.device), batch.row]
    odds: Tensor = (written.gather(1, batch.own[:, None]) - written.gather(1, batch.other[:, None]))[:, 0]
    return odds


@torch.no_grad()
def run_of(model: Any, batch: ItBatch) -> Activations:
    """What all heads compute while the model reads these."""
    with activations(model) as run:
        choice(model, batch)
    return run


def heads_of(run: Activations) -> list[SiteHead]:
    return [(name, head) for name, site in run.sites.items() for head in range(site.query.shape[-3])]


def looked_from(run: Activations, batch: ItBatch, site: str) -> Tensor:
    """(B, H, K): the weights of the row of "it" in the encoder, in cross-attention of the one that says il or elle."""
    row = batch.row if site.endswith("cross") else batch.it
    return run.site(site).weights()[torch.arange(len(row), device=row.device), :, row]


def looks(run: Activations, batch: ItBatch, site: str) -> tuple[Tensor, Tensor]:
    """(H, B) each: weight on the noun that is meant and on the other."""
    weights = looked_from(run, batch, site)
    antecedent, rival = ((weights * some[:, None]).sum(-1).mT for some in (batch.antecedent, batch.rival))
    return antecedent, rival


@torch.no_grad()
def patched_choices(model: Any, batch: ItBatch, run: Activations, heads: Sequence[SiteHead]) -> Tensor:
    """(heads, B): the same odds when the output of one head, at all positions, is that of another run."""
    odds = []
    for site, head in heads:
        with intervene(model, patch=(site, head, "output", None), source=run):
            odds.append(choice(model, batch))
    return torch.stack(odds)
