"""They learn: every family, small, through real optimisation, until held-out texts come out right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention import attend
from regard.decoding import Beams, Hypothesis, Limits, beam, greedy, stepper_for
from regard.models import (
    DecoderConfig,
    EncoderConfig,
    RecurrentConfig,
    TransformerConfig,
    build,
    seams,
)
from regard.models.config import Config

PAD, START, END, FIRST = 0, 1, 2, 3
VOCABULARY = FIRST + 10  # ten digits
LONGEST = 6
ENOUGH = 0.95

Loss = Callable[[Any, torch.Generator], Tensor]
Turn = Callable[[list[int]], list[int]]


def learn(config: Config, loss: Loss, steps: int, rate: float, seed: int = 0) -> Any:
    """Adam with a warm-up and a slope down, from fresh weights."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed + 1)
    model = build(config).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model, generator).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.eval()


def digits(rows: int, generator: torch.Generator, *, held_out: bool = False) -> list[list[int]]:
    """Random numbers of 1 to 6 digits; long ones whose ids sum to a multiple of 5 are never learned from."""
    found: list[list[int]] = []
    while len(found) < rows:
        length = int(torch.randint(1, LONGEST + 1, (), generator=generator))
        number = torch.randint(FIRST, VOCABULARY, (length,), generator=generator).tolist()
        if (length > 2 and sum(number) % 5 == 0) == held_out:
            found.append(number)
    return found


def padded(rows: list[list[int]]) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def forward(number: list[int]) -> list[int]:
    return number


def backward(number: list[int]) -> list[int]:
    return number[::-1]


