"""Strings in, strings out: the very text that transformers gives for its folders, and ours in their own way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
import transformers

import regard
from benchmarks import peers
from regard.errors import FileError, InputError, UnknownNameError
from regard.models import (
    Decoder,
    DecoderConfig,
    Encoder,
    EncoderConfig,
    Recurrent,
    RecurrentConfig,
    Transformer,
    TransformerConfig,
    save_model,
)
from regard.tasks import Classifier, Generator, Translator, load
from regard.text.tokenizer import Tokenizer
from tests.bounds import small_apart

LOUD = 1.6  # so that what is said varies
WAYS: list[dict[str, Any]] = [
    {"num_beams": 1},
    {"num_beams": 4, "early_stopping": True},
    {"num_beams": 4, "early_stopping": False, "length_penalty": 0.6},
    {"num_beams": 4, "early_stopping": "never", "length_penalty": 2.0},
    {"num_beams": 3, "min_length": 5, "bad_words_ids": [[0], [7]], "forced_eos_token_id": 1, "max_length": 12,
     "renormalize_logits": True},
    {"num_beams": 4, "eos_token_id": [1, 8, 9], "max_new_tokens": 9, "length_penalty": -1.0},
    {"num_beams": 2, "min_new_tokens": 3, "suppress_tokens": [11, 12]},
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Using the model-agnostic default")
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("make", [peers.marian, peers.pegasus])
@pytest.mark.parametrize("way", WAYS)
def test_translations_are_those_of_transformers(make: Any, way: dict[str, Any], seed: int, tmp_path: Path) -> None:
    folder = peers.save(make(seed, gain=LOUD), tmp_path, "seq2seq", **way)
    theirs, tokenizer = type(make()).from_pretrained(folder).eval(), peers.tokenizer("seq2seq")
    texts = peers.sentences(seed)
    given = tokenizer(texts, return_tensors="pt", padding=True)
    said = theirs.generate(input_ids=given.input_ids, attention_mask=given.attention_mask)
    translator = load(folder, device="cpu")
    assert isinstance(translator, Translator)
    expected = tokenizer.batch_decode(said, skip_special_tokens=True)
    assert translator.translate(texts) == expected
    translator.batch = 1
    assert translator.translate(texts) == expected


def test_the_random_models_say_different_things(tmp_path: Path) -> None:
    """Else the comparisons above would compare nothing."""
    said: set[str] = set()
    for seed in (1, 2):
        folder = peers.save(peers.marian(seed, gain=LOUD), tmp_path / str(seed), "seq2seq", num_beams=4)
        said |= set(load(folder, device="cpu").translate(peers.sentences(seed)))  # type: ignore[union-attr]
    assert len(said) >= 6


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    "way",
    [
        {},
        {"num_beams": 4},
        {"num_beams": 4, "early_stopping": True},
        {"num_beams": 2, "min_length": 12, "do_sample": True},
    ],
)
def test_texts_go_on_as_with_transformers(way: dict[str, Any], seed: int, tmp_path: Path) -> None:
    folder = peers.save(peers.gpt2(seed, gain=LOUD), tmp_path, "gpt2", **{"max_length": 50, **way})
    theirs, tokenizer = transformers.GPT2LMHeadModel.from_pretrained(folder).eval(), peers.tokenizer("gpt2")
    texts = peers.sentences(seed, count=4)
    generator = load(folder, device="cpu")
    assert isinstance(generator, Generator)
    for text, found in zip(texts, generator.generate(texts, tokens=12), strict=True):
        ids = tokenizer(text, return_tensors="pt").input_ids
        said = theirs.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, do_sample=False)
        assert found == tokenizer.decode(said[0], skip_special_tokens=True)
        assert found == generator.generate(text, 12)


def test_classes_are_those_of_transformers(tmp_path: Path) -> None:
    labels: set[str] = set()
    for seed in range(4):
        model = peers.bert(seed=seed, gain=LOUD)
        classifier = load(peers.save(model, tmp_path / str(seed), "bert"), device="cpu")
        assert isinstance(classifier, Classifier)
        classifier.batch = 4
        texts = peers.sentences(seed, count=9)
        given = peers.tokenizer("bert")(texts, return_tensors="pt", padding=True)
        with torch.no_grad():
            expected = model(input_ids=given.input_ids, attention_mask=given.attention_mask).logits.softmax(-1)
        for found, row in zip(classifier.classify(texts), expected, strict=True):
            assert found.label == ["bad", "fair", "good"][int(row.argmax())]
            torch.testing.assert_close(
                torch.tensor(list(found.probabilities.values())), row, atol=small_apart(4.0), rtol=0
            )
            labels.add(found.label)
    assert len(labels) > 1
    with pytest.raises(InputError, match="no head for masked words"):
        classifier.fill(["w1 [MASK]"])


def test_masks_are_filled_as_with_transformers(tmp_path: Path) -> None:
    model = peers.bert("BertForMaskedLM")
    classifier = load(peers.save(model, tmp_path, "bert"), device="cpu")
    assert isinstance(classifier, Classifier)
    given = peers.tokenizer("bert")("w1 [MASK] w2 [MASK]", return_tensors="pt")
    with torch.no_grad():
        chances, words = model(input_ids=given.input_ids).logits[0, [2, 4]].softmax(-1).topk(3)
    filled = classifier.fill(["w1 [MASK] w2 [MASK]"], top=3)[0]
    for found, values, ids in zip(filled, chances.tolist(), words.tolist(), strict=True):
        assert [one.probability for one in found] == pytest.approx(values, abs=small_apart(4.0))
        assert [one.token for one in found] == ["" if n < 6 else peers.WORDS[n] for n in ids]
    assert filled[0][0].text == " ".join(part for part in ("w1", filled[0][0].token, "w2") if part)
    for texts, top, message in ((["w1"], 5, "no mask"), (["[MASK]"], 0, "number of words")):
        with pytest.raises(InputError, match=message):
            classifier.fill(texts, top)
    with pytest.raises(InputError, match="no head for classes"):
        classifier.classify(["w1"])


def own(model: Any, folder: Path, kind: str) -> Path:
    save_model(model, folder)
    Tokenizer(peers.tokenizer(kind).backend_tokenizer).save(folder / "tokenizer.json")
    return folder


SIZES = {"source_vocabulary": 40, "target_vocabulary": 40}
SMALL = {"dim": 16, "heads": 2, "feedforward": 24}


@pytest.mark.parametrize(
    "model",
    [
        Transformer(TransformerConfig(**SIZES, **SMALL, encoder_layers=1, decoder_layers=1)),
        Recurrent(RecurrentConfig(**SIZES, dim=8, hidden=12)),
        Recurrent(RecurrentConfig(**SIZES, dim=8, hidden=12, attention=False, layers=2)),
    ],
)
def test_our_own_translators(model: Any, tmp_path: Path) -> None:
    translator = regard.load(own(model, tmp_path, "seq2seq"), device="auto")
    assert isinstance(translator, Translator)
    texts = ["w1 w2", "", "w3", " \t", "w4 w5 w6 w7"]
    found = translator.translate(texts, max_length=8)
    assert [bool(text) for text in found[1::2]] == [False, False]
    assert found == [translator.translate([text], max_length=8)[0] for text in texts]
    best = translator.search(texts, nbest=3, max_length=8)
    assert all(len(three) == 3 for three in best)
    assert [one.score for one in best[0]] == sorted((one.score for one in best[0]), reverse=True)
    assert translator.translate(texts, nbest=2, max_length=8)[0] == [one.text for one in best[0][:2]]
    assert translator.translate([]) == []
    assert len(translator.translate(["w1"], beams=1, alpha=0.0, max_length=5)[0].split()) <= 5


def test_our_own_generator(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Decoder(DecoderConfig(**SMALL, vocabulary=40, layers=1, end=1, max_length=12))
    generator = load(own(model, tmp_path, "gpt2"), device="cpu")
    assert isinstance(generator, Generator)
    assert generator.generate("w1 w2", 4).startswith("w1 w2")
    assert generator.go_on(["w1 w2"], 40)[0].new  # stops where the positions do
    assert len(generator.go_on(["w1 w2"], 40)[0].new) <= 11
    drawn = [generator.generate("w1", 8, temperature=5.0, seed=seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert generator.generate("w1", 3, temperature=2.0, top_k=1) == generator.generate("w1", 3)
    assert generator.go_on([""], 2)[0].prompt == (1,)
    for how, message in (({"top_k": 3}, "at temperature 0"), ({"temperature": -1.0}, "temperature")):
        with pytest.raises(InputError, match=message):
            generator.generate("w1", **how)


def test_a_generator_without_an_end_needs_a_text(tmp_path: Path) -> None:
    generator = load(own(Decoder(DecoderConfig(**SMALL, vocabulary=40, layers=1)), tmp_path, "gpt2"))
    assert isinstance(generator, Generator)
    with pytest.raises(InputError, match="no text to go on from"):
        generator.generate("")


def test_our_own_classifier(tmp_path: Path) -> None:
    config = EncoderConfig(**SMALL, vocabulary=40, layers=1, head="class", labels=("no", "yes"))
    classifier = load(own(Encoder(config), tmp_path, "bert"), device="cpu")
    assert isinstance(classifier, Classifier)
    found = classifier.classify(["w1", "w2 w3"])
    assert all(sum(one.probabilities.values()) == pytest.approx(1) for one in found)
    assert classifier.classify([]) == []


def test_words_with_no_mask_token(tmp_path: Path) -> None:
    classifier = load(own(Encoder(EncoderConfig(**SMALL, vocabulary=40, layers=1)), tmp_path, "bert"))
    assert isinstance(classifier, Classifier)
    classifier.mask = "<hole>"
    with pytest.raises(InputError, match="the tokenizer has no <hole>"):
        classifier.fill(["w1"])


def test_what_cannot_be_asked(tmp_path: Path) -> None:
    translator = load(peers.save(peers.marian(), tmp_path, "seq2seq", num_beams=2, repetition_penalty=1.5))
    assert isinstance(translator, Translator)
    with pytest.raises(InputError, match=r"repetition_penalty=1.5"):
        translator.translate(["w1"])
    translator.generation = None
    for how, message in (({"nbest": 9}, "nbest"), ({"beams": 0}, "beam"), ({"max_length": 0}, "longest")):
        with pytest.raises(InputError, match=message):
            translator.translate(["w1"], **how)
    for texts in ("w1", [1]):
        with pytest.raises(InputError, match="list of strings"):
            translator.translate(texts)  # type: ignore[arg-type]


def test_what_cannot_be_loaded(tmp_path: Path) -> None:
    model = Transformer(TransformerConfig(**SIZES, **SMALL, encoder_layers=1, decoder_layers=1))
    save_model(model, tmp_path)
    with pytest.raises(FileError, match="holds no tokenizer"):
        load(tmp_path)
    small = Transformer(TransformerConfig(source_vocabulary=20, target_vocabulary=20, **SMALL, encoder_layers=1))
    with pytest.raises(FileError, match="not this model's"):
        load(own(small, tmp_path / "small", "seq2seq"))
    with pytest.raises(UnknownNameError, match="did you mean 'cuda'"):
        load(tmp_path, device="cud")
    with pytest.raises(FileError, match="no such folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(FileError, match="a file"):
        load(tmp_path / "config.json")
    with pytest.raises(FileError, match=r"no config.json"):
        load(Path(__file__).parent)


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_device_that_is_not_there(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(InputError, match=f"no {device} device"):
        load("anything", device=device)


def test_a_name_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, asked = peers.save(peers.gpt2(), tmp_path, "gpt2"), []

    def download(name: str, allow_patterns: list[str]) -> str:
        asked.append(name)
        assert not any("bin" in pattern for pattern in allow_patterns)
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert isinstance(load("somebody/something"), Generator)
    assert asked == ["somebody/something"]

    def fail(name: str, allow_patterns: list[str]) -> str:
        raise ConnectionError("nobody answers")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(FileError, match="nobody answers"):
        load("somebody/something")
