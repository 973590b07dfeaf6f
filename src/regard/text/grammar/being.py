"""Patterns of what something is like and where it is."""

from __future__ import annotations

from regard.text.grammar.english import comparative
from regard.text.grammar.lexicon import Adjective, Noun
from regard.text.grammar.nominal import Features, Nominal, noun_phrase
from regard.text.grammar.phrase import Phrase, aligned, join
from regard.text.grammar.picker import DEFINITE, Names, Picker, UnluckyError
from regard.text.grammar.verbal import be, predicate

IN, ON = aligned("in/P", "dans/P"), aligned("on/P", "sur/P")
UNDER, BEHIND = aligned("under/P", "sous/P"), aligned("behind/P", "derrière/P")
NEAR = aligned("near/P", "près/P de/p")
THAN = aligned("than/T", "que/T")
INDOORS = ("kitchen", "library", "church", "station", "restaurant", "school", "house", "castle", "hotel", "theatre")
# Where something can be: how, and which nouns.
LOCATIONS = (
    (IN, INDOORS),
    (IN, ("ground",)),
    (BEHIND, ("property", "tree", "oak", "wall", "hedge", "church")),
    (NEAR, ("property", "water", "bridge", "church", "station", "tree")),
    (UNDER, ("tree", "oak", "bridge")),
)
SPOTS = ((ON, ("furniture",)), (UNDER, ("furniture",)), (BEHIND, ("furniture",)), (IN, ("container",)))
DESCRIBED = (
    "person", "animal", "road", "ground", "furniture", "object", "clothes", "vehicle", "boat", "food", "property",
    "text", "container", "event", "idea",
)  # fmt: skip
SHOWN = (
    (("idea", "text"), ("a",)),
    (("object", "vehicle", "clothes"), ("a", "my", "our", "your")),
    (("person",), ("my", "our")),
)
COLOURS = ("coat", "paint")


def place(pick: Picker) -> Phrase:
    """Where something happens; indoors only if it was somebody who has just been named."""
    how, names = pick.one(LOCATIONS if pick.drawn[-1].kind == "person" else LOCATIONS[1:])
    return join(how, pick.nominal(names, ("the", "the", "the", "this", "our"), plural=0.0).phrase)


def bare(pick: Picker, names: Names, determiners: Names = DEFINITE) -> tuple[Noun, Nominal]:
    """A noun, and a phrase of it without adjectives."""
    noun = pick.noun(names)
    return noun, noun_phrase(noun, pick.one(determiners), (), not noun.mass and pick.chance(0.25))


def quality(pick: Picker, noun: Noun) -> Adjective:
    """An adjective that can be said of a noun with "to be"."""
    adjective = pick.adjective(noun)
    if adjective is None or adjective.attributive:
        raise UnluckyError
    return adjective


def described(pick: Picker, noun: Noun, features: Features) -> Phrase:
    """Is, was or will be something that can be said of the noun."""
    adjective = quality(pick, noun)
    degree = pick.one(("", "", "very", "too", "so"))
    if adjective.absolute or adjective.kind in COLOURS:
        degree = ""
    complement = predicate(adjective, features, degree)._replace(modifiers=((adjective.lemma, noun.lemma),))
    tense = pick.one(("present", "present", "past", "past", "future"))
    return join(be(features, tense, pick.negation(0.2)), complement)


def copula(pick: Picker) -> Phrase:
    """The white houses are very beautiful."""
    noun, subject = bare(pick, DESCRIBED)
    return join(subject.phrase, described(pick, noun, subject.features))


def comparison(pick: Picker) -> Phrase:
    """The river is wider than the street."""
    kind = (pick.one(("person", "animal", "road", "vehicle", "boat", "property", "object", "text")),)
    noun, subject = bare(pick, kind)
    adjective = quality(pick, noun)
    if adjective.absolute or adjective.kind in (*COLOURS, "worth"):
        raise UnluckyError
    _, other = bare(pick, kind)
    complement = pick.one((more, more, less, as_much))(adjective, subject.features)
    complement = complement._replace(modifiers=((adjective.lemma, noun.lemma),))
    return join(subject.phrase, be(subject.features, pick.one(("present", "past"))), complement, other.phrase)


def more(adjective: Adjective, features: Features) -> Phrase:
    """Wider than, more tired than."""
    english = comparative(adjective.lemma)
    if english.startswith("more "):
        return join(aligned("more/M", "plus/M"), predicate(adjective, features), THAN)
    french = adjective.french.form(features.gender, features.plural)
    return join(aligned(f"{english}/A", f"plus/a {french}/A"), THAN)


def less(adjective: Adjective, features: Features) -> Phrase:
    """Less wide than."""
    return join(aligned("less/M", "moins/M"), predicate(adjective, features), THAN)


def as_much(adjective: Adjective, features: Features) -> Phrase:
    """As wide as."""
    return join(aligned("as/M", "aussi/M"), predicate(adjective, features), aligned("as/T", "que/T"))


def location(pick: Picker) -> Phrase:
    """The key is under the old table."""
    how, names = pick.one(SPOTS)
    subject = pick.nominal(("object", "clothes", "book", "letter", "newspaper"))
    copula = be(subject.features, pick.one(("present", "past")), pick.negation(0.2))
    return join(subject.phrase, copula, how, pick.nominal(names, plural=0.0).phrase)


def there(pick: Picker) -> Phrase:
    """There are two cats near the castle: il y a."""
    subject = pick.nominal(("animal", "person", "vehicle"), ("a", "a", "a", "two", "three", "many", "several"))
    past = pick.chance(0.4)
    verb = ("were" if past else "are") if subject.features.plural else "was" if past else "is"
    opening = aligned(f"there/t {verb}/t", "il/t y/t avait/t" if past else "il/t y/t a/t")
    return join(opening, subject.phrase, place(pick))


def that_is(pick: Picker) -> Phrase:
    """That is a good idea: c'est."""
    if pick.chance(0.7):
        names, determiners = pick.one(SHOWN)
        return join(aligned("that/T is/B", "c'/T est/B"), pick.nominal(names, determiners, plural=0.0).phrase)
    those = pick.nominal(("object", "clothes", "text", "animal"), ("my", "our", "your", "their"), plural=1.0)
    return join(aligned("these/T are/B", "ce/T sont/B"), those.phrase)
