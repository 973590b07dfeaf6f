"""The simplest patterns: three to eight words, one clause, what anybody would try first."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from regard.text.grammar.being import IN, NEAR, ON, UNDER, bare, quality
from regard.text.grammar.doing import OWNED
from regard.text.grammar.frames import frames
from regard.text.grammar.lexicon import Adjective, Verb, describing, verbs
from regard.text.grammar.nominal import PLURAL_ONLY, Features, Nominal, noun_phrase, pronoun
from regard.text.grammar.phrase import Phrase, join
from regard.text.grammar.picker import LASTING_TENSES, Names, Picker, UnluckyError
from regard.text.grammar.questions import asked, fronted
from regard.text.grammar.verbal import Around, be, english_be, predicate, verb_group

FEWEST, MOST = 3, 8  # words, the mark at the end not counted
PRONOUNS = ("I", "you", "he", "she", "we", "they")
ASKED_PRONOUNS = PRONOUNS[1:]
KNOWN_SUBJECTS = ("the",) * 6 + ("this", "my", "my", "your", "our")
SUBJECTS = (*KNOWN_SUBJECTS, "a")
OBJECTS = ("the",) * 4 + ("a",) * 5 + ("this", "my", "his", "her", "some")
KNOWN = ("the",) * 5 + ("this", "my", "your", "his", "her")
COUNTED = ("a",) * 6 + ("two", "three", "many", "some")
TENSES = (
    ("present",) * 6 + ("past",) * 4 + ("future",) * 2 + ("can", "can", "could", "must", "want", "going", "perfect")
)
ENDURING_TENSES = (*TENSES, "progressive", "progressive", "progressive", "past progressive")
IS_TENSES = ("present",) * 5 + ("past",) * 3 + ("future",)
OWN_OR_THE = ("the", "the", "the", "my", "our")
RELATIVES = ("sister", "brother", "friend", "uncle", "aunt")
# Where somebody or something can be: how, and which nouns.
SOMEWHERE = (
    (IN, ("house", "garden", "kitchen", "park", "courtyard", "field", "forest", "car", "school", "library")),
    (ON, ("furniture",)),
    (UNDER, ("table", "bed", "chair", "tree", "bridge")),
    (NEAR, ("house", "river", "church", "station", "door", "window", "wall", "tree")),
)
DESCRIBED = (
    "person", "animal", "road", "ground", "furniture", "object", "clothes", "vehicle", "boat", "food", "property",
    "text", "container",
)  # fmt: skip
COLOURS = ("coat", "paint")

Draw = Callable[[Picker], Phrase]


def short(draw: Draw) -> Draw:
    """The same pattern, drawn again whenever it came out with more words than a simple sentence has."""

    @wraps(draw)
    def within(pick: Picker) -> Phrase:
        phrase = draw(pick)
        if not FEWEST <= len(phrase.english) <= MOST:
            raise UnluckyError
        return phrase

    return within


def short_nominal(pick: Picker, names: Names, determiners: Names, plural: float = 0.25) -> Nominal:
    """A noun phrase with an adjective now and then."""
    noun, determiner = pick.noun(names), pick.one(determiners)
    if noun.mass and determiner in ("a", *PLURAL_ONLY):
        determiner = "some"
    many = determiner in ("some", *PLURAL_ONLY) or (determiner != "a" and pick.chance(plural))
    return noun_phrase(noun, determiner, pick.adjectives(noun, 0.12)[:1], many and not noun.mass)


def somebody(pick: Picker, names: Names, pronouns: Names = PRONOUNS) -> Nominal:
    """Who does it: of persons often only a pronoun."""
    if names == ("person",) and pick.chance(0.45):
        return pronoun(pick.one(pronouns))
    return short_nominal(pick, names, SUBJECTS)


def draw_tense(pick: Picker, verb: Verb) -> str:
    """A tense in which the verb is said."""
    return pick.one(LASTING_TENSES if verb.lasting else TENSES if verb.momentary else ENDURING_TENSES)


@short
def alone(pick: Picker) -> Phrase:
    """The cat sleeps."""
    frame = pick.one(frames("simply"))
    subject, verb = somebody(pick, frame.subjects), pick.one(frame.verbs)
    return join(subject.phrase, verb_group(verb, draw_tense(pick, verb), subject.features, Around(pick.negation(0.25))))


@short
def does(pick: Picker) -> Phrase:
    """The dog eats an apple; it doesn't eat the apple, since after a negation French would have another article."""
    frame = pick.one(frames("does"))
    subject, verb, negation = somebody(pick, frame.subjects), pick.one(frame.verbs), pick.negation(0.25)
    group = verb_group(verb, draw_tense(pick, verb), subject.features, Around(negation))
    return join(subject.phrase, group, short_nominal(pick, frame.objects, KNOWN if negation else OBJECTS).phrase)


