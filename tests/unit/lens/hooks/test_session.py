"""One session for every kind of model: calls kept apart, threads refused, sessions released in any order."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

import regard
from benchmarks import peers
from regard.decoding.cache import KeyValueCache
from regard.lens.hooks import attach
from tests.families import FAMILIES
from tests.threads import in_a_thread

SOURCE = torch.tensor([[5, 6, 7, 8]])
FIRST, SECOND = torch.tensor([[1, 5, 6]]), torch.tensor([[1, 9, 10, 11]])
X = torch.randn(1, 5, 16, generator=torch.Generator().manual_seed(3))
SDPA = F.scaled_dot_product_attention


class Plain(nn.Module):
    """A model as people write it, on PyTorch's function."""

    def __init__(self, heads: int = 4) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.heads, self.qkv = heads, nn.Linear(16, 48)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        query, key, value = self.qkv(x).unflatten(-1, (3, self.heads, -1)).transpose(1, 3).unbind(2)
        return F.scaled_dot_product_attention(query, key, value, mask).transpose(1, 2).flatten(2)


# A source that several targets are decoded from


def transformer() -> Any:
    return FAMILIES["transformer post"].model()


def check_targets(recording: Any) -> None:
    """Two calls, each with its own target and its own rows, both with the source."""
    assert [call.target_tokens for call in recording.calls] == [FIRST[0].tolist(), SECOND[0].tolist()]
    for call, target in zip(recording.calls, (FIRST, SECOND), strict=True):
        assert call.tokens == SOURCE[0].tolist()
        assert call.weights("encoder.0.self", 0).shape == (4, 4)
        assert call.weights("decoder.1.cross", 0).shape == (target.shape[1], 4)
        assert call.weights("decoder.0.self", 0).shape == (target.shape[1],) * 2
        assert call.badge.true


@torch.no_grad()
def test_two_targets_of_one_source_are_two_calls() -> None:
    model = transformer()
    with regard.watch(model) as recording:
        memory = model.encode(SOURCE)
        for target in (FIRST, SECOND):
            model.decode(target, memory)
    check_targets(recording)
    for call, target in zip(recording.calls, (FIRST, SECOND), strict=True):
        with regard.watch(model) as alone:
            model(SOURCE, target)
        for site in alone.sites:
            torch.testing.assert_close(call.weights(site, 1), alone.weights(site, 1))


@torch.no_grad()
def test_two_caches_of_one_source_are_two_calls() -> None:
    model = transformer()
    with regard.watch(model) as recording:
        memory, caches = model.encode(SOURCE), [KeyValueCache(), KeyValueCache()]
        for step in range(SECOND.shape[1]):  # turn by turn, one after the other
            for target, cache in zip((FIRST, SECOND), caches, strict=True):
                if step < target.shape[1]:
                    model.decode(target[:, step : step + 1], memory, None, cache)
                    cache.length += 1
    check_targets(recording)


@torch.no_grad()
def test_two_targets_of_one_state_are_two_calls() -> None:
    model = FAMILIES["recurrent attention"].model()
    with regard.watch(model) as recording:
        state = model.start(SOURCE)
        for target in (FIRST, SECOND):
            model.advance(target, state)
    assert [call.target_tokens for call in recording.calls] == [FIRST[0].tolist(), SECOND[0].tolist()]
    assert [call.weights(call.sites[0], 0).shape for call in recording.calls] == [(3, 4), (4, 4)]


@torch.no_grad()
def test_a_state_that_has_gone_on_is_refused() -> None:
    model = FAMILIES["recurrent attention"].model()
    with regard.watch(model):
        _, state = model.advance(FIRST, model.start(SOURCE))
        model.advance(FIRST[:, -1:], state)
        with pytest.raises(regard.RegardError, match="has gone on before"):
            model.advance(SECOND[:, -1:], state)


# Threads


def once(work: Callable[[], Any]) -> Callable[..., None]:
    """A forward hook that works the first time only: what it starts may come by again."""
    times: list[None] = []

    def hook(*_: Any) -> None:
        times.append(None)
        if len(times) == 1:
            work()

    return hook


