"""One stack of blocks that reads a text from left to right, or both ways; it learns the language, then labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.claims.lab.fit import CLIP, RISE, Fit, fit
from regard.claims.lab.label_task import BLOCK, Labelled, LabelTask
from regard.claims.lab.pair_task import PAD, START
from regard.claims.setting import Setting
from regard.models import Decoder, DecoderConfig, Encoder, EncoderConfig
from regard.text.tokenizer import padded
from regard.training.optim.optimizer import optimizer_for, set_rates
from regard.training.recipe.recipe import Training

StackKind = Literal["decoder", "encoder"]
Lesson = Literal["next", "fill", "continue"]
QUICK: dict[str, Any] = {"dim": 64, "heads": 4, "feedforward": 128, "layers": 2, "dropout": 0.0}
FULL: dict[str, Any] = {"dim": 256, "heads": 4, "feedforward": 1024, "layers": 4, "dropout": 0.1}
MASKED, AS_MASK, AS_OTHER = 0.15, 0.8, 0.1  # of the words; of these, hidden, and replaced by any other


class TextStack(nn.Module):
    """Embeddings and blocks alike for both kinds: what differs is who may look at whom, and the head for words."""

    def __init__(self, kind: StackKind, task: LabelTask, sizes: dict[str, Any]) -> None:
        super().__init__()
        shared = {
            "vocabulary": task.known + 1, "norm": "pre", "activation": "gelu", "positions": "learned",
            "max_length": BLOCK, "pad": PAD, "epsilon": 1e-5, **sizes,
        }  # fmt: skip
        self.body: Decoder | Encoder = (
            Decoder(DecoderConfig(**shared))
            if kind == "decoder"
            else Encoder(EncoderConfig(**shared, segments=0, pooled=False, head="mask"))
        )
        self.class_head = nn.Linear(self.body.config.dim, len(task.labels))
        nn.init.zeros_(self.class_head.bias)

    def vectors(self, ids_BN: Tensor) -> Tensor:
        """One for each word, (B, N, dim)."""
        if isinstance(self.body, Encoder):
            return self.body.encode(ids_BN)
        return self.body(ids_BN, project=lambda x, weight, bias: x)  # type: ignore[no-any-return]

    def words(self, vectors_MD: Tensor) -> Tensor:
        """Logits of words for some of the vectors: of the next word, or of the one that is hidden there."""
        table = self.body.embedding.table
        if isinstance(self.body, Encoder):
            assert self.body.mask_head is not None
            return self.body.mask_head(vectors_MD, table, F.linear)  # type: ignore[no-any-return]
        return self.body.output(vectors_MD, table)  # type: ignore[no-any-return]

    def forward(self, ids_BN: Tensor) -> Tensor:
        """Logits of labels, from the one place that sees the whole text: its end, or for an encoder its start."""
        x_BND = self.vectors(ids_BN)
        last = (ids_BN != PAD).sum(-1) - 1
        where = torch.zeros_like(last) if isinstance(self.body, Encoder) else last
        logits: Tensor = self.class_head(x_BND[torch.arange(len(where), device=where.device), where])
        return logits


def text_stack(kind: StackKind, task: LabelTask, setting: Setting, seed: int) -> TextStack:
    torch.manual_seed(seed)
    return TextStack(kind, task, setting.quick_or_full(QUICK, FULL)).to(setting.device)


def row_batches(rows: Sequence[Any], size: int, seed: int) -> Iterator[list[Any]]:
    """Endless, in another order each time round."""
    rng = Random(seed)
    while True:
        order = rng.sample(range(len(rows)), len(rows))
        for first in range(0, len(order), size):
            yield [rows[place] for place in order[first : first + size]]


# Learning the language


def learn_language(stack: TextStack, task: LabelTask, lesson: Lesson, how: Fit) -> None:
    """By one of three lessons: say each next word; fill in hidden words; or fill in one behind which nothing stands."""
    rng = torch.Generator().manual_seed(how.seed)
    make = {"next": next_words, "fill": hidden_words, "continue": cut_rows}[lesson]
    examples = (
        tuple(part.to(how.device) for part in make(padded(rows, PAD).ids, task, rng))
        for rows in row_batches(task.texts, how.batch, how.seed)
    )
    fit(stack, examples, word_loss, how)


def word_loss(stack: nn.Module, example: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """Nats a word, over those that are asked for."""
    assert isinstance(stack, TextStack)
    ids_BN, asked_BN, words_M = example
    return F.cross_entropy(stack.words(stack.vectors(ids_BN)[asked_BN]), words_M)


def next_words(ids_BN: Tensor, task: LabelTask, rng: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Every word is asked, from those before it."""
    asked = ids_BN[:, 1:] != PAD
    return ids_BN[:, :-1], asked, ids_BN[:, 1:][asked]


