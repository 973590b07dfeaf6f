"""Watching our models: nothing changes for the model, and every weight it used can be read, generated texts too."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from regard.decoding import Beams, Limits, beam, greedy, stepper_for
from regard.errors import InputError, KindError, UnknownNameError
from regard.lens.recording_api import Recording
from regard.lens.watch import watch
from regard.models import Seam, seams
from regard.tasks import Classifier, Generator, Translator
from tests.bounds import small_apart
from tests.families import FAMILIES, WORDS, Example, families
from tests.unit.lens.recording.test_maps import truth

ATTENDING = families(lambda family: bool(family.sites))
SPEAKING = ["transformer post", "transformer learned", "decoder", "decoder post", "recurrent attention"]
ENDS = dict.fromkeys(SPEAKING, (2, 3, 4)) | {"recurrent attention": tuple(range(2, 13))}  # so that texts end early


@contextmanager
def dense(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """The float64 weights of every site, call by call, seen from outside."""
    found: dict[str, list[Tensor]] = {}

    def hook(site: str, call: Any, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        found.setdefault(site, []).append(truth(query, key, value, **options).weights)
        return call(query, key, value, **options)

    with ExitStack() as stack:
        for seam in seams(model).values():
            stack.enter_context(seam.hooked(hook))
        yield found


def joined(calls: list[Tensor]) -> Tensor:
    """A recurrent decoder looks once for every word."""
    return torch.cat(calls, 2)


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found.double(), expected.double(), atol=small_apart(), rtol=0)


def all_as(recording: Recording, found: dict[str, list[Tensor]]) -> None:
    assert recording.sites == list(found)
    for site, calls in found.items():
        weights = joined(calls)
        for batch in range(weights.shape[0]):
            for head in range(weights.shape[1]):
                close(recording.weights(site, head, batch=batch), weights[batch, head])


# Forward


@pytest.mark.parametrize("padding", ["right", "left", "both"])
@pytest.mark.parametrize("name", ATTENDING)
def test_every_weight_of_every_family(name: str, padding: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example()
    if padding != "right":
        example = example.padded(left=2, right=1 if padding == "both" else 0)
    plain = family.run(model, example)
    with dense(model) as found, watch(model) as seen:
        output = family.run(model, example)
    assert torch.equal(output, plain)
    assert seen.sites == list(family.sites)
    all_as(seen, found)
    assert seen.badge.true, str(seen.badge)
    assert seen.tokens == example.ids[0].tolist()
    assert seen.target_tokens == ([] if example.target is None else example.target[0].tolist())


@pytest.mark.parametrize("name", ATTENDING)
def test_the_model_is_let_go(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example()
    before = set(vars(model))
    with watch(model):
        family.run(model, example)
        assert set(vars(model)) > before
    assert set(vars(model)) == before
    with pytest.raises(KeyError), watch(model):
        raise KeyError
    assert set(vars(model)) == before
    assert not any(seam.hooks for seam in seams(model).values())


def test_each_forward_is_a_call_and_the_last_is_meant() -> None:
    family = FAMILIES["transformer post"]
    model = family.model()
    examples = [family.example(seed=seed, lengths=(4, 6 + seed)) for seed in range(3)]
    with watch(model) as seen:
        for example in examples:
            family.run(model, example)
        assert len(seen.calls) == 3  # it can be read inside the block too
    assert [call.tokens for call in seen.calls] == [example.ids[0].tolist() for example in examples]
    assert seen.tokens == examples[-1].ids[0].tolist()
    for call, example in zip(seen.calls, examples, strict=True):
        with dense(model) as found:
            family.run(model, example)
        close(call.weights("decoder.1.cross", 2, batch=1), found["decoder.1.cross"][0][1, 2])


def test_encode_and_decode_by_hand_are_one_call() -> None:
    family = FAMILIES["transformer post"]
    model, example = family.model(), family.example()
    with watch(model) as seen:
        memory = model.encode(example.ids, example.mask)
        model.decode(example.target, memory, example.mask)
    with dense(model) as found:
        family.run(model, example)
    assert len(seen.calls) == 1
    all_as(seen, found)


def test_labels_are_the_tokens_of_rows_and_columns() -> None:
    family = FAMILIES["transformer post"]
    model, example = family.model(), family.example()
    with watch(model, tokenizer=lambda number: f"w{number}") as seen:
        family.run(model, example)
    source, target = ([f"w{number}" for number in ids[1].tolist()] for ids in (example.ids, example.target))
    assert seen.labels("decoder.0.cross", 1) == (target, source)
    assert seen.labels("decoder.0.self", 1) == (target, target)
    assert seen.labels("encoder.0.self", 1) == (source, source)


def test_training_goes_on_as_it_would() -> None:
    family = FAMILIES["decoder"]
    model, example = family.model().train(), family.example()
    grads = []
    for watched in (False, True):
        model.zero_grad()
        with ExitStack() as stack:
            if watched:
                seen = stack.enter_context(watch(model))
            family.loss(model, example).backward()
        grads.append([parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None])
    assert all(torch.equal(a, b) for a, b in zip(*grads, strict=True))
    assert not seen.last.map("decoder.0.self").query.requires_grad


class Saving(nn.Module):
    """A layer that is computed again on the way back."""

    def __init__(self) -> None:
        super().__init__()
        self.seam = Seam("saving.0.self")

    def forward(self, x: Tensor) -> Tensor:
        done: Tensor = checkpoint(lambda y: self.seam(y, y, y), x, use_reentrant=False)
        return done


def test_what_is_computed_again_on_the_way_back_is_seen_once() -> None:
    model, x = Saving(), torch.randn(1, 2, 5, 4, requires_grad=True)
    with watch(model) as seen:
        model(x).sum().backward()
    assert seen.sites == ["saving.0.self"]
    assert seen.weights("saving.0.self", 0).shape == (5, 5)


class Twice(nn.Module):
    """One layer used again, as in ALBERT."""

    def __init__(self) -> None:
        super().__init__()
        self.seam = Seam("shared.0.self")

    def forward(self, x: Tensor) -> Tensor:
        once = self.seam(x, x, x)
        return self.seam(once, once, once)


def test_a_layer_used_twice_is_two_sites() -> None:
    model, x = Twice(), torch.randn(1, 2, 5, 4)
    with dense(model) as found, watch(model) as seen:
        model(x)
    assert seen.sites == ["shared.0.self", "shared.0.self#2"]
    for site, weights in zip(seen.sites, found["shared.0.self"], strict=True):
        close(seen.weights(site, 1), weights[0, 1])


# Generation


def text_of(model: Any, inputs: Tensor, said: tuple[int, ...]) -> tuple[Example, list[int]]:
    """What was read of one row when so many ids had been said, as one forward reads it."""
    if model.config.family == "decoder":
        whole = torch.cat([inputs, torch.tensor([said], dtype=torch.long)], 1)
        return Example(whole, torch.ones_like(whole, dtype=torch.bool), None), whole[0].tolist()
    target = torch.tensor([[model.config.start, *said]])
    return Example(inputs, torch.ones_like(inputs, dtype=torch.bool), target), target[0].tolist()


def same_as_forward(name: str, model: Any, seen: Recording, batch: int, inputs: Tensor, said: tuple[int, ...]) -> None:
    """The joined map is that of one forward over the finished text."""
    example, read = text_of(model, inputs, said)
    with dense(model) as found:
        FAMILIES[name].run(model, example)
    assert seen.sites == list(found)
    assert seen.badge.true
    for site, calls in found.items():
        for head in range(calls[0].shape[1]):
            weights, expected = seen.weights(site, head, batch=batch), joined(calls)[0, head]
            assert weights.shape == expected.shape
            close(weights, expected)
    rows = seen.labels(seen.sites[-1], batch)[0]
    assert rows == read


def read_again(hypothesis: Any) -> tuple[int, ...]:
    """All but the last that was said."""
    return hypothesis.ids if hypothesis.end is not None else hypothesis.ids[:-1]


def prompts() -> Tensor:
    return FAMILIES["decoder"].example(lengths=(5, 5, 5)).ids


@pytest.mark.parametrize("name", SPEAKING)
def test_a_greedy_text_is_one_map(name: str) -> None:
    model, inputs = FAMILIES[name].model(seed=3), prompts()
    with watch(model) as seen:
        stepper, prompt = stepper_for(model, inputs)
        found = greedy(stepper, prompt, Limits(7))
    assert len(seen.calls) == 1
    for batch, one in enumerate(found):
        same_as_forward(name, model, seen, batch, inputs[batch : batch + 1], read_again(one))


@pytest.mark.parametrize("width", [2, 5])
@pytest.mark.parametrize("name", SPEAKING)
def test_beams_are_put_in_order(name: str, width: int) -> None:
    model, inputs = FAMILIES[name].model(seed=5), prompts()
    with watch(model) as seen:
        stepper, prompt = stepper_for(model, inputs)
        found = beam(stepper, prompt, Limits(8, ENDS[name]), Beams(width, 0.6))
    assert len({len(one.ids) for best in found for one in best}) > 1  # some ended while others went on
    for rank in range(2):
        seen.follow([read_again(best[rank]) for best in found])
        for batch, best in enumerate(found):
            same_as_forward(name, model, seen, batch, inputs[batch : batch + 1], read_again(best[rank]))


@pytest.mark.parametrize("name", SPEAKING)
def test_without_an_order_a_row_is_the_history_of_an_open_beam(name: str) -> None:
    model, inputs = FAMILIES[name].model(seed=5), prompts()
    with watch(model) as seen:
        stepper, prompt = stepper_for(model, inputs)
        beam(stepper, prompt, Limits(6), Beams(3, 0.6))
    text = seen.last.text
    assert text is not None
    assert len(text.ids) == 9
    for batch in range(9):
        read = text.ids[batch]
        said = tuple(read[inputs.shape[1] :] if model.config.family == "decoder" else read[1:])
        same_as_forward(name, model, seen, batch, inputs[batch // 3 : batch // 3 + 1], said)


def test_prompts_padded_on_the_left() -> None:
    family = FAMILIES["decoder"]
    model, example = family.model(seed=3), family.example(lengths=(5, 3))
    ids, mask = example.ids.flip(-1), example.mask.flip(-1)
    with dense(model) as found, watch(model) as seen:
        stepper, prompt = stepper_for(model, ids, mask)
        greedy(stepper, prompt, Limits(6))
    map_ = seen.last.map("decoder.1.self")
    assert map_.terms.causal
    assert map_.terms.mask is not None
    assert map_.terms.mask.shape == (2, 1, 1, 10)
    for batch in range(2):
        whole = seen.weights("decoder.1.self", 1, batch=batch)
        for turn, weights in enumerate(found["decoder.1.self"]):
            rows = weights[batch, 1]
            start = 0 if turn == 0 else 4 + turn
            close(whole[start : start + len(rows), : rows.shape[1]], rows)


def test_two_texts_decoded_in_turns_are_two_calls() -> None:
    model, inputs = FAMILIES["transformer post"].model(), prompts()
    with watch(model) as seen:
        steppers = [stepper_for(model, inputs[i : i + 1]) for i in range(2)]
        for stepper, prompt in steppers:
            stepper.advance(prompt)
        for token, (stepper, _) in enumerate(steppers):
            stepper.advance(torch.tensor([[5 + token]]))
    assert [call.tokens for call in seen.calls] == inputs[:2].tolist()
    assert [call.target_tokens[1:] for call in seen.calls] == [[5], [6]]


def test_a_text_that_was_not_said_cannot_be_followed() -> None:
    model, inputs = FAMILIES["decoder"].model(), prompts()
    with watch(model) as seen:
        stepper, prompt = stepper_for(model, inputs)
        found = greedy(stepper, prompt, Limits(4))
    wrong = tuple((token + 1) % WORDS for token in found[0].ids[:2])
    with pytest.raises(InputError, match="was not read"):
        seen.follow([wrong, found[1].ids[:2], found[2].ids[:2]])


# Tasks


class Numbers:
    """A tokenizer of numbers."""

    kind, size = "numbers", WORDS

    def encode(self, texts: Any) -> list[list[int]]:
        return [[int(word) for word in text.split()] for text in texts]

    def decode(self, ids: Any) -> str:
        return " ".join(str(number) for number in ids)

    def id_of(self, token: str) -> int | None:
        return int(token)


@pytest.mark.parametrize("name", ["transformer post", "recurrent attention"])
@pytest.mark.parametrize("beams", [1, 4])
def test_a_translator_is_watched_in_order(name: str, beams: int) -> None:
    model = FAMILIES[name].model(seed=4)
    translator = Translator(model, Numbers())
    plain = translator.search(["5 6 7 2", "8 9 3 2"], beams=beams, max_length=9)
    with watch(translator) as seen:
        found = translator.search(["5 6 7 2", "8 9 3 2"], beams=beams, max_length=9)
    assert found == plain
    assert "decode" not in vars(translator)
    assert seen.tokens == ["5", "6", "7", "2"]
    for batch, (source, best) in enumerate(zip(([5, 6, 7, 2], [8, 9, 3, 2]), found, strict=True)):
        said = [int(word) for word in best[0].text.split()]
        said = said[:-1]  # the last, an end or not, is never read
        example, read = text_of(model, torch.tensor([source]), tuple(said))
        with dense(model) as maps:
            FAMILIES[name].run(model, example)
        close(seen.weights("decoder.0.cross", 0, batch=batch), joined(maps["decoder.0.cross"])[0, 0])
        assert seen.labels("decoder.0.cross", batch)[0] == [str(number) for number in read]


def test_a_generator_and_a_classifier_are_watched_too() -> None:
    generator = Generator(FAMILIES["decoder"].model(seed=4), Numbers())
    with watch(generator) as seen:
        text = generator.generate("5 6 7", 6)
    assert " ".join(map(str, seen.tokens)) == " ".join(text.split()[:-1])
    classifier = Classifier(FAMILIES["encoder class"].model(), Numbers())
    with watch(classifier, sites="encoder.1.*") as seen:
        classifier.classify(["5 6 7", "5 6"])
    assert seen.sites == ["encoder.1.self"]
    assert seen.tokens == ["5", "6", "7"]


# What is refused


def test_sites_are_chosen_by_name_or_pattern() -> None:
    family = FAMILIES["transformer post"]
    model, example = family.model(), family.example()
    with watch(model, sites=["decoder.*.cross", "encoder.0.self"]) as seen:
        family.run(model, example)
    assert seen.sites == ["encoder.0.self", "decoder.0.cross", "decoder.1.cross"]
    with pytest.raises(UnknownNameError, match=r"decoder\.0\.cross"), watch(model, sites="decoder.0.crss"):
        pass


def test_what_cannot_be_watched_is_refused() -> None:
    with pytest.raises(InputError, match="no attention to watch"), watch(FAMILIES["recurrent"].model()):
        pass
    with pytest.raises(KindError, match="only a model"), watch("a model"):
        pass
    with pytest.raises(UnknownNameError, match="dtype"), watch(FAMILIES["decoder"].model(), dtype="int7"):
        pass


class Deaf(nn.Module):
    """A model that has a seam and does not use it."""

    def __init__(self) -> None:
        super().__init__()
        self.deaf_attention = FAMILIES["decoder"].model().blocks[0].self_attention

    def forward(self, ids: Tensor) -> Tensor:
        return ids


def test_attention_that_does_not_come_through_is_named() -> None:
    model = Deaf()
    with (
        pytest.raises(InputError, match=r"computes attention itself.*\n.*deaf_attention \(SelfAttention\)"),
        watch(model),
    ):
        model(torch.ones(1, 3, dtype=torch.long))


def test_a_block_in_which_nothing_ran_has_nothing_to_read() -> None:
    with watch(FAMILIES["decoder"].model()) as seen:
        pass
    with pytest.raises(InputError, match="nothing was recorded"):
        _ = seen.sites


# Length


class OneLayer(nn.Module):
    """Four heads of 16 over a long text."""

    def __init__(self) -> None:
        super().__init__()
        self.seam = Seam("one.0.self")

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return self.seam(query, key, value, window=(300, 0), causal=True)


def tensors_alive() -> int:
    """Bytes of all tensors, each storage once."""
    gc.collect()
    storages = {
        x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in gc.get_objects() if type(x) is Tensor
    }
    return sum(storages.values())


def test_a_long_text_keeps_queries_keys_and_lse_alone() -> None:
    length = 16_384
    query, key, value = (torch.randn(1, 4, length, 16) for _ in range(3))
    model, before = OneLayer(), tensors_alive()
    with watch(model) as seen:
        model(query, key, value)
    kept = tensors_alive() - before
    assert kept < 1.1 * (query.nbytes + key.nbytes + query.nbytes // 16)
    tile = seen.weights("one.0.self", 2, (16_000, 16_256), (15_900, 16_156))
    expected = truth(query[:, 2:3, 16_000:16_256], key[:, 2:3, 15_000:], value[:, 2:3, 15_000:],
                     causal=True, window=(300, 0), offset=1_000).weights[0, 0, :, 900:1_156]  # fmt: skip
    close(tile, expected)
    assert seen.badge.true
