"""What the silence of heads does to a score: every head once, tables and pictures, and a search over sets of heads."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

import regard
from benchmarks import peers
from regard.errors import InputError, UnknownNameError
from regard.lens.analysis.ablation import HeadSearch, random_heads, search
from regard.lens.effect import Effect, HeadEffect
from regard.lens.hooks import attach
from regard.lens.intervene import intervene, means
from tests.families import FAMILIES

FAMILY = FAMILIES["decoder"]
EXAMPLE = FAMILY.example()


@torch.no_grad()
def loss(model: Any) -> float:
    return float(FAMILY.loss(model, EXAMPLE))


def test_every_head_is_silenced_once_and_the_model_is_as_it_was() -> None:
    model = FAMILY.model()
    found = regard.effect(model, loss)
    assert found.baseline == loss(model)
    assert [(one.site, one.head) for one in found.lines] == [(site, head) for site in FAMILY.sites for head in range(4)]
    for one in found.lines:
        with intervene(model, silence=(one.site, one.head)):
            assert one.score == loss(model)
        assert one.change == one.score - found.baseline
    assert loss(model) == found.baseline


def test_some_sites_and_heads_by_their_means_and_told() -> None:
    model, progress = FAMILY.model(), []
    with means(model) as usual:
        loss(model)
    found = regard.effect(
        model, loss, sites="decoder.1.*", heads=[0, 3], means=usual, on_progress=lambda *counts: progress.append(counts)
    )
    assert [(one.site, one.head) for one in found.lines] == [("decoder.1.self", 0), ("decoder.1.self", 3)]
    assert progress == [(1, 2), (2, 2)]
    with intervene(model, mean=("decoder.1.self", 3), means=usual):
        assert found.lines[1].score == loss(model)


def test_the_mean_over_the_rows_of_the_text_at_hand() -> None:
    model = FAMILY.model()
    found = regard.effect(model, loss, sites="decoder.1.*", change="mean")
    assert [one.head for one in found.lines] == [0, 1, 2, 3]
    with intervene(model, mean=("decoder.1.self", 2)):
        assert found.lines[2].score == loss(model)


def test_a_peer() -> None:
    model: Any = peers.gpt2()
    ids = torch.arange(5, 12)[None]

    @torch.no_grad()
    def score(model: Any) -> float:
        return float(model(ids, labels=ids).loss)

    found = regard.effect(model, score)
    heads = model.config.n_head
    assert [one.site for one in found.lines] == ["transformer.h.0.attn"] * heads + ["transformer.h.1.attn"] * heads
    assert len({one.score for one in found.lines}) == len(found.lines)
    assert found.baseline == score(model)


def test_a_score_may_be_a_tensor_with_its_gradient() -> None:
    model = FAMILY.model()
    assert regard.effect(model, lambda model: FAMILY.loss(model, EXAMPLE)).baseline == loss(model)


def test_what_is_no_score_is_refused() -> None:
    model = FAMILY.model()
    with pytest.raises(InputError, match="did not use the model"):
        regard.effect(model, lambda model: 1.0)
    with pytest.raises(InputError, match="one number"):
        regard.effect(model, lambda model: (loss(model), None)[1])
    with pytest.raises(InputError, match="finite"):
        regard.effect(model, lambda model: loss(model) * float("nan"))
    with pytest.raises(UnknownNameError):
        regard.effect(model, loss, sites="decoder.7.*")
    with pytest.raises(InputError, match=r"such heads: \[99\]"):
        regard.effect(model, loss, heads=99)


MADE = Effect(90.0, [HeadEffect("a<b", 0, 40.0, -50.0), HeadEffect("a<b", 1, 91.0, 1.0), HeadEffect("c", 1, 90.0, 0.0)])


def test_the_strongest() -> None:
    assert [one.head for one in MADE.strongest(2)] == [0, 1]
    assert MADE.strongest()[0].site == "a<b"
    assert MADE.strongest(up=True)[0].change == 1.0


def test_as_text_table_and_picture(tmp_path: Path) -> None:
    lines = str(MADE).splitlines()
    assert lines[1] == "score with all heads: 90"
    assert lines[3].split() == ["a<b", "-50.0", "+1.0"]
    assert lines[4].split() == ["c", "0.0"]
    MADE.to_csv(tmp_path / "effect.csv")
    rows = list(csv.reader((tmp_path / "effect.csv").read_text().splitlines()))
    assert rows[:2] == [["site", "head", "score", "change"], ["a<b", "0", "40.0", "-50.0"]]
    picture = MADE.to_svg(tmp_path / "effect.svg", title="Pronouns & more")
    assert (tmp_path / "effect.svg").read_text() == picture == MADE.to_svg(title="Pronouns & more")
    texts = [node.text for node in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert {"Pronouns & more", "a<b", "-50.0", "+1.0", "0.0"} <= set(texts)
    assert "<svg" in MADE._repr_html_()


def test_a_search_finds_two_heads_that_only_matter_together() -> None:
    """Made-up scores over a real model's heads: each head alone changes little, the pair breaks it, others cost."""
    model = FAMILY.model()
    pair = {("decoder.0.self", 1), ("decoder.1.self", 2)}
    costly = {("decoder.0.self", 0)}

    def silent(model: Any) -> set[tuple[str, int]]:
        """Which heads are silent now, seen from outside: their rows of the output are 0."""
        seen: set[tuple[str, int]] = set()

        def look(site: str, call: Any, *args: Any, **options: Any) -> Any:
            output = call(*args, **options)
            seen.update((site, head) for head in range(4) if not output[:, head].any())
            return output

        with torch.no_grad(), attach(model, hook=look):
            FAMILY.run(model, EXAMPLE)
        return seen

    def score(model: Any) -> float:
        now = silent(model)
        return 1.0 - 0.1 * len(now & pair) - 0.7 * (pair <= now) - len(now & costly)

    how = HeadSearch(score, cost=lambda model: float(len(silent(model) & costly)), allow=0.5, most=3, width=2)
    progress: list[tuple[int, int]] = []
    found = search(model, how, lambda done, total: progress.append((done, total)))
    assert set(found.best[1].heads) == pair
    assert [len(trial.heads) for trial in found.best] == [1, 2, 3]
    assert not any(set(trial.heads) & costly for trial in found.best)
    assert len(found.alone.lines) == 8
    assert found.alone.baseline == 1.0
    assert all(done <= total for done, total in progress)
    early = search(model, HeadSearch(how.score, how.cost, 0.5, most=3, width=2, enough=0.2))
    assert [len(trial.heads) for trial in early.best] == [1, 2]
    with pytest.raises(InputError, match="so small a cost"):
        search(model, HeadSearch(how.score, lambda model: float(bool(silent(model))), 0.5))


def test_random_heads_are_others_and_the_same_for_a_seed() -> None:
    heads = [("a", head) for head in range(6)]
    draws = random_heads(heads, heads[:2], 4, seed=1)
    assert draws == random_heads(heads, heads[:2], 4, seed=1)
    assert all(len(set(draw)) == 2 and not set(draw) & set(heads[:2]) for draw in draws)
    with pytest.raises(InputError):
        random_heads(heads[:3], heads[:2], 1)
