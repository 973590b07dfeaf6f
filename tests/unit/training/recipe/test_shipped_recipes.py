"""Every recipe that ships can be rehearsed, and trained in small on a few made-up lines, compressed or not."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.tasks import Classifier, Generator, Translator
from regard.text.grammar import sentences
from regard.training import train
from regard.training.recipe.recipe import find_recipe, names, read_recipe

SMALL = {
    "transformer": ["model.dim=16", "model.heads=2", "model.feedforward=16", "model.encoder_layers=1",
                    "model.decoder_layers=1"],
    "recurrent": ["model.dim=16", "model.hidden=16"],
    "decoder": ["model.dim=16", "model.heads=2", "model.feedforward=16", "model.layers=1", "training.block=16"],
    "encoder": ["model.dim=16", "model.heads=2", "model.feedforward=16", "model.layers=1"],
}  # fmt: skip
SHORT = [
    "tokenizer.vocabulary=300", "training.steps=2", "training.batch_tokens=256", "training.validate_every=2",
    "training.checkpoint_every=1", "training.compile=false", "data.held=10", "data.longest=300", "decoding.beams=1",
]  # fmt: skip
KINDS = {"translate": Translator, "generate": Generator, "classify": Classifier}
PARAMETERS = {"wmt14-base": (60e6, 66e6), "wmt14-big": (208e6, 216e6)}  # the paper: 65 and 213 million


def write(path: Path, text: str) -> None:
    """Every other file compressed, as people keep them."""
    path.parent.mkdir(exist_ok=True)
    if len(path.name) % 2:
        path.with_name(path.name + ".xz").write_bytes(lzma.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")


def sources_of(data: dict[str, Any]) -> list[Any]:
    named = [data["train"], data.get("valid", []), *data.get("test", {}).values()]
    return [one for some in named for one in (some if isinstance(some, list) else [some])]


def make_text(folder: Path, task: str, data: dict[str, Any]) -> None:
    """All files that a recipe names, a few dozen lines each and no line in two of them."""
    for number, source in enumerate(sources_of(data)):
        pairs = [(one.source, one.target) for one in sentences("train", 60, seed=number)]
        if isinstance(source, dict) and "source" in source:
            for file in (source["source"], source["target"]):
                side = 0 if file.endswith(".en") else 1
                write(folder / file, "".join(f"{pair[side]}\n" for pair in pairs))
            continue
        source = source["file"] if isinstance(source, dict) else source
        if not source.startswith("grammar:"):
            seconds = [str(place % 2) for place in range(60)] if task == "classify" else [pair[1] for pair in pairs]
            lines = [f"{pair[0]}\t{second}\n" for pair, second in zip(pairs, seconds, strict=True)]
            write(
                folder / source,
                "".join(line if task != "generate" else f"{line.partition(chr(9))[0]}\n" for line in lines),
            )


@pytest.mark.parametrize("name", names())
def test_every_recipe_can_be_rehearsed(name: str, tmp_path: Path) -> None:
    recipe = find_recipe(name)
    make_text(tmp_path, recipe["task"], recipe["data"])
    outcome = train(name, tmp_path / "out", data=tmp_path, dry_run=True)
    assert outcome.status == "dry run"
    assert read_recipe(recipe).to_toml() == outcome.recipe
    assert not (tmp_path / "out").exists()
    low, high = PARAMETERS.get(name, (1, float("inf")))
    assert low < outcome.parameters < high


@pytest.mark.parametrize("name", names())
def test_every_recipe_trains_to_a_folder_that_can_be_used(name: str, tmp_path: Path) -> None:
    recipe = find_recipe(name)
    make_text(tmp_path, recipe["task"], recipe["data"])
    family = recipe["model"].get(
        "family", {"translate": "transformer", "generate": "decoder"}.get(recipe["task"], "encoder")
    )
    settings = [*SHORT, *SMALL[family]]
    if "grammar" in name:
        settings += [
            "data.train=['grammar:train:60']",
            "data.valid=['grammar:valid:10']",
            "data.test={t='grammar:test:10'}",
        ]
    outcome = train(name, tmp_path / "out", data=tmp_path, settings=settings)
    assert outcome.status == "finished"
    assert set(outcome.scores) == {"valid", *read_recipe(recipe).data.test} or "grammar" in name
    assert isinstance(regard.load(tmp_path / "out"), KINDS[recipe["task"]])
