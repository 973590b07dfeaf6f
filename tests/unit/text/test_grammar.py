"""The built-in language: correct French, known truth, and sets that keep apart what they should."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise

import pytest
import sacrebleu

from regard.errors import InputError, UnknownNameError
from regard.text import grammar
from regard.text.grammar import Sentence, agreement, held_out_adjective, held_out_pair, sentences, words
from regard.text.grammar.frames import it_frame
from regard.text.grammar.french import conjugated
from regard.text.grammar.heldout import IN_TRAINING
from regard.text.grammar.it import IT_PATTERNS
from regard.text.grammar.lexicon import adjectives, nouns, verbs
from regard.text.grammar.naming import Named, read_name
from regard.text.grammar.nominal import PRONOUNS
from regard.text.grammar.patterns import SIMPLE, SIMPLE_QUESTIONS
from regard.text.grammar.sentence_sets import LONGEST, home
from regard.text.grammar.simple import FEWEST, MOST
from regard.text.grammar.spelling import ASPIRATED, french_text, spelled
from regard.text.grammar.verbal import BE, TENSES, Around, Negation, be, negated, passive, verb_group

VOWEL = "[aeiouyàâéèêîôœ]"
MUTE = rf"(?:{VOWEL}|h(?!{'|'.join(stem[1:] for stem in ASPIRATED)}))"
BEFORE_NOUNS = "petit|grand|belle|beaux|vieux|vieille|nouve|bon|mauvais|joli|jeune"
# What may never be read in French, and what it would be a mistake of.
MISTAKES = {
    "elision": rf"\b(?:le|la|de|que|ne|je|me|se|puisque|ma|sa|ce) {MUTE}",
    "no elision before h aspiré": rf"\b(?:l|d|qu|n|j|s)'h(?:{'|'.join(stem[1:] for stem in ASPIRATED)})",
    "no elision before a consonant": r"\b(?:l|d|qu|n|j|c)'[bcdfgjklmnpqrstvwxz]",
    "contraction": r"\b(?:de|à) les?\b",
    "si and il": r"\bsi ils?\b",
    "cet, bel, vieil and nouvel only before a vowel": r"\b(?:cet|bel|vieil|nouvel) (?!h)[^aeiouyàâéèêîôœ]",
    "beau, vieux and nouveau before a vowel": rf"\b(?:un|le|ce|mon|[nv]otre|leur|son) (?:beau|vieux|nouveau) {MUTE}",
    "des before an adjective, but for de les": rf"\b(?!rev)\w+ des (?:{BEFORE_NOUNS})",
    "spaces": r"  | [,.]|'\s|\S\?|^\s|\s$",
    "two articles": r"\b(?:le|la|les|un|une|des) (?:le|la|les|un|une|des)\b",
}


@cache
def drawn(name: str) -> list[Sentence]:
    return sentences(name)


def everything() -> list[Sentence]:
    return [sentence for name in grammar.SETS for sentence in drawn(name)]


def test_the_same_seed_gives_the_same_sentences() -> None:
    assert sentences("train", 50, seed=3) == sentences("train", 50, seed=3) != sentences("train", 50, seed=4)
    assert sentences("train", 50) == drawn("train")[:50]
    assert [len(drawn(name)) for name in grammar.SETS] == [40_000, 500, 1_000, 1_000, 500]
    assert sentences("test", 0) == []
    with pytest.raises(UnknownNameError, match="did you mean 'train'"):
        sentences("training")


def test_the_language_is_large_enough() -> None:
    assert min(map(len, grammar.lemmas())) >= 300
    assert len(set(grammar.PATTERNS)) == len(grammar.PATTERNS) >= 25
    assert {sentence.pattern for sentence in drawn("train")} == set(grammar.PATTERNS)
    said = {word.lower() for sentence in drawn("train") for word in sentence.source_words}
    assert all(noun.lemma in said or noun.plural in said for noun in nouns().values())
    assert all(lemma.lower() in said for lemma in adjectives())
    assert all(said.intersection(verb.english) for verb in verbs().values())


def test_lengths() -> None:
    lengths = [len(sentence.source_words) for sentence in drawn("train")]
    assert 9 <= sum(lengths) / len(lengths) <= 11
    assert max(lengths) <= LONGEST < min(len(sentence.source_words) for sentence in drawn("long"))


@pytest.mark.parametrize("name", ["train", "valid", "test"])
def test_a_fifth_is_simple_sentences_of_three_to_eight_words(name: str) -> None:
    simple = [one for one in drawn(name) if one.pattern in (*SIMPLE, *SIMPLE_QUESTIONS)]
    assert 0.18 <= len(simple) / len(drawn(name)) <= 0.25
    lengths = {len(one.source_words) - 1 for one in simple}  # the mark is no word here
    assert lengths == set(range(FEWEST, MOST + 1)) == set(range(3, 9))


def test_negations_are_contracted_and_in_full() -> None:
    said = Counter(word.lower() for sentence in drawn("train") for word in sentence.source_words)
    in_full = said["not"] + said["cannot"]
    contracted = sum(count for word, count in said.items() if word.endswith("n't"))
    assert 0.3 < in_full / (in_full + contracted) < 0.37
    before = {first.lower() for one in drawn("train") for first, word in pairwise(one.source_words) if word == "not"}
    auxiliaries = "do", "does", "did", "is", "are", "was", "were", "am", "has", "have", "will", "could", "must"
    assert before == set(auxiliaries)


def test_a_negation_in_full_has_the_same_french() -> None:
    somebody = [features for _, features in PRONOUNS.values()]
    tenses = [name for name, tense in TENSES.items() if tense.negated]
    for who in somebody:
        both = [[verb_group(verbs()["hide"], tense, who, Around(how)) for tense in tenses] for how in ("n't", "not")]
        both[0] += [be(who, tense, "n't") for tense in BE] + [passive(verbs()["sign"], who, "n't")]
        both[1] += [be(who, tense, "not") for tense in BE] + [passive(verbs()["sign"], who, "not")]
        for contracted, full in zip(*both, strict=True):
            assert contracted.french == full.french
            assert {"ne", "pas"} <= set(full.french)
            assert contracted == full if full.english[0] == "am" else contracted.english != full.english


@pytest.mark.parametrize(
    ("text", "negation", "words"),
    [
        ("did/nd not/N cross/V", "n't", [("didn't", "nd"), ("cross", "V")]),
        ("did/nd not/N cross/V", "not", [("did", "nd"), ("not", "N"), ("cross", "V")]),
        ("will/B not/N be/B", "n't", [("won't", "Bn"), ("be", "B")]),
        ("can/H not/N", "n't", [("can't", "Hn")]),
        ("can/H not/N", "not", [("cannot", "Hn")]),
        ("am/B not/N", "n't", [("am", "B"), ("not", "N")]),
    ],
)
def test_contractions(text: str, negation: Negation, words: list[tuple[str, str]]) -> None:
    assert negated(text, negation) == words


def test_a_past_that_looks_like_the_present_is_never_said() -> None:
    plural = [one for one in drawn("train") if re.match(r"(?:The \w+s|They|We|You|I) read\b", one.source)]
    assert plural
    assert all(re.search(r"\b(?:lis|lisons|lisez|lisent)\b", one.target) for one in plural)


def test_words() -> None:
    assert words("L'animal n'a pas dit qu'il dort aujourd'hui.") == (
        "L'", "animal", "n'", "a", "pas", "dit", "qu'", "il", "dort", "aujourd'hui", ".",
    )  # fmt: skip
    assert words("Didn't the teacher's dog, you know?") == (
        "Didn't", "the", "teacher's", "dog", ",", "you", "know", "?",
    )  # fmt: skip
    assert words("Est-ce qu’il puisqu'elle") == ("Est-ce", "qu’", "il", "puisqu'", "elle")


def test_a_name_may_have_a_count_and_a_seed() -> None:
    assert read_name("grammar:test") == Named("test", None, 0)
    assert read_name(["grammar:test:30"]) == Named("test", 30, 0)
    assert read_name("grammar:test:30:7").sentences() == sentences("test", 30, seed=7) != sentences("test", 30)
    assert read_name("grammar:test:30:7").sentences(4) == sentences("test", 4, seed=7)


@pytest.mark.parametrize("numbers", ["", "0", "5:", "5:x", "5:1:2", "-1", "5:-1", ":7", "1" * 5000])
def test_a_name_with_wrong_numbers_is_refused(numbers: str) -> None:
    with pytest.raises(InputError, match="by name, count and seed") as caught:
        read_name(f"grammar:test:{numbers}")
    assert "grammar:test:1000:7" in str(caught.value)


def test_no_sentence_is_in_two_sets_or_twice_in_one() -> None:
    counted = Counter(sentence.source for sentence in everything())
    assert max(counted.values()) == 1
    other = {sentence.source for name in grammar.SETS[1:] for sentence in sentences(name, 200, seed=9)}
    assert other.isdisjoint(sentence.source for sentence in drawn("train"))


def test_one_source_has_one_target() -> None:
    targets = defaultdict(set)
    for sentence in [*everything(), *sentences("train", 5000, seed=1)]:
        targets[sentence.source].add(sentence.target)
    assert all(len(found) == 1 for found in targets.values())


def held_out(sentence: Sentence) -> bool:
    return any(
        (held_out_pair if kind == "nouns" else held_out_adjective)(first, second)
        for kind, first, second in sentence.combinations
    )


@pytest.mark.parametrize("name", ["train", "valid", "test", "long"])
def test_held_out_combinations_are_never_seen(name: str) -> None:
    assert not any(map(held_out, drawn(name)))


def test_unseen_sentences_have_a_held_out_combination() -> None:
    assert all(map(held_out, drawn("unseen")))
    of_it = [
        sentence
        for sentence in drawn("unseen")
        if any(pronoun.gendered for pronoun in sentence.pronouns)
        and any(kind == "nouns" and held_out_pair(a, b) for kind, a, b in sentence.combinations)
    ]
    assert len(of_it) >= 0.4 * len(drawn("unseen"))


def test_combinations_name_the_nouns_and_adjectives_of_the_text() -> None:
    for sentence in drawn("test"):
        text = " ".join(sentence.source_words).replace("'s", "").lower()
        for kind, first, second in sentence.combinations:
            forms = [nouns()[second].lemma, nouns()[second].plural]
            assert any(form in text for form in forms), sentence
            if kind == "nouns":
                assert first in text or nouns()[first].plural in text, sentence


def test_one_in_ten_combinations_is_held_out() -> None:
    names = list(nouns())
    pairs = [held_out_pair(first, second) for first in names for second in names]
    assert 0.09 < sum(pairs) / len(pairs) < 0.11
    said = [held_out_adjective(adjective, noun) for adjective in adjectives() for noun in names]
    assert 0.09 < sum(said) / len(said) < 0.11
    assert not IN_TRAINING.nouns(*next((nouns()[a], nouns()[b]) for a in names for b in names if held_out_pair(a, b)))


def test_links_are_within_the_words_and_nearly_every_word_has_one() -> None:
    for sentence in everything():
        ours, theirs = sentence.source_words, sentence.target_words
        assert sentence.sure <= sentence.possible
        assert all(0 <= i < len(ours) and 0 <= j < len(theirs) for i, j in sentence.possible)
        assert {j for _, j in sentence.possible} == set(range(len(theirs))), sentence
        bare = set(range(len(ours))) - {i for i, _ in sentence.possible}
        assert all(ours[i] == "on" for i in bare), sentence  # on Monday: lundi
        assert re.sub(" ", "", sentence.source) == "".join(ours)
        assert re.sub(" ", "", sentence.target) == "".join(theirs)


def test_links_of_the_lectures_sentence() -> None:
    sentence = grammar.lecture()[0]
    ours, theirs = sentence.source_words, sentence.target_words
    sure = {(ours[i], theirs[j]) for i, j in sentence.sure}
    assert sure >= {("The", "L'"), ("animal", "animal"), ("cross", "traversé"), ("the", "la"), ("it", "il")}
    loose = {(ours[i], theirs[j]) for i, j in sentence.possible - sentence.sure}
    assert loose == {("didn't", "n'"), ("didn't", "a"), ("didn't", "pas"), ("cross", "a"), ("because", "qu'")}


def links(sentence: Sentence) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Sure links, and those that are only possible, as words."""
    ours, theirs = sentence.source_words, sentence.target_words
    loose = sentence.possible - sentence.sure
    return {(ours[i], theirs[j]) for i, j in sentence.sure}, {(ours[i], theirs[j]) for i, j in loose}