@short
def has(pick: Picker) -> Phrase:
    """I have a dog."""
    subject = somebody(pick, ("person",))
    group = verb_group(verbs()["have"], pick.one(("present", "present", "past", "future")), subject.features)
    return join(subject.phrase, group, short_nominal(pick, (*OWNED, *RELATIVES), COUNTED).phrase)


def subject_and_adjective(pick: Picker, pronouns: Names) -> tuple[Nominal, Adjective]:
    """Somebody or something, and what can be said of it."""
    if pick.chance(0.4):
        adjective = pick.until(describing("person"), lambda each: not each.attributive)
        return pronoun(pick.one(pronouns)), adjective
    noun, subject = bare(pick, DESCRIBED, KNOWN_SUBJECTS)
    adjective = quality(pick, noun)
    return subject._replace(phrase=subject.phrase._replace(modifiers=((adjective.lemma, noun.lemma),))), adjective


def quality_phrase(pick: Picker, adjective: Adjective, features: Features) -> Phrase:
    """An adjective after "to be", now and then with its degree."""
    plain = adjective.absolute or adjective.kind in COLOURS or not pick.chance(0.3)
    return predicate(adjective, features, "" if plain else pick.one(("very", "too", "so")))


@short
def is_like(pick: Picker) -> Phrase:
    """The house is big."""
    subject, adjective = subject_and_adjective(pick, PRONOUNS)
    copula = be(subject.features, pick.one(IS_TENSES), pick.negation(0.25))
    return join(subject.phrase, copula, quality_phrase(pick, adjective, subject.features))


@short
def is_question(pick: Picker) -> Phrase:
    """Is the dog tired?"""
    subject, adjective = subject_and_adjective(pick, ASKED_PRONOUNS)
    when = pick.one(("present", "present", "past"))
    french = Phrase((), be(subject.features, when).french)
    behind = join(french, quality_phrase(pick, adjective, subject.features))
    return fronted(english_be(subject.features, when), subject, behind)


@short
def is_somewhere(pick: Picker) -> Phrase:
    """The cat is in the garden."""
    subject = somebody(pick, pick.one((("person",), ("animal",), ("object",))))
    how, names = pick.one(SOMEWHERE)
    copula = be(subject.features, pick.one(IS_TENSES), pick.negation(0.2))
    return join(subject.phrase, copula, how, short_nominal(pick, names, OWN_OR_THE, plural=0.0).phrase)


@short
def question(pick: Picker) -> Phrase:
    """Does the cat sleep? Do you see the house?"""
    frame = pick.one(frames(pick.one(("simply", "does"))))
    subject, verb = somebody(pick, frame.subjects, ASKED_PRONOUNS), pick.one(frame.verbs)
    if not verb.lasting and pick.chance(0.25):
        whole = fronted("can", subject, verb_group(verb, "base can", subject.features))
    else:
        before, behind = asked(pick, verb, subject)
        whole = join(before, subject.phrase, behind)
    return join(whole, short_nominal(pick, frame.objects, OBJECTS).phrase) if frame.objects else whole
