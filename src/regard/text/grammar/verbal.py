"""Verb groups: tenses, negation, adverbs and object pronouns around the verb, and the verb "to be"."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

from regard.text.grammar.english import Forms
from regard.text.grammar.french import IL, ILS, JE, NOUS, VOUS
from regard.text.grammar.lexicon import Adjective, Verb, helper
from regard.text.grammar.nominal import Features
from regard.text.grammar.phrase import Phrase, Word, aligned, linked, marked


class Tense(NamedTuple):
    """One tense in both languages. V is the letter of the verb, n of the negation; the rest is written as it links."""

    english: str
    negated: str  # English with "not"; empty where it is never said
    helper: str  # the French verb that is conjugated, if it is not the verb itself; "perfect" for être or avoir
    form: str  # of what is conjugated
    letters: str = "V"  # of what is conjugated


TENSES = {
    "present": Tense("{third}/V", "{does}n't/n {base}/V", "", "present"),
    "progressive": Tense("{is}/v {ing}/V", "{isnt}/nv {ing}/V", "", "present"),
    "past": Tense("{past}/V", "didn't/n {base}/V", "perfect", "present", "vn"),
    "perfect": Tense("{has}/P {participle}/V", "{has}n't/Pn {participle}/V", "perfect", "present", "P"),
    "lasting": Tense("{past}/V", "didn't/n {base}/V", "", "imperfect"),
    "past progressive": Tense("{was}/v {ing}/V", "{was}n't/nv {ing}/V", "", "imperfect"),
    "used": Tense("used/v to/v {base}/V", "", "", "imperfect"),
    "future": Tense("will/v {base}/V", "won't/nv {base}/V", "", "future"),
    "going": Tense("{is}/g going/G to/v {base}/V", "{isnt}/gn going/G to/v {base}/V", "aller", "present", "G"),
    "can": Tense("can/H {base}/V", "can't/Hn {base}/V", "pouvoir", "present", "H"),
    "could": Tense("could/H {base}/V", "couldn't/Hn {base}/V", "pouvoir", "imperfect", "H"),
    "must": Tense("must/H {base}/V", "mustn't/Hn {base}/V", "devoir", "present", "H"),
    "want": Tense("{wants}/H to/v {base}/V", "{does}n't/n want/H to/v {base}/V", "vouloir", "present", "H"),
    "wanted": Tense("wanted/H to/v {base}/V", "didn't/n want/H to/v {base}/V", "vouloir", "imperfect", "H"),
    # An order, and what follows the "does", "did", "will" or "is" of a question.
    "base": Tense("{base}/V", "don't/n {base}/V", "", "present"),
    "base past": Tense("{base}/V", "", "perfect", "present", "v"),
    "base future": Tense("{base}/V", "", "", "future"),
    "-ing": Tense("{ing}/V", "", "", "present"),
}
# English adverb before the verb: the French one behind it, and whether it takes "ne".
ADVERBS = {
    "often": ("souvent", False),
    "always": ("toujours", False),
    "sometimes": ("parfois", False),
    "never": ("jamais", True),
}


class Clitic(NamedTuple):
    """An object pronoun: behind the English verb, before the French one."""

    english: str
    french: str
    gender: str
    plural: bool


CLITICS = {("m", False): ("him", "le"), ("f", False): ("her", "la")}


def clitic(features: Features) -> Clitic:
    """Him, her or them for somebody."""
    ours, theirs = CLITICS.get((features.gender, features.plural), ("them", "les"))
    return Clitic(ours, theirs, features.gender, features.plural)


class Around(NamedTuple):
    """What may stand around a verb."""

    negative: bool = False
    adverb: str = ""
    clitic: Clitic | None = None
    agreed: tuple[str, bool] | None = None  # gender and number of an object that stands before: "la lettre qu'il a lue"


PLAIN = Around()
NEGATIVE = Around(negative=True)


@lru_cache(maxsize=1 << 14)
def verb_group(verb: Verb, tense: str, subject: Features, around: Around = PLAIN) -> Phrase:
    """A verb with its auxiliaries, negation, adverb, object pronoun and particle."""
    if verb.lasting and tense == "past":
        tense = "lasting"
    return linked(
        english_words(verb, TENSES[tense], subject, around), french_words(verb, TENSES[tense], subject, around)
    )


def english_words(verb: Verb, tense: Tense, subject: Features, around: Around) -> list[Word]:
    """The English side of a verb group."""
    found = marked((tense.negated if around.negative else tense.english).format_map(said(verb.english, subject)))
    if around.adverb:
        found.insert(len(found) - 1, (around.adverb, "Q"))
    found += [(word, "Z" if verb.french_particle else "v") for word in verb.particle.split()]
    if around.clitic:
        found.append((around.clitic.english, "O"))
    return found


def said(verb: Forms, subject: Features) -> dict[str, str]:
    """The forms of a verb and of the auxiliaries as the subject asks for them."""
    third = subject.person == IL
    present = {JE: "am", IL: "is"}.get(subject.person, "are")
    return {
        **verb._asdict(),
        "third": verb.third if third else verb.base,
        "does": "does" if third else "do",
        "has": "has" if third else "have",
        "wants": "wants" if third else "want",
        "is": present,
        "isnt": {"am": "am/v not"}.get(present, present + "n't"),
        "was": "was" if third or subject.person == JE else "were",
    }


def french_words(verb: Verb, tense: Tense, subject: Features, around: Around) -> list[Word]:
    """The French side: what is conjugated, with the negation around it, and what follows."""
    finite, rest = conjugated(verb, tense, subject, around)
    before: list[Word] = []
    if verb.reflexive:
        before.append((REFLEXIVE[subject.person], "v"))
    if around.clitic:
        before.append((around.clitic.french, "O"))
    if tense.helper not in ("", "perfect"):
        before, rest = [], before + rest
    if around.negative:
        before, rest = [("ne", "n"), *before], [("pas", "n"), *rest]
    if around.adverb:
        word, takes_ne = ADVERBS[around.adverb]
        before, rest = ([("ne", "q"), *before] if takes_ne else before), [(word, "Q"), *rest]
    particle = [(verb.french_particle, "Z" if verb.particle else "v")] if verb.french_particle else []
    return [*before, finite, *rest, *particle]


REFLEXIVE = {JE: "me", IL: "se", NOUS: "nous", VOUS: "vous", ILS: "se"}


def conjugated(verb: Verb, tense: Tense, subject: Features, around: Around) -> tuple[Word, list[Word]]:
    """The conjugated word, and the participle or infinitive that goes with it."""
    if not tense.helper:
        return (getattr(verb.french, tense.form)[subject.person], tense.letters), []
    if tense.helper != "perfect":
        return (getattr(helper(tense.helper), tense.form)[subject.person], tense.letters), [
            (verb.french.infinitive, "V")
        ]
    auxiliary = helper("être" if verb.with_be else "avoir").present[subject.person]
    return (auxiliary, tense.letters), [(participle(verb, subject, around), "V")]


def participle(verb: Verb, subject: Features, around: Around) -> str:
    """The participle: with être it agrees with the subject, with avoir with an object that stands before it."""
    if verb.with_be:
        gender, plural = subject.gender, subject.plural
    elif around.clitic:
        gender, plural = around.clitic.gender, around.clitic.plural
    else:
        gender, plural = around.agreed or ("m", False)
    return verb.french.participle.form(gender, plural)


@lru_cache(maxsize=1 << 12)
def passive(verb: Verb, subject: Features, negative: bool = False) -> Phrase:
    """Was signed: a été signé."""
    was = "was" if subject.person == IL else "were"
    english = f"{was}n't/bn {verb.english.participle}/V" if negative else f"{was}/b {verb.english.participle}/V"
    has = helper("avoir").present[subject.person]
    done = verb.french.participle.form(subject.gender, subject.plural)
    return aligned(english, f"ne/n {has}/b pas/n été/b {done}/V" if negative else f"{has}/b été/b {done}/V")


BE = {
    "present": ("is", "are", "present"),
    "past": ("was", "were", "imperfect"),
    "future": ("will/B be", "will/B be", "future"),
}


@cache
def be(subject: Features, tense: str, negative: bool = False) -> Phrase:
    """The verb "to be" for somebody or something that is not spoken to."""
    singular, plural, form = BE[tense]
    found = plural if subject.plural else singular
    if negative:
        found = "won't/Bn be" if tense == "future" else found + "n't"
    french = getattr(helper("être"), form)[subject.person]
    if not negative:
        return aligned(f"{found}/B", f"{french}/B")
    return aligned(f"{found}/Bn", f"ne/n {french}/B pas/n")


DEGREES = {"too": "trop", "very": "très", "so": "si", "enough": "assez"}


@lru_cache(maxsize=1 << 12)
def predicate(adjective: Adjective, subject: Features, degree: str = "") -> Phrase:
    """An adjective said of something: too tired, wide enough."""
    french = adjective.french.form(subject.gender, subject.plural)
    if not degree:
        return aligned(f"{adjective.lemma}/A", f"{french}/A")
    english = f"{adjective.lemma}/A enough/D" if degree == "enough" else f"{degree}/D {adjective.lemma}/A"
    return aligned(english, f"{DEGREES[degree]}/D {french}/A")
