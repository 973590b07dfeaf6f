"""What evaluate says of attention on a grammar set: alignments, and which heads look at what "it" stands for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.lens.alignment.choice import ReadingChoice
from regard.lens.alignment.links import AttentionReading
from regard.lens.alignment.pairs import encode_pair, forced
from regard.lens.alignment.stored_choice import write_choice
from regard.models import RecurrentConfig, TransformerConfig, build
from regard.tasks import Translator
from regard.text import grammar
from regard.text.bpe import train_tokenizer
from regard.training.evaluate import Evaluation, look_into, read_data
from regard.training.evaluate import attention as module
from regard.training.evaluate.antecedents import antecedent_attention
from regard.training.evaluate.guides import PRONOUN, other
from regard.training.evaluate.pronoun_heads import AblationOptions, ablate_pronouns

SENTENCES = [one for one in grammar.sentences("test", 60) if one.pronouns][:9]
TOKENIZER = train_tokenizer([text for one in SENTENCES for text in (one.source, one.target)], 400)
EMPTY = Evaluation("translation", "grammar:test", 0, "pairs", 0.0, [])


def translator() -> Translator:
    torch.manual_seed(0)
    config = TransformerConfig(
        source_vocabulary=TOKENIZER.size, target_vocabulary=TOKENIZER.size, dim=16, heads=2, feedforward=16,
        encoder_layers=1, decoder_layers=1, dropout=0.0, pad=0, start=1, end=2,
    )  # fmt: skip
    model: Any = build(config).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(3 if weights.ndim > 1 else 1)
    found = Translator(model, TOKENIZER)
    found.batch = 4
    return found


def by_loops(task: Translator, row: str, site: str, head: int) -> float:
    """Token by token: the mean row of a pronoun's tokens, and what it gives to the tokens of each noun."""
    more = 0
    for one in SENTENCES:
        (pronoun,) = one.pronouns
        pair = encode_pair(task, one.source, one.target, grammar.words)
        weights = forced(task, [pair], [site]).weights(site, head)
        words, word = (pair.pair.source, pronoun.source) if row == "it" else (pair.pair.target, pronoun.target)
        rows = [place - (row == "output") for place, owner in enumerate(words.owners) if owner == word]
        nouns = [
            sum(float(weights[r, c]) for r in rows for c, owner in enumerate(pair.pair.source.owners) if owner == noun)
            for noun in (pronoun.antecedent, pronoun.rival)
        ]
        more += nouns[0] > nouns[1]
    return more / len(SENTENCES)


def test_every_head_is_asked_as_its_definition_says() -> None:
    task = translator()
    found = antecedent_attention(task, SENTENCES)
    assert found.pronouns == 9
    assert [(one.row, one.site, one.head) for one in found.heads] == [
        *(("it", "encoder.0.self", head) for head in (0, 1)),
        *((row, "decoder.0.cross", head) for row in ("output", "input") for head in (0, 1)),
    ]
    for one in found.heads:
        assert one.share == pytest.approx(by_loops(task, one.row, one.site, one.head))
    assert antecedent_attention(task, SENTENCES, most=4).pronouns == 4
    without = [replace(one, pronouns=()) for one in SENTENCES]
    assert antecedent_attention(task, without) == ([], 0)


def test_scores_of_attention_join_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "VALIDATION", "grammar:valid:8")
    monkeypatch.setattr(module, "SENTENCES", 6)
    task = translator()
    found = look_into(EMPTY, task, read_data("grammar:test", limit=10), tmp_path)
    assert [score.name for score in found.scores] == ["alignment_error_rate", "alignment_error_rate_sure"]
    assert 0 < found["alignment_error_rate"] <= found["alignment_error_rate_sure"] <= 100
    assert "sentences:6" in found.scores[0].signature
    assert "lowest error rate on 8 sentences" in found.notes[0]
    assert found.notes[1].startswith("alignments are scored on the first 6 sentences")
    seen = found.to_dict()["attention"]
    assert [one["name"] for one in seen["alignment"]] == ["chosen", "best head", "best Shift-Att", "mean of all heads"]
    assert seen["alignment"][0]["aer"] == pytest.approx(found["alignment_error_rate"] / 100)
    assert seen["antecedents"]["chance"] == 50
    assert len(seen["antecedents"]["heads"]) == 6


def test_a_kept_choice_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "VALIDATION", "grammar:valid:4")
    task = translator()
    write_choice(tmp_path, task.model, ReadingChoice(AttentionReading("decoder.0.cross", (1,), "input"), "by hand"))
    found = look_into(EMPTY, task, read_data("grammar:valid", limit=4), tmp_path)
    assert found.notes == [
        "alignments are read at decoder.0.cross:1:input (kept in alignment.json: by hand)",
        "the place was chosen on this very set, where it reads best",
    ]


def test_nothing_is_said_where_nothing_is_known(tmp_path: Path) -> None:
    """Other texts have no known links, and a recurrent model without attention has none to look into."""
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    assert look_into(EMPTY, translator(), read_data(str(tmp_path / "pairs.tsv")), tmp_path) is EMPTY
    config = RecurrentConfig(
        source_vocabulary=TOKENIZER.size, target_vocabulary=TOKENIZER.size, dim=8, hidden=8, attention=False
    )
    plain = Translator(build(config), TOKENIZER)  # type: ignore[arg-type]
    assert look_into(EMPTY, plain, read_data("grammar:test", limit=2), tmp_path) is EMPTY


def test_the_other_pronoun_is_written_as_the_language_writes_it() -> None:
    """After si the choice is made before the pronoun: s'il, but si elle."""
    assert PRONOUN.sub(other, "même s'il était petit.") == "même si elle était petit."
    assert PRONOUN.sub(other, "même si elle était petite.") == "même s'il était petite."
    assert PRONOUN.sub(other, "Elle part puisqu'il dort.") == "Il part puisqu'elle dort."
    for one in SENTENCES:
        assert PRONOUN.sub(other, PRONOUN.sub(other, one.target)) == one.target != PRONOUN.sub(other, one.target)


def test_a_single_head_is_silenced_with_none_to_compare() -> None:
    sizes = {"source_vocabulary": TOKENIZER.size, "target_vocabulary": TOKENIZER.size}
    model: Any = build(RecurrentConfig(**sizes, dim=8, hidden=12, dropout=0.0, pad=0, start=1, end=2)).eval()
    texts = grammar.sentences("test", 30)
    found = ablate_pronouns(Translator(model, TOKENIZER), texts, texts, AblationOptions(most=1, allow=100.0))
    assert found.heads == (("decoder.0.cross", 0),)
    assert [line.name for line in found.test_rows] == ["no head", "these heads"]
