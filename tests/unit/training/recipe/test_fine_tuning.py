"""Fine-tuning as an option: the model decides its tokenizer, its sizes and a low rate; what is said is what is done."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import peers
from regard.errors import FileError, InputError, RegardError
from regard.models import load_model
from regard.tasks import load
from regard.training import train
from regard.training.evaluate import evaluate, read_data
from regard.training.recipe.fine_tuning import Start, read_start
from regard.training.recipe.resolve import Request, resolve
from regard.training.report.events import Saved
from tests.training_cases import STACK, TINY, EventRecorder, Stop, go, numbers, settings, write_rows

CPU: dict[str, Any] = {"device": "cpu", "threads": 1}
SHORT = settings({"training.steps": 3, "training.validate_every": 3, "decoding.beams": 1})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small translator and other texts to fine-tune it on."""
    root = tmp_path_factory.mktemp("start")
    go(write_rows(root / "old.tsv", numbers(80)), root / "model", TINY)
    write_rows(root / "new.tsv", [(english, french.upper(), "note") for english, french in numbers(70, seed=5)])
    write_rows(root / "lines.txt", [[line] for line in peers.sentences(3, 40)])
    peers.save(peers.gpt2(1), root / "gpt2", "gpt2")
    peers.save(peers.bert("BertForMaskedLM"), root / "bert", "bert")
    return root


def test_a_model_is_fine_tuned_with_its_own_tokenizer_sizes_and_rate(place: Path, tmp_path: Path) -> None:
    heard = EventRecorder()
    out, start = tmp_path / "out", place / "model"
    train(place / "new.tsv", out, start=start, settings=SHORT, listener=heard, **CPU)
    size, count = read_start(str(start)).vocabulary, read_start(str(start)).parameters
    assert heard.notes.split("\n")[0] == (
        f"starts from {start} ({count:,} parameters), its tokenizer ({size} tokens), rate 0.0003, 0 steps of warm-up"
    )
    assert (out / "tokenizer.json").read_bytes() == (start / "tokenizer.json").read_bytes()
    assert load_model(out).config == load_model(start).config
    recipe = tomllib.loads((out / "recipe.toml").read_text(encoding="utf-8"))
    assert recipe["tokenizer"] == {
        "vocabulary": size,
        "joint": True,
        "fold": False,
    }  # the one that is used, not a default
    assert (recipe["start"], recipe["training"]["rate"]) == (str(start), 3e-4)
    assert "model" not in recipe  # its sizes are those of the start
    assert train(place / "new.tsv", out, start=start, settings=SHORT, **CPU).status == "already finished"


def test_it_begins_with_the_weights_of_the_model(place: Path, tmp_path: Path) -> None:
    still = settings(
        {"training.steps": 1, "training.validate_every": 1, "training.rate": 1e-9, "training.average": "none"}
    )
    train(place / "new.tsv", tmp_path / "out", start=place / "model", settings=still, **CPU)
    old, new = load_model(place / "model").state_dict(), load_model(tmp_path / "out").state_dict()
    # one step of AdamW moves a weight by little more than the rate: less than 1e-6 in any case
    assert all(torch.allclose(old[name], new[name], rtol=0, atol=1e-6) for name in old)


def test_it_learns_the_new_text(place: Path, tmp_path: Path) -> None:
    how = settings({"training.steps": 60, "training.validate_every": 30, "training.rate": 1e-2, "decoding.beams": 1})
    train(place / "new.tsv", tmp_path / "out", start=place / "model", settings=how, **CPU)
    data = read_data(str(place / "new.tsv"), limit=20)
    before, after = (evaluate(load(folder, "cpu"), data, beams=1) for folder in (place / "model", tmp_path / "out"))
    chrf = [next(one.value for one in found.scores if one.name == "chrf") for found in (before, after)]
    assert chrf[1] > chrf[0]


@pytest.mark.parametrize(("model", "task"), [("gpt2", "generate"), ("bert", "mask")])
def test_the_family_decides_what_lines_are_for(place: Path, model: str, task: str, tmp_path: Path) -> None:
    recipe = resolve(Request(str(place / "lines.txt"), Path(), [f"start={place / model}"]))
    found = read_start(str(place / model))
    assert (recipe.task, recipe.model, recipe.tokenizer.vocabulary) == (task, {}, found.vocabulary)
    assert found.positions is not None
    assert (recipe.training.block if task == "generate" else recipe.data.longest) <= found.positions
    outcome = train(place / "lines.txt", tmp_path / "out", start=place / model, settings=SHORT, **CPU)
    assert outcome.status == "finished"