def test_links_of_a_negation_in_full_and_of_questions() -> None:
    shown = {sentence.source: links(sentence) for sentence in grammar.examples()}
    sure, loose = shown["The dog did not eat the apple."]
    assert {("not", "pas"), ("eat", "mangé")} <= sure
    assert loose == {("did", "n'"), ("did", "a"), ("did", "pas"), ("not", "n'"), ("eat", "a")}
    sure, loose = shown["Is the dog tired?"]
    assert {("Is", "est"), ("tired", "fatigué")} <= sure
    assert loose == {("Is", "Est-ce"), ("Is", "que")}
    assert shown["The cat cannot sleep."][0] >= {("cannot", "peut"), ("sleep", "dormir")}
    sure, _ = shown["The pizza came out of the oven and it tasted good."]
    assert {("out", "du"), ("of", "du"), ("the", "du"), ("it", "elle"), ("tasted", "était")} <= sure


def test_pronouns_point_at_what_they_say() -> None:
    for sentence in everything():
        for pronoun in sentence.pronouns:
            ours, theirs = sentence.source_words, sentence.target_words
            assert ours[pronoun.source] == "it"
            assert theirs[pronoun.target] == pronoun.form
            assert (pronoun.source, pronoun.target) in sentence.sure
            meant, rival = nouns()[ours[pronoun.antecedent]], nouns()[ours[pronoun.rival]]
            assert pronoun.form == ("il" if meant.gender == "m" else "elle")
            assert pronoun.gendered == (meant.gender != rival.gender)
            assert sum(word.lower() in ("il", "elle") for word in theirs) == 1
        assert ("it" in sentence.source_words) == bool(sentence.pronouns)


