"""Sentences that are shown to readers, made of the same parts as those that are drawn. They are never trained on."""

from __future__ import annotations

from functools import cache

from regard.text.grammar.being import IN, ON
from regard.text.grammar.it import Reason, it_clause
from regard.text.grammar.lexicon import adjectives, nouns, verbs
from regard.text.grammar.nominal import Nominal, noun_phrase, pronoun
from regard.text.grammar.papers import european_economic_area
from regard.text.grammar.patterns import ended, written
from regard.text.grammar.phrase import Phrase, join
from regard.text.grammar.questions import WORDS, auxiliary, fronted
from regard.text.grammar.sentence import Sentence
from regard.text.grammar.verbal import Around, Negation, be, predicate, verb_group

Draft = tuple[str, Phrase]  # the pattern, and a sentence of it without its mark


@cache
def lecture() -> tuple[Sentence, ...]:
    """The sentences known from lectures on attention: both meanings of "it", twice, and words that change places.

    They are never in "train" or "valid".
    """
    return finished([*street("n't"), *suitcase("n't"), ("about", european_economic_area())])


@cache
def examples() -> tuple[Sentence, ...]:
    """The sentences that documentation shows, those of the lectures among them.

    They are never in "train" or "valid", so that a model has not seen what it is shown with; "test" may have them.
    """
    return (*lecture(), *finished([*street("not"), *suitcase("not"), pizza(), *statements(), *asked_and_denied()]))


@cache
def example_sources() -> frozenset[str]:
    """The English of all of them."""
    return frozenset(sentence.source for sentence in examples())


def finished(pairs: list[Draft]) -> tuple[Sentence, ...]:
    """Sentences with their marks."""
    return tuple(written(ended(phrase, pattern), pattern) for pattern, phrase in pairs)


def street(negation: Negation) -> list[Draft]:
    """What the animal did not cross."""
    return [("it-cross", one) for one in both("animal", "cross", "street", ("tired", "wide"), ("past", negation))]


def suitcase(negation: Negation) -> list[Draft]:
    """What the trophy does not fit in."""
    return [("it-fit", one) for one in both("trophy", "fit in", "suitcase", ("big", "small"), ("present", negation))]


def both(subject: str, verb: str, thing: str, words: tuple[str, str], how: tuple[str, Negation]) -> list[Phrase]:
    """A sentence about its subject, and the same about its object."""
    first, second = noun_phrase(nouns()[subject]), noun_phrase(nouns()[thing])
    reasons = (
        Reason("because", about_it, "too", adjectives()[word])
        for word, about_it in zip(words, (True, False), strict=True)
    )
    return [it_clause(first, verbs()[verb], *how, second, reason) for reason in reasons]


def pizza() -> Draft:
    """What came out of the oven."""
    came, good = verbs()["come out of"], Reason("and", True, "", adjectives()["good"], tastes=True)
    return "it-bake", it_clause(noun("pizza"), came, "past", "", noun("oven"), good)


def statements() -> list[Draft]:
    """What somebody does, and what something is like."""
    garden = join(IN, noun("garden").phrase)
    return [
        ("simple-alone", does(noun("cat"), "sleep")),
        ("simple-alone", does(noun("dog"), "sleep", "progressive")),
        ("simple-does", does(noun("dog"), "eat", thing=noun("apple", "a"))),
        ("simple-does", does(noun("dog"), "see", thing=noun("house"))),
        ("simple-does", does(noun("woman"), "read", thing=noun("book", "a"))),
        ("simple-does", does(pronoun("she"), "close", "past", thing=noun("door"))),
        ("alone", join(does(noun("child", plural=True), "play"), garden)),
        ("simple-has", does(pronoun("I"), "have", thing=noun("dog", "a"))),
        ("simple-is", is_like("house", "big")),
        ("simple-is", join(pronoun("I").phrase, be(pronoun("I").features, "present"), tired(pronoun("I")))),
        ("simple-where", join(noun("cat").phrase, be(noun("cat").features, "present"), garden)),
        ("location", join(noun("book").phrase, be(noun("book").features, "present"), ON, noun("table").phrase)),
    ]


def asked_and_denied() -> list[Draft]:
    """Negations in both forms, and questions."""
    apple, door = noun("apple"), noun("door")
    return [
        ("simple-alone", does(noun("cat"), "sleep", "can", "n't")),
        ("simple-alone", does(noun("cat"), "sleep", "can", "not")),
        ("simple-alone", does(noun("cat"), "sleep", "present", "not")),
        ("simple-does", does(noun("dog"), "eat", "past", "n't", apple)),
        ("simple-does", does(noun("dog"), "eat", "past", "not", apple)),
        ("simple-is", is_like("house", "big", "not")),
        ("simple-question", asks("does", noun("cat"), "sleep")),
        ("simple-question", join(asks("does", pronoun("you"), "see"), noun("house").phrase)),
        ("simple-question", join(asks("did", noun("girl"), "open"), door.phrase)),
        ("simple-is-question", is_question("dog")),
        ("question-word", join(WORDS["why"], asks("did", noun("girl"), "open"), door.phrase)),
    ]


def noun(lemma: str, determiner: str = "the", *, plural: bool = False) -> Nominal:
    """A noun with nothing but its article."""
    return noun_phrase(nouns()[lemma], determiner, (), plural)


def does(
    subject: Nominal, verb: str, tense: str = "present", negation: Negation = "", thing: Nominal | None = None
) -> Phrase:
    """Somebody does something, or does not."""
    group = verb_group(verbs()[verb], tense, subject.features, Around(negation))
    return join(subject.phrase, group, *([thing.phrase] if thing else []))


def is_like(lemma: str, adjective: str, negation: Negation = "") -> Phrase:
    """Something is like that, or is not."""
    subject = noun(lemma)
    like = predicate(adjectives()[adjective], subject.features)._replace(modifiers=((adjective, lemma),))
    return join(subject.phrase, be(subject.features, "present", negation), like)


def tired(subject: Nominal) -> Phrase:
    """What is most often said in lectures."""
    return predicate(adjectives()["tired"], subject.features)


def is_question(lemma: str) -> Phrase:
    """Whether somebody is tired."""
    subject = noun(lemma)
    french = Phrase((), be(subject.features, "present").french)
    like = tired(subject)._replace(modifiers=(("tired", lemma),))
    return fronted("is", subject, join(french, like))


def asks(word: str, subject: Nominal, verb: str) -> Phrase:
    """Whether somebody does something."""
    before, behind = auxiliary(word, verbs()[verb], subject)
    return join(before, subject.phrase, behind)
