"""A small English and French whose truth is known: every pair comes with its word alignment and what each "it" means.

`sentences("train")` gives pairs to learn from, the other sets ask what was learnt. The words are in data/, what they do
to each other in `english`, `french` and `spelling`, and how sentences are made of them in `patterns`.
"""

from regard.text.grammar.dictionary import lemmas, word_for_word
from regard.text.grammar.heldout import held_out_adjective, held_out_pair
from regard.text.grammar.naming import Named, is_grammar, read_name
from regard.text.grammar.patterns import PATTERNS
from regard.text.grammar.sentence import Pronoun, Sentence, agreement, words
from regard.text.grammar.sentence_sets import SETS, sentences
from regard.text.grammar.showcase import examples, lecture

__all__ = [
    "PATTERNS",
    "SETS",
    "Named",
    "Pronoun",
    "Sentence",
    "agreement",
    "examples",
    "held_out_adjective",
    "held_out_pair",
    "is_grammar",
    "lecture",
    "lemmas",
    "read_name",
    "sentences",
    "word_for_word",
    "words",
]