def test_agreement() -> None:
    swap = {"il": "elle", "elle": "il"}
    asked = [sentence for sentence in drawn("test") if any(pronoun.gendered for pronoun in sentence.pronouns)]
    assert len(asked) > 100
    for sentence in asked:
        wrong = re.sub(r"\b(?:il|elle)\b", lambda found: swap[found[0]], sentence.target)
        assert agreement(sentence, sentence.target) is True
        assert agreement(sentence, wrong) is False
        assert agreement(sentence, f"{sentence.target} {wrong}") is False
        assert agreement(sentence, "") is False
    assert agreement(grammar.lecture()[-1], "il") is None


def test_neither_place_nor_frequency_gives_the_antecedent_away() -> None:
    subjects: dict[str, list[bool]] = defaultdict(list)
    for sentence in drawn("train"):
        for pronoun in sentence.pronouns:
            subjects[sentence.pattern].append(pronoun.antecedent < pronoun.rival)
    told = [about for found in subjects.values() for about in found]
    assert 0.35 <= len(told) / len(drawn("train")) <= 0.4
    assert set(subjects) == set(IT_PATTERNS)
    assert all(0.45 < sum(found) / len(found) < 0.55 for found in subjects.values())
    said = [pronoun for sentence in drawn("train") for pronoun in sentence.pronouns]
    assert 0.45 < sum(pronoun.form == "il" for pronoun in said) / len(said) < 0.55
    assert sum(pronoun.gendered for pronoun in said) > 0.55 * len(said)


