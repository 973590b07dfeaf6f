"""A translator that ships, one sentence after the other: its words as ids, and what it says of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from regard.lens.alignment.word_spans import words_of
from regard.tasks import Translator, load
from regard.text.grammar import words


@dataclass(frozen=True)
class ReadSentence:
    """A source, and what the decoder reads and then writes; `owners` has the word of each source id, or -1."""

    source: Tensor  # (1, N)
    target: Tensor  # (1, T), the start first
    labels: Tensor  # (T): what each row of the decoder writes
    words: tuple[str, ...]
    owners: Tensor  # (N)

    @property
    def members(self) -> Tensor:
        """(W, N): which ids are of which word."""
        return self.owners[None] == torch.arange(len(self.words), device=self.owners.device)[:, None]

    @property
    def word_positions(self) -> list[int]:
        """The numbers of the words that are no punctuation."""
        return [number for number, word in enumerate(self.words) if any(map(str.isalnum, word))]


@cache
def shipped(name: str, device: str = "cpu") -> Translator:
    translator = load(name, device)
    assert isinstance(translator, Translator)
    translator.model.eval()
    return translator


def encoded(translator: Translator, text: str, device: str = "cpu") -> tuple[Tensor, tuple[str, ...], Tensor]:
    """The ids of a text, its words, and the word of each id."""
    ids = torch.tensor(translator.tokenizer.encode([text]), device=device)
    known = words_of(translator.tokenizer.spans(text), text, words)  # type: ignore[attr-defined]
    return ids, known.words, torch.tensor(known.owners, device=device)


def read_translated(name: str, texts: Sequence[str], device: str = "cpu") -> list[ReadSentence]:
    """Each text with the translation that the model itself gives it, word by likeliest word."""
    translator = shipped(name, device)
    config, many = translator.config, []
    for text in texts:
        source, known, owners = encoded(translator, text, device)
        best = translator.decode([source[0].tolist()], translator.beams(1, None), translator.limits(None))[0][0]
        output_ids = torch.tensor([best.ids], dtype=torch.long, device=device)
        start = torch.full((1, 1), config.start, device=device)
        many.append(ReadSentence(source, torch.cat([start, output_ids[:, :-1]], 1), output_ids[0], known, owners))
    return many
