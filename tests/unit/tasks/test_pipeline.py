"""Whatever is typed and whatever a model says: spans are kept, nothing is lost, nothing goes round in circles."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from regard.errors import InputError
from regard.tasks import Translator, load
from regard.tasks.glossary import Glossary
from regard.tasks.long_texts import TooLongError
from regard.tasks.pipeline import TranslationPipeline, doubt_of, search_lines
from regard.tasks.translator import Translation
from regard.text.protect import find_spans
from regard.text.repetition import repeats
from regard.text.slots import SLOTS
from tests.translator_fakes import HOSTILE, FakeTranslator, Say, dropped, looping, silent, without_digits

WORDS = {
    "the": "le", "cat": "chat", "sleeps": "dort", "hello": "bonjour", "click": "cliquez", "here": "ici", "see": "voir",
    "files": "fichiers", "now": "maintenant", "i": "je", "am": "suis",
}  # fmt: skip


def by_dictionary(text: str) -> str:
    """Word by word; a sentence begins with a capital."""
    words = [WORDS.get(word.strip(".,!?").lower(), word.strip(".,!?")) for word in text.split(" ")]
    marks = [word[len(word.rstrip(".,!?")) :] for word in text.split(" ")]
    line = " ".join(word + mark for word, mark in zip(words, marks, strict=True))
    return line[:1].upper() + line[1:]


def translate(text: str, say: Say = by_dictionary, *, slots: bool = True, glossary: Glossary | None = None) -> str:
    return TranslationPipeline(FakeTranslator(say, knows_slots=slots), glossary).translate([text])[0].text


@pytest.mark.parametrize("slots", [True, False])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat sleeps.", "Le chat dort."),
        ("the cat sleeps", "le chat dort"),
        ("  The cat sleeps.  Hello!\n\n- hello\n", "  Le chat dort.  Bonjour!\n\n- bonjour\n"),
        ("THE CAT SLEEPS!", "LE CHAT DORT!"),
        ("HELLO", "BONJOUR"),
        ("SEE {file} NOW", "VOIR {file} MAINTENANT"),
        ("NASA", "NASA"),
        ("2024-05-01", "2024-05-01"),
        ("😀 👍", "😀 👍"),
        ("Hello 😀", "Bonjour 😀"),
        ("1. Hello", "1. Bonjour"),
        ("a) Hello", "a) Bonjour"),
        ("%s", "%s"),
        ("", ""),
        ("   ", "   "),
        ("<p>Hello</p>", "<p>Bonjour</p>"),
        ("Click <b> here </b> now", "Cliquez <b> ici </b> maintenant"),
        ("See https://x.org/the/cat now.", "Voir https://x.org/the/cat maintenant."),
        ("%s files", "%s fichiers"),
    ],
)
def test_what_people_type(text: str, expected: str, slots: bool) -> None:
    assert translate(text, slots=slots) == expected


def test_one_search_for_all_and_one_for_repairs() -> None:
    fake = FakeTranslator(by_dictionary)
    TranslationPipeline(fake).translate(["Hello. The cat sleeps.", "Hello %s.", ""])
    assert fake.asked == [["Hello.", "The cat sleeps.", f"Hello {SLOTS[0]}."]]
    fake = FakeTranslator(dropped)
    TranslationPipeline(fake).translate(["Hello. The cat sleeps.", "Hello %s now.", "See %s."])
    assert len(fake.asked) == 2
    assert fake.asked[1] == [f"Hello {SLOTS[0]} now.", "Hello", "now.", f"See {SLOTS[0]}.", "See"]


def test_a_lost_slot_is_repaired_by_the_pieces_between() -> None:
    assert translate("Click <b>here</b> now, see %s.", lambda text: dropped(by_dictionary(text))) == (
        "Cliquez <b>ici</b> maintenant, voir %s."
    )


def test_tags_in_the_wrong_order_are_repaired() -> None:
    def swapped(text: str) -> str:
        return by_dictionary(text).translate(str.maketrans(SLOTS[0] + SLOTS[1], SLOTS[1] + SLOTS[0]))

    assert translate("Click <b>here</b> now.", swapped) == "Cliquez <b>ici</b> maintenant."


def test_more_spans_than_slots() -> None:
    text = " ".join(f"see {{{name}}}" for name in "abcdefghijklmnopqrst")
    assert translate(text) == text.replace("see", "voir")


def test_a_line_is_translated_as_it_is_or_as_a_sentence_whichever_is_likelier() -> None:
    class Likes(FakeTranslator):
        def search(self, texts, **options):  # type: ignore[no-untyped-def]
            likely = {"the cat": -5.0, "The cat.": -1.0, "hello": -1.0, "Hello.": -5.0}
            return [[Translation(f"{text} !", likely[text], False, likely[text], 2)] for text in texts]

    fake = Likes(str)
    answers = TranslationPipeline(fake).translate(["the cat", "hello"])
    assert [answer.text for answer in answers] == ["The cat. !", "hello"]


def test_a_sentence_in_quotes_has_its_mark_already() -> None:
    fake = FakeTranslator(by_dictionary)
    TranslationPipeline(fake).translate(['"Hello here."', "(hello!)", "“The cat”"])
    assert fake.asked == [['"Hello here."', "(hello!)", "“The cat”", "“The cat”."]]


def test_tags_of_lines_cells_and_paragraphs_part_what_is_translated() -> None:
    fake = FakeTranslator(by_dictionary)
    text = "<ul><li>The cat<br/>sleeps.</li><li>Hello <b>here</b>.</li></ul>"
    (answer,) = TranslationPipeline(fake).translate([text])
    assert answer.text == "<ul><li>Le chat<br/>dort.</li><li>Bonjour <b>ici</b>.</li></ul>"
    assert fake.asked == [["The cat", "The cat.", "sleeps.", "Hello here.", "here", "Here."]]


def test_a_translation_without_the_words_of_its_source_is_none() -> None:
    def only_slots(text: str) -> str:
        return "".join(char for char in text if char in SLOTS) or by_dictionary(text)

    assert translate("%s files", only_slots) == "%s fichiers"


def test_another_hypothesis_is_taken_before_pieces() -> None:
    class SecondIsRight(FakeTranslator):
        def search(self, texts, **options):  # type: ignore[no-untyped-def]
            best = super().search(texts, **options)
            right = Translation(f"Voir {SLOTS[0]} maintenant.", -2.0)
            return [[one[0], right][: options.get("nbest", 1)] for one in best]

    fake = SecondIsRight(silent)
    assert TranslationPipeline(fake).translate(["See %s now."])[0].text == "Voir %s maintenant."


def test_numbers_that_a_model_loses_stand_as_slots() -> None:
    assert translate("The cat sleeps 1250 here.", lambda text: without_digits(by_dictionary(text))) == (
        "Le chat dort 1250 ici."
    )
    assert translate("Hello at 10 p.m.", lambda _: "Bonjour à 22 h.") == "Bonjour à 22 h."


def test_signs_that_a_model_loses_stand_in_a_slot_with_their_number() -> None:
    def unsigned(text: str) -> str:
        return by_dictionary(text).translate(dict.fromkeys(map(ord, "$€£¥%"))).replace("°F", "°C")

    for source, expected in [
        ("The cat $1,250 here.", "Le chat $1,250 ici."),
        ("The cat £7 here.", "Le chat £7 ici."),
        ("The cat 12.5% here.", "Le chat 12.5% ici."),
        ("The cat 100°F here.", "Le chat 100°F ici."),
        ("The cat 20 € here.", "Le chat 20 € ici."),
    ]:
        assert translate(source, unsigned) == expected


def test_a_sign_may_be_said_in_words() -> None:
    for source, said in [
        ("It is €20.", "C'est 20 euros."), ("It is $1,000.", "C'est 1 000 dollars."), ("50% came.", "50 pour cent."),
    ]:  # fmt: skip
        assert translate(source, lambda text, said=said: said) == said  # type: ignore[misc]


def test_marks_stand_as_people_write_them() -> None:
    assert translate("Hello now!!!", lambda _: "Bonjour maintenant ! ! !") == "Bonjour maintenant !!!"
    assert translate("Hello... now?", lambda _: "Bonjour...Maintenant ?") == "Bonjour... Maintenant ?"
    assert translate("Hello ...now?", lambda _: "Bonjour ...maintenant ?") == "Bonjour ...maintenant ?"


def test_circles_are_ended() -> None:
    assert translate("The cat sleeps.", looping) == "The cat sleeps. encore et"


def test_nothing_said_leaves_the_source_and_full_doubt() -> None:
    (answer,) = TranslationPipeline(FakeTranslator(silent)).translate(["The cat sleeps. 5"])
    assert answer.text == "The cat sleeps. 5"
    assert answer.doubt == 1.0


ALPHABET = st.sampled_from(
    ["the cat", "HELLO", "a", "é", " ", "  ", "\n", "\t", "\u2028", ".", "!", "?", ",", ": ", "%s", "%1$d", "{x}",
     "{{y}}", "$1", "<b>", "</b>", "<br/>", "&amp;", "https://x.y/z", "a@b.org", "😀", "`code`", "/a/b.txt", "1.2.3",
     "12345", "1990", "@me", "- ", "1. ", "\ue000", "\ue007", "'", '"', "(", ")", "{", "<", "term"]
)  # fmt: skip
TERMS = Glossary({"term": "terme", "the cat": "le {félin}"})


@given(
    st.lists(ALPHABET, max_size=14).map("".join) | st.text(max_size=30),
    st.sampled_from(HOSTILE),
    st.booleans(),
    st.booleans(),
)
@example("<b>", str.swapcase, True, False)
def test_no_translator_loses_a_span_a_line_or_outer_white_space(
    text: str, say: Say, slots: bool, glossary: bool
) -> None:
    pipeline = TranslationPipeline(FakeTranslator(say, knows_slots=slots), TERMS if glossary else None)
    (answer,) = pipeline.translate([text])
    assert all(answer.text.count(span.fill) == text.count(span.fill) for span in find_spans(text))
    for end in "\n\r\u2028\x85":
        assert answer.text.count(end) == text.count(end)
    assert len(answer.text) - len(answer.text.lstrip()) == len(text) - len(text.lstrip())
    assert len(answer.text) - len(answer.text.rstrip()) == len(text) - len(text.rstrip())
    assert bool(answer.text.strip()) == bool(text.strip())
    assert 0.0 <= answer.doubt <= 1.0
    slot_counts = Counter(char for char in answer.text if char in SLOTS)
    assert slot_counts == Counter(char for char in text if char in SLOTS)


@pytest.mark.parametrize("say", HOSTILE)
def test_no_sentence_goes_round_in_circles(say: Say) -> None:
    for text in ("The cat sees the dog.", "Click <b>here</b> now.", "hello"):
        assert not repeats(translate(text, say), text)


def test_terms_are_used_and_told_where_not() -> None:
    glossary = Glossary({"cat": "félin", "hello": "salut"})

    def ask(text: str, say: Say = by_dictionary, slots: bool = True) -> tuple[str, tuple[str, ...]]:
        pipeline = TranslationPipeline(FakeTranslator(say, knows_slots=slots), glossary)
        (answer,) = pipeline.translate([text])
        return answer.text, answer.unused_terms

    assert ask("The cat sleeps. Hello!") == ("Le félin dort. Salut!", ())
    assert ask("THE CATS SLEEPS!") == ("LE FÉLINS DORT!", ())
    assert ask("Hello") == ("Salut", ())
    lost = ask(
        "The cat sleeps {x}.",
        lambda text: by_dictionary(text).replace(SLOTS[0], "") if SLOTS[1] in text else by_dictionary(text),
    )
    assert lost == ("Le chat dort {x}.", ("cat",))
    assert ask("The cat sleeps.", slots=False) == ("Le chat dort.", ("cat",))
    assert ask("The cat sleeps.", lambda _: "Le félin dort.", slots=False) == ("Le félin dort.", ())


def test_doubt_is_of_the_mean_probability_and_of_the_worst_sentence() -> None:
    assert doubt_of(Translation("x", -9.0, False, 0.0, 3)) == 0.0
    assert doubt_of(Translation("x", -9.0, False, -3.0, 3)) == pytest.approx(1 - 2.718281828**-1)
    assert 0 < doubt_of(Translation("x", -0.5)) < 1

    class Half(FakeTranslator):
        def search(self, texts, **options):  # type: ignore[no-untyped-def]
            totals = {"Good one.": 0.0, "Bad one.": -2.0794415}
            return [[Translation(text, totals[text], False, totals[text], 3)] for text in texts]

    answers = TranslationPipeline(Half(str)).translate(["Good one.", "Bad one.", "Good one. Bad one.", "5"])
    assert [answer.doubt for answer in answers] == pytest.approx([0.0, 0.5, (0.25 + 0.5) / 2, 0.0])


@pytest.fixture(scope="module")
def grammar() -> Translator:
    task = load("grammar", "cpu")
    assert isinstance(task, Translator)
    return task


def test_with_a_model(grammar: Translator) -> None:
    pipeline = TranslationPipeline(grammar)
    lines = [
        "The cat sleeps. The dog sleeps.",
        "THE CAT SLEEPS.",
        " * the cat sleeps",
        "The cat sees https://x.org.",
        "HTML",
    ]
    answers = pipeline.translate(lines)
    assert [answer.text for answer in answers[:3]] == [
        "Le chat dort. Le chien dort.",
        "LE CHAT DORT.",
        " * le chat dort",
    ]
    assert answers[3].text.count("https://x.org") == 1
    assert answers[4] == ("HTML", 0.0, (), False)
    assert answers[0].doubt < 0.1 < answers[3].doubt
    greedy = pipeline.translate(lines, beams=1)
    assert [answer.text for answer in greedy[:3]] == [answer.text for answer in answers[:3]]


def test_log_probabilities_are_without_the_penalty(grammar: Translator) -> None:
    """Greedy scores are sums of log probabilities, so where beams find the same text, both must say the same."""
    texts = ["The cat sleeps.", "The dog reads a book."]
    for (beam,), (greedy,) in zip(grammar.search(texts), grammar.search(texts, beams=1), strict=True):
        assert beam.text == greedy.text
        assert beam.tokens == greedy.tokens == len(grammar.tokenizer.encode([beam.text])[0])
        assert beam.log_probability == pytest.approx(greedy.score, abs=1e-4)
        assert beam.score > beam.log_probability


def test_lines_by_the_pipeline_or_by_the_bare_model(grammar: Translator) -> None:
    line = ["The cat sleeps.  The dog sleeps."]
    assert search_lines(grammar, line, {})[0][0].text == "Le chat dort.  Le chien dort."
    assert search_lines(grammar, line, {}, pipeline=False) == grammar.search(line)
    assert len(search_lines(grammar, line, {"nbest": 2})[0]) == 2


def test_what_is_refused(grammar: Translator) -> None:
    pipeline = TranslationPipeline(grammar)
    with pytest.raises(InputError, match="no second best"):
        pipeline.translate(["a"], nbest=2)
    with pytest.raises(TooLongError, match="text 2 is longer") as raised:
        pipeline.translate(["Hello.", "Hello. " + "the cat " * 80 + "."], long="refuse")
    assert raised.value.number == 2
    assert len(pipeline.translate(["the cat " * 80], beams=1, max_length=30)) == 1