@pytest.mark.parametrize("name", IT_PATTERNS)
def test_what_is_said_decides_which_noun_is_meant(name: str) -> None:
    frame = it_frame(name)
    (against, against_object), (favour, favour_object) = frame.against, frame.favour
    assert not set(against) & set(against_object)
    assert not set(favour) & set(favour_object)
    if not (frame.measures or frame.contest):
        assert not {*against, *favour} & {*against_object, *favour_object}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_french_without_mistakes(mistake: str) -> None:
    pattern = re.compile(MISTAKES[mistake])
    assert [found.target for found in everything() if pattern.search(found.target[0].lower() + found.target[1:])] == []


def test_sentences_look_like_sentences() -> None:
    for sentence in everything():
        for text in (sentence.source, sentence.target):
            assert text[0].isupper(), text
            assert re.fullmatch(r"[^.?]*[.?]", text), text


def test_spelling() -> None:
    def text(*given: str) -> str:
        return french_text(spelled(given)[0])

    assert text("de", "le", "héros", "et", "de", "le", "ami", "de", "les", "rois") == "Du héros et de l'ami des rois"
    assert text("ce", "homme", "à", "le", "haricot", "à", "la", "histoire") == "Cet homme au haricot à l'histoire"
    assert text("même", "si", "il", "ne", "a", "sa", "oie", "que", "elle") == "Même s'il n'a son oie qu'elle"
    assert spelled(("près", "de", "le", "pont")) == (["près", "du", "pont"], [0, 1, 1, 2])


