"""A model reads a text while it is watched; and what it says next, or of which class the text is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.interop.auto import Auto, quiet
from regard.lens.analysis.subject import Subject, check_length, unlike_ends
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording.tokens import side_of, strings
from regard.lens.watch import watch
from regard.server.refusals import Refusal
from regard.server.studio.schema import StudioTask, TokenProbability
from regard.tasks import Classifier, Generator, Translator
from regard.text.tokenizer import padded

TOP = 10  # tokens that may come
CONTINUED = 12  # tokens that a model goes on with, to see what changes
HEADS: tuple[tuple[str, StudioTask], ...] = (
    ("ConditionalGeneration", "translate"),
    ("MTModel", "translate"),
    ("CausalLM", "generate"),
    ("LMHead", "generate"),
    ("MaskedLM", "mask"),
    ("SequenceClassification", "classify"),
)


def task_of(subject: Subject) -> StudioTask:
    """What a model is for."""
    task = getattr(subject.reader, "task", None)
    if isinstance(task, Translator):
        return "translate"
    if isinstance(task, Generator):
        return "generate"
    if isinstance(task, Classifier):
        return {"class": "classify", "mask": "mask"}.get(task.head, "other")  # type: ignore[return-value]
    model = subject.reader.model
    if subject.pair:
        return "translate" if model.can_generate() else task_named(type(model).__name__)
    return task_named(type(model).__name__)


def task_named(architecture: str) -> StudioTask:
    """What a class of Hugging Face's is for, by its name."""
    return next((task for sign, task in HEADS if sign in architecture), "other")


class TokenLimits(NamedTuple):
    """How much is read at once."""

    characters: int
    tokens: int


@dataclass(frozen=True)
class ModelInput:
    """The ids that a model reads: a text, and for an encoder-decoder what it says, from the start to the end."""

    source: list[int]
    target: list[int] | None


def model_input(
    subject: Subject, text: str, target: str | Sequence[int] | None, limits: TokenLimits, *, target_first: bool = False
) -> ModelInput:
    """The ids of a text, and of what a translator says, or is made to say."""
    (row,) = subject.encoded([text])
    check_tokens("text", len(row), limits)
    if not subject.pair:
        if target is not None:
            raise Refusal(400, "This model reads one text, and no target: please leave the target out")
        return ModelInput(row, None)
    if target is None:
        (output_ids,) = subject.reader.say([row])
    elif isinstance(target, str):
        (output_ids,) = subject.forced([target])
    else:
        output_ids = forced_ids(subject, target)
    check_tokens("target", len(output_ids), limits)
    return ModelInput(row, output_ids)


def check_tokens(what: str, count: int, limits: TokenLimits) -> None:
    if count > limits.tokens:
        raise Refusal(413, f"The {what} has {count:,} tokens, where at most {limits.tokens:,} are read here")


def forced_ids(subject: Subject, ids: Sequence[int]) -> list[int]:
    """What the decoder reads when it is to say these ids; the end is put behind them where it is missing."""
    reader: Any = subject.reader
    start, vocabulary = reader.start, target_vocabulary(subject)
    if not ids or max(ids) >= vocabulary:
        raise Refusal(400, f"target_ids must be ids of this model: from 0 to {vocabulary - 1}, and at least one")
    ends = ends_of(subject)
    row = [start, *ids]
    row = row if ids[-1] in ends else [*row, ends[0]]
    check_length("target", len(row) - 1, subject.reader.limits[1])
    return row


def ends_of(subject: Subject) -> list[int]:
    """The ids that end what a translator says."""
    reader = subject.reader
    if isinstance(reader, Auto):
        return reader.ends
    task: Any = reader.task  # type: ignore[attr-defined]
    theirs = task.generation
    return [reader.model.config.end] if theirs is None else list(theirs.end)


def target_vocabulary(subject: Subject) -> int:
    """How many ids there are to say."""
    config = subject.reader.model.config
    for name in ("target_vocabulary", "vocabulary", "vocab_size"):
        if isinstance(number := getattr(config, name, None), int):
            return number
    return int(subject.reader.model.get_input_embeddings().num_embeddings)


