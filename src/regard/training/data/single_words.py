"""Single words with their translations, as further rows to train on: sentences teach next to nothing of a word alone.

They are learned from the training pairs themselves, by IBM model 1 in both directions, and only words that are each
other's likeliest translation are used: of 300 from the text of the recipe `en-fr`, drawn at random, 98 % were right.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.text.word_translations import MutualWords, mutual_words
from regard.training.data.row_reports import CHUNK
from regard.training.data.row_sample import sample_pairs
from regard.training.recipe.recipe import Recipe
from regard.training.recipe.source_rows import SourceRows, weights_of
from regard.training.report.events import Listener, Note, Preparing

PAIRS = 300_000  # that words are learned from, at most: so it takes a core half a minute, however much text there is
LONGEST = 20  # words a side of such a pair: in longer ones it is less clear which word stands for which
FEWEST = 3  # pairs that have both words
LIKELY = 0.15  # the probability of either, given the other, at least
PHRASE = 0.5  # the share of pairs in which a second word goes along, beyond which it is a phrase: "quelque chose"
ALIKE = 0.05  # of the words, how many are spelt alike in both languages at most: most of these are names
CAPITALS = 3  # one word in so many stands in a second row, with a capital
SHOWN = 3
FILES = ("words.source", "words.target")

WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
ELISION = re.compile(r"\b(?:[cdjlmnst]|qu)'(?=[^\W\d_])")  # "l'école" is "école"; "aujourd'hui" stays one word
PLAIN = re.compile(r"[^\W\d_]{2,}(?:['-][^\W\d_]{3,})*")  # letters, and none that were cut off: "don't", "e-mail"

TextPair = tuple[str, str]


class WordRows(NamedTuple):
    """Rows of single words, those with a capital last; how many words they are, and from how many pairs they come."""

    rows: list[TextPair]
    words: int
    pairs: int


def word_sources(store: Path, recipe: Recipe) -> list[dict[str, Any]]:
    """The files of single words as a recipe would name them; they weigh as much as the heaviest source, if unsaid."""
    if not recipe.data.words:
        return []
    source, target = (str((store / name).resolve()) for name in FILES)
    weight = recipe.data.words_weight or max(weights_of(recipe.data.train))
    return [{"source": source, "target": target, "weight": weight}]


def write_words(
    store: Path, recipe: Recipe, train: SourceRows, scored: Collection[str], listener: Listener
) -> list[dict[str, Any]]:
    """The words that a recipe asks for, as sources; none where nothing is sure. What is scored on is left out."""
    if not recipe.data.words:
        return []
    learned = word_rows(train, recipe.data.words, scored, listener)
    listener(report(learned, recipe.data.words))
    for side, name in enumerate(FILES):
        (store / name).write_text("".join(f"{row[side]}\n" for row in learned.rows), encoding="utf-8")
    return word_sources(store, recipe) if learned.rows else []


def report(learned: WordRows, wanted: int) -> Note:
    """How many words there are, and a few of them: from the most frequent to the rarest."""
    how = f"learned from {learned.pairs:,} training pairs"
    if not learned.rows:
        return Note(f"no single words can be {how}: none is sure enough", warning=True)
    number = f"{learned.words:,} single words" + ("" if learned.words == wanted else f" of {wanted:,} (data.words)")
    shown = [learned.rows[n * (learned.words - 1) // (SHOWN - 1)] for n in range(SHOWN)]
    some = ", ".join(dict.fromkeys(f"{source} → {target}" for source, target in shown))
    return Note(f"{number}, {how}, are trained on too: {some}")


def word_rows(train: SourceRows, count: int, scored: Collection[str], listener: Listener) -> WordRows:
    """So many words in small letters, the most frequent first, and some of them with a capital."""
    rows = sample_pairs(train, PAIRS, LONGEST, "single words", listener)
    pairs = [(row.texts[0], row.texts[1]) for row in rows]
    cut = [(words_in(source), words_in(target)) for source, target in with_counts(pairs, "cutting words", listener)]
    mutual = mutual_words(cut, FEWEST, lambda done, total: listener(Preparing("learning words", done, total)))
    unwanted = {text.strip().lower() for text in scored}
    usable = [one for one in mutual if one.source not in unwanted and train.gives((one.source, one.target))]
    small = [(one.source, one.target) for one in choose(usable, count)]
    large = [(capitalised(source), capitalised(target)) for source, target in small[::CAPITALS]]
    return WordRows([*small, *(row for row in large if train.gives(row))], len(small), len(pairs))


def with_counts(pairs: Sequence[TextPair], what: str, listener: Listener) -> Iterator[TextPair]:
    for number, pair in enumerate(pairs):
        if number % CHUNK == 0:
            listener(Preparing(what, number, len(pairs)))
        yield pair


def words_in(text: str) -> list[str]:
    """In small letters, without what is elided before them."""
    return WORD.findall(ELISION.sub(" ", text.lower().replace("’", "'")))


def choose(words: Sequence[MutualWords], count: int) -> list[MutualWords]:
    """The most frequent of those that are sure, few of them spelt alike."""
    sure = [one for one in words if is_sure(one)]
    others = [one for one in sure if one.source != one.target][:count]
    alike = [one for one in sure if one.source == one.target][: int(ALIKE * len(others))]
    return sorted(others[: count - len(alike)] + alike, key=lambda one: (-one.pairs, one.source))


def is_sure(one: MutualWords) -> bool:
    letters = PLAIN.fullmatch(one.source) and PLAIN.fullmatch(one.target)
    return letters is not None and min(one.probability, one.reverse) >= LIKELY and one.phrase < PHRASE


def capitalised(word: str) -> str:
    return word[:1].upper() + word[1:]