@pytest.mark.parametrize("name", ["transformer post", "decoder", "encoder", "recurrent attention"])
def test_two_threads_at_once_are_refused_for_our_models(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example((5,))
    failures: list[Exception] = []
    part = next(module for module in model.modules() if isinstance(module, (nn.Linear, nn.Embedding)))
    handle = part.register_forward_hook(once(lambda: failures.extend(in_a_thread(lambda: family.run(model, example)))))
    with torch.no_grad(), regard.watch(model) as recording:
        family.run(model, example)
        handle.remove()
    assert failures
    assert all("two threads" in str(failure) for failure in failures)
    with torch.no_grad(), regard.watch(model) as alone:
        family.run(model, example)
    assert len(recording.calls) == 1
    for site in alone.sites:
        assert torch.equal(recording.weights(site, 0), alone.weights(site, 0))


def test_a_part_of_a_model_in_another_thread_is_refused() -> None:
    model = nn.Sequential(Plain(), Plain()).eval()
    failures: list[Exception] = []
    handle = model[0].qkv.register_forward_hook(once(lambda: failures.extend(in_a_thread(lambda: model[1](X)))))
    with torch.no_grad(), regard.watch(model) as recording:
        model(X)
        handle.remove()
    assert [str(failure).split("\n")[0] for failure in failures] == [
        "two threads use this model at once while it is watched or changed"
    ]
    assert len(recording.calls) == 1


def test_other_threads_keep_pytorch_s_function_while_a_model_of_multihead_attention_is_watched() -> None:
    model = nn.MultiheadAttention(16, 4, batch_first=True).eval()
    functions = []

    def look(site: str, call: Any, *tensors: Tensor, **options: Any) -> Tensor:
        functions.append(F.scaled_dot_product_attention)
        in_a_thread(lambda: functions.append(F.scaled_dot_product_attention))
        return call(*tensors, **options)

    with torch.no_grad(), attach(model, hook=look):
        model(X, X, X)
    assert functions == [SDPA, SDPA]


def test_three_threads_with_a_model_each() -> None:
    models = [nn.MultiheadAttention(16, 4, batch_first=True).eval() for _ in range(3)]
    barrier, shapes = threading.Barrier(3), Counter[Any]()

    def work(number: int) -> None:
        x = torch.randn(1, 3 + number, 16, generator=torch.Generator().manual_seed(number))
        for _ in range(20):
            barrier.wait()
            try:
                with torch.no_grad(), regard.watch(models[number]) as recording:
                    models[number](x, x, x)
            except BaseException:
                barrier.abort()  # else the others would wait for this one
                raise
            assert recording.badge.true
            shapes[tuple(recording.weights("MultiheadAttention", 0).shape)] += 1

    failures: list[Exception] = []
    threads = [threading.Thread(target=lambda n=n: failures.extend(in_a_thread(lambda: work(n)))) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert shapes == {(size, size): 20 for size in (3, 4, 5)}
    assert SDPA is F.scaled_dot_product_attention


def test_threads_may_take_turns() -> None:
    model = transformer()
    with torch.no_grad(), regard.watch(model) as recording:
        for target in (FIRST, SECOND):
            assert not in_a_thread(lambda target=target: model(SOURCE, target))
    check_targets(recording)


# Somebody else's function in PyTorch's place


@pytest.mark.parametrize("model", [Plain(), nn.MultiheadAttention(16, 4, batch_first=True)], ids=["plain", "multihead"])
def test_a_function_that_somebody_put_in_place_of_sdpa_computes_and_stays(
    model: nn.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def theirs(*args: Any, **kwargs: Any) -> Tensor:
        calls.append(len(args))
        return SDPA(*args, **kwargs)

    monkeypatch.setattr(F, "scaled_dot_product_attention", theirs)
    inputs = (X,) if isinstance(model, Plain) else (X, X, X)
    with torch.no_grad(), regard.watch(model.eval()) as recording:
        model(*inputs)
    assert len(calls) == 1
    assert F.scaled_dot_product_attention is theirs
    assert recording.badge.true


# Release


def settle(model: nn.Module) -> dict[str, Any]:
    """What an object has of its own that its class does not give."""
    return {name: value for name, value in vars(model).items() if callable(value) and not isinstance(value, nn.Module)}


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
@pytest.mark.parametrize("name", ["transformer post", "recurrent attention", "decoder"])
def test_sessions_end_in_any_order(name: str, order: tuple[int, ...]) -> None:
    family = FAMILIES[name]
    model, example, before = family.model(), family.example(), settle(family.model())
    with torch.no_grad():
        expected = family.run(model, example)
        watches = [regard.watch(model) for _ in order]
        recordings = [watch.__enter__() for watch in watches]
        for count, number in enumerate(order):
            assert torch.equal(family.run(model, example), expected)
            watches[number].__exit__(None, None, None)
            assert len(recordings[number].calls) == count + 1
        assert torch.equal(family.run(model, example), expected)
    assert settle(model) == before


@pytest.mark.parametrize("name", ["transformer post", "recurrent attention"])
def test_a_copy_of_a_watched_model_is_not_watched(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example()
    with torch.no_grad(), regard.watch(model) as recording, regard.intervene(model, silence=(family.sites[-1], 0)):
        copied = deepcopy(model)
        family.run(model, example)
    with torch.no_grad():
        assert torch.equal(family.run(copied, example), family.run(model, example))
    assert len(recording.calls) == 1


def test_a_watch_keeps_no_cache_alive() -> None:
    model = FAMILIES["decoder"].model()
    caches: list[Any] = []
    with torch.no_grad(), regard.watch(model) as recording:
        for _ in range(3):
            cache = KeyValueCache()
            model(SOURCE, None, cache)
            caches.append(weakref.ref(cache))
            del cache
        assert [one() for one in caches] == [None] * 3
    assert len(recording.calls) == 3


# What it costs


def lens_calls(work: Callable[[], Any]) -> int:
    """How many functions of this package run: a measure that no clock disturbs."""
    count = 0

    def step(frame: Any, event: str, _: Any) -> None:
        nonlocal count
        count += event == "call" and f"{os.sep}regard{os.sep}" in frame.f_code.co_filename

    sys.setprofile(step)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_reading_a_watched_generation_grows_with_its_length_alone() -> None:
    model = FAMILIES["decoder"].model(max_length=128)
    counts = []
    for length in (20, 40):
        with torch.no_grad(), regard.watch(model) as recording:
            cache = KeyValueCache()
            for token in range(length):
                model(torch.tensor([[3 + token % 9]]), None, cache)
                cache.length += 1
                cache.select(torch.tensor([0]))
        counts.append(lens_calls(lambda recording=recording: recording.calls))
    assert counts[1] < 2.5 * counts[0], f"{counts} calls for 20 and 40 tokens"


class Counting(TorchDispatchMode):
    """How often operations run, by name, on tensors that are looked for."""

    def __init__(self, name: str, at: Callable[[Tensor], bool] = lambda _: True) -> None:
        super().__init__()
        self.name, self.at, self.count = name, at, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += self.name in str(func) and self.at(args[0])
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("causal", [True, False])
def test_a_long_text_is_attended_to_once(causal: bool) -> None:
    family = FAMILIES["decoder" if causal else "encoder"]
    model = family.model(max_length=1024)
    ids = torch.randint(3, 19, (1, 600), generator=torch.Generator().manual_seed(0))
    with torch.no_grad(), Counting("flash_attention_for_cpu") as plain:
        model(ids)
    with torch.no_grad(), regard.watch(model) as recording, Counting("flash_attention_for_cpu") as watched:
        model(ids)
    assert watched.count == plain.count == 2
    assert recording.badge.true


def test_a_mask_is_looked_through_once() -> None:
    mask = torch.rand(5, 5, generator=torch.Generator().manual_seed(0)) > 0.3
    mask[:, 0] = True
    model = Plain()
    whole = Counting("aten.all.default", lambda tensor: tensor.data_ptr() == mask.data_ptr())
    with torch.no_grad(), regard.watch(model) as recording, whole:
        model(X, mask)
    assert whole.count == 1
    assert recording.badge.true


# Whatever stands around PyTorch's function


@pytest.mark.parametrize("name", ["transformer post", "decoder", "encoder", "recurrent attention"])
def test_our_models_compute_by_what_stands_in_place_of_sdpa(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example()
    monkeypatch.setattr(F, "scaled_dot_product_attention", lambda *args, **kwargs: 2 * SDPA(*args, **kwargs))
    with torch.no_grad():
        expected = family.run(model, example)
        with regard.watch(model):
            assert torch.equal(family.run(model, example), expected)


class Doubling(TorchFunctionMode):
    """Somebody's mode that changes what attention gives."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        return 2 * output if func is SDPA else output


@pytest.mark.parametrize("model", [FAMILIES["decoder"].model(), Plain()], ids=["ours", "plain"])
def test_a_function_mode_of_somebody_s_own_is_asked_as_without_us(model: nn.Module) -> None:
    inputs = X if isinstance(model, Plain) else SOURCE
    with torch.no_grad(), Doubling():
        expected = model(inputs)
        with regard.watch(model):
            assert torch.equal(model(inputs), expected)


@pytest.mark.parametrize("name", ["transformer post", "decoder", "encoder", "recurrent attention"])
def test_under_autocast_watching_changes_nothing(name: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        expected = family.run(model, example)
        with regard.watch(model):
            assert torch.equal(family.run(model, example), expected)


def test_a_function_that_was_there_before_the_first_watch_of_a_process() -> None:
    script = """
import torch, torch.nn.functional as F
sdpa, calls = F.scaled_dot_product_attention, []
def theirs(*args, **kwargs):
    calls.append(1)
    return sdpa(*args, **kwargs)
F.scaled_dot_product_attention = theirs
import regard
from benchmarks import peers
class Model(torch.nn.Module):
    def forward(self, x):
        return F.scaled_dot_product_attention(x, x, x)
model = Model()
for function in (theirs, sdpa):
    F.scaled_dot_product_attention = function
    with regard.watch(model) as recording:
        model(torch.ones(1, 1, 2, 4))
    assert recording.badge.true and len(recording.calls) == 1
print(len(calls))
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (run.stdout.strip(), run.returncode) == ("1", 0), run.stderr


def test_a_function_around_multi_head_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    genuine, calls = F.multi_head_attention_forward, []

    def theirs(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        return genuine(*args, **kwargs)

    monkeypatch.setattr(F, "multi_head_attention_forward", theirs)
    model = nn.MultiheadAttention(16, 4, batch_first=True).eval()
    with torch.no_grad(), regard.watch(model) as recording:
        model(X, X, X)
    assert calls == [1]
    assert recording.badge.true


def test_a_mode_that_began_within_a_watch_outlives_it() -> None:
    model, watch = Plain(), regard.watch(Plain())
    watch.__enter__()
    with Doubling():
        watch.__exit__(None, None, None)
        with torch.no_grad():
            inside = model(X)
    with torch.no_grad():
        assert torch.equal(inside, 2 * model(X))


def test_a_plain_model_may_run_in_another_thread() -> None:
    model = nn.Sequential(Plain(), Plain()).eval()
    with torch.no_grad(), regard.watch(model) as recording:
        assert not in_a_thread(lambda: model(X))
        model(X)
    assert [call.sites for call in recording.calls] == [["0", "1"]] * 2


def test_one_part_in_two_threads_is_refused() -> None:
    model = nn.Sequential(Plain(), Plain()).eval()
    failures: list[Exception] = []
    model[0].qkv.register_forward_hook(once(lambda: failures.extend(in_a_thread(lambda: model[0](X)))))
    with torch.no_grad(), regard.watch(model) as recording:
        model[0](X)
        model[0](X)
    assert len(failures) == 1
    assert "two threads" in str(failures[0])
    assert [call.sites for call in recording.calls] == [["0"], ["0"]]


def test_a_change_of_our_model_serves_one_thread_at_a_time() -> None:
    model = transformer()
    failures: list[Exception] = []
    part = next(module for module in model.modules() if isinstance(module, nn.Linear))
    part.register_forward_hook(once(lambda: failures.extend(in_a_thread(lambda: model(SOURCE, FIRST)))))
    with torch.no_grad(), regard.intervene(model, pin=("decoder.0.cross", None, 1, 0)):
        model(SOURCE, FIRST)
    assert "two threads" in str(failures[0])


# What goes wrong within


def test_a_part_that_fails_leaves_the_calls_after_it_alone() -> None:
    model = nn.Sequential(Plain(), Plain()).eval()
    with torch.no_grad(), regard.watch(model) as recording:
        with pytest.raises(RuntimeError):
            model[0](X, torch.ones(7, 7, dtype=torch.bool))
        for _ in range(3):
            model(X)
    assert [call.sites for call in recording.calls] == [["0", "1"]] * 3


def test_a_method_that_somebody_exchanges_within_the_block_stays() -> None:
    model = Plain()
    with torch.no_grad():
        expected = model(X)
        with regard.watch(model) as recording:
            before = model.forward
            model.forward = lambda x: before(x)  # type: ignore[method-assign]
            assert torch.equal(model(X), expected)
        assert torch.equal(model(X), expected)
        with regard.watch(model):
            vars(model).pop("forward")
    assert len(recording.calls) == 1


@pytest.mark.parametrize("make", [Plain, transformer], ids=["plain", "ours"])
def test_a_watched_model_can_be_copied_and_pickled(make: Callable[[], Any]) -> None:
    model = nn.Sequential(make()) if make is Plain else make()
    inputs = (X,) if make is Plain else (SOURCE, FIRST)
    with torch.no_grad():
        expected = model(*inputs)
        with regard.watch(model) as recording:
            copies = [deepcopy(model), pickle.loads(pickle.dumps(model))]
            model(*inputs)
            for copied in copies:
                assert torch.equal(copied(*inputs), expected)
        for copied in copies:
            assert torch.equal(copied(*inputs), expected)
    assert len(recording.calls) == 1


def test_a_compiled_model_of_ours_is_watched_by_either_name() -> None:
    model = transformer()
    compiled = torch.compile(model, backend="eager")
    for one in (model, compiled):
        with torch.no_grad(), regard.watch(one) as recording:
            compiled(SOURCE, FIRST)
        assert recording.target_tokens == FIRST[0].tolist()
        assert len(recording.calls) == 1


def test_parts_of_our_model_called_by_themselves_are_calls_of_their_own() -> None:
    model = FAMILIES["encoder"].model()
    x = torch.randn(1, 4, 16, generator=torch.Generator().manual_seed(0))
    block = next(module for module in model.modules() if type(module).__name__ == "Block")
    with torch.no_grad(), regard.watch(model) as recording:
        block(x)
        model(SOURCE)
        block(x)
        block(x)
    assert [call.sites for call in recording.calls] == [
        ["encoder.0.self"], ["encoder.0.self", "encoder.1.self"], ["encoder.0.self"], ["encoder.0.self"],
    ]  # fmt: skip


def test_a_source_that_is_only_encoded_has_its_tokens() -> None:
    model = transformer()
    with torch.no_grad(), regard.watch(model) as recording:
        model.encode(SOURCE)
    assert recording.tokens == SOURCE[0].tolist()
    assert recording.sites == ["encoder.0.self", "encoder.1.self"]


def test_changes_are_made_again_where_checkpointing_computes_again() -> None:
    model = nn.Sequential(Plain(), Plain())
    x = X.clone().requires_grad_()

    def gradient(checkpointing: bool) -> Tensor:
        def run(x: Tensor) -> Tensor:
            return checkpoint(model[0], x, use_reentrant=False) if checkpointing else model[0](x)

        return torch.autograd.grad(model[1](run(x)).square().sum(), x)[0]

    with regard.intervene(model, forbid=("0", None, 3, 0)):
        torch.testing.assert_close(gradient(True), gradient(False))


def test_beams_of_several_sources_without_a_cache_are_refused_in_words() -> None:
    model = peers.marian()
    with torch.no_grad(), regard.watch(model) as recording:
        model.generate(SOURCE.repeat(2, 1), num_beams=3, max_new_tokens=4, do_sample=False, use_cache=False)
    with pytest.raises(regard.RegardError, match="use_cache=True"):
        _ = recording.calls
