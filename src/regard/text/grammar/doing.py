"""Patterns of somebody who does something to something."""

from __future__ import annotations

from functools import cache

from regard.text.grammar.frames import Frame, direct_frames, frames
from regard.text.grammar.french import VOUS
from regard.text.grammar.lexicon import Noun, nouns, verbs
from regard.text.grammar.nominal import PLURAL_ONLY, Features, Nominal, pronoun
from regard.text.grammar.phrase import Phrase, aligned, join
from regard.text.grammar.picker import DEFINITE, OBJECTS, SUBJECTS, Picker
from regard.text.grammar.verbal import ADVERBS, Around, clitic, passive, verb_group

AND, BY, TO = aligned("and/A", "et/A"), aligned("by/B", "par/B"), aligned("to/T", "à/T")
# What would not mean the same, or would not be said, in the passive.
ACTIVE = ("leave", "wear", "meet", "lose", "find", "buy", "taste", "see")
UNORDERED = ("see", "lose", "meet", "find", "break", "understand")
OWNED = ("food", "drink", "oil", "animal", "object", "clothes")


def clause(pick: Picker, frame: Frame) -> Phrase:
    """Somebody does something, or does not: then the object is definite, for French would change its article."""
    subject = pick.nominal(frame.subjects, SUBJECTS)
    negation = pick.negation(0.0 if subject.phrase.english[0] == "every" else 0.2)
    group = pick.verb(pick.one(frame.verbs), subject.features, negation)
    return join(subject.phrase, group, pick.nominal(frame.objects, DEFINITE if negation else OBJECTS).phrase)


def plain(pick: Picker) -> Phrase:
    """The king sells a new car."""
    return clause(pick, pick.one(frames("does")))


def adverb(pick: Picker) -> Phrase:
    """The baker never opens the window: ne ... jamais, and adverbs behind the French verb."""
    frame = pick.one(frames("does"))
    subject = pick.nominal(frame.subjects)
    around = Around(adverb=pick.one((*ADVERBS, "never")))
    tense = pick.one(("present", "past")) if around.adverb == "never" else "present"
    group = verb_group(pick.one(frame.verbs), tense, subject.features, around)
    return join(subject.phrase, group, pick.nominal(frame.objects).phrase)


def amount(pick: Picker) -> Phrase:
    """The farmer draws two horses, sells apples."""
    frame = pick.one(countable_frames())
    subject = pick.nominal(frame.subjects)
    group = pick.verb(pick.one(frame.verbs), subject.features)
    return join(subject.phrase, group, pick.nominal(frame.objects, (*PLURAL_ONLY, "many", "some", "", "")).phrase)


@cache
def countable_frames() -> tuple[Frame, ...]:
    """What can be done to several."""

    def counted(noun: Noun, frame: Frame) -> bool:
        return not noun.mass and (noun.kind in frame.objects or noun.lemma in frame.objects)

    return tuple(
        each._replace(objects=tuple(noun.lemma for noun in nouns().values() if counted(noun, each)))
        for each in frames("does")
    )


def some(pick: Picker) -> Phrase:
    """The boy is drinking some water: du, de la, de l'."""
    subject = pick.nominal(("person",))
    verb, names = pick.one(
        ((verbs()["drink"], ("drink",)), (verbs()["buy"], ("drink", "oil", "meat", "bread", "cheese", "rice")))
    )
    return join(subject.phrase, pick.verb(verb, subject.features), pick.nominal(names, ("some", "")).phrase)


def without(pick: Picker) -> Phrase:
    """The girl doesn't have any apples: pas de."""
    subject = pick.nominal(("person",))
    tense = pick.one(("present", "present", "past", "future"))
    group = verb_group(verbs()["have"], tense, subject.features, Around(pick.negation(1.0)))
    return join(subject.phrase, group, pick.nominal(OWNED, ("any",)).phrase)


def in_dialogue(pick: Picker) -> Phrase:
    """I opened the door: j'."""
    return done_by(pick, pronoun(pick.one(("I", "you", "we"))))


def third_person(pick: Picker) -> Phrase:
    """She didn't see the horse."""
    return done_by(pick, pronoun(pick.one(("he", "she", "they"))))


def done_by(pick: Picker, subject: Nominal) -> Phrase:
    """What a pronoun does."""
    frame = pick.one(personal_frames())
    group = pick.verb(pick.one(frame.verbs), subject.features, pick.negation(0.3))
    return join(subject.phrase, group, pick.nominal(frame.objects).phrase)


@cache
def personal_frames() -> tuple[Frame, ...]:
    """What anybody can do."""
    return tuple(each for each in frames("does") if each.subjects == ("person",))


def wish(pick: Picker) -> Phrase:
    """The child can't open the box."""
    frame = pick.one(frames("does"))
    subject = pick.nominal(frame.subjects)
    verb = pick.until(frame.verbs, lambda each: not each.lasting)
    tense = pick.one(("can", "could", "must", "want", "wanted"))
    group = verb_group(verb, tense, subject.features, Around(pick.negation(0.35)))
    return join(subject.phrase, group, pick.nominal(frame.objects).phrase)


def used(pick: Picker) -> Phrase:
    """The farmer used to feed the cows: an imparfait."""
    frame = pick.one(frames("does"))
    subject = pick.nominal(frame.subjects)
    verb = pick.until(frame.verbs, lambda each: each.lemma not in ("break", "lose", "see", "find", "reach", "want"))
    return join(
        subject.phrase, verb_group(verb, "used", subject.features), pick.nominal(frame.objects, plural=0.5).phrase
    )


def gift(pick: Picker) -> Phrase:
    """The queen gave a book to the child: à, au, aux."""
    subject = pick.nominal(("person",))
    verb = verbs()[pick.one(("give", "offer", "show", "send", "lend"))]
    negation = pick.negation(0.2)
    group = pick.verb(verb, subject.features, negation)
    thing = pick.nominal(("object", "text", "clothes"), DEFINITE if negation else OBJECTS)
    return join(subject.phrase, group, thing.phrase, TO, pick.nominal(("person",)).phrase)


def order(pick: Picker) -> Phrase:
    """Don't open the window."""
    frame = pick.one(personal_frames())
    verb = pick.until(frame.verbs, lambda each: not each.lasting and each.lemma not in UNORDERED)
    group = verb_group(verb, "base", Features(VOUS, "m", True), Around(pick.negation(0.4)))
    return join(group, pick.nominal(frame.objects, ("the", "the", "this", "my", "our")).phrase)


def object_pronoun(pick: Picker) -> Phrase:
    """The man met the girls and helped them: "les a aidées"."""
    subject = pick.nominal(("person",))
    first, second = pick.one(
        (("call", "thank"), ("see", "follow"), ("meet", "help"), ("find", "call"), ("meet", "follow"))
    )
    somebody = pick.nominal(("person",))
    group = verb_group(verbs()[first], "past", subject.features)
    again = verb_group(verbs()[second], "past", subject.features, Around(clitic=clitic(somebody.features)))
    return join(subject.phrase, group, somebody.phrase, AND, again)


def by_somebody(pick: Picker) -> Phrase:
    """The bridges were built by the king: "ont été construits"."""
    frame = pick.one(direct_frames(ACTIVE))
    thing = pick.nominal(frame.objects)
    group = passive(pick.one(frame.verbs), thing.features, pick.negation(0.2))
    return join(thing.phrase, group, BY, pick.nominal(frame.subjects).phrase)