def hidden_words(ids_BN: Tensor, task: LabelTask, rng: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """As in BERT: of the words that are asked most are hidden, some replaced, some as they are."""
    words = (ids_BN != PAD) & (ids_BN != START)
    asked = words & (torch.rand(ids_BN.shape, generator=rng) < MASKED)
    asked[:, 1] |= ~asked.any(-1)  # every row asks for something
    kind = torch.rand(ids_BN.shape, generator=rng)
    others = torch.randint(START + 1, task.known, ids_BN.shape, generator=rng)
    read = torch.where(asked & (kind < AS_MASK), task.mask, ids_BN)
    read = torch.where(asked & (kind >= 1 - AS_OTHER), others, read)
    return read, asked, ids_BN[asked]


def cut_rows(ids_BN: Tensor, task: LabelTask, rng: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Each row ends somewhere: one word is asked, and nothing stands behind it."""
    lengths = (ids_BN != PAD).sum(-1)
    positions = 1 + (torch.rand(len(ids_BN), generator=rng) * (lengths - 1)).long()
    return cut_at(ids_BN, positions, task)


def cut_at(ids_BN: Tensor, places_B: Tensor, task: LabelTask) -> tuple[Tensor, Tensor, Tensor]:
    positions = torch.arange(ids_BN.shape[1])
    asked = positions == places_B[:, None]
    read = torch.where(asked, task.mask, ids_BN).masked_fill(positions > places_B[:, None], PAD)
    return read, asked, ids_BN[asked]


@torch.no_grad()
def next_word_loss(stack: TextStack, task: LabelTask, device: str = "cpu", most: int = 2_000) -> tuple[float, float]:
    """Of words in texts that were not learned from: nats a word, and how many are the likeliest. Alike for both kinds.

    An encoder reads what stands before the word, then a mask, and nothing behind it.
    """
    stack.eval()
    positions = [(row, place) for row, ids in enumerate(task.valid) for place in range(1, len(ids))]
    chosen = Random(0).sample(positions, min(most, len(positions)))
    total, right = 0.0, 0
    for first in range(0, len(chosen), 100):
        some = chosen[first : first + 100]
        ids, where = padded([task.valid[row] for row, _ in some], PAD).ids, torch.tensor([place for _, place in some])
        read, asked, words = cut_at(ids, where, task)
        if isinstance(stack.body, Decoder):
            read, asked = ids, torch.roll(asked, -1, 1)  # the word before says it
        logits = stack.words(stack.vectors(read.to(device))[asked.to(device)])
        total += float(F.cross_entropy(logits, words.to(device), reduction="sum"))
        right += int((logits.argmax(-1).cpu() == words).sum())
    return total / len(chosen), right / len(chosen)


# Learning labels


def learn_labels(stack: TextStack, some: Sequence[Labelled], how: Training, batch: int, device: str = "cpu") -> None:
    """With the optimizer of `regard train`, which knows how to free layers one by one and to slow the lower ones."""
    optimizer = optimizer_for(stack, how)
    stack.train()
    for step, rows in enumerate(row_batches(some, batch, how.seed), start=1):
        if step > how.steps:
            break
        loss = F.cross_entropy(stack(padded([row.ids for row in rows], PAD).ids.to(device)), label_ids(rows, device))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(stack.parameters(), CLIP)
        set_rates(optimizer, step, how)
        optimizer.step()
    stack.eval()


def label_fit(steps: int, rate: float, seed: int, **layers: Any) -> Training:
    """The rate rises in a line and falls in a line, as when the language is learned."""
    rise = max(1, round(RISE * steps))
    return Training(
        steps=steps, rate=rate, seed=seed, warmup=rise, schedule="linear", optimizer="adamw", betas=(0.9, 0.98),
        weight_decay=0.01, **layers,
    )  # fmt: skip


def label_ids(rows: Sequence[Labelled], device: str) -> Tensor:
    return torch.tensor([row.label for row in rows], device=device)


@torch.no_grad()
def share_right(stack: TextStack, test: Sequence[Labelled], device: str = "cpu", size: int = 200) -> float:
    """Of the labels."""
    stack.eval()
    right = 0
    for first in range(0, len(test), size):
        rows = test[first : first + size]
        logits = stack(padded([row.ids for row in rows], PAD).ids.to(device))
        right += int((logits.argmax(-1) == label_ids(rows, device)).sum())
    return right / len(test)
