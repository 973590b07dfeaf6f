"""Every kind of model is scored as it would be by hand: small random models, sums done again the plain way."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import regard
from benchmarks import peers
from regard.errors import FileError, InputError, RegardError
from regard.models import TransformerConfig, build
from regard.tasks import Classifier, Generator, Translator
from regard.tasks.translator import Translation
from regard.text import grammar, scores
from regard.text.tokenizer import Tokenizer
from regard.training.evaluate import (
    block_of,
    evaluate,
    read_data,
    target_language,
    validate_translations,
)
from regard.training.evaluate.masked_words import choose
from regard.training.evaluate.next_words import stream, windows
from tests.bounds import small_apart

Folders = dict[str, Path]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    root = tmp_path_factory.mktemp("models")
    peers.save(peers.marian(1, 1.6), root / "marian", "seq2seq", num_beams=2, max_length=12)
    peers.save(peers.marian(2, 1.6), root / "other", "seq2seq", num_beams=2, max_length=12)
    peers.save(peers.gpt2(1, 1.6, n_positions=16), root / "gpt2", "gpt2", max_length=16)
    peers.save(peers.bert(gain=1.6, max_position_embeddings=16), root / "classes", "bert")
    peers.save(peers.bert("BertForMaskedLM", gain=1.6, max_position_embeddings=16), root / "masks", "bert")
    return {path.name: path for path in root.iterdir()}


def written(path: Path, *rows: str) -> list[str]:
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return [str(path)]


# Translators


class Oracle(Translator):
    """A translator that has read the answers."""

    def __init__(self, answers: dict[str, str]) -> None:
        config = TransformerConfig(
            dim=8, heads=1, feedforward=8, encoder_layers=1, decoder_layers=1, source_vocabulary=9, target_vocabulary=9
        )
        super().__init__(build(config), Tokenizer(peers.tokenizer("seq2seq").backend_tokenizer))  # type: ignore[arg-type]
        self.answers = answers

    def search(self, texts: Any, **options: Any) -> list[list[Translation]]:
        assert len(texts) <= 4 * self.batch
        return [[Translation(self.answers[text], 0.0)] for text in texts]


def test_translations_are_scored_as_they_come(folders: Folders, tmp_path: Path) -> None:
    translator = regard.load(folders["marian"], "cpu")
    sources, references = peers.sentences(3, 30), peers.sentences(4, 30)
    data = read_data(written(tmp_path / "pairs.tsv", *map("\t".join, zip(sources, references, strict=True))))
    heard: list[tuple[int, int]] = []
    found = evaluate(translator, data, beams=1, batch=3, language="fr", on_progress=lambda *how: heard.append(how))
    outputs = translator.translate(sources, beams=1)
    assert found.outputs == outputs
    assert found.scores == [
        scores.bleu(outputs, references),
        scores.bleu(outputs, references, lowercase=True),
        scores.bleu_tokenised(outputs, references, "fr"),
        scores.chrf(outputs, references),
    ]
    assert found["chrf"] == scores.chrf(outputs, references).value
    assert found.by_length == scores.bleu_by_length(sources, outputs, references)
    assert (found.count, found.unit, found.task) == (30, "pairs", "translation")
    assert heard == [(12, 30), (24, 30), (30, 30)]
    assert translator.batch == 32
    kept = json.loads(json.dumps(found.to_dict()))
    assert kept["pairs"] == 30
    assert kept["scores"]["bleu"]["signature"].startswith("nrefs:1|case:mixed")
    assert "baseline" not in kept


def test_two_files_a_limit_and_another_model(folders: Folders, tmp_path: Path) -> None:
    ours, theirs = regard.load(folders["marian"], "cpu"), regard.load(folders["other"], "cpu")
    sources, references = peers.sentences(3, 20), peers.sentences(4, 20)
    files = written(tmp_path / "a.en", *sources) + written(tmp_path / "a.fr", *references)
    heard: list[tuple[int, int]] = []
    found = evaluate(
        ours, read_data(files, limit=12), against=theirs, beams=2, alpha=0.5, on_progress=lambda *how: heard.append(how)
    )
    assert found.count == 12
    assert found.outputs == ours.translate(sources[:12], beams=2, alpha=0.5)
    rival = theirs.translate(sources[:12], beams=2, alpha=0.5)
    assert found.comparison == scores.paired_bootstrap(found.outputs, rival, references[:12])
    assert heard[-1] == (24, 24)
    itself = evaluate(ours, read_data(files), against=ours)
    assert itself.comparison is not None
    assert (itself.comparison.difference, itself.comparison.p) == (0, 1)
    assert itself.to_dict()["comparison"]["p"] == 1


def test_rows_left_out_and_texts_cut_short_are_told(folders: Folders, tmp_path: Path) -> None:
    data = read_data(written(tmp_path / "pairs.tsv", "w1 w2 w3\tw4", "w5\t", "w6 w7\tw8"))
    found = evaluate(regard.load(folders["marian"], "cpu"), data, max_length=1)
    assert found.count == 2
    assert found.notes[0].startswith("1 left out: empty side")
    assert any("cut before they ended" in note for note in found.notes)


def test_perfect_translations_of_the_grammar_beat_the_dictionary() -> None:
    sentences = grammar.sentences("unseen", count=60)
    perfect = Oracle({one.source: one.target for one in sentences})
    found = evaluate(perfect, read_data(["grammar:unseen"], limit=60))
    assert [round(score.value) for score in found.scores] == [100] * 5
    assert "tok:moses-fr" in found.scores[2].signature
    asked = scores.pronoun_agreement(sentences, found.outputs).asked
    assert found.scores[4] == ("pronoun_agreement", 100, f"sentences:{asked}|chance:50")
    plain = [grammar.word_for_word(one.source) for one in sentences]
    assert found.baselines["bleu"] == scores.bleu(plain, [one.target for one in sentences]).value < 90
    assert found.baselines["pronoun_agreement"] < 100
    dictionary = Oracle({one.source: text for one, text in zip(sentences, plain, strict=True)})
    literal = evaluate(dictionary, read_data("grammar:unseen:60:0"))
    assert {score.name: score.value for score in literal.scores} == literal.baselines == found.baselines


def test_validation_leaves_the_model_as_it_was(folders: Folders) -> None:
    translator = regard.load(folders["marian"], "cpu")
    assert isinstance(translator, Translator)
    sources, references = peers.sentences(3, 7), peers.sentences(4, 7)
    expected = translator.translate(sources, beams=1)
    translator.model.train()
    found, intervals, outputs = validate_translations(translator, sources, references, batch=2)
    assert translator.model.training
    assert translator.batch == 32
    assert outputs == expected
    assert intervals == {
        "bleu": scores.bleu_interval(outputs, references), "chrf": scores.chrf_interval(outputs, references),
    }  # fmt: skip
    assert found == {
        "bleu": scores.bleu(outputs, references).value, "chrf": scores.chrf(outputs, references).value,
    }  # fmt: skip


# Classifiers


def test_classes(folders: Folders, tmp_path: Path) -> None:
    classifier = regard.load(folders["classes"], "cpu")
    assert isinstance(classifier, Classifier)
    texts = peers.sentences(5, 24)
    truth = ["good" if number % 3 else "bad" for number in range(24)]
    data = read_data(written(tmp_path / "set.tsv", *map("\t".join, zip(texts, truth, strict=True))))
    found = evaluate(classifier, data, batch=5)
    said = [one.label for one in classifier.classify(texts)]
    assert found.outputs == said
    right = sum(one == other for one, other in zip(said, truth, strict=True))
    assert found["accuracy"] == pytest.approx(100 * right / 24)
    assert found.baseline == "always saying 'good'"
    assert found.baselines == {"accuracy": pytest.approx(100 * 16 / 24), "macro_f1": pytest.approx(100 * 0.8 / 2)}
    assert [row.label for row in found.labels] == ["bad", "fair", "good"]
    assert found.confusion == Counter(zip(truth, said, strict=True))
    kept = json.loads(json.dumps(found.to_dict()))
    assert sum(cell["texts"] for cell in kept["confusion"]) == kept["texts"] == 24


def test_labels_that_the_model_does_not_know(folders: Folders, tmp_path: Path) -> None:
    data = read_data(written(tmp_path / "set.tsv", "w1\tgood", "w2\tgreat", "w3\tawful"))
    with pytest.raises(InputError, match=r"(?s)labels that the model does not know.*'awful', 'great'.*bad, fair, good"):
        evaluate(regard.load(folders["classes"], "cpu"), data)


def test_long_texts_are_cut_and_it_is_told(folders: Folders, tmp_path: Path) -> None:
    long, same = "w1 " * 40, "w1 " * 14
    classifier = regard.load(folders["classes"], "cpu")
    found = evaluate(classifier, read_data(written(tmp_path / "set.tsv", f"{long}\tgood", "w2\tbad")))
    assert found.outputs[0] == classifier.classify([same])[0].label
    assert found.notes == ["1 texts were cut to 16 tokens, all that the model has positions for"]


# Masked words


def test_masked_words(folders: Folders, tmp_path: Path) -> None:
    classifier = regard.load(folders["masks"], "cpu")
    assert isinstance(classifier, Classifier)
    texts = peers.sentences(6, 15)
    found = evaluate(classifier, read_data(written(tmp_path / "text", *texts)), batch=4)
    rows = classifier.tokenizer.encode(texts)
    places = choose(rows, {peers.FIRST, peers.LAST})
    nats, right = 0.0, 0
    for row, chosen in zip(rows, places, strict=True):
        assert len(chosen) == max(1, round(0.15 * (len(row) - 2)))
        assert not {0, len(row) - 1} & set(chosen)
        hidden = [peers.MASK if place in chosen else number for place, number in enumerate(row)]
        chances = classifier.read([hidden])[0].log_softmax(-1)
        nats -= sum(float(chances[place, row[place]]) for place in chosen)
        right += sum(int(chances[place].argmax()) == row[place] for place in chosen)
    asked = sum(map(len, places))
    assert found["nats_per_token"] == pytest.approx(nats / asked, abs=small_apart(5.0))
    assert found["perplexity"] == pytest.approx(math.exp(nats / asked), rel=small_apart(5.0))
    assert found["accuracy"] == pytest.approx(100 * right / asked)
    assert found.scores[0].signature == f"masked:0.15|seed:0|tokens:{asked}"
    assert found.baselines == {"accuracy": 2.5, "nats_per_token": math.log(40), "perplexity": 40}
    again = evaluate(classifier, read_data([str(tmp_path / "text")]))
    assert again["nats_per_token"] == pytest.approx(found["nats_per_token"], abs=small_apart(5.0))


# Language models


@given(st.integers(1, 60), st.integers(1, 17))
def test_every_token_is_foretold_once_with_half_a_window_before_it(tokens: int, size: int) -> None:
    foretold: list[int] = []
    for one in windows(tokens, size):
        assert one.last - one.first <= size
        for place in range(one.first + one.known, one.last):
            foretold.append(place + 1)
            assert one.first == 0 or place + 1 - one.first > size // 2
    assert foretold == list(range(1, tokens + 1))


def test_a_short_text_costs_what_transformers_says(folders: Folders, tmp_path: Path) -> None:
    generator = regard.load(folders["gpt2"], "cpu")
    assert isinstance(generator, Generator)
    found = evaluate(generator, read_data(written(tmp_path / "text", "w1 w2 w3", "", "w4 w5")))
    ids = torch.tensor([[peers.END, *(number + 6 for number in (1, 2, 3, 4, 5))]])
    assert stream(generator, ["w1 w2 w3", "", "w4 w5"]) == ids[0].tolist()
    with torch.no_grad():
        loss = float(peers.gpt2(1, 1.6, n_positions=16)(ids, labels=ids).loss)
    assert found["nats_per_token"] == pytest.approx(loss, abs=small_apart(5.0))
    assert found["perplexity"] == pytest.approx(math.exp(loss), rel=small_apart(5.0))
    characters = len("w1 w2 w3\n\nw4 w5\n")
    assert found["nats_per_character"] == pytest.approx(5 * loss / characters, abs=small_apart(5.0))
    assert found.scores[0].signature == f"window:16|overlap:8|tokens:5|characters:{characters}"
    assert found.baselines["nats_per_token"] == math.log(40)


@pytest.mark.parametrize(("window", "batch"), [(None, None), (None, 1), (6, 3), (7, 2), (1, None), (99, None)])
def test_a_long_text_is_read_in_windows(
    window: int | None, batch: int | None, folders: Folders, tmp_path: Path
) -> None:
    generator = regard.load(folders["gpt2"], "cpu")
    assert isinstance(generator, Generator)
    texts = peers.sentences(8, 12)
    heard: list[tuple[int, int]] = []
    found = evaluate(
        generator, read_data(written(tmp_path / "text", *texts)), window=window, batch=batch,
        on_progress=lambda *how: heard.append(how),
    )  # fmt: skip
    ids, size, nats, reach = stream(generator, texts), min(window or 16, 16), 0.0, 0
    half = size // 2
    for place in range(1, len(ids)):
        if place > reach:
            reach = size if not reach else reach + size - half
        seen = ids[max(0, reach - size) : place]
        with torch.no_grad():
            nats -= float(generator.model(torch.tensor([seen]))[0, -1].log_softmax(-1)[ids[place]])
    assert found["nats_per_token"] == pytest.approx(nats / (len(ids) - 1), abs=small_apart(5.0))
    assert found.count == len(ids) - 1
    assert heard[-1] == (found.count, found.count)
    assert heard == sorted(heard)


def test_a_model_that_knows_nothing_is_the_baseline(folders: Folders, tmp_path: Path) -> None:
    for name in ("gpt2", "masks"):
        task = regard.load(folders[name], "cpu")
        with torch.no_grad():
            for tensor in task.model.parameters():
                tensor.zero_()
        found = evaluate(task, read_data(written(tmp_path / "text", *peers.sentences(9, 20))))
        for score in ("nats_per_token", "perplexity"):
            assert found[score] == pytest.approx(found.baselines[score], rel=small_apart(5.0))


# What was asked


def test_what_the_folder_knows(tmp_path: Path) -> None:
    assert target_language(tmp_path) is None
    assert block_of(tmp_path) is None
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('[data]\ntrain = ["a.tsv"]\nlanguages = ["en", "fr"]\n[training]\nblock = 64\n', encoding="utf-8")
    assert target_language(tmp_path) == "fr"
    assert block_of(str(tmp_path)) == 64
    recipe.write_text("[data", encoding="utf-8")
    with pytest.raises(FileError, match=r"cannot read .*recipe\.toml"):
        target_language(tmp_path)


@pytest.mark.parametrize(
    ("model", "files", "options", "message"),
    [
        ("marian", ["grammar:unsen"], {}, "did you mean 'grammar:unseen'"),
        ("marian", ["grammar:test:many"], {}, "by name, count and seed"),
        ("marian", ["grammar:test", "b.fr"], {}, "a grammar set has both sides already"),
        ("marian", [], {}, "a source is one file, or two"),
        ("marian", ["nowhere.tsv"], {}, r"there is no file .*nowhere\.tsv"),
        ("marian", ["pairs.tsv"], {"beam": 2}, "did you mean 'beams'"),
        ("marian", ["pairs.tsv"], {"batch": 0}, "batch must be at least 1"),
        ("gpt2", ["pairs.tsv"], {"window": -1}, "window must be at least 1"),
        ("gpt2", ["a.en", "a.fr"], {}, "rows of one field come from one file"),
        ("classes", ["grammar:test"], {}, "has no labels"),
        ("masks", ["pairs.tsv"], {"against": "marian"}, "only translators are compared"),
    ],
)
def test_errors(
    model: str, files: list[str], options: dict[str, Any], message: str, folders: Folders, tmp_path: Path
) -> None:
    written(tmp_path / "pairs.tsv", "w1\tw2")
    if "against" in options:
        options = {"against": regard.load(folders[options["against"]], "cpu")}
    with pytest.raises(RegardError, match=message):
        evaluate(regard.load(folders[model], "cpu"), read_data(files, tmp_path), **options)


def test_a_limit_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="limit must be at least 1"):
        read_data(["pairs.tsv"], limit=0)


def test_columns_as_in_a_recipe(folders: Folders, tmp_path: Path) -> None:
    written(tmp_path / "pairs.tsv", "w1 w2\tw3 w4")
    data = read_data({"file": "pairs.tsv", "columns": [1, 0]}, tmp_path)
    assert data.pairs().sources == ["w3 w4"]
    assert evaluate(regard.load(folders["marian"], "cpu"), data).count == 1


@pytest.mark.parametrize(
    ("targets", "asked", "signature", "note"),
    [
        (["le chat est dans la maison", "il ne mange pas de pain"], None, "moses-fr-", "look like 'fr'"),
        (["le chat est dans la maison", "il ne mange pas de pain"], "de", "moses-de-", ""),
        (["w1 w2", "w3"], None, "moses-en-", "is not known: Moses cuts tokens as in 'en'"),
        (["w1 w2", "w3"], "zz", "moses-en-", "Moses knows no 'zz'"),
    ],
)
def test_the_language_is_said_guessed_or_assumed(
    folders: Folders, tmp_path: Path, targets: list[str], asked: str | None, signature: str, note: str
) -> None:
    written(tmp_path / "pairs.tsv", *(f"w1 w2\t{target}" for target in targets * 4))
    found = evaluate(regard.load(folders["marian"], "cpu"), read_data("pairs.tsv", tmp_path), beams=1, language=asked)
    tokens = next(score.signature for score in found.scores if score.name == "bleu_tokenised")
    assert signature in tokens
    how = {"fr": "guessed", "en": "assumed"}.get("" if asked else signature[6:8], "")
    assert tokens.endswith(f"|language:{how}") if how else "language:" not in tokens
    assert any(note in one for one in found.notes) if note else not any("Moses" in one for one in found.notes)


def test_what_a_folder_of_marian_says_of_its_language(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text('{"target_lang": "de"}', encoding="utf-8")
    assert target_language(tmp_path) == "de"
