"""Verb groups: tenses, negation, adverbs and object pronouns around the verb, and the verb "to be"."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Literal, NamedTuple

from regard.text.grammar.english import Forms
from regard.text.grammar.french import IL, ILS, JE, NOUS, VOUS
from regard.text.grammar.lexicon import Adjective, Verb, helper
from regard.text.grammar.nominal import Features
from regard.text.grammar.phrase import Phrase, Word, aligned, linked, marked

Negation = Literal["", "n't", "not"]  # none, contracted, in full: the same in French


class Tense(NamedTuple):
    """One tense in both languages. V is the letter of the verb, n of the negation; the rest is written as it links."""

    english: str
    negated: str  # English with "not", in full; empty where it is never said
    helper: str  # the French verb that is conjugated, if it is not the verb itself; "perfect" for être or avoir
    form: str  # of what is conjugated
    letters: str = "V"  # of what is conjugated


TENSES = {
    "present": Tense("{third}/V", "{does}/n not/N {base}/V", "", "present"),
    "progressive": Tense("{is}/v {ing}/V", "{is}/v not/N {ing}/V", "", "present"),
    "past": Tense("{past}/V", "did/nd not/N {base}/V", "perfect", "present", "vd"),
    "perfect": Tense("{has}/P {participle}/V", "{has}/P not/N {participle}/V", "perfect", "present", "P"),
    "lasting": Tense("{past}/V", "did/n not/N {base}/V", "", "imperfect"),
    "past progressive": Tense("{was}/v {ing}/V", "{was}/v not/N {ing}/V", "", "imperfect"),
    "used": Tense("used/v to/v {base}/V", "", "", "imperfect"),
    "future": Tense("will/v {base}/V", "will/v not/N {base}/V", "", "future"),
    "going": Tense("{is}/g going/G to/v {base}/V", "{is}/g not/N going/G to/v {base}/V", "aller", "present", "G"),
    "can": Tense("can/H {base}/V", "can/H not/N {base}/V", "pouvoir", "present", "H"),
    "could": Tense("could/H {base}/V", "could/H not/N {base}/V", "pouvoir", "imperfect", "H"),
    "must": Tense("must/H {base}/V", "must/H not/N {base}/V", "devoir", "present", "H"),
    "want": Tense("{wants}/H to/v {base}/V", "{does}/n not/N want/H to/v {base}/V", "vouloir", "present", "H"),
    "wanted": Tense("wanted/H to/v {base}/V", "did/n not/N want/H to/v {base}/V", "vouloir", "imperfect", "H"),
    # An order, and what follows the "does", "did", "will", "can" or "is" of a question.
    "base": Tense("{base}/V", "do/n not/N {base}/V", "", "present"),
    "base past": Tense("{base}/V", "", "perfect", "present", "v"),
    "base future": Tense("{base}/V", "", "", "future"),
    "base can": Tense("{base}/V", "", "pouvoir", "present", "v"),
    "-ing": Tense("{ing}/V", "", "", "present"),
}
CONTRACTED = {"will": "won't", "can": "can't"}  # the others take n't as they are
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

    negation: Negation = ""
    adverb: str = ""
    clitic: Clitic | None = None
    agreed: tuple[str, bool] | None = None  # gender and number of an object that stands before: "la lettre qu'il a lue"


PLAIN = Around()


@lru_cache(maxsize=1 << 14)
def verb_group(verb: Verb, tense: str, subject: Features, around: Around = PLAIN) -> Phrase:
    """A verb with its auxiliaries, negation, adverb, object pronoun and particle."""
    if verb.lasting and tense == "past":
        tense = "lasting"
    elif tense == "past" and verb.english.past == verb.english.base and subject.person != IL and not around.negation:
        tense = "perfect"  # "they read" would be the present; "they have read" is the same in French
    return linked(
        english_words(verb, TENSES[tense], subject, around), french_words(verb, TENSES[tense], subject, around)
    )


def english_words(verb: Verb, tense: Tense, subject: Features, around: Around) -> list[Word]:
    """The English side of a verb group."""
    forms = english_forms(verb.english, subject)
    if around.negation:
        words = negated(tense.negated.format_map(forms), around.negation)
    else:
        words = marked(tense.english.format_map(forms))
    if around.adverb:
        words.insert(len(words) - 1, (around.adverb, "Q"))
    words += [(word, "Z" if verb.french_particle else "v") for word in verb.particle.split()]
    if around.clitic:
        words.append((around.clitic.english, "O"))
    return words


def negated(text: str, negation: Negation) -> list[Word]:
    """English words with their letters, "not" among them in full, as they are said in full or contracted."""
    parts = marked(text)
    place = parts.index(("not", "N"))
    word, letters = parts[place - 1]
    if negation == "n't" and word != "am":
        one_word = CONTRACTED.get(word, word + "n't")
    elif word == "can":
        one_word = "cannot"
    else:
        return parts
    return [*parts[: place - 1], (one_word, letters if "n" in letters else letters + "n"), *parts[place + 1 :]]


def english_forms(verb: Forms, subject: Features) -> dict[str, str]:
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
    if around.negation:
        before, rest = [("ne", "n"), *before], [("pas", "N"), *rest]
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
def passive(verb: Verb, subject: Features, negation: Negation = "") -> Phrase:
    """Was signed: a été signé."""
    was = "was" if subject.person == IL else "were"
    has = helper("avoir").present[subject.person]
    done = verb.french.participle.form(subject.gender, subject.plural)
    if not negation:
        return aligned(f"{was}/b {verb.english.participle}/V", f"{has}/b été/b {done}/V")
    ours = negated(f"{was}/b not/N {verb.english.participle}/V", negation)
    return linked(ours, marked(f"ne/n {has}/b pas/N été/b {done}/V"))


# By tense: what English says of me, of one, of others, what follows, and the French form.
BE = {
    "present": ("am", "is", "are", "", "present"),
    "past": ("was", "was", "were", "", "imperfect"),
    "future": ("will", "will", "will", " be/B", "future"),
}


@cache
def be(subject: Features, tense: str, negation: Negation = "") -> Phrase:
    """The verb "to be"."""
    *_, rest, form = BE[tense]
    word, french = english_be(subject, tense), getattr(helper("être"), form)[subject.person]
    if not negation:
        return aligned(f"{word}/B{rest}", f"{french}/B")
    return linked(negated(f"{word}/B not/N{rest}", negation), marked(f"ne/n {french}/B pas/N"))


def english_be(subject: Features, tense: str) -> str:
    """Am, is, are, was, were or will."""
    me, one, others, *_ = BE[tense]
    return me if subject.person == JE else one if subject.person == IL else others


DEGREES = {"too": "trop", "very": "très", "so": "si", "enough": "assez"}


@lru_cache(maxsize=1 << 12)
def predicate(adjective: Adjective, subject: Features, degree: str = "") -> Phrase:
    """An adjective said of something: too tired, wide enough."""
    french = adjective.french.form(subject.gender, subject.plural)
    if not degree:
        return aligned(f"{adjective.lemma}/A", f"{french}/A")
    english = f"{adjective.lemma}/A enough/D" if degree == "enough" else f"{degree}/D {adjective.lemma}/A"
    return aligned(english, f"{DEGREES[degree]}/D {french}/A")