def test_a_recipe_keeps_its_steps_and_loses_its_sizes(place: Path) -> None:
    recipe = resolve(Request("grammar-tiny", Path(), [f"start={place / 'model'}"]))
    fresh = resolve(Request("grammar-tiny", Path()))
    assert recipe.training.steps == fresh.training.steps
    assert recipe.training.rate == 3e-4 < fresh.training.rate
    assert set(recipe.model) <= {"dropout", "attention_dropout", "feedforward_dropout"}
    faster = resolve(Request("grammar-tiny", Path(), ["training.rate=0.01", f"start={place / 'model'}"]))
    assert faster.training.rate == 0.01


def test_larger_models_get_lower_rates() -> None:
    rates = [Start("m", "transformer", size, 100, True, None).rate for size in (10**6, 3 * 10**7, 10**8)]
    assert rates == [3e-4, 1e-4, 3e-5]


@pytest.mark.parametrize(
    ("data", "more", "words"),
    [
        ("lines.txt", {"start": "model"}, "cannot be trained to generate"),
        ("new.tsv", {"start": "gpt2"}, "cannot be trained to translate"),
        ("new.tsv", {"start": "model", "settings": ["model.dim=64"]}, "model.dim cannot change"),
    ],
)
def test_what_cannot_start_is_refused_before_a_folder_is_made(
    place: Path, data: str, more: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=words):
        train(place / data, tmp_path / "out", **{**more, "start": place / more["start"]}, **CPU)
    assert not (tmp_path / "out").exists()


