"""Steppers: step by step every model says what it says of the whole, for whichever rows go on."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import attend
from regard.decoding import Beams, Limits, beam, stepper_for
from regard.models import Transformer, seams
from tests.bounds import close
from tests.families import FAMILIES, Example, Family, families, words

SPEAKERS = families(lambda family: family.causal)
TRANSFORMERS = families(lambda family: family.config.family == "transformer")


def left_padded(example: Example) -> Example:
    """Each row's words at the right end, some other word before them."""
    shifts = (~example.mask).sum(1).tolist()
    ids, mask = (
        torch.stack([row.roll(shift) for row, shift in zip(x, shifts, strict=True)])
        for x in (example.garbled(9).ids, example.mask)
    )
    return Example(ids, mask, example.target)


def whole(family: Family, model: Any, row: Example, said: Tensor) -> Tensor:
    """The logits after each of the words said, for one row alone and all at once."""
    if family.two_texts:
        return model(row.ids, said)
    return model(torch.cat([row.ids, said], 1))[:, row.ids.shape[1] :]


def start(family: Family, model: Any, example: Example) -> tuple[Any, Tensor]:
    example = example if family.two_texts else left_padded(example)
    return stepper_for(model, example.ids, example.mask)


@pytest.mark.parametrize("name", SPEAKERS)
@torch.no_grad()
def test_steps_are_the_whole(name: str) -> None:
    """Batched, with padding and a cache, against one by one, without either."""
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(5, 2, 6))
    said = words((3, 6), torch.Generator().manual_seed(3))
    stepper, prompt = start(family, model, example)
    if not family.two_texts:
        stepper.advance(prompt)
    found = torch.stack([stepper.advance(word) for word in said.split(1, 1)], 1)
    for row in range(3):
        expected = whole(family, model, example.row(row), said[row : row + 1])
        close(model, found[row : row + 1], expected)


@pytest.mark.parametrize("name", SPEAKERS)
@torch.no_grad()
def test_rows_go_on_as_they_are_chosen(name: str) -> None:
    """Beams branch and die twice, and each still knows its own past."""
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(5, 2, 6))
    generator = torch.Generator().manual_seed(4)
    stepper, prompt = start(family, model, example)
    if not family.two_texts:
        stepper.advance(prompt)
    rows, said = torch.arange(3), torch.zeros(3, 0, dtype=torch.long)
    for order in ([0, 1, 2], [2, 2, 0, 1, 1, 0], [5, 0, 3, 3], [1, 0, 2, 3], [3]):
        index = torch.tensor(order)
        stepper.select(index)
        rows, said = rows[index], said[index]
        newest = words((len(order), 2), generator)
        said = torch.cat([said, newest], 1)
        found = stepper.advance(newest)
        for number, row in enumerate(rows.tolist()):
            expected = whole(family, model, example.row(row), said[number : number + 1])[:, -1]
            close(model, found[number : number + 1], expected)


@pytest.mark.parametrize("name", families(lambda family: family.config.family == "decoder"))
@torch.no_grad()
def test_a_prompt_is_read_as_it_is(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(4, 4))
    stepper, prompt = stepper_for(model, example.ids)
    assert torch.equal(prompt, example.ids)
    close(model, stepper.advance(prompt), model(example.ids)[:, -1])


