"""Attention as the register of a hotel: does a misspelt name find its room, and a large scale make a dictionary?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor

from regard.attention import attend
from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import Estimate, exactly, share_of
from regard.claims.measurement import Cell, LinePlot, Measurement, ResultTable, Series
from regard.claims.setting import Setting

GUESTS = 10
REGISTERS = 500, 5_000  # how many, quickly and in full
CONSONANTS, VOWELS = "bcdfghjklmnprstvwz", "aeiou"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SCALES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
EQUAL = 1e-9  # scores of letters nearer than that are equal: all sums here are of a few small numbers
HALF, MOST = 0.5, 0.9
HOTEL = (("Smith", "Summer", "Smeeth"), "Summeth", (200.0, 201.0, 202.0))  # the lecture's

Encoding = Callable[[Sequence[str]], Tensor]


@dataclass(frozen=True)
class Register:
    """Guests, and a name asked for: the guest's whose number it is, spelt rightly or not."""

    guests: tuple[str, ...]
    asked: str
    meant: int


def drawn_name(rng: Random) -> str:
    """Of two to four syllables."""
    return "".join(rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(rng.randint(2, 4)))


def misspelt(name: str, rng: Random) -> str:
    """One letter left out, doubled, or another in its place."""
    place = rng.randrange(len(name))
    letter = rng.choice([one for one in LETTERS if one != name[place]])
    middle = rng.choice(("", 2 * name[place], letter))
    return name[:place] + middle + name[place + 1 :]


def registers(count: int, seed: int, *, wrong: bool) -> list[Register]:
    rng = Random(f"registers {seed}")
    drawn: list[Register] = []
    while len(drawn) < count:
        guests = tuple(drawn_name(rng) for _ in range(GUESTS))
        meant = rng.randrange(GUESTS)
        asked = misspelt(guests[meant], rng)
        asked = asked if wrong else guests[meant]
        if len({"".join(sorted(guest)) for guest in guests}) == GUESTS and (not wrong or asked not in guests):
            drawn.append(Register(guests, asked, meant))
    return drawn


def counted(names: Sequence[str]) -> Tensor:
    """Each name as the lecture has it: how often each letter stands in it."""
    return torch.tensor([[name.lower().count(letter) for letter in LETTERS] for name in names], dtype=torch.float64)


def at_length_1(names: Sequence[str]) -> Tensor:
    """The same, divided by its length, so that long names do not score more than short ones."""
    counts = counted(names)
    unit: Tensor = counts / counts.norm(dim=-1, keepdim=True)
    return unit


ENCODINGS: dict[str, Encoding] = {"counts": counted, "length_1": at_length_1}
TITLES = {"counts": "counts", "length_1": "counts at length 1"}


def weights_of(register: Register, encoding: Encoding, scales: Sequence[float]) -> Tensor:
    """Of all guests at every scale, (scales, guests): with the rows of the identity as values, outputs are weights."""
    query, keys = encoding([register.asked])[None], encoding(register.guests)[None]
    unit = torch.eye(len(register.guests), dtype=torch.float64)[None]
    return torch.cat([attend(query, keys, unit, scale=scale)[0] for scale in scales])


def finds(register: Register, encoding: Encoding) -> bool:
    """Whether the guest who is meant has a score above all others'."""
    scores = (encoding(register.guests) @ encoding([register.asked])[0]).tolist()
    own = scores.pop(register.meant)
    return bool(own > max(scores) + EQUAL)


def finding(many: Sequence[Register], encoding: Encoding) -> Estimate:
    return share_of(sum(finds(one, encoding) for one in many), len(many))


def right_weight(many: Sequence[Register], encoding: Encoding) -> list[float]:
    """The mean weight of whom is meant, at every scale."""
    rows = torch.stack([weights_of(one, encoding, SCALES)[:, one.meant] for one in many])
    return [float(weight) for weight in rows.mean(0)]


