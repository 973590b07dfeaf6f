"""The lexicon as a dictionary: its lemmas, and a translation that looks up one word after the other."""

from __future__ import annotations

from functools import cache

from regard.text.grammar.english import comparative
from regard.text.grammar.lexicon import adjectives, nouns, table, verbs
from regard.text.grammar.sentence import words
from regard.text.grammar.spelling import french_text


def lemmas() -> tuple[frozenset[str], frozenset[str]]:
    """All English and all French words as a dictionary lists them."""
    function = table("function")["lemmas"]
    ours = {*function, *nouns(), *adjectives(), *(verb.english.base for verb in verbs().values())}
    theirs = {
        *function.values(),
        *(noun.french for noun in nouns().values()),
        *(adjective.french.masculine for adjective in adjectives().values()),
        *(verb.french.infinitive for verb in verbs().values()),
    }
    return frozenset(ours), frozenset(theirs)


@cache
def translations() -> dict[str, str]:
    """Each English form with the French word a small dictionary gives first: singular, masculine, infinitive."""
    dictionary: dict[str, str] = {}
    for verb in verbs().values():
        for form in verb.english:
            dictionary.setdefault(form, verb.french.infinitive)
    for noun in nouns().values():
        dictionary |= dict.fromkeys((noun.lemma, noun.plural, f"{noun.lemma}'s"), noun.french)
    for adjective in adjectives().values():
        dictionary |= dict.fromkeys((adjective.lemma, comparative(adjective.lemma)), adjective.french.masculine)
    for entries in table("function").values():
        dictionary |= entries
    return dictionary


def word_for_word(text: str) -> str:
    """Every word replaced by its dictionary translation, in English order: the baseline that knows no grammar."""
    known = translations()
    french = [known.get(word) or known.get(word.lower(), word) for word in words(text)]
    return french_text(french) if french else ""