@pytest.mark.parametrize("name", families(lambda family: family.two_texts))
def test_a_translation_begins_with_the_start(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(start=4), family.example()
    _, prompt = stepper_for(model, example.ids)
    assert prompt.tolist() == [[4], [4], [4]]


@pytest.mark.parametrize("name", families(lambda family: family.two_texts))
@torch.no_grad()
def test_without_a_mask_the_id_of_padding_makes_it(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example()
    masked, bare = (stepper_for(model, example.ids, mask)[0] for mask in (example.mask, None))
    ids = example.target[:, :2]
    assert torch.equal(masked.advance(ids), bare.advance(ids))


# What is computed once


def counted(model: Transformer, name: str) -> list[int]:
    """How often the part of each decoder layer is computed, counted from now on."""
    counts = [0] * len(model.decoder)

    def count(index: int) -> Any:
        def hook(*_: Any) -> None:
            counts[index] += 1

        return hook

    for index, block in enumerate(model.decoder):
        getattr(block.cross_attention, name).register_forward_hook(count(index))
    return counts


@pytest.mark.parametrize("name", TRANSFORMERS)
@torch.no_grad()
def test_keys_of_the_source_are_computed_once(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example()
    keys, queries = counted(model, "kv"), counted(model, "q")
    stepper, prompt = stepper_for(model, example.ids, example.mask)
    stepper.advance(prompt)
    for _ in range(5):
        stepper.select(torch.tensor([0, 2, 2]))
        stepper.advance(prompt)
    assert keys == [1, 1]
    assert queries == [6, 6]


@pytest.mark.parametrize("name", SPEAKERS)
@torch.no_grad()
def test_beams_of_one_text_share_its_source(name: str) -> None:
    """They say what they say with a source of their own each, moved along."""
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(5, 2, 6))
    steppers = [start(family, model, example)[0] for _ in range(2)]
    generator, prompt = torch.Generator().manual_seed(5), start(family, model, example)[1]
    for stepper in steppers:
        stepper.advance(prompt)
    steppers[0].select(torch.arange(3).repeat_interleave(2))
    steppers[1].widen(2)
    for order in ([0, 1, 2, 3, 4, 5], [1, 0, 3, 3, 4, 4], [0, 0, 3, 2, 5, 4]):
        newest = words((6, 1), generator)
        steppers[0].select(torch.tensor(order))
        steppers[1].follow(torch.tensor(order))
        moved, left = (stepper.advance(newest) for stepper in steppers)
        close(model, left, moved)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_keys_and_values_of_the_source_are_never_copied(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each text, however many beams: every step looks at the very same memory, with the beams as queries."""
    family = FAMILIES[name]
    model, example = family.model(), family.example()
    looked_at: list[tuple[Tensor, Tensor, Tensor]] = []
    stepper, prompt = stepper_for(model, example.ids, example.mask)

    def look(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        if options.get("mask") is not None and stepper.cache.fixed["decoder.0.cross"][0] is key:
            looked_at.append((query, key, value))
        return attend(query, key, value, **options)

    # No hook, for which beams would get rows of their own: instead of what a seam without hooks calls.
    monkeypatch.setattr("regard.models.seam.attend", look)
    beam(stepper, prompt, Limits(7), Beams(3))
    assert [query.shape[2] for query, _, _ in looked_at] == [1, *[3] * 6]
    for tensors in list(zip(*looked_at, strict=True))[1:]:
        assert {(len(tensor), tensor.data_ptr()) for tensor in tensors} == {(3, tensors[0].data_ptr())}


@pytest.mark.parametrize("name", SPEAKERS)
def test_texts_leave_with_all_their_beams(name: str) -> None:
    """Those that stay go on as if they had been alone."""
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(5, 2, 6, 3))
    generator = torch.Generator().manual_seed(6)
    stay = torch.tensor([3, 1])
    rest = Example(example.ids[stay], example.mask[stay], example.target)
    ids = words((8, 2), generator)
    all_texts, some = (start(family, model, one) for one in (example, rest))
    found = []
    with torch.no_grad():
        for (stepper, prompt), rows in ((all_texts, ids), (some, ids.view(4, 2, 2)[stay].flatten(0, 1))):
            stepper.advance(prompt)
            stepper.widen(2)
            stepper.advance(rows[:, :1])
            if len(rows) == 8:
                stepper.select(stay)
                rows = rows.view(4, 2, 2)[stay].flatten(0, 1)
            stepper.follow(torch.tensor([1, 1, 2, 3]))
            found.append(stepper.advance(rows[:, 1:]))
    close(model, *found)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_who_takes_hold_of_a_site_sees_rows_of_their_own_for_every_beam(name: str) -> None:
    """One query a row at every step, and every text to the end; what is said is the same."""
    family = FAMILIES[name]
    model, example = family.model(), family.example()
    limits, how = Limits(7, (2,)), Beams(3)
    expected = beam(*stepper_for(model, example.ids, example.mask), limits, how)
    shapes: list[tuple[int, int]] = []

    def hook(site: str, call: Any, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        assert len(query) == len(key)
        shapes.append((len(query), query.shape[2]))
        return call(query, key, value, **options)

    with seams(model)["decoder.1.cross"].hooked(hook):
        found = beam(*stepper_for(model, example.ids, example.mask), limits, how)
    assert set(shapes[1:]) == {(9, 1)}
    assert [[text.ids for text in texts] for texts in found] == [[text.ids for text in texts] for texts in expected]


@pytest.mark.parametrize("name", ["transformer post", "recurrent attention"])
@torch.no_grad()
def test_the_source_is_read_once(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example()
    reader = model.encoder[0] if name.startswith("transformer") else model.cells.encoder
    read: list[int] = []
    reader.register_forward_hook(lambda *_: read.append(1))
    stepper, prompt = stepper_for(model, example.ids, example.mask)
    for _ in range(4):
        stepper.advance(prompt)
    assert len(read) == 1


@pytest.mark.parametrize("name", ["transformer pre", "decoder"])
@torch.no_grad()
def test_every_step_goes_through_the_seams(name: str) -> None:
    """One query a step, and one more key each time; hooks see decoding as they see a forward."""
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(4, 4))
    seen: list[tuple[int, int]] = []

    def hook(site: str, attend: Any, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        seen.append((query.shape[-2], key.shape[-2]))
        return attend(query, key, value, **options)

    stepper, prompt = stepper_for(model, example.ids)
    with seams(model)["decoder.1.self"].hooked(hook):
        stepper.advance(prompt)
        for _ in range(3):
            stepper.advance(torch.tensor([[5], [6]]))
    begin = prompt.shape[1]
    assert seen == [(begin, begin), (1, begin + 1), (1, begin + 2), (1, begin + 3)]
