"""The tokenizer of a Hugging Face folder: its tokenizer.json, or the sentencepiece files of a Marian model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from regard.errors import FileError
from regard.interop.folders import read_json
from regard.text.tokenizer import Codec, Tokenizer

NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
LISTED = ("additional_special_tokens", "extra_special_tokens")


def load_tokenizer(folder: Path) -> Codec:
    """The tokenizer beside a model."""
    settings = read_json(folder / "tokenizer_config.json")
    by_pieces = (folder / "source.spm").exists()
    if by_pieces and (settings.get("tokenizer_class") == "MarianTokenizer" or not (folder / "tokenizer.json").exists()):
        return MarianTokenizer(folder, settings)
    if not (folder / "tokenizer.json").exists():
        raise FileError(
            f"{folder} holds no tokenizer that can be read",
            found="no tokenizer.json, and no source.spm with target.spm and vocab.json",
            do="make one with transformers: AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)",
        )
    tokenizer = Tokenizer.load(folder / "tokenizer.json")
    tokenizer.mark_special([token for token in special_tokens(folder) if tokenizer.id_of(token) is not None])
    tokenizer.engine.encode_special_tokens = bool(settings.get("split_special_tokens"))
    tokenizer.tidy = bool(settings.get("clean_up_tokenization_spaces")) and tokenizer.kind != "BPE"
    return tokenizer


def special_tokens(folder: Path) -> list[str]:
    """What the files beside a tokenizer call special."""
    tokens: dict[str, None] = {}
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        tokens |= dict.fromkeys(named_tokens(read_json(folder / name)))
    return list(tokens)


def named_tokens(settings: dict[str, Any]) -> Iterable[str]:
    for name in NAMED:
        yield from contents(settings.get(name))
    for name in LISTED:
        listed = settings.get(name) or []
        for token in listed.values() if isinstance(listed, dict) else listed:
            yield from contents(token)


def contents(token: Any) -> Iterable[str]:
    """A token may be written as a string or as an object with its content."""
    text = token.get("content") if isinstance(token, dict) else token
    if isinstance(text, str) and text:
        yield text


def mask_token(folder: Path) -> str:
    """The token that stands for a masked word."""
    token = read_json(folder / "tokenizer_config.json").get("mask_token")
    return next(iter(contents(token)), "[MASK]")


class MarianTokenizer:
    """source.spm cuts texts into pieces, vocab.json numbers them; target.spm puts pieces together again.

    Pieces that vocab.json does not have are unknown: its numbers are not sentencepiece's. A language code in front,
    such as >>fr<<, is one token. No punctuation is changed.
    """

    kind = "sentencepiece"

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.folder, self.ids = folder, numbered(folder / "vocab.json")
        separate = bool(settings.get("separate_vocabs"))
        self.target_ids = numbered(folder / "target_vocab.json") if separate else self.ids
        self.tokens = {number: token for token, number in self.target_ids.items()}
        # With one vocabulary, transformers joins the pieces by the source's rules.
        self.cutter = load_pieces(folder / "source.spm")
        self.joiner = load_pieces(folder / "target.spm") if separate else self.cutter
        self.unknown, self.end, self.pad = (
            next(iter(contents(settings.get(f"{name}_token"))), usual)
            for name, usual in (("unk", "<unk>"), ("eos", "</s>"), ("pad", "<pad>"))
        )
        self.special = {self.unknown, self.end, self.pad, *special_tokens(folder)}
        self.border = re.compile("|".join(map(re.escape, sorted(self.special, key=len, reverse=True))))

    @property
    def size(self) -> int:
        return len(self.ids)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [[*map(self.number, self.pieces(text)), self.ids[self.end]] for text in texts]

    def number(self, piece: str) -> int:
        return self.ids.get(piece, self.ids[self.unknown])

    @cached_property
    def source(self) -> MarianTokenizer:
        """What reads the source, and writes it too."""
        side = copy(self)
        side.tokens, side.joiner = {number: token for token, number in self.ids.items()}, self.cutter
        return side

    @cached_property
    def target(self) -> MarianTokenizer:
        """What writes the target, and reads it too."""
        side = copy(self)
        side.ids, side.cutter = self.target_ids, load_pieces(self.folder / "target.spm")
        return side

    def pieces(self, text: str) -> list[str]:
        """Special tokens that stand in the text are kept whole; what lies between them is cut."""
        pieces: list[str] = []
        for start, stop, whole in self.segments(text):
            pieces += [text[start:stop]] if whole else self.cutter.encode(text[start:stop], out_type=str)
        return pieces

    def spans(self, text: str) -> list[tuple[int, int] | None]:
        """Where each id of `encode` stands in the text, (start, stop); None for the end."""
        spans: list[tuple[int, int] | None] = []
        for start, stop, whole in self.segments(text):
            if whole:
                spans.append((start, stop))
                continue
            origins = self.cutter.normalize(text[start:stop], with_offsets=True)[1]  # of each character of the pieces
            pieces = self.cutter.encode(text[start:stop], out_type=str)
            ends = accumulate(map(len, pieces), initial=0)
            spans += [(start + origins[first], start + origins[last]) for first, last in pairwise(ends)]
        return [*spans, None]

    def segments(self, text: str) -> Iterable[tuple[int, int, bool]]:
        """Start and stop of each part of a text, and whether it is one token: special, or the code of a language."""
        borders = [*(match.span() for match in self.border.finditer(text)), (len(text), len(text))]
        start = 0
        for first, last in borders:
            code = re.match(r">>.*?<<", text[start:first], flags=re.DOTALL)
            if code:
                yield start, start + code.end(), True
                start += code.end()
            yield start, first, False
            if last > first:
                yield first, last, True
            start = last

    def decode(self, ids: Sequence[int]) -> str:
        tokens = [self.tokens[number] for number in ids if number in self.tokens]
        text: str = self.joiner.decode_pieces([token for token in tokens if token not in self.special])
        return text.replace("▁", " ").strip()

    def token_of(self, number: int) -> str | None:
        """The token with an id, as `decode` reads it."""
        return self.tokens.get(number)

    def id_of(self, token: str) -> int | None:
        return self.ids.get(token)


def numbered(path: Path) -> dict[str, int]:
    """A vocab.json: every token's id."""
    ids = read_json(path)
    if not ids:
        raise FileError(f"{path} is missing or empty", do="download the folder again")
    return {str(token): int(number) for token, number in ids.items()}


def load_pieces(path: Path) -> Any:
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError as error:
        raise FileError(
            f"{path.name} needs sentencepiece", found="it is not installed", do="pip install regard[hf]"
        ) from error
    try:
        return SentencePieceProcessor(model_file=str(path))
    except (OSError, RuntimeError, ValueError) as error:
        raise FileError(f"cannot read {path}", found=str(error), do="download the folder again") from error
