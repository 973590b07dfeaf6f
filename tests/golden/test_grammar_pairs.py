"""Pairs of the built-in language that were read one by one, and that it must keep writing like this.

When the lexicon or a rule changes, the draws change with it: take a hundred new pairs from the sets below, at least
one of each pattern, and read them before they are stored. The examples are what documentation shows.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from regard.text.grammar import PATTERNS, Sentence, examples, lecture, sentences
from regard.text.grammar.heldout import IN_TRAINING
from regard.text.grammar.lexicon import Adjective, Noun, describing, group
from regard.text.grammar.patterns import drawn_once, ended, written
from regard.text.grammar.picker import Names, Picker, UnluckyError

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DRAWS = 100_000  # several times what the rarest example needs


def stored(name: str) -> list[tuple[str, str]]:
    lines = (HERE / name).read_text("utf-8").splitlines()
    return [(source, target) for source, target in (line.split("\t") for line in lines)]


def written_now() -> dict[str, Sentence]:
    drawn = [*lecture(), *sentences("test"), *sentences("unseen", 300), *sentences("long", 100)]
    return {sentence.source: sentence for sentence in drawn}


def test_pairs_that_were_read_are_written_the_same() -> None:
    now, pairs = written_now(), stored("grammar_pairs.tsv")
    assert len(pairs) == len({source for source, _ in pairs}) == 100
    assert [(source, now[source].target if source in now else None) for source, _ in pairs] == pairs
    assert {now[source].pattern for source, _ in pairs} == set(PATTERNS)


def test_examples_that_were_read_are_written_the_same() -> None:
    assert [(one.source, one.target) for one in examples()] == stored("grammar_examples.tsv")


class Guided(Picker):
    """Draws only nouns and adjectives of one sentence, where a pattern lets it, and all the rest as ever."""

    def __init__(self, text: str) -> None:
        super().__init__(Random(text), IN_TRAINING)
        self.words = set(re.findall(r"\w+", text)) | set(re.findall(r"\w+", text.lower()))

    def noun(self, names: Names) -> Noun:
        fitting = [noun for noun in group(names) if {noun.lemma, noun.plural} & self.words and self.may_come(noun)]
        if not fitting:
            raise UnluckyError
        self.drawn.append(self.one(fitting))
        return self.drawn[-1]

    def adjective(self, noun: Noun, senses: Names = ()) -> Adjective | None:
        known = describing(noun.kind, senses)
        fitting = [each for each in known if each.lemma in self.words and self.rule.adjective(each, noun)]
        return self.one(fitting) if fitting else None


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.source)
def test_examples_are_sentences_that_training_could_draw(example: Sentence) -> None:
    pick = Guided(example.source)
    for _ in range(DRAWS):
        pick.drawn.clear()
        try:
            phrase = ended(drawn_once(pick, example.pattern), example.pattern)
        except UnluckyError:
            continue
        found = written(phrase, example.pattern)
        if found.source == example.source:
            assert found == example
            assert found.combinations == example.combinations
            return
    pytest.fail(f"the pattern {example.pattern} never says it")


def test_documentation_shows_the_grammar_model_with_examples_only() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    lines = [line for page in pages for line in page.read_text("utf-8").splitlines() if "grammar" in line]
    quoted = {text for line in lines for text in re.findall(r'"([A-Z][^"]*[.?])"', line)}
    assert quoted
    assert quoted <= {example.source for example in examples()}
