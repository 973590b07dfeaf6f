"""Logits that no id can be chosen by: every search says so, when and why, and names the weight that is to blame."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmarks import peers
from regard.decoding import Beams, Hypothesis, Limits, Sampling, beam, greedy, sample, stepper_for
from regard.errors import InputError
from regard.tasks import load
from tests.families import FAMILIES, families
from tests.unit.decoding.tables import TableStepper

WORDS = 5
END = (4,)
NEVER = float("-inf")


def beams(width: int, stop: Any) -> Callable[..., list[Hypothesis]]:
    return lambda *given: [row[0] for row in beam(*given, Beams(width, stop=stop))]


SEARCHES: dict[str, Callable[..., list[Hypothesis]]] = {
    "greedy": greedy,
    "sample": lambda *given: sample(*given, Sampling(seed=1)),
    "top_p": lambda *given: sample(*given, Sampling(0.7, top_k=3, top_p=0.9)),
    **{f"beam {width} {stop}": beams(width, stop) for width in (1, 3) for stop in ("proven", "likely", "full")},
}


class SpoiltStepper(TableStepper):
    """A table whose logits are `bad` from some step on, in the rows whose prompt is `prompt`."""

    def __init__(self, bad: list[float], step: int, rows: int, prompt: int | None = None) -> None:
        super().__init__(0, WORDS, rows)
        self.bad, self.step, self.prompt = bad, step, prompt

    def advance(self, ids_BT: Tensor) -> Tensor:
        logits = super().advance(ids_BT)
        for row, prefix in enumerate(self.prefixes):
            if len(prefix) >= self.step and self.prompt in (None, prefix[0]):
                logits[row] = torch.tensor(self.bad)
        return logits


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("step", [1, 3, 6])
@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        ([math.nan] * WORDS, "NaN"),
        ([0.0, math.nan, NEVER, 0.0, 0.0], "NaN"),
        ([0.0, math.inf, 0.0, 0.0, 0.0], "inf"),
        ([NEVER] * WORDS, "all -inf"),
    ],
)
def test_it_is_said_at_which_step(search: str, step: int, bad: list[float], kind: str) -> None:
    """The first and the last step too; without an end, so that no text is over before."""
    stepper = SpoiltStepper(bad, step, rows=2, prompt=1)
    with pytest.raises(InputError, match=rf"logits are not finite \({kind}\) at step {step}\n"):
        SEARCHES[search](stepper, torch.arange(2)[:, None], Limits(6))
    assert stepper.asked == step  # and nothing is computed in vain


@pytest.mark.parametrize("search", SEARCHES)
def test_some_ids_at_minus_infinity_are_as_good_as_banned(search: str) -> None:
    logits = [0.0, NEVER, 1.0, NEVER, -1.0]
    for text in SEARCHES[search](SpoiltStepper(logits, 1, rows=3), torch.arange(3)[:, None], Limits(6, END)):
        assert not {1, 3} & set(text.ids)
        assert math.isfinite(text.score)


@pytest.mark.parametrize("search", SEARCHES)
def test_no_id_that_is_not_banned(search: str) -> None:
    limits = Limits(4, banned=(0, 1, 2, 3, 4))
    with pytest.raises(InputError, match="no id may come at step 1"):
        SEARCHES[search](TableStepper(0, WORDS, 2), torch.arange(2)[:, None], limits)


@pytest.mark.parametrize("search", [name for name in SEARCHES if "3" not in name])  # three would not have ended
def test_a_row_that_has_ended_may_say_what_it_likes(search: str) -> None:
    """It waits for the others, and would have been fine alone."""

    class Ending(SpoiltStepper):
        def advance(self, ids_BT: Tensor) -> Tensor:
            logits = super().advance(ids_BT)
            for row, prefix in enumerate(self.prefixes):
                if prefix == (0,):
                    logits[row] = torch.tensor([-90.0, -90.0, -90.0, -90.0, 0.0])
            return logits

    texts = SEARCHES[search](Ending([math.nan] * WORDS, 2, 2, prompt=0), torch.arange(2)[:, None], Limits(7, END))
    assert texts[0].ids == ()
    assert texts[1].ids


# Models


@pytest.mark.parametrize("search", ["greedy", "sample", "beam 3 proven"])
@pytest.mark.parametrize("name", families(lambda family: family.causal))
def test_the_first_weight_with_nan_is_named(name: str, search: str) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(4, 4))
    blamed = list(dict(model.named_parameters()))[-2:]
    with torch.no_grad():
        for parameter in blamed:
            model.get_parameter(parameter).view(-1)[-1] = math.nan
    with pytest.raises(InputError, match=rf"not finite \(NaN\) at step 1\n  found: {blamed[0]} holds NaN\n  do: "):
        SEARCHES[search](*stepper_for(model, example.ids), Limits(5))


def test_finite_weights_are_not_blamed() -> None:
    family = FAMILIES["decoder"]
    model, example = family.model(), family.example(lengths=(4, 4))
    model.norm.register_forward_hook(lambda *given: given[-1] * math.nan)
    with pytest.raises(InputError, match=r"found: all weights are finite\n  do: compute in float32"):
        greedy(*stepper_for(model, example.ids), Limits(5))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    peers.save(peers.marian(1), root / "marian", "seq2seq", num_beams=3, max_length=12)
    peers.save(peers.gpt2(1), root / "gpt2", "gpt2")
    peers.save(peers.bert(), root / "classes", "bert")
    peers.save(peers.bert("BertForMaskedLM"), root / "masks", "bert")
    return {path.name: path for path in root.iterdir()}


@pytest.mark.parametrize(
    ("name", "call", "step"),
    [
        ("marian", lambda task: task.translate(["w1 w2", "w3"]), " at step 1"),
        ("marian", lambda task: task.translate(["w1 w2"], beams=1), " at step 1"),
        ("gpt2", lambda task: task.generate("w1 w2"), " at step 1"),
        ("gpt2", lambda task: task.generate(["w1", "w2"], temperature=1.0), " at step 1"),
        ("classes", lambda task: task.classify(["w1", "w2 w3"]), ""),
        ("masks", lambda task: task.fill(["w1 [MASK]"]), ""),
    ],
)
def test_tasks_say_it_too(folders: dict[str, Path], name: str, call: Callable[[Any], Any], step: str) -> None:
    task = load(folders[name], "cpu")
    blamed = next(name for name, _ in task.model.named_parameters() if name.endswith("qkv.weight"))
    with torch.no_grad():
        task.model.get_parameter(blamed)[0, 0] = math.nan
    words = rf"the model's logits are not finite \(NaN\){step}\n  found: {blamed} holds NaN\n  do: load weights"
    with pytest.raises(InputError, match=words):
        call(task)
