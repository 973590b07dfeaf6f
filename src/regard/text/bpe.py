"""A tokenizer made from a corpus: byte-pair encoding over bytes, so that nothing is unknown and every text returns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers import Tokenizer as Engine

from regard.errors import InputError
from regard.text.slots import SLOTS
from regard.text.tokenizer import Tokenizer

PAD, START, END, MASK = "<pad>", "<s>", "</s>", "[MASK]"
BYTES = 256
FOLDED = dict(zip("\u2019\u2018\u201c\u201d\u00a0\u202f", "''\"\"  ", strict=True))  # one character for one
SLOT = f"{SLOTS[0]}-{SLOTS[-1]}"
# A word takes the space before it along and keeps an elided vowel's apostrophe: "qu'" is one piece wherever it stands.
# A slot stays by itself.
WORDS = rf" ?[{SLOT}]| ?[\p{{L}}\p{{M}}]+['’]?| ?\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}{SLOT}]+|\s+(?!\S)|\s+"


def train_tokenizer(
    texts: Iterable[str],
    vocabulary: int,
    *,
    around: Sequence[str] = ("$A", END),
    mask: bool = False,
    fold: bool = False,
) -> Tokenizer:
    """A tokenizer of at most so many tokens. `around` says what stands before and behind a text ("$A").

    `fold`: curly quotes, apostrophes and spaces that do not break are read as plain ones.
    """
    special = [PAD, START, END, *([MASK] if mask else [])]
    if vocabulary < BYTES + len(special):
        raise InputError(
            "a vocabulary needs room for every byte",
            found=f"vocabulary = {vocabulary}",
            do=f"choose at least {BYTES + len(special)}",
        )
    engine = Engine(models.BPE())
    engine.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    if fold:
        engine.normalizer = normalizers.Sequence([normalizers.Replace(*pair) for pair in FOLDED.items()])
    engine.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=special,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    engine.train_from_iterator(texts, trainer)
    engine.post_processor = processors.TemplateProcessing(
        single=list(around), special_tokens=[(token, special.index(token)) for token in around if token != "$A"]
    )
    return literal(Tokenizer(engine), mask=mask)


def literal(tokenizer: Tokenizer, *, mask: bool = False) -> Tokenizer:
    """Read "</s>" in a text as those four characters. Only where words are masked may a text name a special token."""
    tokenizer.engine.encode_special_tokens = not mask
    return tokenizer


class Paired:
    """Two vocabularies: texts are read with one and written with the other."""

    def __init__(self, source: Tokenizer, target: Tokenizer) -> None:
        self.source, self.target = source, target
        self.kind = f"{source.kind}, {target.size:,} more for the target"

    @property
    def size(self) -> int:
        return self.source.size

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return self.source.encode(texts)

    def decode(self, ids: Sequence[int]) -> str:
        return self.target.decode(ids)

    def id_of(self, token: str) -> int | None:
        return self.source.id_of(token)

    def save(self, path: str | Path) -> None:
        """Write both: the target's beside the source's."""
        self.source.save(path)
        self.target.save(target_file(path))


def target_file(path: str | Path) -> Path:
    """Where the target's own vocabulary stands beside tokenizer.json."""
    path = Path(path)
    return path.with_name(f"{path.stem}.target{path.suffix}")


def source_of(tokenizer: Tokenizer | Paired) -> Tokenizer:
    """What reads the source."""
    return tokenizer.source if isinstance(tokenizer, Paired) else tokenizer


def target_of(tokenizer: Tokenizer | Paired) -> Tokenizer:
    """What writes the target."""
    return tokenizer.target if isinstance(tokenizer, Paired) else tokenizer


def read_tokenizer(folder: Path, *, masked: bool = False) -> Tokenizer | Paired:
    """The tokenizer of one of our folders, or the two of a model with separate vocabularies."""
    source = literal(Tokenizer.load(folder / "tokenizer.json"), mask=masked)
    target = target_file(folder / "tokenizer.json")
    return Paired(source, literal(Tokenizer.load(target))) if target.is_file() else source
