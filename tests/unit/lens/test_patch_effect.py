"""Which heads move a score when another run gives them: estimates are derivatives, and the rest is really patched."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from torch import Tensor, nn

import regard
from benchmarks import peers
from regard.errors import InputError, KindError, ShapeError, UnknownNameError
from regard.lens.draw.patch_map import PositionEffect
from regard.lens.effect import PatchEffect
from regard.lens.hooks.activations import Activations
from regard.lens.intervene import activations, intervene
from regard.tasks.text_ids import encode
from tests.bounds import layers_apart
from tests.families import FAMILIES
from tests.unit.lens.test_patch import IDS, OTHERS, PARTS, Case, ours, run_of, theirs

DOUBLE = torch.float64


def exactly(case: Case) -> Case:
    """In float64, so that what is left out of a first order would show."""
    case.model.double()
    return case


def linear_score(case: Case) -> Callable[[Any], Tensor]:
    """A score that is linear in what the heads of the case's site give: what the matrix after them makes of it."""

    def score(model: Any) -> Tensor:
        outputs: list[Tensor] = []
        handle = case.reader.register_forward_hook(lambda _, args, output: outputs.append(output))
        case.here()
        handle.remove()
        weights = torch.randn(outputs[0].shape, dtype=DOUBLE, generator=torch.Generator().manual_seed(2))
        return (outputs[0] * weights).sum()

    return score


LINEAR = [(ours, "decoder"), (ours, "transformer post"), (theirs, "gpt2 sdpa"), (theirs, "gpt2 eager"),
          (theirs, "marian"), (theirs, "llama")]  # fmt: skip


@pytest.mark.parametrize("part", ["output", "value", "weights"])
@pytest.mark.parametrize(("kind", "name"), LINEAR, ids=[name for _, name in LINEAR])
def test_an_estimate_is_exact_where_the_score_is_linear(kind: Any, name: str, part: str) -> None:
    case = exactly(kind(name))
    run, score = run_of(case.model, case.there), linear_score(case)
    for positions in ("each", None, {0: 3, 2: 1}):
        how: Any = {"sites": case.site, "change": "patch", "source": run, "part": part, "positions": positions}
        found = regard.effect(case.model, score, **how)
        site = run.site(case.site)
        count = site.positions(part) if positions == "each" else 1 if positions is None else 2
        assert len(found.lines) == site.query.shape[1] * count
        for line in found.lines:
            bound = layers_apart(6, 64, max(abs(found.baseline), abs(line.score)), DOUBLE)
            assert line.estimate == pytest.approx(line.change, rel=0, abs=bound)
        assert max(abs(line.change) for line in found.lines) > 1e-2


@pytest.mark.parametrize("part", PARTS)
def test_an_estimate_is_the_derivative(part: str) -> None:
    """Towards another run that is hardly another, two orders of its distance are nothing beside one."""
    case = exactly(ours("transformer pre"))
    step, own, other = 1e-5, *(run_of(case.model, call) for call in (case.here, case.there))
    for name, site in own.sites.items():
        for tensor in ("query", "key", "value", "output"):
            mine, its = getattr(site, tensor), getattr(other.site(name), tensor)
            mine += step * (its - mine)
    family = FAMILIES["transformer pre"]
    found = regard.effect(
        case.model, lambda model: family.loss(model, family.example()), change="patch", source=own, part=part,
        sites=["encoder.0.*", "decoder.1.*"], heads=1,
    )  # fmt: skip
    largest = max(abs(line.change) for line in found.lines)
    assert largest > 1e-7
    for line in found.lines:
        assert line.estimate == pytest.approx(line.change, rel=0, abs=1e-2 * largest)


def loss(model: Any) -> float:
    with torch.no_grad():
        return float(FAMILIES["decoder"].loss(model, FAMILIES["decoder"].example()))


