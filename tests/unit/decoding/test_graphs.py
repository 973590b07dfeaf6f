"""A step over buffers that never move finds what the plain search finds; a recording that differs is not used."""

from __future__ import annotations

import gc
import warnings
import weakref
from functools import partial
from typing import Any

import pytest
import torch

from regard.decoding import Beams, Hypothesis, Limits, beam, graphs, recordings, stepper_for
from regard.decoding.graphs import BeamStep, Replay, static_beam
from regard.decoding.recordings import RECORDINGS, record, replays
from tests.families import FAMILIES, Family, families

TRANSFORMERS = families(lambda family: family.config.family == "transformer")
DECODERS = families(lambda family: family.config.family == "decoder")
LIMITS = {
    "plain": Limits(9, (2,)),
    "closing": Limits(7, (2,), closing=2),
    "banned": Limits(8, (2, 4), shortest=4, banned=(0, 1)),
    "renormalised": Limits(8, (2,), shortest=3, banned=(5,), renormalised=True),
    "no end": Limits(6),
    "one": Limits(1, (2,)),
}


@pytest.fixture(autouse=True)
def texts_leave_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "FEWEST", 1)


def test_few_texts_stay_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "FEWEST", 4)
    monkeypatch.setattr(BeamStep, "select", lambda *_: pytest.fail("a text left"))
    monkeypatch.setattr(graphs, "ROOM", 9)  # growing selects too
    found, expected = both(FAMILIES["transformer post"], LIMITS["plain"], Beams(3))
    assert ids(found) == ids(expected)


def as_it_stands(step: BeamStep) -> tuple[BeamStep, Replay]:
    return step, step.run


def both(family: Family, limits: Limits, how: Beams, record: Any = as_it_stands) -> list[list[list[Hypothesis]]]:
    model = family.model()
    example = family.example(lengths=(6, 2, 4, 5) if family.two_texts else (4, 4, 4, 4))
    mask = example.mask if family.two_texts else None
    plain = beam(*stepper_for(model, example.ids, mask), limits, how)
    stepper, prompt = stepper_for(model, example.ids, mask)
    return [static_beam(stepper, prompt, limits, how, record), plain]  # type: ignore[arg-type]


