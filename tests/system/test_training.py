"""Raw text to a working model with one call, for every family: small, and well above chance."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import regard
from benchmarks import peers
from regard.errors import InputError
from regard.tasks import Classifier, Generator, Translator
from regard.training.report.events import Validated
from tests.bounds import small_apart
from tests.training_cases import ENGLISH, FRENCH, STACK, TINY, EventRecorder, go, numbers, settings, write_rows

ROOT = Path(__file__).parents[2]
LEARN = {
    "model.dropout": 0.0, "training.smoothing": 0.0, "training.rate": 5e-3, "training.warmup": 20,
    "training.batch_tokens": 512, "training.validate_every": 75, "training.checkpoint_every": 1000,
    "tokenizer.vocabulary": 400, "data.held": 30, "decoding.samples": 0,
}  # fmt: skip
WIDE = {"model.dim": 32, "model.heads": 4, "model.feedforward": 64}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("corpus") / "numbers.tsv", numbers(600))


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("short") / "numbers.tsv", numbers(100, longest=2))


RECURRENT = {
    **{key: value for key, value in TINY.items() if not key.startswith("model.")}, **LEARN,
    "model.family": "recurrent", "model.dim": 128, "model.hidden": 32, "training.schedule": "constant",
    "training.steps": 150, "training.batch_tokens": 128, "training.validate_every": 50,
}  # fmt: skip
PLAIN = {"model.attention": False, "model.dim": 64, "model.hidden": 64, "training.steps": 350}
PLAIN |= {"training.schedule": "cosine"}
TRANSLATORS: dict[str, tuple[dict[str, Any], ...]] = {
    "transformer": (TINY, LEARN, WIDE, {"training.steps": 150}),
    "transformer, two vocabularies": (TINY, LEARN, WIDE, {"training.steps": 150, "tokenizer.joint": False}),
    "recurrent with attention": (RECURRENT,),
    "recurrent without": (RECURRENT, PLAIN),
}
SURE = ("transformer", "recurrent with attention")  # of long numbers too, whatever the seed; others say short ones


@pytest.mark.parametrize("name", TRANSLATORS)
def test_a_translator_learns_and_answers(name: str, corpus: Path, short: Path, trained: Path, tmp_path: Path) -> None:
    folder = trained if name == "transformer" else tmp_path
    if name != "transformer":
        go(short if "recurrent" in name else corpus, folder, *TRANSLATORS[name])
    chrf = json.loads((folder / "run.json").read_text())["scores"]["valid"]["chrf"]
    if name in SURE:
        assert chrf > 60
    translator = regard.load(folder, "cpu")
    assert isinstance(translator, Translator)
    asked = numbers(20, seed=9, longest=2)
    found = translator.translate([english for english, _ in asked])
    assert sum(one == french for one, (_, french) in zip(found, asked, strict=True)) > 10  # by chance one of 110 is


def sentences(count: int, seed: int = 0) -> list[str]:
    """Numbers in even steps: after the second word all others are certain."""
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        start, step, length = chance.randrange(10), chance.choice((1, 2, 3)), chance.randint(4, 10)
        found.append(" ".join(ENGLISH[(start + step * n) % 10] for n in range(length)))
    return found


def test_a_language_model_learns_and_goes_on(tmp_path: Path) -> None:
    text = write_rows(tmp_path / "text.txt", [[line] for line in sentences(400)])
    how = {"training.steps": 150, "training.block": 32}
    outcome = go(text, tmp_path / "model", STACK, LEARN, WIDE, how)
    assert json.loads((tmp_path / "model" / "config.json").read_text())["family"] == "decoder"
    generator = regard.load(tmp_path / "model", "cpu")
    assert isinstance(generator, Generator)
    assert outcome.scores["valid"]["perplexity"] < 6  # of ten words: two are drawn, and the others follow from them
    assert generator.generate("two three four", tokens=4).startswith("two three four five six")


def test_a_model_learns_to_fill_in_words_and_a_classifier_goes_on_from_it(tmp_path: Path) -> None:
    lines = sentences(400)
    text = write_rows(tmp_path / "text.txt", [[line] for line in lines])
    heard = EventRecorder()
    go(text, tmp_path / "mask", STACK, LEARN, WIDE, {"training.steps": 300}, task="mask", listener=heard)
    assert heard.of(Validated)[-1].scores["accuracy"] > 20  # twice chance, after so little practice
    filler = regard.load(tmp_path / "mask", "cpu")
    assert isinstance(filler, Classifier)

    marked = write_rows(tmp_path / "marked.tsv", [[line, "low" if line.split()[0] in ENGLISH[:5] else "high"]
                                                  for line in lines])  # fmt: skip
    start = {key: value for key, value in STACK.items() if not key.startswith(("model.", "tokenizer."))}
    more = {"training.steps": 60, "start": str(tmp_path / "mask"), "model.dropout": 0.1}
    outcome = go(marked, tmp_path / "class", start, {**LEARN, **more}, task="classify")
    assert outcome.scores["valid"]["accuracy"] > 75  # of two classes, one as frequent as the other
    mask, classes = (load_file(tmp_path / name / "model.safetensors") for name in ("mask", "class"))
    shared = [name for name in classes if name in mask and classes[name].shape == mask[name].shape]
    assert len(shared) > len(classes) / 2
    config = json.loads((tmp_path / "class" / "config.json").read_text())
    assert (config["head"], config["labels"], config["dropout"]) == ("class", ["high", "low"], 0.1)
    classifier = regard.load(tmp_path / "class", "cpu")
    assert isinstance(classifier, Classifier)


def test_a_classifier_learns_from_nothing(tmp_path: Path) -> None:
    chance = random.Random(1)
    rows = []
    for _ in range(300):
        words = [chance.choice(ENGLISH + FRENCH) for _ in range(4)]
        rows.append([" ".join(words), "has seven" if "seven" in words or "sept" in words else "has none"])
    text = write_rows(tmp_path / "text.tsv", rows)
    outcome = go(text, tmp_path / "model", STACK, LEARN, WIDE, {"training.steps": 120})
    assert json.loads((tmp_path / "model" / "config.json").read_text())["labels"] == ["has none", "has seven"]
    assert outcome.scores["valid"]["accuracy"] > 85


# Going on from a trained model


@pytest.fixture(scope="module")
def trained(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "model"
    go(corpus, folder, *TRANSLATORS["transformer"])
    return folder


ONLY = {key: value for key, value in {**TINY, **LEARN}.items() if not key.startswith(("model.", "tokenizer."))}


def test_training_goes_on_from_a_folder(corpus: Path, trained: Path, tmp_path: Path) -> None:
    heard = EventRecorder()
    more = {"start": str(trained), "training.steps": 2, "training.validate_every": 1, "training.rate": 1e-6}
    go(corpus, tmp_path / "model", ONLY, more, listener=heard)
    assert heard.of(Validated)[0].scores["chrf"] > 60
    assert (tmp_path / "model" / "tokenizer.json").read_bytes() == (trained / "tokenizer.json").read_bytes()
    assert isinstance(regard.load(tmp_path / "model", "cpu"), Translator)


def test_a_family_that_cannot_do_the_task_is_refused(trained: Path, tmp_path: Path) -> None:
    text = write_rows(tmp_path / "text.txt", [[line] for line in sentences(60)])
    with pytest.raises(InputError, match="cannot be trained to generate") as error:
        go(text, tmp_path / "model", ONLY, {"start": str(trained)}, task="generate")
    assert "transformer" in error.value.found


def test_a_size_cannot_change_on_the_way(corpus: Path, trained: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"model.dim cannot change") as error:
        go(corpus, tmp_path / "model", ONLY, {"start": str(trained), "model.dim": 64})
    assert "64, there 32" in error.value.found


def test_training_goes_on_from_folders_of_hugging_face(tmp_path: Path) -> None:
    peers.save(peers.gpt2(n_positions=32), tmp_path / "gpt2", "gpt2")
    peers.save(peers.bert("BertForMaskedLM", max_position_embeddings=64), tmp_path / "bert", "bert")
    chance = random.Random(0)
    lines = [" ".join(f"w{chance.randrange(20)}" for _ in range(8)) for _ in range(60)]
    text = write_rows(tmp_path / "text.txt", [[line] for line in lines])
    marked = write_rows(tmp_path / "marked.tsv", [[line, "ab"[n % 2]] for n, line in enumerate(lines)])
    short = {**ONLY, "training.steps": 2, "training.block": 16, "data.longest": 64}
    go(text, tmp_path / "generate", short, {"start": str(tmp_path / "gpt2")}, task="generate")
    go(marked, tmp_path / "classify", short, {"start": str(tmp_path / "bert")}, task="classify")
    go(text, tmp_path / "mask", short, {"start": str(tmp_path / "bert")}, task="mask")
    assert isinstance(regard.load(tmp_path / "generate", "cpu"), Generator)
    assert isinstance(regard.load(tmp_path / "classify", "cpu"), Classifier)
    assert isinstance(regard.load(tmp_path / "mask", "cpu"), Classifier)


def test_a_translator_goes_on_from_hugging_face(corpus: Path, trained: Path, tmp_path: Path) -> None:
    from regard.interop.huggingface import save_huggingface

    save_huggingface(regard.load(trained, "cpu").model, tmp_path / "hf")
    (tmp_path / "hf" / "tokenizer.json").write_bytes((trained / "tokenizer.json").read_bytes())
    heard = EventRecorder()
    more = {"start": str(tmp_path / "hf"), "training.steps": 2, "training.validate_every": 1, "training.rate": 1e-6}
    go(corpus, tmp_path / "model", ONLY, more, listener=heard)
    assert heard.of(Validated)[0].scores["chrf"] > 60


# Several processes


def test_two_processes_give_the_weights_of_one(corpus: Path, tmp_path: Path) -> None:
    how = {"model.dropout": 0.0, "training.epsilon": 1e-2, "training.steps": 8, "training.validate_every": 4}
    go(corpus, tmp_path / "one", TINY, how)
    words = [word for one in settings(TINY, how) for word in ("--set", one)]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "regard"]
    command += ["train", str(corpus), "--out", str(tmp_path / "two"), "--device", "cpu", "--threads", "1", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("is ready") == done.stderr.count("finished: 8 steps") == 1
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert one.keys() == two.keys()
    for name in one:
        # Each of eight steps goes as far as its rate, 0.001 or less, times a gradient over an epsilon of 0.01.
        torch.testing.assert_close(two[name], one[name], atol=8 * 0.001 * small_apart() / 0.01, rtol=1e-4)
