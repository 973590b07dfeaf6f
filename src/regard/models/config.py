"""What a model is, in a few numbers: one frozen, checked configuration for each family.

Plain dataclasses, where recipes use pydantic: a recipe is read in one place, which puts pydantic's findings in our
words, but a configuration is made and changed anywhere, and pydantic would wrap even our own errors in its own.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from regard.errors import InputError, UnknownNameError

ACTIVATIONS = ("relu", "gelu", "gelu_new", "silu", "tanh")
POSITIONS = ("sinusoidal", "learned", "none")
NORMS = ("post", "pre")
HEADS = ("none", "mask", "class")
DEEPEST = 1_000  # layers
LARGEST = 1 << 28  # any other size: with it, a matrix still has fewer bytes than 64 bits can count


@dataclass(frozen=True)
class Config:
    """What all families share."""

    family: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        return {"family": self.family, **asdict(self)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The configuration in a config.json; a name it does not know is answered with the nearest it does."""
        names = [field.name for field in fields(cls)]
        for name in data:
            if name not in names:
                raise UnknownNameError(f"{cls.family} setting", name, names)
        try:
            return cls(**{name: tuple(v) if isinstance(v, list) else v for name, v in data.items()})
        except TypeError as error:
            raise InputError(f"a {cls.family} configuration is incomplete", found=str(error), do="add it") from error


@dataclass(frozen=True)
class BlockConfig(Config):
    """What every stack of attention blocks shares."""

    dim: int = 512
    heads: int = 8
    feedforward: int = 2048
    dropout: float = 0.1  # of embeddings and of what each sublayer adds
    attention_dropout: float = 0.0  # of attention weights
    feedforward_dropout: float = 0.0  # of the activations inside the feed-forward layer
    norm: str = "post"  # as in the paper: after the residual; "pre": before the sublayer
    activation: str = "relu"
    epsilon: float = 1e-5
    positions: str = "sinusoidal"
    max_length: int = 1024  # of learned positions
    pad: int | None = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be built, by name."""
        for name in ("dim", "heads", "feedforward", "max_length"):
            positive(self, name)
        if self.dim % self.heads:
            raise InputError(
                f"{self.heads} heads cannot share {self.dim} dims equally",
                found=f"dim={self.dim}, heads={self.heads}",
                do=f"choose dim as a multiple of {self.heads}",
            )
        if self.positions == "sinusoidal" and self.dim % 2:
            raise InputError("sinusoidal positions need an even dim", found=f"dim={self.dim}", do="choose an even one")
        for name in ("dropout", "attention_dropout", "feedforward_dropout"):
            share(self, name)
        switches(self)
        small(self, "epsilon")
        one_of(self, "norm", NORMS)
        one_of(self, "activation", ACTIVATIONS)
        one_of(self, "positions", POSITIONS)


@dataclass(frozen=True)
class TransformerConfig(BlockConfig):
    """Encoder and decoder, as in 2017. The defaults are the paper's base."""

    family: ClassVar[str] = "transformer"
    source_vocabulary: int = 37000
    target_vocabulary: int = 37000
    encoder_layers: int = 6
    decoder_layers: int = 6
    shared: bool = True  # one embedding for source and target
    tied: bool = True  # the output layer is the target embedding
    scaled: bool = True  # embeddings times sqrt(dim)
    output_bias: bool = False
    start: int = 1  # what the decoder reads first
    end: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("source_vocabulary", "target_vocabulary", "encoder_layers", "decoder_layers"):
            positive(self, name)
        if self.shared and self.source_vocabulary != self.target_vocabulary:
            raise InputError(
                "a shared embedding needs one vocabulary",
                found=f"source {self.source_vocabulary}, target {self.target_vocabulary}",
                do="set shared = false, or train one tokenizer on both languages",
            )
        translator_ids(self)

    @classmethod
    def preset(cls, name: str, vocabulary: int, **changes: Any) -> TransformerConfig:
        """`tiny`, `small`, `base` or `big` over a joint vocabulary; anything else by keyword."""
        if name not in PRESETS:
            raise UnknownNameError("preset", name, PRESETS)
        return cls(**{"source_vocabulary": vocabulary, "target_vocabulary": vocabulary, **PRESETS[name], **changes})

    def parameters(self) -> int:
        """How many numbers are trained, by the formula."""
        d, f = self.dim, self.feedforward
        attention, feedforward, norm = 4 * (d * d + d), 2 * d * f + f + d, 2 * d
        encoder = self.encoder_layers * (attention + feedforward + 2 * norm)
        decoder = self.decoder_layers * (2 * attention + feedforward + 3 * norm)
        final = 2 * norm if self.norm == "pre" else 0
        tables = self.source_vocabulary + (0 if self.shared else self.target_vocabulary)
        tables += 2 * self.max_length if self.positions == "learned" else 0
        output = (0 if self.tied else self.target_vocabulary * d) + self.target_vocabulary * self.output_bias
        return encoder + decoder + final + tables * d + output


PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {"dim": 128, "heads": 4, "feedforward": 256, "encoder_layers": 4, "decoder_layers": 4, "dropout": 0.3},
    "small": {"dim": 256, "heads": 4, "feedforward": 1024, "encoder_layers": 4, "decoder_layers": 4, "dropout": 0.2},
    "base": {"dim": 512, "heads": 8, "feedforward": 2048, "encoder_layers": 6, "decoder_layers": 6, "dropout": 0.1},
    "big": {"dim": 1024, "heads": 16, "feedforward": 4096, "encoder_layers": 6, "decoder_layers": 6, "dropout": 0.3},
}


@dataclass(frozen=True)
class DecoderConfig(BlockConfig):
    """Decoder-only: each word looks at those before it and says the next (GPT)."""

    family: ClassVar[str] = "decoder"
    norm: str = "pre"
    activation: str = "gelu_new"
    positions: str = "learned"
    pad: int | None = None
    vocabulary: int = 50257
    layers: int = 12
    tied: bool = True
    scaled: bool = False
    output_bias: bool = False
    end: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("vocabulary", "layers"):
            positive(self, name)
        for name in ("pad", "end"):
            known_id(self, name, self.vocabulary)


@dataclass(frozen=True)
class EncoderConfig(BlockConfig):
    """Encoder-only: every word looks both ways (BERT), with a head to fill in masks or to classify."""

    family: ClassVar[str] = "encoder"
    activation: str = "gelu"
    epsilon: float = 1e-12
    positions: str = "learned"
    max_length: int = 512
    vocabulary: int = 30522
    layers: int = 12
    segments: int = 2  # kinds of token (first and second text); 0: no such embedding
    head: str = "mask"
    labels: tuple[str, ...] = ()
    pooled: bool = True  # a dense layer over the first token, before the classes
    pooling_activation: str = "tanh"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("vocabulary", "layers"):
            positive(self, name)
        one_of(self, "head", HEADS)
        one_of(self, "pooling_activation", ACTIVATIONS)
        if not isinstance(self.segments, int) or isinstance(self.segments, bool) or self.segments < 0:
            raise InputError("segments must be a whole number, 0 or more", found=f"{self.segments!r}", do="2 is usual")
        if not isinstance(self.labels, tuple) or not all(isinstance(label, str) for label in self.labels):
            raise InputError("labels must be a list of names", found=f"{self.labels!r}", do='["negative", "positive"]')
        known_id(self, "pad", self.vocabulary)
        if self.head == "class" and not self.labels:
            raise InputError("a classifier needs labels", found="labels=()", do='labels = ["negative", "positive"]')


@dataclass(frozen=True)
class RecurrentConfig(Config):
    """Encoder and decoder of recurrent cells: LSTM without attention (2014), GRU with additive attention (2015)."""

    family: ClassVar[str] = "recurrent"
    source_vocabulary: int = 30000
    target_vocabulary: int = 30000
    dim: int = 256  # of the embeddings
    hidden: int = 512
    layers: int = 1  # of the LSTMs; with attention there is one
    attention: bool = True
    dropout: float = 0.1
    pad: int | None = 0
    start: int = 1
    end: int = 2

    def __post_init__(self) -> None:
        """Refuse what cannot be built, by name."""
        for name in ("source_vocabulary", "target_vocabulary", "dim", "hidden", "layers"):
            positive(self, name)
        share(self, "dropout")
        if self.attention and self.layers != 1:
            raise InputError(
                "the model with attention has one layer",
                found=f"layers={self.layers}",
                do="layers = 1, or no attention",
            )
        switches(self)
        translator_ids(self)


def switches(config: Config) -> None:
    """A word that means no must not be taken for yes."""
    for field in fields(config):
        value = getattr(config, field.name)
        if field.type == "bool" and not isinstance(value, bool):
            raise InputError(f"{field.name} must be true or false", found=f"{field.name}={value!r}", do="choose one")


def small(config: Config, name: str) -> None:
    value = getattr(config, name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise InputError(f"{name} must be a small positive number", found=f"{name}={value!r}", do="1e-5 is usual")


def translator_ids(config: TransformerConfig | RecurrentConfig) -> None:
    """Padding may be left out; without start and end nothing could be written."""
    for name in ("pad", "start", "end"):
        known_id(config, name, min(config.source_vocabulary, config.target_vocabulary), needed=name != "pad")


def positive(config: Config, name: str) -> None:
    value = getattr(config, name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"{name} must be a whole number, at least 1", found=f"{name}={value!r}", do="choose another")
    most = DEEPEST if name.endswith("layers") else LARGEST
    if value > most:
        raise InputError(f"{name} is larger than any model's", found=f"{name}={value:,}", do=f"at most {most:,}")


def share(config: Config, name: str) -> None:
    value = getattr(config, name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise InputError(f"{name} must be at least 0 and less than 1", found=f"{name}={value!r}", do="0.1 is usual")


def one_of(config: Config, name: str, known: tuple[str, ...]) -> None:
    value = getattr(config, name)
    if value not in known:
        raise UnknownNameError(name, str(value), known)


def known_id(config: Config, name: str, size: int, *, needed: bool = False) -> None:
    value = getattr(config, name)
    if (value is not None or needed) and (
        not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < size
    ):
        raise InputError(f"{name} must be an id of the vocabulary", found=f"{name}={value!r}", do=f"0 to {size - 1}")
