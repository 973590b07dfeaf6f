"""Pairs of one's own start from the model that ships for their languages, and hold on to what it knew."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.errors import InputError
from regard.models import load_model
from regard.models.checkpoint import own_tensors
from regard.tasks import load
from regard.text.grammar import sentences
from regard.training import train
from regard.training.evaluate import evaluate, read_data
from regard.training.recipe import shipped_start as module
from regard.training.recipe.file_options import NO_OPTIONS, FileOptions
from regard.training.recipe.fine_tuning import ANCHOR
from regard.training.recipe.resolve import Request, resolve
from regard.training.recipe.shipped_start import languages_of_columns, shipped_start
from tests.shipped_models import grammar_as, ship
from tests.threads import THREADS
from tests.training_cases import ENGLISH, TINY, EventRecorder, Stop, numbers, settings, write_rows

CPU: dict[str, Any] = {"device": "cpu", "threads": THREADS}
GERMAN = ["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"]
SHORT = settings({"training.steps": 4, "training.validate_every": 4, "decoding.beams": 1, "data.held": 8})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A translator of numbers, and texts: of its languages, the other way round, of another language."""
    root = tmp_path_factory.mktemp("shelf")
    write_rows(root / "old.tsv", numbers(60))
    how = settings({**TINY, "data.languages": ["en", "fr"], "data.slots": 0.1})
    train(root / "old.tsv", root / "model", settings=how, **CPU)
    pairs = numbers(60, seed=5)
    write_rows(root / "pairs.tsv", pairs)
    write_rows(root / "back.tsv", [(french, english) for english, french in pairs])
    write_rows(root / "german.tsv", [(english, german(english)) for english, _ in pairs])
    write_rows(root / "labels.tsv", [(english, "yes" if len(english) > 12 else "no") for english, _ in pairs])
    for side in (0, 1):
        write_rows(root / f"side.{side}", [(pair[side],) for pair in pairs])
    return root


def german(english: str) -> str:
    names = dict(zip(ENGLISH, GERMAN, strict=True))
    return " ".join(names[word] for word in english.split())


@pytest.fixture(autouse=True)
def shelf(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ship(monkeypatch, en_fr=place / "model")


# Which model


@pytest.mark.parametrize(
    ("files", "languages"),
    [
        (["pairs.tsv"], ("en", "fr")), (["back.tsv"], ("fr", "en")), (["german.tsv"], ("en", "de")),
        (["side.0", "side.1"], ("en", "fr")),
    ],
)  # fmt: skip
def test_the_languages_of_columns_are_seen(files: list[str], languages: tuple[str, str], place: Path) -> None:
    assert languages_of_columns(files, place, NO_OPTIONS) == languages


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (["pairs.tsv"], "en-fr"), (["side.0", "side.1"], "en-fr"), (["back.tsv"], "fr-en"), (["german.tsv"], None),
        (["labels.tsv"], None), (["side.0"], None), (["grammar:train:100"], None),
    ],
)  # fmt: skip
def test_only_pairs_of_its_languages_start_from_a_model(files: list[str], name: str | None, place: Path) -> None:
    chosen = shipped_start(files, place, NO_OPTIONS, None)
    assert (chosen.name if chosen else None) == name
    assert resolve(Request(files, place)).start == name


def test_languages_that_are_said_are_not_looked_for(place: Path) -> None:
    assert resolve(Request("german.tsv", place, ['data.languages=["en", "fr"]'])).start == "en-fr"
    assert resolve(Request("pairs.tsv", place, ['data.languages=["en", "de"]'])).start is None


def test_a_folder_called_like_it_is_not_taken_for_it(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "en-fr").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "shipped", lambda: {"en-fr": place / "model"})
    assert resolve(Request("pairs.tsv", place)).start == str(place / "model")


@pytest.mark.parametrize(
    "request_for",
    [
        {"scratch": True},
        {"task": "generate"},
        {"settings": ["model.dim=16"]},
        {"settings": ["tokenizer.vocabulary=300"]},
    ],
    ids=["scratch", "task", "sizes", "tokenizer"],
)
def test_who_asks_for_another_model_gets_it(request_for: dict[str, Any], place: Path) -> None:
    assert resolve(Request("pairs.tsv", place, **request_for)).start is None


def test_a_start_that_is_named_comes_first(place: Path) -> None:
    assert resolve(Request("pairs.tsv", place, [f"start={place / 'model'}"])).start == str(place / "model")
    with pytest.raises(InputError, match="fresh weights have no start"):
        train(place / "pairs.tsv", place / "none", start="en-fr", scratch=True, **CPU)


def test_what_it_was_trained_with_is_kept_up(place: Path) -> None:
    recipe = resolve(Request("pairs.tsv", place))
    assert recipe.data.languages == ("en", "fr")
    assert recipe.data.slots == 0.1  # it can copy slots, and goes on learning to
    assert recipe.training.anchor == ANCHOR
    assert resolve(Request("pairs.tsv", place, ["training.anchor=0"])).training.anchor == 0


def test_an_anchor_needs_a_start(place: Path) -> None:
    with pytest.raises(InputError, match="there is none"):
        resolve(Request("pairs.tsv", place, ["training.anchor=0.5"], scratch=True))


# Training from it