def test_conjugation() -> None:
    eat, buy, end = conjugated("manger"), conjugated("acheter"), conjugated("finir")
    assert eat.present[2:4] == ("mangeons", "mangez")
    assert eat.imperfect[1:3] == ("mangeait", "mangions")
    assert (buy.present[1], buy.future[1], buy.participle.feminines) == ("achète", "achètera", "achetées")
    assert (end.present[4], end.imperfect[0], end.participle.masculine) == ("finissent", "finissais", "fini")
    assert conjugated("commencer").imperfect[1:3] == ("commençait", "commencions")
    assert conjugated("espérer").future[0] == "espérerai"
    assert conjugated("nettoyer").present[:3] == ("nettoie", "nettoie", "nettoyons")


def test_the_lectures_sentences() -> None:
    assert [(sentence.source, sentence.target) for sentence in grammar.lecture()] == [
        (
            "The animal didn't cross the street because it was too tired.",
            "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.",
        ),
        (
            "The animal didn't cross the street because it was too wide.",
            "L'animal n'a pas traversé la rue parce qu'elle était trop large.",
        ),
        (
            "The trophy doesn't fit in the suitcase because it is too big.",
            "Le trophée ne rentre pas dans la valise parce qu'il est trop grand.",
        ),
        (
            "The trophy doesn't fit in the suitcase because it is too small.",
            "Le trophée ne rentre pas dans la valise parce qu'elle est trop petite.",
        ),
        (
            "The agreement on the European economic area was signed in August.",
            "L'accord sur la zone économique européenne a été signé en août.",
        ),
    ]


def test_what_is_shown_is_never_trained_on() -> None:
    assert grammar.examples()[: len(grammar.lecture())] == grammar.lecture()
    assert not any(map(held_out, grammar.examples()))
    assert {home(sentence.source) for sentence in grammar.examples()} == {"test"}
    known = {sentence.source for name in ("train", "valid") for sentence in drawn(name)}
    assert known.isdisjoint(sentence.source for sentence in grammar.examples())


def test_words_change_places_in_training_too() -> None:
    found = [sentence.target for sentence in drawn("train") if "European economic" in sentence.source]
    assert found
    assert all(re.search("économiques? européen|monétaires? européen", target) for target in found)


@pytest.mark.parametrize("name", grammar.SETS)
def test_word_for_word_is_not_enough(name: str) -> None:
    some = drawn(name)[:1000]
    outputs = [grammar.word_for_word(sentence.source) for sentence in some]
    assert sacrebleu.corpus_bleu(outputs, [[sentence.target for sentence in some]]).score < 40


def test_word_for_word() -> None:
    assert grammar.word_for_word("The black cats slept.") == "Le noir chat dormir."
    assert grammar.word_for_word("") == ""
    assert grammar.word_for_word("Xylophone?") == "Xylophone ?"
