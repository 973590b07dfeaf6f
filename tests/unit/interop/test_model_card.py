"""Cards say what is known, in the form that the hub reads, and nothing that is not."""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import ModelCard

from regard.interop.model_card import CardFacts, card, without_front_matter
from regard.tasks.export_card import facts_of
from regard.tasks.model_folder import find
from tests.export_cases import folder_of

CONFIG = {"family": "transformer", "dim": 8, "heads": 2}


def test_the_hub_reads_language_licence_task_and_scores() -> None:
    facts = facts_of(find("grammar"), "mine")
    text = card(facts, "huggingface", "translation", ["```python\ncode\n```"])
    parsed = ModelCard(text)
    assert parsed.data.language == ["en", "fr"]
    assert (parsed.data.license, parsed.data.pipeline_tag) == ("apache-2.0", "translation")
    assert (parsed.data.library_name, parsed.data.model_name) == ("transformers", "mine")
    scores = {(one.dataset_name, one.metric_type): one.metric_value for one in parsed.data.eval_results or []}
    assert scores["test", "bleu"] == 99.95
    assert "| test | 99.95 |" in parsed.text
    assert "# grammar: English to French" in parsed.text  # its own card comes along


def test_what_is_not_known_is_not_said(tmp_path: Path) -> None:
    facts = facts_of(find(folder_of("transformer", tmp_path / "ours")), "mine")
    parsed = ModelCard(card(facts, "ctranslate2", "translation", []))
    assert (parsed.data.license, parsed.data.language, parsed.data.eval_results) == ("unknown", None, None)
    assert "Scores" not in parsed.text


def test_a_card_that_has_its_licence_keeps_it() -> None:
    assert without_front_matter("---\nlicense: mit\n---\n# Mine\n") == ("# Mine", "mit")
    assert without_front_matter("# Mine\n") == ("# Mine", None)
    again = card(CardFacts("mine", CONFIG, licence="mit", text="# Mine"), "onnx", "translation", ["use it"])
    assert without_front_matter(again)[1] == "mit"