def test_it_starts_from_the_model_and_says_so(place: Path, tmp_path: Path) -> None:
    heard = EventRecorder()
    train("pairs.tsv", tmp_path / "mine", data=place, settings=SHORT, listener=heard, **CPU)
    note = "the text is en and fr, as en-fr is: training starts from it; --scratch for fresh weights"
    assert note in heard.notes
    assert tomllib.loads((tmp_path / "mine" / "recipe.toml").read_text(encoding="utf-8"))["start"] == "en-fr"
    assert (tmp_path / "mine" / "tokenizer.json").read_bytes() == (place / "model" / "tokenizer.json").read_bytes()
    again = train("pairs.tsv", tmp_path / "mine", data=place, settings=SHORT, **CPU)
    assert again.status == "already finished"


def test_scratch_trains_fresh_weights(place: Path, tmp_path: Path) -> None:
    heard = EventRecorder()
    small = settings({**TINY, "training.steps": 2, "training.validate_every": 2})
    train("pairs.tsv", tmp_path / "mine", data=place, settings=small, scratch=True, listener=heard, **CPU)
    assert "starts from" not in heard.notes


def test_a_budget_of_minutes_sizes_the_steps_and_not_the_model(place: Path, tmp_path: Path) -> None:
    how = settings({"decoding.beams": 1, "data.held": 8})
    done = train("pairs.tsv", tmp_path / "mine", data=place, settings=how, minutes=0.05, **CPU)
    assert done.status == "finished"
    assert load_model(tmp_path / "mine").config == load_model(place / "model").config
    recipe = tomllib.loads((tmp_path / "mine" / "recipe.toml").read_text(encoding="utf-8"))
    assert (recipe["start"], recipe["training"]["rate"]) == ("en-fr", 3e-4)


def test_its_domain_gets_better_and_it_still_knows_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences of the built-in language, now polite, with the anchor that is usual: the plain ones are not lost."""
    ship(monkeypatch, en_fr=grammar_as(tmp_path / "en-fr"))
    rows = [(polite(one.source, "please"), polite(one.target, "svp")) for one in sentences("train", 230, seed=3)]
    write_rows(tmp_path / "polite.tsv", rows[:200])
    write_rows(tmp_path / "test.tsv", rows[200:])
    how = {"training.steps": 160, "training.batch_tokens": 512, "training.validate_every": 160, "data.held": 10}
    train(
        "polite.tsv",
        tmp_path / "mine",
        data=tmp_path,
        settings=settings(how, {"training.rate": 1e-3, "decoding.beams": 1}),
        **CPU,
    )
    new, old = read_data(str(tmp_path / "test.tsv")), read_data("grammar:test:30:11")
    start, mine = load("en-fr", "cpu"), load(tmp_path / "mine", "cpu")
    assert evaluate(mine, new, beams=1)["bleu"] > evaluate(start, new, beams=1)["bleu"] + 5
    assert evaluate(mine, old, beams=1)["bleu"] > evaluate(start, old, beams=1)["bleu"] - 5


def polite(text: str, word: str) -> str:
    return f"{text[:-1]}, {word}{text[-1]}"


@pytest.mark.parametrize("average", ["none", "moving", "last"])
def test_an_anchor_holds_its_share_of_the_start(average: str, place: Path, tmp_path: Path) -> None:
    """The same training twice: what is saved lies between the start and what is saved without an anchor."""
    how = {"training.steps": 4, "training.validate_every": 4, "training.checkpoint_every": 2, "training.select": "end",
           "training.average": average, "training.rate": 1e-2, "decoding.beams": 1, "data.held": 8}  # fmt: skip
    for share in (0.0, 0.25):
        given = settings({**how, "training.anchor": share})
        train("pairs.tsv", tmp_path / f"{share}", data=place, settings=given, **CPU)
    start, free, held = (
        own_tensors(load_model(folder)) for folder in (place / "model", tmp_path / "0.0", tmp_path / "0.25")
    )
    assert any(not torch.equal(start[name], free[name]) for name in start)
    for name, tensor in held.items():
        torch.testing.assert_close(tensor, torch.lerp(free[name], start[name], 0.25))


def test_a_run_that_was_stopped_is_anchored_where_it_began(place: Path, tmp_path: Path) -> None:
    how = settings({"training.steps": 6, "training.validate_every": 3, "training.checkpoint_every": 3,
                    "training.rate": 1e-2, "training.select": "end", "decoding.beams": 1, "data.held": 8})  # fmt: skip
    train("pairs.tsv", tmp_path / "whole", data=place, settings=how, **CPU)
    stop = EventRecorder(lambda event: type(event).__name__ == "Saved")
    with pytest.raises(Stop):
        train("pairs.tsv", tmp_path / "cut", data=place, settings=how, listener=stop, **CPU)
    train("pairs.tsv", tmp_path / "cut", data=place, settings=how, **CPU)
    whole, cut = (own_tensors(load_model(tmp_path / name)) for name in ("whole", "cut"))
    assert all(torch.equal(tensor, cut[name]) for name, tensor in whole.items())


def test_what_is_wrong_with_the_files_is_said_as_ever(place: Path) -> None:
    with pytest.raises(InputError, match="columns are for a single file"):
        resolve(Request(["side.0", "side.1"], place, options=FileOptions((0, 1), "utf-16")))