def retelling(turn: Turn) -> Loss:
    """The loss of saying a number again, turned in some way."""

    def loss(model: Any, generator: torch.Generator) -> Tensor:
        numbers = digits(64, generator)
        target = padded([[START, *turn(number), END] for number in numbers])
        logits = model(padded(numbers), target[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD)

    return loss


def accuracy(said: list[Hypothesis], numbers: list[list[int]], turn: Turn) -> float:
    """The share of numbers that are right in every digit, and end where they should."""
    right = [text.ids == tuple(turn(number)) for text, number in zip(said, numbers, strict=True)]
    return sum(right) / len(right)


LIMITS = Limits(LONGEST + 2, (END,))
WORDS = {"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY, "dropout": 0.0}
TINY = {"dim": 32, "heads": 4, "feedforward": 64, "encoder_layers": 1, "decoder_layers": 1, **WORDS}


@pytest.mark.parametrize(
    ("turn", "changes", "steps"),
    [
        (forward, {}, 350),
        (backward, {}, 600),
        (backward, {"norm": "pre", "positions": "learned", "max_length": 8}, 600),
    ],
    ids=["copy", "reverse", "reverse, pre-norm, learned positions"],
)
def test_the_transformer_learns_to_say_numbers_again(turn: Turn, changes: dict[str, Any], steps: int) -> None:
    model = learn(TransformerConfig(**{**TINY, **changes}), retelling(turn), steps, rate=5e-3)
    numbers = digits(200, torch.Generator().manual_seed(99), held_out=True)
    assert accuracy(greedy(*stepper_for(model, padded(numbers)), LIMITS), numbers, turn) >= ENOUGH
    best = [texts[0] for texts in beam(*stepper_for(model, padded(numbers)), LIMITS, Beams(4))]
    assert accuracy(best, numbers, turn) >= ENOUGH


def test_the_recurrent_model_with_attention_learns_to_reverse_and_looks_at_the_right_digit() -> None:
    config = RecurrentConfig(dim=16, hidden=32, **WORDS)
    model = learn(config, retelling(backward), steps=350, rate=1e-2)
    numbers = digits(200, torch.Generator().manual_seed(99), held_out=True)
    assert accuracy(greedy(*stepper_for(model, padded(numbers)), LIMITS), numbers, backward) >= ENOUGH
    looked, mass = where_it_looked(model, numbers)
    assert looked >= 0.8
    assert mass >= 0.6


def where_it_looked(model: Any, numbers: list[list[int]]) -> tuple[float, float]:
    """For how many digits the largest weight was on that digit in the source, and how much weight on average."""
    rows: list[Tensor] = []

    def hook(site: str, door: Any, *inputs: Tensor, **options: Any) -> Tensor:
        output, steps = attend(*inputs, see="steps", **options)
        rows.append(steps.weights[:, 0, 0])
        return output

    target = padded([[START, *number[::-1]] for number in numbers])
    with seams(model)["decoder.0.cross"].hooked(hook), torch.no_grad():
        model(padded(numbers), target)
    weights = torch.stack(rows, 1)  # number, place in the target, place in the source
    places = [(i, t, len(number) - 1 - t) for i, number in enumerate(numbers) for t in range(len(number))]
    told = torch.stack([weights[i, t] for i, t, _ in places])
    right = torch.tensor([source for _, _, source in places])
    return (told.argmax(-1) == right).float().mean().item(), told.gather(1, right[:, None]).mean().item()


def test_the_recurrent_model_without_attention_learns_short_numbers() -> None:
    """One vector holds up to three digits after so little practice."""

    def loss(model: Any, generator: torch.Generator) -> Tensor:
        numbers = [number[:3] for number in digits(64, generator)]
        target = padded([[START, *number, END] for number in numbers])
        logits = model(padded(numbers), target[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD)

    config = RecurrentConfig(dim=16, hidden=64, attention=False, **WORDS)
    model = learn(config, loss, steps=500, rate=1e-2)
    numbers = [number[:3] for number in digits(200, torch.Generator().manual_seed(99))]
    assert accuracy(greedy(*stepper_for(model, padded(numbers)), LIMITS), numbers, forward) >= ENOUGH


# Decoder-only: three digits, again and again


def cycles(rows: int, generator: torch.Generator, *, held_out: bool) -> Tensor:
    """Texts that repeat their first three digits four times."""
    found: list[Tensor] = []
    while len(found) < rows:
        start = torch.randint(FIRST, VOCABULARY, (3,), generator=generator)
        if (int(start.sum()) % 5 == 0) == held_out:
            found.append(start.repeat(4))
    return torch.stack(found)


def test_the_decoder_learns_to_go_on_in_a_cycle() -> None:
    def loss(model: Any, generator: torch.Generator) -> Tensor:
        text = cycles(64, generator, held_out=False)
        logits = model(text[:, :-1])[:, 2:]  # the first three cannot be known
        return F.cross_entropy(logits.flatten(0, 1), text[:, 3:].flatten())

    config = DecoderConfig(vocabulary=VOCABULARY, dim=32, heads=2, feedforward=64, layers=1, dropout=0.0, max_length=16)
    model = learn(config, loss, steps=350, rate=5e-3)
    truth = cycles(200, torch.Generator().manual_seed(99), held_out=True)
    said = greedy(*stepper_for(model, truth[:, :3]), Limits(9))
    assert accuracy(said, truth[:, 3:].tolist(), forward) >= ENOUGH


# Encoder-only: which kind of word is in the majority


def votes(rows: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """A first token that stands for the text, then up to nine votes, an odd number of them, and the winner."""
    count = 1 + 2 * torch.randint(0, 5, (rows, 1), generator=generator)
    ids = torch.randint(FIRST, FIRST + 2, (rows, 9), generator=generator)
    shown = torch.arange(9) < count
    winner = ((ids == FIRST + 1) & shown).sum(1) > ((ids == FIRST) & shown).sum(1)
    return torch.cat([torch.full((rows, 1), START), ids.masked_fill(~shown, PAD)], 1), winner.long()


def test_the_encoder_learns_who_has_the_majority() -> None:
    def loss(model: Any, generator: torch.Generator) -> Tensor:
        ids, winner = votes(64, generator)
        return F.cross_entropy(model(ids), winner)

    config = EncoderConfig(
        vocabulary=FIRST + 2, dim=32, heads=2, feedforward=64, layers=1, dropout=0.0, max_length=10,
        head="class", labels=("left", "right"),
    )  # fmt: skip
    model = learn(config, loss, steps=200, rate=5e-3)
    ids, winner = votes(500, torch.Generator().manual_seed(99))
    assert (model(ids).argmax(-1) == winner).float().mean() >= ENOUGH


# Encoder-only: the digit under the mask


def test_the_encoder_learns_to_fill_in_a_masked_digit() -> None:
    """Every number is said twice; one digit of the first half is hidden, and stands in the second."""

    def hidden(rows: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        half = torch.randint(FIRST, VOCABULARY, (rows, 4), generator=generator)
        place = torch.randint(0, 4, (rows, 1), generator=generator)
        whole = half.repeat(1, 2)
        return whole.scatter(1, place, START), place, half.gather(1, place)[:, 0]

    def said(model: Any, ids: Tensor, place: Tensor) -> Tensor:
        logits = model(ids)
        return logits.gather(1, place[..., None].expand(-1, -1, logits.shape[-1]))[:, 0]

    def loss(model: Any, generator: torch.Generator) -> Tensor:
        ids, place, truth = hidden(64, generator)
        return F.cross_entropy(said(model, ids, place), truth)

    config = EncoderConfig(
        vocabulary=VOCABULARY, dim=32, heads=2, feedforward=64, layers=1, dropout=0.0, max_length=8, head="mask"
    )
    model = learn(config, loss, steps=350, rate=5e-3)
    ids, place, truth = hidden(500, torch.Generator().manual_seed(99))
    assert (said(model, ids, place).argmax(-1) == truth).float().mean() >= ENOUGH