def test_a_start_that_is_not_there_is_refused(place: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no model"):
        train(place / "new.tsv", tmp_path / "out", start=tmp_path / "nowhere", **CPU)


def test_settings_and_the_option_mean_the_same(place: Path) -> None:
    how = {"dry_run": True, **CPU}
    by_option = train(place / "new.tsv", place / "out", start=place / "model", **how).recipe
    by_setting = train(place / "new.tsv", place / "out", settings=[f"start={place / 'model'}"], **how).recipe
    assert by_option == by_setting
    other = ["tokenizer.vocabulary=500"]  # cannot be had: what is used is what is written
    assert train(place / "new.tsv", place / "out", start=place / "model", settings=other, **how).recipe == by_option


def test_a_lower_rate_that_a_recipe_says_is_kept(place: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "mine.toml"
    data = f'[data]\ntrain = "{place / "new.tsv"}"\n'
    recipe.write_text(f"{data}[training]\nrate = 1e-5\nwarmup = 7\n", encoding="utf-8")
    found = resolve(Request(str(recipe), Path(), [f"start={place / 'model'}"])).training
    assert (found.rate, found.warmup) == (1e-5, 7)


@pytest.mark.parametrize("text", ["[training]\nsteps = 5\n", '[data]\ntrain = "a.tsv"\n[training]\nsteps = "many"\n'])
def test_a_recipe_that_is_wrong_is_refused_in_words_with_a_start_too(text: str, place: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "mine.toml"
    recipe.write_text(text, encoding="utf-8")
    with pytest.raises(RegardError):
        resolve(Request(str(recipe), Path(), [f"start={place / 'model'}"]))


def test_a_folder_whose_name_looks_like_a_number_is_a_start(place: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("1.10").symlink_to(place / "model")
    recipe = Path("mine.toml")
    recipe.write_text(f'start = "1.10"\n[data]\ntrain = "{place / "new.tsv"}"\n', encoding="utf-8")
    assert resolve(Request(str(recipe), Path())).start == "1.10"


def test_a_dry_run_finds_sizes_that_cannot_change(place: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot change"):
        train(place / "old.tsv", tmp_path, start=place / "model", settings=["model.dim=32"], dry_run=True, **CPU)


# Layers that learn one after the other, and at rates of their own

LAYERS: dict[str, Any] = {"training.unfreeze": 0.5, "training.layer_decay": 0.4}


@pytest.fixture(scope="module")
def filler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of ours that fills in masked words, and beside it rows with labels."""
    root = tmp_path_factory.mktemp("filler")
    lines = write_rows(root / "lines.txt", [[english] for english, _ in numbers(60)])
    train(lines, root / "model", task="mask", settings=settings({**STACK, "model.layers": 2}), **CPU)
    rows = [(english, "with nine" if "nine" in english else "without") for english, _ in numbers(80, seed=7)]
    write_rows(root / "labels.tsv", rows)
    return root


def test_a_model_that_fills_in_words_is_started_from_to_classify(filler: Path, tmp_path: Path) -> None:
    """One layer after the other, each slower than the one above: said, done, and the same after an interruption."""
    how = settings({**LAYERS, "training.steps": 8, "training.validate_every": 4, "training.checkpoint_every": 1,
                    "training.average": "moving", "training.select": "end"})  # fmt: skip
    asked: dict[str, Any] = {"task": "classify", "start": filler / "model", "settings": how, **CPU}
    heard = EventRecorder()
    train(filler / "labels.tsv", tmp_path / "whole", listener=heard, **asked)
    words = "each layer 0.4 times as fast as the one above it, frozen at first and freed from the top over 50% of the"
    assert words in heard.notes.split("\n")[0]
    for at in (Saved(1), Saved(3)):  # while all but the head are frozen, and just before the words begin
        stop = EventRecorder(lambda event, at=at: event == at)
        with pytest.raises(Stop):
            train(filler / "labels.tsv", tmp_path / "cut", listener=stop, **asked)
    train(filler / "labels.tsv", tmp_path / "cut", **asked)
    whole, cut = (load_model(tmp_path / name).state_dict() for name in ("whole", "cut"))
    assert all(torch.equal(tensor, cut[name]) for name, tensor in whole.items())


def test_layers_that_are_frozen_to_the_end_are_those_of_the_start(filler: Path, tmp_path: Path) -> None:
    """Stopped before any layer but the head has begun: nothing else has moved."""
    how = settings({"training.unfreeze": 0.9, "training.steps": 20, "training.average": "none",
                    "training.validate_every": 5, "training.select": "end"})  # fmt: skip
    stop = EventRecorder(lambda event: isinstance(event, Saved))
    with pytest.raises(Stop):
        train(filler / "labels.tsv", tmp_path, task="classify", start=filler / "model", settings=how, listener=stop,
              **CPU)  # fmt: skip
    start, now = load_model(filler / "model").state_dict(), load_model(tmp_path).state_dict()
    below = [name for name in now if name.startswith(("blocks", "embedding"))]
    assert below
    assert all(torch.equal(now[name], start[name]) for name in below)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_can_wait_only_where_there_is_a_start(name: str, place: Path) -> None:
    given = settings({name: LAYERS[name]})
    with pytest.raises(InputError, match=rf"{name} .* there is none"):
        resolve(Request(str(place / "new.tsv"), Path(), given, scratch=True))
    recipe = resolve(Request(str(place / "new.tsv"), Path(), [*given, f"start={place / 'model'}"]))
    assert getattr(recipe.training, name.partition(".")[2]) == LAYERS[name]


@pytest.mark.parametrize("name", LAYERS)
def test_a_recurrent_start_has_no_layers_to_free(name: str, place: Path, tmp_path: Path) -> None:
    small = {**TINY, "model.family": "recurrent", "model.hidden": 16, "training.steps": 1}
    drop = ("model.heads", "model.feedforward", "model.encoder_layers", "model.decoder_layers")
    how = settings({key: value for key, value in small.items() if key not in drop})
    train(place / "old.tsv", tmp_path / "model", settings=how, **CPU)
    with pytest.raises(InputError, match="a recurrent model has none"):
        resolve(Request(str(place / "new.tsv"), Path(), [*settings({name: 0.5}), f"start={tmp_path / 'model'}"]))


@pytest.mark.parametrize("given", ["unfreeze=1.0", "unfreeze=-0.1", "layer_decay=0", "layer_decay=1.1"])
def test_shares_that_are_none_are_refused(given: str, place: Path) -> None:
    with pytest.raises(InputError, match="is not right"):
        resolve(Request(str(place / "new.tsv"), Path(), [f"training.{given}", f"start={place / 'model'}"]))
