"""Steps that a GPU has taken down, for all batches of one shape, and the choice between them and plain searches."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from threading import Lock
from weakref import WeakKeyDictionary, WeakSet

import torch
from torch import Tensor, nn

from regard.decoding.beam import beam
from regard.decoding.beams import Beams
from regard.decoding.graphs import BeamStep, Replay, static_beam
from regard.decoding.greedy import greedy
from regard.decoding.limits import Hypothesis, Limits
from regard.decoding.stepper import DecoderStepper, Stepper, TransformerStepper, hooked
from regard.models import Transformer

MOST = 12  # recordings of a model: each has its buffers
SHARE = 8  # one in so many bytes of a GPU, which those buffers may take
GREEDY = Beams(1, 0.0, "paper", "full")  # the likeliest word each time, by the sum of logarithms
ROWS, LENGTH = 32, 16  # batches and sources are filled up to multiples of these, so that few shapes are recorded
Graph = Callable[[Replay], Replay]
RECORDINGS: WeakKeyDictionary[nn.Module, dict[tuple[object, ...], tuple[BeamStep, Replay]]] = WeakKeyDictionary()
UNRECORDABLE: WeakSet[nn.Module] = WeakSet()  # models with which it went wrong once
REPLAYING = Lock()  # a recording has one set of buffers: whoever searches by it is alone with it


def search(stepper: Stepper, prompt_BN: Tensor, limits: Limits, how: Beams) -> list[list[Hypothesis]]:
    """The best texts of each row: on a GPU by replayed steps where they serve, else step by step."""
    last = prompt_BN.shape[1] + limits.longest - 1  # positions that may be read
    if prompt_BN.is_cuda and isinstance(stepper, (TransformerStepper, DecoderStepper)) and replays(stepper, last):
        how = how if how.width > 1 else GREEDY
        with REPLAYING, torch.cuda.device(prompt_BN.device):  # which graphs are captured on
            return static_beam(stepper, prompt_BN, limits, how, partial(record, cuda_graph))
    if how.width == 1:
        return [[best] for best in greedy(stepper, prompt_BN, limits)]
    return beam(stepper, prompt_BN, limits, how)


def replays(stepper: TransformerStepper | DecoderStepper, positions: int) -> bool:
    """May its steps be recorded? Not where somebody takes hold of them, nor beside prompts that are filled up.

    Nor under autocast, which frees the weights that it has rounded when it ends; nor where a text might come to
    positions that were never learned: a replay does not look, and a GPU that reads beyond a table is lost.
    """
    config = stepper.model.config
    return (
        not stepper.followed
        and stepper.model not in UNRECORDABLE
        and not (isinstance(stepper, DecoderStepper) and stepper.mask is not None)
        and not torch.is_autocast_enabled("cuda")
        and (config.positions != "learned" or positions <= config.max_length)
    )


def filled(rows: int, longest: int, model: nn.Module) -> tuple[int, int]:
    """How many rows, and how many ids in each, a batch for a GPU gets: a few shapes for all. Elsewhere as they are."""
    if not next(model.parameters()).is_cuda or hooked(model) or not isinstance(model, Transformer):
        return rows, longest
    count = rows + -rows % ROWS if rows > ROWS // 2 else 1 << (rows - 1).bit_length()
    return count, longest + -longest % LENGTH


def record(graph: Graph, step: BeamStep) -> tuple[BeamStep, Replay]:
    """A replay of this step: of one recorded before if it has the same shape, which then gets all that this one has."""
    model = step.model_ref()
    assert model is not None
    if model in UNRECORDABLE:
        return step, step.run
    recordings = RECORDINGS.setdefault(model, {})
    weights = tuple((weight.data_ptr(), weight.dtype) for weight in model.parameters())
    shapes = tuple((tensor.shape, tensor.dtype) for tensor in step.tensors())
    modes = model.training, torch.is_inference_mode_enabled()  # whose tensors nobody else may write to
    key = (step.state.how, step.limits, shapes, modes, step.cache.length, weights)
    if key in recordings:
        recordings[key] = recordings.pop(key)  # the one that was not used for longest makes room
        put_back(recordings[key][0], step.tensors())
        return recordings[key]
    room = room_on(step.ids.device) - size_of(step)
    if room < 0:  # to compare takes as much again, twice
        return step, step.run
    replay, problem = recorded(step, graph)
    if problem:
        UNRECORDABLE.add(model)
        RECORDINGS.pop(model, None)  # nobody asks for them any more, and they hold memory
        warnings.warn(f"decoding steps are not replayed on this GPU, which is slower: {problem}", stacklevel=2)
        return step, step.run
    while recordings and (len(recordings) >= MOST or sum(size_of(one) for one, _ in recordings.values()) > room):
        del recordings[next(iter(recordings))]
    recordings[key] = step, replay
    return step, replay


def size_of(step: BeamStep) -> int:
    """Bytes of its buffers."""
    return sum(tensor.numel() * tensor.element_size() for tensor in step.tensors())


def room_on(device: torch.device) -> int:
    """Bytes that the buffers of all recordings of a model may take there."""
    return torch.cuda.mem_get_info(device)[1] // SHARE if device.type == "cuda" else 1 << 33


def recorded(step: BeamStep, graph: Graph) -> tuple[Replay, str]:
    """The step as `graph` records it, and what is wrong with that: a replay must leave everything as the step does."""
    before: list[Tensor] = []
    try:
        before = [tensor.clone() for tensor in step.tensors()]
        replay = graph(step.run)
        put_back(step, before)
        step.run()
        expected = [tensor.clone() for tensor in step.tensors()]
        put_back(step, before)
        replay()
        differs = not all(same(*pair) for pair in zip(step.tensors(), expected, strict=True))
        problem = "a replay differs from the step" if differs else ""
    except RuntimeError as error:
        replay, problem = step.run, str(error).partition("\n")[0]
    if before:  # else nothing has run yet
        put_back(step, before)
    return replay, problem


def put_back(step: BeamStep, before: list[Tensor]) -> None:
    for tensor, old in zip(step.tensors(), before, strict=True):
        tensor.copy_(old)


def same(replayed: Tensor, expected: Tensor) -> bool:
    """Ids to the last, numbers as far as the order of sums may move them."""
    if not expected.is_floating_point():
        return torch.equal(replayed, expected)
    return torch.allclose(replayed.float(), expected.float(), rtol=1e-3, atol=1e-3, equal_nan=True)


def cuda_graph(run: Replay) -> Replay:
    """What a GPU does while `run` runs, taken down once; the warm-up before it lets libraries set themselves up."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # other threads may use the GPU meanwhile
        run()
    return graph.replay
