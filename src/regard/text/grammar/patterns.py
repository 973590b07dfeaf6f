"""All sentence patterns by name, how often each is drawn, and how one is drawn and written down."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from itertools import combinations

from regard.text.grammar import being, doing, going, nested, papers, questions, simple
from regard.text.grammar.it import IT_PATTERNS, draw_it
from regard.text.grammar.phrase import Phrase, aligned, join, shifted
from regard.text.grammar.picker import Names, Picker, UnluckyError
from regard.text.grammar.sentence import PRONOUNS, Combination, Link, Sentence
from regard.text.grammar.spelling import english_text, french_text, spelled

Draw = Callable[[Picker], Phrase]

IT: dict[str, Draw] = {name: partial(draw_it, name=name) for name in IT_PATTERNS}
STATEMENTS: dict[str, Draw] = {
    "plain": doing.plain,
    "adverb": doing.adverb,
    "amount": doing.amount,
    "some": doing.some,
    "without": doing.without,
    "spoken": doing.in_dialogue,
    "wish": doing.wish,
    "used-to": doing.used,
    "gift": doing.gift,
    "passive": doing.by_somebody,
    "object-pronoun": doing.object_pronoun,
    "copula": being.copula,
    "comparison": being.comparison,
    "location": being.location,
    "there-is": being.there,
    "that-is": being.that_is,
    "motion": going.motion,
    "alone": going.alone,
    "reflexive": going.reflexive,
    "couple": going.couple,
    "genitive": nested.genitive,
    "part": nested.part,
    "relative-qui": nested.who,
    "relative-que": nested.whom,
    "reported": nested.reported,
    "while": nested.while_,
    "he-or-she": nested.he_or_she,
    "about": papers.about,
    "decision": papers.decision,
    "date": papers.date,
}
# Complete in themselves: nothing is joined to them.
WHOLE: dict[str, Draw] = {
    "time": nested.at_a_time,
    "when": nested.when,
    "order": doing.order,
    "third-person": doing.third_person,
}
QUESTIONS: dict[str, Draw] = {
    "whether": questions.whether,
    "question-word": questions.why,
    "where": questions.where,
    "who-did": questions.who_did,
}
# Of 3 to 8 words each.
SIMPLE: dict[str, Draw] = {
    "simple-alone": simple.alone,
    "simple-does": simple.does,
    "simple-has": simple.has,
    "simple-is": simple.is_like,
    "simple-where": simple.is_somewhere,
}
SIMPLE_QUESTIONS: dict[str, Draw] = {
    "simple-question": simple.question,
    "simple-is-question": simple.is_question,
}
AND, BUT = aligned(",/C and/A", ",/C et/A"), aligned(",/C but/A", ",/C mais/A")
SHORT = ("plain", "spoken", "copula", "motion", "reflexive", "date", "some", "without", "wish")
PATTERNS = (*IT, *STATEMENTS, *WHOLE, *QUESTIONS, *SIMPLE, *SIMPLE_QUESTIONS, "joined")
ASKING = (*QUESTIONS, *SIMPLE_QUESTIONS)
# Agreement at a distance is what is hard to learn, so this share of all draws has an "it".
IT_SHARE = 0.37
# What anybody would try first must be known well: about a fifth of all sentences, since some are drawn twice.
SIMPLE_SHARE = 0.21
OFTEN = {"plain": 3, "spoken": 2, "copula": 2, "genitive": 2, "relative-que": 2, "about": 2, "decision": 2, "joined": 4}
SIMPLE_OFTEN = {"simple-alone": 4, "simple-does": 4, "simple-is": 3, "simple-question": 3}


def as_often(names: Iterable[str], often: Mapping[str, int]) -> Names:
    """Each name as many times as it should come."""
    return tuple(name for name in names for _ in range(often.get(name, 1)))


OTHERS = as_often((*STATEMENTS, *WHOLE, *QUESTIONS, "joined"), OFTEN)
SIMPLE_NAMES = as_often((*SIMPLE, *SIMPLE_QUESTIONS), SIMPLE_OFTEN)


def draw(pick: Picker, name: str) -> Phrase:
    """A sentence of a pattern, still without its mark; unlucky draws are made again."""
    while True:
        pick.drawn.clear()
        try:
            return drawn_once(pick, name)
        except UnluckyError:
            continue


def drawn_once(pick: Picker, name: str) -> Phrase:
    """A sentence of a pattern, if it comes out at once."""
    for patterns in (IT, STATEMENTS, WHOLE, QUESTIONS, SIMPLE, SIMPLE_QUESTIONS):
        if name in patterns:
            return patterns[name](pick)
    return joined(pick, [pick.one(SHORT), pick.one(SHORT)])


def joined(pick: Picker, names: list[str]) -> Phrase:
    """Clauses joined by "and" or, once, "but"; at most one says il or elle, so that it stays clear who is meant."""
    whole, *others = [drawn_once(pick, name) for name in names]
    if sum(not set(PRONOUNS).isdisjoint(clause.french) for clause in (whole, *others)) > 1:
        raise UnluckyError
    for clause in others:
        whole = join(whole, AND if "but" in whole.english + clause.english else pick.one((AND, BUT)), clause)
    return whole


def draw_name(pick: Picker) -> str:
    """One of the patterns, as often as it should come."""
    lot = pick.random.random()
    return pick.one(IT_PATTERNS if lot < IT_SHARE else SIMPLE_NAMES if lot < IT_SHARE + SIMPLE_SHARE else OTHERS)


def ended(phrase: Phrase, pattern: str) -> Phrase:
    """A drawn sentence with its mark."""
    mark = "?" if pattern in ASKING else "."
    last = len(phrase.english), len(phrase.french)
    return phrase._replace(english=(*phrase.english, mark), french=(*phrase.french, mark), sure=(*phrase.sure, last))


def written(phrase: Phrase, pattern: str) -> Sentence:
    """A sentence as text, with its links, pronouns and combinations."""
    french, positions = spelled(phrase.french)
    sure = frozenset([link(i, positions[j]) for i, j in phrase.sure])
    return Sentence(
        english_text(phrase.english),
        french_text(french),
        pattern,
        sure,
        sure.union([link(i, positions[j]) for i, j in phrase.loose]),
        tuple([shifted(pronoun, 0, positions[pronoun.target] - pronoun.target) for pronoun in phrase.pronouns]),
        met(phrase),
    )


@cache
def link(i: int, j: int) -> Link:
    """One object for all equal links, of which there are many."""
    return i, j


def met(phrase: Phrase) -> frozenset[Combination]:
    """Every two nouns in their order, and every adjective with its noun."""
    nouns = combinations((noun for noun, _ in phrase.nouns), 2)
    return frozenset([*(("nouns", *pair) for pair in nouns), *(("adjective", *pair) for pair in phrase.modifiers)])