def read_watched(subject: Subject, given: ModelInput) -> tuple[ForwardCall, Tensor | None]:
    """One forward, watched: what every head did, and the logits."""
    reader = subject.reader
    inputs = None if given.target is None else [given.target[:-1]]
    filler = unlike_ends(reader.pad, [given.source, *(inputs or [])])
    batches = [None if some is None else padded(some, filler) for some in ([given.source], inputs)]
    with watch(reader.model, reader.tokenizer) as recording:
        assert batches[0] is not None
        logits = reader.read(batches[0], batches[1])
    for call in recording.recorder.calls if recording.recorder else ():
        call.pad = filler
        call.after = None if given.target is None else [given.target[-1]]
    return recording.last, logits


@torch.no_grad()
def read_logits(subject: Subject, given: ModelInput) -> Tensor:
    """(positions, vocabulary) of one forward: of the target where there is one; (1, classes) of a classifier."""
    reader = subject.reader
    inputs = None if given.target is None else [given.target[:-1]]
    if isinstance(reader, Auto):
        ids = torch.tensor([given.source], device=reader.model.device)
        more = {} if inputs is None else {"decoder_input_ids": torch.tensor(inputs, device=reader.model.device)}
        logits = reader.model(input_ids=ids, **more)[0]
    else:
        target = None if inputs is None else padded(inputs, reader.pad)
        logits = reader.read(padded([given.source], reader.pad), target)
    if not isinstance(logits, Tensor):
        raise Refusal(400, "This model says nothing whose probability could be told")
    return logits[0].float() if logits.ndim == 3 else logits.float()


def decoded(subject: Subject, ids: Sequence[int]) -> str:
    """Ids as the text they are."""
    tokenizer = subject.reader.tokenizer
    if isinstance(subject.reader, Auto):
        return str(tokenizer.decode(list(ids), skip_special_tokens=True)).strip()
    return str(tokenizer.decode(list(ids)))


def token_strings(subject: Subject, ids: Sequence[int], *, source: bool = False) -> list[str]:
    """Each id as a token."""
    tokenizer = subject.reader.tokenizer
    return strings(side_of(tokenizer, "source" if source or not subject.pair else "target"), list(ids))


def likeliest(subject: Subject, logits_V: Tensor, count: int = TOP) -> list[TokenProbability]:
    """The tokens that are likeliest to come."""
    best = logits_V.float().softmax(-1).topk(min(count, logits_V.shape[-1]))
    ids = best.indices.tolist()
    names = token_strings(subject, ids)
    return [
        TokenProbability(token=name, token_id=number, probability=share)
        for name, number, share in zip(names, ids, best.values.tolist(), strict=True)
    ]


def class_labels(subject: Subject, count: int) -> list[str]:
    """The names of a classifier's classes."""
    config = subject.reader.model.config
    labels = getattr(config, "labels", None) or getattr(config, "id2label", None) or {}
    if isinstance(labels, dict):
        labels = [labels.get(number, labels.get(str(number), str(number))) for number in range(count)]
    return [str(label) for label in labels][:count]


def classes(subject: Subject, logits_V: Tensor) -> list[TokenProbability]:
    """The probability of each class, the likeliest first."""
    shares = logits_V.float().softmax(-1).tolist()
    named = zip(class_labels(subject, len(shares)), range(len(shares)), shares, strict=True)
    rows = [TokenProbability(token=name, token_id=number, probability=share) for name, number, share in named]
    return sorted(rows, key=lambda row: -row.probability)[: 5 * TOP]


def masks_of(subject: Subject, row: Sequence[int]) -> list[int]:
    """Where a text has a mask to be filled in."""
    reader = subject.reader
    if isinstance(reader, Auto):
        mask = getattr(reader.tokenizer, "mask_token_id", None)
    else:
        task: Any = reader.task  # type: ignore[attr-defined]
        mask = reader.tokenizer.id_of(task.mask) if isinstance(task, Classifier) else None
    return [position for position, number in enumerate(row) if number == mask]


@torch.no_grad()
def continued(subject: Subject, row: list[int], count: int = CONTINUED) -> list[int]:
    """The likeliest ids behind a prompt."""
    reader = subject.reader
    if isinstance(reader, Auto):
        most = reader.limits[0]
        count = count if most is None else min(count, most - len(row))
        if count < 1:
            return []
        with quiet():
            ids = reader.model.generate(
                torch.tensor([row], device=reader.model.device), max_new_tokens=count, do_sample=False, num_beams=1
            )
        return [int(number) for number in ids[0, len(row) :].tolist()]
    task: Any = reader.task  # type: ignore[attr-defined]
    return list(task.decode([row], count, None)[0])