def test_without_a_gradient_all_are_really_patched() -> None:
    case, progress = ours("decoder"), []
    run = run_of(case.model, case.there)
    found = regard.effect(
        case.model, loss, change="patch", source=run, sites="decoder.1.*", heads=[0, 3], positions=[1, 4],
        on_progress=lambda *counts: progress.append(counts),
    )  # fmt: skip
    assert found.baseline == loss(case.model)
    assert [(line.head, line.position, line.source_position) for line in found.lines] == [
        (0, 1, 1), (0, 4, 4), (3, 1, 1), (3, 4, 4)
    ]  # fmt: skip
    for line in found.lines:
        with intervene(case.model, patch=("decoder.1.self", line.head, "output", line.position), source=run):
            assert line.score == loss(case.model)
        assert line.change == line.score - found.baseline
        assert line.estimate is None
    assert progress == [(1, 4), (2, 4), (3, 4), (4, 4)]
    with pytest.raises(InputError, match="needs a score with a gradient"):
        regard.effect(case.model, loss, change="patch", source=run, top=1)


def test_only_the_strongest_of_a_scan_are_patched() -> None:
    case = ours("decoder")
    run, score = run_of(case.model, case.there), lambda model: case.here().logsumexp(-1).sum()
    found = regard.effect(case.model, score, change="patch", source=run, top=5)
    estimates = sorted((abs(line.estimate) for line in found.lines), reverse=True)
    assert len(found.lines) == 2 * 4 * 6
    assert (
        sorted((abs(line.estimate) for line in found.lines if line.change is not None), reverse=True) == estimates[:5]
    )
    assert all((line.score is None) == (line.change is None) for line in found.lines)
    assert len(found.strongest(9)) == 5
    assert not [
        line for line in regard.effect(case.model, score, change="patch", source=run, top=0).lines if line.score
    ]


def test_one_text_serves_a_batch_and_a_scan_leaves_the_model_as_it_was() -> None:
    """Parameters that are frozen, and a caller without gradients, hinder no scan."""
    model: Any = peers.gpt2().requires_grad_(False)
    run = run_of(model, lambda: model(OTHERS[:1]))
    with torch.no_grad():
        before = model(IDS).logits
        found = regard.effect(model, lambda model: model(IDS).logits[:, -1, 7].sum(), change="patch", source=run, top=3)
        assert torch.equal(model(IDS).logits, before)
    assert len(found.strongest(9)) == 3
    assert not any(parameter.requires_grad for parameter in model.parameters())


@torch.no_grad()
def test_what_fits_nothing_is_refused() -> None:
    case = ours("decoder")
    run, family = run_of(case.model, case.there), FAMILIES["decoder"]
    for how, error, words in (
        ({"source": None}, KindError, "from another run"),
        ({"part": "ouput"}, UnknownNameError, "did you mean 'output'"),
        ({"top": -1}, KindError, "top is how many"),
        ({"positions": 99}, InputError, "no site has such positions"),
        ({"positions": "all"}, KindError, "no positions"),
        ({"heads": 99}, InputError, "such heads"),
        ({"sites": "encoder.*"}, UnknownNameError, "encoder"),
        ({"source": Activations()}, InputError, "source run has no attention"),
        ({"source": run_of(case.model, lambda: family.run(case.model, family.example((4,))))}, ShapeError, "4 there"),
        ({"change": "patsch"}, UnknownNameError, "did you mean 'patch'"),
        ({"change": "silence"}, KindError, "source run is for patches"),
    ):
        with pytest.raises(error, match=words):
            regard.effect(case.model, loss, **{"change": "patch", "source": run, **how})  # type: ignore[call-overload]


LINES = [
    PositionEffect("a<b", 0, 2, 2, 0.5, 3.0, 1.0),
    PositionEffect("a<b", 0, 3, 4, -0.25),
    PositionEffect("c", 1, 2, 2, 0.0),
]


