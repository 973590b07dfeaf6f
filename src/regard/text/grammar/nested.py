"""Patterns with a clause or a noun phrase inside another."""

from __future__ import annotations

from regard.text.grammar.being import bare, described
from regard.text.grammar.frames import direct_frames, frames
from regard.text.grammar.lexicon import adjectives, verbs
from regard.text.grammar.nominal import Nominal, noun_phrase, pronoun
from regard.text.grammar.phrase import Phrase, aligned, join
from regard.text.grammar.picker import OBJECTS, Picker
from regard.text.grammar.verbal import Around, be, predicate, verb_group

COMMA = aligned(",/C", ",/C")
BECAUSE, WHILE = aligned("because/B", "parce/B que/b"), aligned("while/W", "pendant/W que/w")
THAT, OF, WHEN = aligned("that/T", "que/T"), aligned("of/O", "de/O"), aligned("when/W", "quand/W")
TIMES = (
    (aligned("yesterday/Y", "hier/Y"), ("past",)),
    (aligned("this/D morning/M", "ce/D matin/M"), ("past",)),
    (aligned("today/T", "aujourd'hui/T"), ("present", "future")),
    (aligned("now/N", "maintenant/N"), ("progressive",)),
    (aligned("tomorrow/T", "demain/T"), ("future",)),
    (aligned("this/D evening/E", "ce/D soir/E"), ("future", "going")),
    (aligned("every/D day/J", "tous/d les/d jours/J"), ("present",)),
)
HEADS = ("the", "the", "the", "this")
FEELINGS = ("tired", "sick", "nervous", "scared", "sad")
# How often one does not do it when one feels like that, what, and to what.
REASONS = (
    (1.0, ("borrow", "write", "finish", "translate"), ("text",)),
    (1.0, ("visit", "leave", "clean"), ("property",)),
    (0.0, ("leave",), ("property", "place")),
    (0.0, ("close",), ("door", "window", "gate")),
)


def owned(owner: Nominal, thing: Nominal) -> Phrase:
    """The teacher's old car: the article of "la vieille voiture du professeur" is only in the 's."""
    ours, theirs = owner.phrase, thing.phrase
    last, shift, behind = len(ours.english) - 1, len(ours.english) - 1, len(theirs.french)
    sure = [(i, j + behind + 1) for i, j in ours.sure] + [(i + shift, j) for i, j in theirs.sure if i > 0]
    return Phrase(
        (*ours.english[:-1], ours.english[-1] + "'s", *theirs.english[1:]),
        (*theirs.french, "de", *ours.french),
        tuple(sure),
        ((last, 0), (last, behind)),
        (*ours.nouns, *((noun, place + shift) for noun, place in theirs.nouns)),
        (*ours.modifiers, *theirs.modifiers),
    )


def genitive(pick: Picker) -> Phrase:
    """The teacher's dog is black."""
    owner = pick.nominal(("person",), ("the", "the", "this", "my", "our"), plural=0.0)
    noun = pick.noun(("animal", "object", "clothes", "vehicle", "property", "text"))
    thing = noun_phrase(noun, "the", (), pick.chance(0.25))
    return join(owned(owner, thing), described(pick, noun, thing.features))


def part(pick: Picker) -> Phrase:
    """The roof of the church is old."""
    noun = pick.noun(("part", "door", "window", "gate"))
    head = noun_phrase(noun, "the", (), False)
    whole = pick.nominal(("property", "church", "school", "station", "museum"), plural=0.0)
    return join(head.phrase, OF, whole.phrase, described(pick, noun, head.features))


def who(pick: Picker) -> Phrase:
    """The man who sells apples is old."""
    frame = pick.one(frames("does"))
    noun, head = bare(pick, frame.subjects, HEADS)
    word = "who" if noun.kind == "person" else "that"
    verb = pick.one(frame.verbs)
    thing = pick.nominal(frame.objects, OBJECTS)
    relative = join(aligned(f"{word}/W", "qui/W"), pick.verb(verb, head.features), thing.phrase)
    return join(head.phrase, relative, described(pick, noun, head.features))