def ids(rows: list[list[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    return [[text.ids for text in texts] for texts in rows]


@pytest.mark.parametrize("name", [*TRANSFORMERS, *DECODERS])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("stop", ["likely", "proven", "full"])
def test_it_finds_what_the_plain_search_finds(name: str, width: int, stop: Any) -> None:
    found, expected = both(FAMILIES[name], LIMITS["plain"], Beams(width, 0.6, "paper", stop))
    assert ids(found) == ids(expected)


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("name", ["transformer post", "decoder"])
def test_within_all_limits(name: str, limits: str) -> None:
    found, expected = both(FAMILIES[name], LIMITS[limits], Beams(3))
    assert ids(found) == ids(expected)


def test_a_recording_that_does_the_same_is_used() -> None:
    replays: list[int] = []

    def graph(run: Replay) -> Replay:
        run()  # warm-up, which must leave no trace

        def replay() -> None:
            replays.append(1)
            run()

        return replay

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, expected = both(FAMILIES["transformer pre"], LIMITS["plain"], Beams(3), partial(record, graph))
    assert ids(found) == ids(expected)
    assert len(replays) > 4


def forgetful(run: Replay) -> Replay:
    return lambda: None


def failing(run: Replay) -> Replay:
    raise RuntimeError("operation not permitted when stream is capturing")


@pytest.mark.parametrize(("graph", "words"), [(forgetful, "differs from the step"), (failing, "not permitted")])
def test_one_that_fails_or_differs_is_not(graph: Any, words: str) -> None:
    with pytest.warns(UserWarning, match=words):
        found, expected = both(FAMILIES["transformer pre"], LIMITS["plain"], Beams(3), partial(record, graph))
    assert ids(found) == ids(expected)


def test_nothing_a_step_uses_moves() -> None:
    """Every replay reads and writes where the one before did."""
    addresses: set[tuple[int, ...]] = set()

    def watched(step: BeamStep) -> tuple[BeamStep, Replay]:
        def replay() -> None:
            step.run()
            addresses.add((len(step.ids), *(tensor.data_ptr() for tensor in step.tensors())))

        return step, replay

    both(FAMILIES["transformer post"], LIMITS["no end"], Beams(3), watched)
    assert len(addresses) == 1


@pytest.mark.parametrize("name", ["transformer post", "transformer learned", "decoder"])
def test_buffers_grow(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "ROOM", 3)
    found, expected = both(FAMILIES[name], Limits(20, (2,), banned=(0, 1)), Beams(3, 0.6, "paper", "proven"))
    assert ids(found) == ids(expected)


def test_a_recording_serves_every_batch_of_its_shape() -> None:
    """The second batch brings other texts, and is found by the steps that were recorded for the first."""
    family, made = FAMILIES["transformer post"], []
    model, limits, how = family.model(), Limits(6), Beams(3)

    def graph(run: Replay) -> Replay:
        made.append(run)
        return run

    def check(lengths: tuple[int, ...]) -> None:
        example = family.example(lengths=lengths)
        expected = beam(*stepper_for(model, example.ids, example.mask), limits, how)
        stepper, prompt = stepper_for(model, example.ids, example.mask)
        found = static_beam(stepper, prompt, limits, how, partial(record, graph))  # type: ignore[arg-type]
        assert ids(found) == ids(expected)

    check((6, 2, 4))
    check((3, 6, 5))
    with torch.no_grad():
        model.target.table.weight.mul_(-1)  # training that goes on changes the same memory
    check((6, 2, 4))
    assert len(made) == len(RECORDINGS[model]) == 1


def test_recordings_outlive_no_model() -> None:
    family = FAMILIES["transformer post"]
    model, example = family.model(), family.example()
    stepper, prompt = stepper_for(model, example.ids, example.mask)
    static_beam(stepper, prompt, Limits(6), Beams(3), partial(record, lambda run: run))  # type: ignore[arg-type]
    assert model in RECORDINGS
    gone = weakref.ref(model)
    del model, stepper
    gc.collect()
    assert gone() is None


def test_a_recording_serves_only_batches_like_its_own() -> None:
    """Tensors of inference mode may not be written to outside of it; those of another dtype would be rounded."""
    family = FAMILIES["transformer post"]
    model, example = family.model(), family.example()

    def find() -> list[list[Hypothesis]]:
        stepper, prompt = stepper_for(model, example.ids, example.mask)
        return static_beam(stepper, prompt, Limits(6), Beams(3), partial(record, lambda run: run))  # type: ignore[arg-type]

    with torch.inference_mode():
        inferred = find()
    assert ids(find()) == ids(inferred)
    assert len(RECORDINGS[model]) == 2
    with torch.autocast("cpu", torch.bfloat16):
        find()
    assert len(RECORDINGS[model]) == 3


def test_none_is_kept_of_a_model_that_could_not_be_recorded() -> None:
    family = FAMILIES["transformer post"]
    model, example = family.model(), family.example()

    def find(graph: Any, longest: int) -> None:
        stepper, prompt = stepper_for(model, example.ids, example.mask)
        static_beam(stepper, prompt, Limits(longest), Beams(3), partial(record, graph))  # type: ignore[arg-type]

    find(lambda run: run, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="not permitted"):
            find(failing, 7)
        find(failing, 7)  # it was said
    assert model not in RECORDINGS


def test_what_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Autocast frees the weights that a recording would read; a replay does not look whether a position was learned."""
    family = FAMILIES["transformer learned"]
    model, example = family.model(), family.example()
    stepper, _ = stepper_for(model, example.ids, example.mask)
    learned = model.config.max_length
    assert replays(stepper, learned)  # type: ignore[arg-type]
    assert not replays(stepper, learned + 1)  # type: ignore[arg-type]
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: device == "cuda")
    assert not replays(stepper, learned)  # type: ignore[arg-type]


def test_recordings_take_a_share_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest makes room for the newest; one that is too large by itself is never made."""
    family, made, sizes = FAMILIES["transformer post"], [], []
    model, example = family.model(), family.example()

    def graph(run: Replay) -> Replay:
        made.append(run)
        return run

    def find(longest: int, room: int) -> None:
        monkeypatch.setattr(recordings, "room_on", lambda device: room)
        stepper, prompt = stepper_for(model, example.ids, example.mask)
        static_beam(stepper, prompt, Limits(longest), Beams(3), partial(record, graph))  # type: ignore[arg-type]
        sizes[:] = [recordings.size_of(step) for step, _ in RECORDINGS[model].values()]

    find(6, 1 << 30)
    find(7, 1 << 30)
    assert len(made) == len(sizes) == 2
    find(8, sum(sizes))
    assert len(made) == 3
    assert len(sizes) == 1
    find(9, 1)
    assert len(made) == 3