def measure(setting: Setting) -> Measurement:
    count, seed = setting.quick_or_full(*REGISTERS), setting.seeds[0]
    asked = {name: registers(count, seed, wrong=name == "misspelt") for name in ("misspelt", "right")}
    numbers: dict[str, Estimate] = {}
    rows: list[tuple[Cell, ...]] = []
    lines: list[Series] = []
    for code, encoding in ENCODINGS.items():
        for name, many in asked.items():
            weights = right_weight(many, encoding)
            numbers[f"{name}_{code}"] = share = finding(many, encoding)
            hard = sum(one.guests.count(one.asked) for one in many) / len(many)
            spelling = "right" if name == "right" else "misspelt"
            rows.append(
                (f"{TITLES[code]}, {spelling}", share, hard, *(weights[SCALES.index(x)] for x in (1.0, 1000.0)))
            )
            lines.append(Series(f"{TITLES[code]}, {spelling}", curve(weights)))
    columns = ("names", "found by attention", "by a dictionary", "weight, scale 1", "weight, scale 1,000")
    table = ResultTable(
        f"{count:,} registers of {GUESTS} guests: how often the right guest is found", columns, tuple(rows)
    )
    plot = LinePlot(
        "The weight of the guest who is meant", "scale of the scores", "mean weight", tuple(lines), log_x=True
    )
    return Measurement(numbers, (table, hotel_table()), plot, remarks())


def curve(weights: Sequence[float]) -> tuple[tuple[float, Estimate], ...]:
    return tuple((scale, exactly(weight)) for scale, weight in zip(SCALES, weights, strict=True))


def hotel_table() -> ResultTable:
    """The lecture's own register, scale by scale, as it has it and at length 1."""
    guests, name, rooms = HOTEL
    register = Register(guests, name, 1)
    scales = (8**-0.5, 1.0, 10.0, 1000.0)  # its letters are eight different ones, and it divides by the root of that
    rows: list[tuple[Cell, ...]] = []
    for code, encoding in ENCODINGS.items():
        for scale, weights in zip(scales, weights_of(register, encoding, scales), strict=True):
            room = float(weights @ torch.tensor(rooms, dtype=torch.float64))
            rows.append((TITLES[code], scale, *map(float, weights), f"{room:.1f}"))
    return ResultTable(f"The lecture's register, asked for {name}", ("names", "scale", *guests, "room"), tuple(rows))


def remarks() -> tuple[str, ...]:
    return (
        "A score is a product of counts: a longer name with the same letters scores as much as the name itself, or "
        "more. Where two score alike, no scale parts them, and the room is one between theirs.",
        f"Chance finds one guest in {GUESTS}. Letters that only change places cannot be told by counts, and are not "
        "among these misspellings.",
    )


def by_code(numbers: Numbers, code: str) -> tuple[Estimate, Estimate]:
    return numbers[f"misspelt_{code}"], numbers[f"right_{code}"]


def holds(numbers: Numbers) -> bool:
    return all(one.above(MOST) for code in ENCODINGS for one in by_code(numbers, code))


def fails(numbers: Numbers) -> bool:
    return all(any(one.below(HALF) for one in by_code(numbers, code)) for code in ENCODINGS)


CLAIM = Claim(
    name="lookup",
    statement="Attention looks a word up as in a hotel's register, but softly: a misspelt name still finds its room, "
    "and as the scale grows it becomes a dictionary.",
    if_true="The guest who is meant has the highest score, misspelt or not, so that with a large scale all of the "
    "weight goes there.",
    if_false="Others score as much or more: then a larger scale only makes the wrong room surer.",
    control="A dictionary, which finds what is spelt rightly and nothing else; and the same letters at length 1.",
    measure=measure,
    rule=VerdictRule(
        "misspelt and right names alike surely find their guest in more than 9 of 10 registers, with letters counted "
        "as in the lecture and with the counts at length 1",
        "with both codes misspelt or right names surely find their guest in less than half of them",
        holds,
        fails,
    ),
    seeds=1,
    full_seeds=1,
)
