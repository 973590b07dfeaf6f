"""Watching a model on a GPU, here a pretend one: its recordings read as those of a CPU, and it is rarely waited for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

import regard
from benchmarks import peers
from regard.attention import sdpa_kernels
from regard.lens.assembly import pending, step, watch_options
from regard.lens.intervene import means
from regard.lens.recording_api import Recording
from tests.pretend_device import DEVICE, Backend, OnDevice, PretendDevice, Stream
from tests.subjects import THEIRS

IDS = torch.tensor([[5, 6, 7, 5, 6, 7, 8, 9], [5, 6, 7, 5, 6, 1, 1, 1]])
MASK = torch.tensor([[1] * 8, [1] * 5 + [0] * 3])
KEEP = {"the device": DEVICE, "the CPU": torch.device("cpu")}
CLOSE = {"atol": 1e-4, "rtol": 1e-4}  # what weights of float32 are promised to be within


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[PretendDevice]:
    monkeypatch.setattr(sdpa_kernels, "DEVICES", (DEVICE.type,))
    monkeypatch.setattr(sdpa_kernels, "TRUSTED", set())
    monkeypatch.setattr(sdpa_kernels, "REFUSED", set())
    with torch.no_grad(), PretendDevice() as device:
        yield device


def model_of(name: str) -> Any:
    kind, config, settings, _ = THEIRS[name]
    torch.manual_seed(0)
    return peers.lively(getattr(transformers, kind)(getattr(transformers, config)(**settings)), 0, 1.0).eval()


def inputs_of(name: str, device: torch.device | str) -> dict[str, Tensor]:
    found = {"input_ids": IDS, "attention_mask": MASK}
    if name in ("bart", "t5"):
        found["decoder_input_ids"] = IDS[:, :5]
    return {key: part.to(device) for key, part in found.items()}


def recorded(name: str, at: torch.device | str, keep: torch.device | str) -> Recording:
    model = model_of(name).to(at)
    with regard.watch(model, device=keep) as recording:
        model(**inputs_of(name, at))
    return recording


def same(found: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(found.cpu(), wanted, **CLOSE)


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("name", ["llama", "roberta", "bart", "t5"])
def test_a_recording_reads_as_one_made_on_the_cpu(name: str, keep: str, tmp_path: Path) -> None:
    here, there = recorded(name, "cpu", "cpu"), recorded(name, DEVICE, KEEP[keep])
    assert isinstance(there.last.map(there.sites[0]).query, OnDevice) == (keep == "the device")
    for site in here.sites:
        same(there.weights(site, batch=1), here.weights(site, batch=1))
        same(there.weights(site, by="value"), here.weights(site, by="value"))
        same(there.row(site, 1, 2), here.row(site, 1, 2))
        same(there.tile(site, cell=3, pool="max"), here.tile(site, cell=3, pool="max"))
        same(there.received(site), here.received(site))
        same(there.statistics(site).entropy, here.statistics(site).entropy)
    same(there.rollout(2), here.rollout(2))
    for one, other in zip(there.heads().lines, here.heads().lines, strict=True):
        assert (one.site, one.head) == (other.site, other.head)
        assert one.entropy == pytest.approx(other.entropy, abs=1e-3)
        assert one.previous == pytest.approx(other.previous, abs=1e-3, nan_ok=True)
        assert one.induction == pytest.approx(other.induction, abs=1e-3, nan_ok=True)
    assert there.badge.true
    assert there.badge.rows == here.badge.rows
    assert there.badge.mask == here.badge.mask
    assert "<svg" in there.to_svg(site=there.sites[-1])
    assert there.to_html()
    there.to_csv(tmp_path / "one.csv", there.sites[0], 0)
    there.save(tmp_path / "one.regard")
    same(Recording.load(tmp_path / "one.regard").weights(here.sites[0]), here.weights(here.sites[0]))


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("name", ["llama", "bart", "t5"])
def test_a_generation_is_put_together_where_it_is_kept(name: str, keep: str) -> None:
    def generated(at: torch.device | str, kept: torch.device | str) -> Recording:
        model = model_of(name).to(at)
        given = {key: part for key, part in inputs_of(name, at).items() if not key.startswith("decoder")}
        with regard.watch(model, device=kept) as recording:
            model.generate(**given, max_new_tokens=4, min_new_tokens=4, num_beams=2, do_sample=False)
        return recording

    here, there = generated("cpu", "cpu"), generated(DEVICE, KEEP[keep])
    for site in here.sites:
        same(there.weights(site), here.weights(site))
    assert there.badge.true
    assert len(there.heads().lines) == len(here.heads().lines)


def test_links_are_read_from_what_is_kept_there() -> None:
    here, there = recorded("bart", "cpu", "cpu"), recorded("bart", DEVICE, DEVICE)
    assert there.align(batch=1).links == here.align(batch=1).links


@pytest.mark.parametrize("keep", KEEP)
def test_changes_and_effects(keep: str) -> None:
    def changed(at: torch.device | str, kept: torch.device | str) -> tuple[Tensor, Recording]:
        model = model_of("llama").to(at)
        with means(model) as found:
            model(**inputs_of("llama", at))
        site, last = "model.layers.0.self_attn", "model.layers.1.self_attn"
        changes: dict[str, Any] = {
            "silence": (site, 1), "forbid": (last, 1, 3, 0), "pin": (site, 0, 2, 1), "sharpen": (site, 0, None, 2.0),
            "mean": (site, 2), "means": found,
        }  # fmt: skip
        with regard.intervene(model, **changes), regard.watch(model, device=kept) as recording:
            return model(**inputs_of("llama", at)).logits, recording

    (logits, here), (others, there) = changed("cpu", "cpu"), changed(DEVICE, KEEP[keep])
    same(others, logits)
    for site in here.sites:
        same(there.weights(site), here.weights(site))
    model = model_of("llama").to(DEVICE)
    effects = regard.effect(model, lambda one: one(**inputs_of("llama", DEVICE)).logits[0, 0, 0], sites=here.sites[0])
    assert len(effects.lines) == 4


def llama(layers: int, dtype: torch.dtype = torch.bfloat16) -> Any:
    sizes = {"hidden_size": 64, "intermediate_size": 32, "num_attention_heads": 8, "num_key_value_heads": 2}
    config = transformers.LlamaConfig(vocab_size=20, num_hidden_layers=layers, max_position_embeddings=64, **sizes)
    return transformers.LlamaForCausalLM(config).eval().to(dtype).to(DEVICE)


def costs(gpu: PretendDevice, model: Any, keep: torch.device, **inputs: Tensor) -> tuple[int, int, Recording]:
    """How many launches and waits a watched forward has more than a plain one, when the kernels are known."""
    with regard.watch(model, device=keep):
        model(**inputs)
    gpu.reset()
    model(**inputs)
    launches, waits = gpu.launches, gpu.waits
    with regard.watch(model, device=keep) as recording:
        gpu.reset()
        model(**inputs)
        return gpu.launches - launches, gpu.waits - waits, recording


@pytest.mark.parametrize("keep", KEEP)
def test_a_forward_is_never_waited_for(gpu: PretendDevice, keep: str) -> None:
    ids = torch.randint(0, 20, (2, 40)).to(DEVICE)
    few, waits, _ = costs(gpu, llama(2), KEEP[keep], input_ids=ids)
    assert waits == 0
    many, waits, recording = costs(gpu, llama(6), KEEP[keep], input_ids=ids)
    assert waits == 0
    # Queries and keys are copied and three things sampled; to the CPU each of four tensors once more.
    assert (many - few) / 4 <= (5 if keep == "the device" else 9)
    assert few <= 80
    gpu.reset()
    assert recording.badge.true
    assert gpu.waits <= 3  # the measures of all layers together, and the ids


@pytest.mark.parametrize("keep", KEEP)
def test_padding_is_looked_at_once_for_all_layers(gpu: PretendDevice, keep: str) -> None:
    ids, mask = torch.randint(0, 20, (2, 40)).to(DEVICE), torch.ones(2, 40, dtype=torch.long)
    mask[0, 30:] = 0
    for layers in (2, 5):
        _, waits, recording = costs(gpu, llama(layers), KEEP[keep], input_ids=ids, attention_mask=mask.to(DEVICE))
        assert waits <= 1
        assert recording.badge.true


def test_copies_to_the_cpu_are_whole_when_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """They arrive only when they are waited for: whoever read them earlier would see NaN."""
    wanted = recorded("llama", DEVICE, DEVICE)
    late: list[tuple[Tensor, Tensor]] = []

    class LateStream(Stream):
        def synchronize(self) -> None:
            while late:
                buffer, tensor = late.pop()
                Tensor.copy_(buffer, tensor)

    def postponed(buffer: Tensor, tensor: Tensor) -> None:
        buffer.fill_(torch.nan)
        late.append((buffer, tensor))

    monkeypatch.setattr(Backend, "Stream", LateStream)
    monkeypatch.setattr(watch_options, "begin_copy", postponed)
    recording = recorded("llama", DEVICE, "cpu")
    assert late
    same(recording.weights("model.layers.1.self_attn"), wanted.weights("model.layers.1.self_attn").cpu())
    assert not late


def test_where_no_memory_can_be_pinned_copies_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = recorded("llama", DEVICE, "cpu").weights("model.layers.1.self_attn")
    monkeypatch.setattr(watch_options, "pinned_like", lambda tensor: None)
    same(recorded("llama", DEVICE, "cpu").weights("model.layers.1.self_attn"), wanted)
    monkeypatch.setattr(watch_options, "PINNED", 0)
    same(recorded("llama", DEVICE, "cpu").weights("model.layers.1.self_attn"), wanted)


def test_a_wrong_map_is_told_on_a_device_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check is done later, and still against what the model used."""
    honest = step.terms_of

    def wrong(*args: Any, **more: Any) -> Any:
        terms = honest(*args, **more)
        return replace(terms, scale=terms.scale * 1.5)

    monkeypatch.setattr(step, "terms_of", wrong)
    assert not recorded("llama", DEVICE, DEVICE).badge.true


@pytest.mark.parametrize(("room", "groups"), [(1, []), (2 * 32 * 32, [2, 2]), (1 << 25, [4])], ids=str)
def test_so_many_matrices_at_a_time_as_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch, room: int, groups: list[int]
) -> None:
    """A large model's W_O, all of them in float64, would not fit beside it."""
    together: list[int] = []

    def counted(value: Tensor, projection: Tensor, heads: tuple[int, ...]) -> Tensor:
        together.append(len(projection))
        return step.by_squares(value, projection, heads)

    monkeypatch.setattr(pending, "MANY", 0)
    monkeypatch.setattr(pending, "MATRICES", room)
    monkeypatch.setattr(pending, "by_squares", counted)
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=20, n_positions=16, n_embd=32, n_layer=4, n_head=2)
    ).eval()
    with regard.watch(model) as plain:
        model(IDS)
    with regard.watch(model.to(DEVICE)) as recording:
        model(IDS.to(DEVICE))
    assert together == groups
    for site in plain.sites:
        same(recording.weights(site, by="value"), plain.weights(site, by="value"))
