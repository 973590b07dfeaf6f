"""Translations are scored as they would be by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import regard
from benchmarks import peers
from regard.models import TransformerConfig, build
from regard.tasks import Translator
from regard.tasks.translator import Translation
from regard.text import grammar, scores
from regard.text.tokenizer import Tokenizer
from regard.training.evaluate import (
    evaluate,
    read_data,
    validate_translations,
)
from tests.evaluation_cases import Folders, written


class Oracle(Translator):
    """A translator that has read the answers."""

    def __init__(self, answers: dict[str, str]) -> None:
        config = TransformerConfig(
            dim=8, heads=1, feedforward=8, encoder_layers=1, decoder_layers=1, source_vocabulary=9, target_vocabulary=9
        )
        super().__init__(build(config), Tokenizer(peers.tokenizer("seq2seq").backend_tokenizer))  # type: ignore[arg-type]
        self.answers = answers

    def search(self, texts: Any, **options: Any) -> list[list[Translation]]:
        assert len(texts) <= 4 * (self.batch or 128)
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
    assert translator.batch is None
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
    assert translator.batch is None
    assert outputs == expected
    assert intervals == {
        "bleu": scores.bleu_interval(outputs, references), "chrf": scores.chrf_interval(outputs, references),
    }  # fmt: skip
    assert found == {
        "bleu": scores.bleu(outputs, references).value, "chrf": scores.chrf(outputs, references).value,
    }  # fmt: skip


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
