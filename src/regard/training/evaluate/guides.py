"""What a translator would say, without letting it speak: quick scores that a search over heads can be guided by."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.errors import InputError
from regard.tasks import Translator
from regard.tasks.eval_mode import eval_mode
from regard.tasks.text_ids import encode
from regard.text.grammar import Sentence
from regard.text.tokenizer import padded

OTHER = {"il": "elle", "elle": "il", "Il": "Elle", "Elle": "Il", "s'il": "si elle", "si elle": "s'il"}
IGNORE_INDEX = -100  # where no loss is taken
PRONOUN = re.compile(r"\b(s'il|si elle|[Ii]l|[Ee]lle)\b")  # si decides before the pronoun is written


class ForcedBatch(NamedTuple):
    """Texts side by side: source ids with their mask, what the decoder reads, and what it should write."""

    source: Tensor
    mask: Tensor
    decoder_ids: Tensor
    labels: Tensor  # IGNORE_INDEX behind the end


def forced_batch(translator: Translator, sentences: Sequence[Sentence]) -> ForcedBatch:
    """References as the decoder reads them."""
    config = translator.model.config
    device = next(translator.model.parameters()).device
    pad = config.pad or 0
    source = padded(encode(translator.tokenizer, [one.source for one in sentences], config.source_vocabulary), pad)
    rows = target_ids(translator, [one.target for one in sentences])
    decoder_ids = padded([[config.start, *row[:-1]] for row in rows], pad).ids
    return ForcedBatch(*(x.to(device) for x in (source.ids, source.mask, decoder_ids, padded(rows, IGNORE_INDEX).ids)))


def target_ids(translator: Translator, texts: Sequence[str]) -> list[list[int]]:
    """Ids of translations, each with its end."""
    end = translator.model.config.end
    rows = encode(translator.tokenizer, texts, translator.model.config.target_vocabulary)
    return [row if row and row[-1] == end else [*row, end] for row in rows]


class PronounChoice:
    """The mean probability, of the two pronouns, of the right one, where it is to be written; chance is 0.5."""

    def __init__(self, translator: Translator, sentences: Sequence[Sentence]) -> None:
        asked = [one for one in sentences if any(pronoun.gendered for pronoun in one.pronouns)]
        if not asked:
            raise InputError("no sentence asks for il or elle", found=f"{len(sentences)} sentences")
        self.batch = forced_batch(translator, asked)
        right = target_ids(translator, [one.target for one in asked])
        wrong = target_ids(translator, [PRONOUN.sub(other, one.target) for one in asked])
        self.rows = torch.tensor([first_difference(*both) for both in zip(right, wrong, strict=True)])
        self.right, self.wrong = (
            torch.tensor([ids[row] for ids, row in zip(side, self.rows.tolist(), strict=True)])
            for side in (right, wrong)
        )

    @torch.no_grad()
    def __call__(self, translator: Translator) -> float:
        with eval_mode(translator.model):
            logits = translator.model(self.batch.source, self.batch.decoder_ids, self.batch.mask)
        each = torch.arange(len(self.rows))
        written = logits[each, self.rows].float().cpu()
        return float(torch.sigmoid(written[each, self.right] - written[each, self.wrong]).mean())


def first_difference(right: list[int], wrong: list[int]) -> int:
    """The first position where they differ."""
    differing = (position for position, (one, two) in enumerate(zip(right, wrong, strict=False)) if one != two)
    position = next(differing, None)
    if position is None:
        raise InputError("this model's tokenizer does not tell il from elle", do="give a translator of the grammar")
    return position


def other(match: re.Match[str]) -> str:
    return OTHER[match[0]]


class Nats:
    """What the references cost, in nats a token."""

    def __init__(self, translator: Translator, sentences: Sequence[Sentence]) -> None:
        if not sentences:
            raise InputError("there is nothing to foretell", found="no sentences")
        self.batch = forced_batch(translator, sentences)

    @torch.no_grad()
    def __call__(self, translator: Translator) -> float:
        with eval_mode(translator.model):
            logits = translator.model(self.batch.source, self.batch.decoder_ids, self.batch.mask)
        return float(
            F.cross_entropy(logits.flatten(0, 1).float(), self.batch.labels.flatten(), ignore_index=IGNORE_INDEX)
        )