def test_as_text_table_and_picture(tmp_path: Path) -> None:
    found = PatchEffect(2.0, "query", LINES)
    lines = str(found).splitlines()
    assert lines[1] == "score of this run: 2"
    assert [line.split() for line in lines[3:]] == [
        ["a<b", "0", "2", "+0.50", "+1.00"], ["a<b", "0", "3", "from", "4", "-0.25"], ["c", "1", "2", "0.00"]
    ]  # fmt: skip
    found.to_csv(tmp_path / "patch.csv")
    rows = list(csv.reader((tmp_path / "patch.csv").read_text().splitlines()))
    assert rows[0] == ["site", "head", "position", "source_position", "estimate", "score", "change"]
    assert rows[2] == ["a<b", "0", "3", "4", "-0.25", "", ""]
    picture = found.to_svg(tmp_path / "patch.svg")
    assert (tmp_path / "patch.svg").read_text() == picture == found._repr_html_()
    texts = [node.text for node in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert {"What the query of each head, taken from the other run, is estimated to change", "a<b 0", "+0.50"} <= set(
        texts
    )
    whole = PatchEffect(2.0, "query", [PositionEffect("a", 1, None, None, None, 3.0, 1.0)])
    assert str(whole).splitlines()[3].split() == ["a", "1", "all", "+1.00"]
    assert {"a", "1", "+1.00"} <= {
        node.text for node in ElementTree.fromstring(whole.to_svg()).iter("{http://www.w3.org/2000/svg}text")
    }


@torch.no_grad()
def test_two_heads_of_the_grammar_model_turn_il_into_elle() -> None:
    """Taken from the sentence that ends in "wide", each of them alone makes the animal's "il" the street's "elle"."""
    translator: Any = regard.load("grammar")
    model, config, words = translator.model, translator.model.config, translator.tokenizer
    tired, wide = torch.tensor(
        encode(words, [f"The animal didn't cross the street because it was too {end}." for end in ("tired", "wide")],
               config.source_vocabulary)
    ).split(1)  # fmt: skip
    (il, elle) = encode(
        words, [f"L'animal n'a pas traversé la rue parce qu'{pronoun} était" for pronoun in ("il", "elle")],
        config.target_vocabulary,
    )  # fmt: skip
    place = next(place for place, (one, other) in enumerate(zip(il, elle, strict=True)) if one != other)
    target = torch.tensor([[config.start, *il[:place]]])

    def elle_before_il(model: Any, source: Tensor = tired) -> Tensor:
        logits: Tensor = model(source, target)[0, -1]
        return logits[elle[place]] - logits[il[place]]

    assert elle_before_il(model) < -2
    assert elle_before_il(model, wide) > 2
    with activations(model) as run:
        model(wide, target)
    found = regard.effect(model, elle_before_il, change="patch", source=run, top=8)
    flips = {(line.site, line.head, line.position) for line in found.strongest(8, up=True) if line.score > 2}
    assert flips == {("decoder.1.cross", 3, place), ("decoder.2.self", 3, place)}
    assert sum(line.score > 0 for line in found.lines if line.score is not None) == 2
    alone = regard.effect(model, elle_before_il, change="patch", source=run, sites="decoder.1.cross", positions=None)
    assert [line.score > 0 for line in alone.lines] == [False, False, False, True]


def test_nn_modules_take_part() -> None:
    """A model of nothing but PyTorch's function, whose score is its output."""

    class Look(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return nn.functional.scaled_dot_product_attention(x, x, x)

    model, (here, there) = Look(), torch.randn(2, 1, 2, 5, 4, dtype=DOUBLE)
    run = run_of(model, lambda: model(there))
    found = regard.effect(model, lambda model: model(here).sum(), change="patch", source=run)
    expected = (model(there) - model(here)).sum((0, -1)).flatten().tolist()
    assert [line.change for line in found.lines] == pytest.approx(expected)
    assert [line.estimate for line in found.lines] == pytest.approx(expected)