def whom(pick: Picker) -> Phrase:
    """The letter that the boy wrote is long: "que le garçon a écrite"."""
    frame = pick.one(direct_frames())
    noun, head = bare(pick, frame.objects, HEADS)
    subject = pick.nominal(frame.subjects)
    around = Around(agreed=(head.features.gender, head.features.plural))
    verb = pick.one(frame.verbs)
    relative = join(THAT, subject.phrase, verb_group(verb, pick.tense(verb), subject.features, around))
    return join(head.phrase, relative, described(pick, noun, head.features))


def reported(pick: Picker) -> Phrase:
    """The doctor says that the child is sick."""
    speaker = pick.nominal(("person",))
    verb = verbs()[pick.one(("say", "think"))]
    noun, subject = bare(pick, ("person", "animal", "food", "text", "vehicle", "event", "property"))
    saying = verb_group(verb, "present", speaker.features)
    return join(speaker.phrase, saying, THAT, subject.phrase, described(pick, noun, subject.features))


def while_(pick: Picker) -> Phrase:
    """The cat was sleeping while the girl was closing the door."""
    first, second = pick.one(frames("alone")), pick.one(direct_frames())
    subject = pick.nominal(first.subjects)
    verb = pick.until(first.verbs, lambda each: each.lemma != "fall")
    lasting = verb_group(verb, "past progressive", subject.features)
    other = pick.nominal(second.subjects)
    doing = verb_group(pick.until(second.verbs, lambda each: not each.momentary), "past progressive", other.features)
    return join(subject.phrase, lasting, WHILE, other.phrase, doing, pick.nominal(second.objects).phrase)


def when(pick: Picker) -> Phrase:
    """When the queen arrived, the dogs were sleeping."""
    subject = pick.nominal(("person",))
    event = verbs()[pick.one(("arrive", "fall", "stop", "wake up"))]
    frame = pick.one(frames("alone"))
    other = pick.nominal(frame.subjects)
    verb = pick.until(frame.verbs, lambda each: each.lemma != "fall")
    opening = join(WHEN, subject.phrase, verb_group(event, "past", subject.features), COMMA)
    return join(opening, other.phrase, verb_group(verb, "past progressive", other.features))


def he_or_she(pick: Picker) -> Phrase:
    """The queen left the castle because she was tired."""
    never, doing, names = pick.one(REASONS)
    noun = pick.noun(("person",))
    subject = noun_phrase(noun, pick.one(("the", "the", "this", "my", "our")), pick.adjectives(noun, 0.2))
    group = verb_group(verbs()[pick.one(doing)], "past", subject.features, Around(pick.negation(never)))
    thing = pick.nominal(names)
    feeling = pick.until(FEELINGS, lambda lemma: pick.rule.adjective(adjectives()[lemma], noun))
    complement = predicate(adjectives()[feeling], subject.features, pick.one(("", "too", "very", "so")))
    complement = complement._replace(modifiers=((feeling, noun.lemma),))
    he = pronoun("he" if noun.gender == "m" else "she").phrase
    return join(subject.phrase, group, thing.phrase, BECAUSE, he, be(subject.features, "past"), complement)


def at_a_time(pick: Picker) -> Phrase:
    """Yesterday, the farmer sold the horse."""
    time, tenses = pick.one(TIMES)
    frame = pick.one(frames("does"))
    subject = pick.nominal(frame.subjects, ("the", "the", "the", "a", "this", "my", "our"))
    tense = pick.one(tenses)
    verb = pick.until(frame.verbs, lambda each: not each.lasting and not (tense == "progressive" and each.momentary))
    group = verb_group(verb, tense, subject.features)
    return join(time, COMMA, subject.phrase, group, pick.nominal(frame.objects, OBJECTS).phrase)
