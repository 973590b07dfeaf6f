"""Strings to ids and back: a tokenizer.json, and what anything else that does the same must offer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import torch
from tokenizers import AddedToken
from tokenizers import Tokenizer as Engine
from torch import Tensor

from regard.errors import FileError


class Codec(Protocol):
    """What a model needs of its tokenizer."""

    kind: str  # in a word or two, for people

    @property
    def size(self) -> int:
        """How many tokens there are, without those added later."""

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, with what the model expects around them."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of some ids, without special tokens."""

    def id_of(self, token: str) -> int | None:
        """The id of one token, if there is such a token."""


class Batch(NamedTuple):
    """Texts side by side: ids (B, N), and a mask that is True on words and False on what fills up."""

    ids: Tensor
    mask: Tensor


def padded(rows: Sequence[Sequence[int]], pad: int, *, left: bool = False) -> Batch:
    """Lay rows of ids out as one tensor, filled up on the right, or on the left for what is continued."""
    length = max(map(len, rows), default=0)
    ids = torch.full((len(rows), length), pad, dtype=torch.long)
    mask = torch.zeros(len(rows), length, dtype=torch.bool)
    for number, row in enumerate(rows):
        place = slice(length - len(row), length) if left else slice(len(row))
        ids[number, place] = torch.tensor(row, dtype=torch.long)
        mask[number, place] = True
    return Batch(ids, mask)


class Tokenizer:
    """A tokenizer.json, by the `tokenizers` library. Special tokens around a text are those the file asks for."""

    def __init__(self, engine: Engine, *, tidy: bool = False) -> None:
        engine.no_padding()  # files may ask for either, and would then cut or fill every text
        engine.no_truncation()
        self.engine, self.tidy = engine, tidy
        self.kind = type(engine.model).__name__

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """The tokenizer in a file."""
        path = Path(path)
        if not path.is_file():
            raise FileError(
                f"{path.parent} holds no tokenizer", found=f"no {path.name}", do="put the model's tokenizer.json there"
            )
        try:
            return cls(Engine.from_file(str(path)))
        except Exception as error:  # the library raises nothing narrower
            raise FileError(f"{path} is no tokenizer", found=str(error), do="restore it, or train again") from error

    def save(self, path: str | Path) -> None:
        """Write it as a tokenizer.json."""
        self.engine.save(str(path))

    def mark_special(self, tokens: Sequence[str]) -> None:
        """Have these tokens of the vocabulary kept whole in texts, and left out when ids are read back."""
        self.engine.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in tokens])

    @property
    def size(self) -> int:
        return int(self.engine.get_vocab_size(with_added_tokens=False))

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self.engine.encode_batch(list(texts))]

    def spans(self, text: str) -> list[tuple[int, int] | None]:
        """Where each id of `encode` stands in the text, (start, stop); None for what stands around it."""
        encoding = self.engine.encode(text)
        around = encoding.special_tokens_mask
        return [None if put else span for span, put in zip(encoding.offsets, around, strict=True)]

    def decode(self, ids: Sequence[int]) -> str:
        text: str = self.engine.decode(list(ids), skip_special_tokens=True)
        return tidied(text) if self.tidy else text

    def token_of(self, number: int) -> str | None:
        """The token with an id, if there is one."""
        token: str | None = self.engine.id_to_token(number)
        return token

    def id_of(self, token: str) -> int | None:
        number: int | None = self.engine.token_to_id(token)
        return number


def tidied(text: str) -> str:
    """Without the spaces that splitting at punctuation left behind; some models of words ask for it."""
    for mark in (".", "?", "!", ","):
        text = text.replace(f" {mark}", mark)
    text = text.replace(" ' ", "'")
    for ending in ("n't", "'m", "'s", "'ve", "'re"):
        text = text.replace(f" {ending}", ending)
    return text
