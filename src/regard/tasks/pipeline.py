"""Texts as people type them to their translations: sentence by sentence, with everything kept that must be.

All sentences of all texts are searched in one call. What loses or doubles a span, says the same again and again or says
nothing is asked once more in a second call: the other hypotheses of its beams, and the pieces between its spans, which
put together keep every span whatever the model says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import exp
from typing import NamedTuple, Protocol, Unpack

from regard.errors import InputError
from regard.tasks.glossary import Glossary, Term, unused_terms
from regard.tasks.long_texts import TooLongError
from regard.tasks.number_signs import keeps_numbers
from regard.tasks.text_ids import check_lengths
from regard.tasks.translator import BaseTranslator, SearchOptions, Translation
from regard.tasks.units import SentenceUnit, around, has_words, parts_of
from regard.text.protect import Span, find_spans, keeps_spans
from regard.text.repetition import without_repeats
from regard.text.slotted import Slotted
from regard.text.tag_places import TaggedText

Best = list[Translation] | list["TranslatedText"]  # of a line, best first
BEAMS = 4  # hypotheses to choose from where the best will not do


class TranslatedText(NamedTuple):
    """A translation, how doubtful it is (0 sure .. 1), the terms it does not use, and whether it was cut."""

    text: str
    doubt: float
    unused_terms: tuple[str, ...] = ()
    cut: bool = False


class Searcher(Protocol):
    """What a pipeline needs of a translator."""

    def search(self, texts: Sequence[str], **options: Unpack[SearchOptions]) -> list[list[Translation]]:
        """The best translations of each text, best first."""


class UnitAnswer(NamedTuple):
    """The translation of a unit, and how doubtful it is over how many tokens."""

    text: str
    doubt: float = 0.0
    tokens: int = 0
    cut: bool = False


class TranslationPipeline:
    """Translates whole texts with a model of sentences; `glossary` has terms that must be used."""

    def __init__(self, translator: Searcher, glossary: Glossary | None = None) -> None:
        self.translator, self.glossary = translator, glossary
        self.knows_slots: bool = getattr(translator, "knows_slots", False)

    def translate(self, texts: Sequence[str], **options: Unpack[SearchOptions]) -> list[TranslatedText]:
        """The translation of each text, in order."""
        if options.get("nbest", 1) != 1:
            raise InputError(
                "a text of several sentences has no second best",
                found=f"nbest={options['nbest']}",
                do="ask the model itself: Translator.search, or --plain",
            )
        check_lengths(texts)
        spans = [find_spans(text) for text in texts]
        terms = [self.glossary.find(*pair) if self.glossary else [] for pair in zip(texts, spans, strict=True)]
        parts = [self.parts(*each) for each in zip(texts, spans, terms, strict=True)]
        units = [part for some in parts for part in some if isinstance(part, SentenceUnit)]
        try:
            answers = iter(self.answers(units, options))
        except TooLongError as error:
            raise of_text(error, parts) from None
        whole = [
            [next(answers) if isinstance(part, SentenceUnit) else UnitAnswer(part) for part in some] for some in parts
        ]
        return [joined(*each) for each in zip(texts, spans, terms, whole, strict=True)]

    def parts(self, text: str, spans: list[Span], terms: list[Term]) -> list[str | SentenceUnit]:
        return list(parts_of(text, sorted([*spans, *(term.span for term in terms)]), self.knows_slots))

    def answers(self, units: list[SentenceUnit], options: SearchOptions) -> list[UnitAnswer]:
        """One for each unit; with tags around words, of the sentence without them, and they are put in afterwards."""
        tagged = [TaggedText.of(unit.text, unit.spans) for unit in units]
        asked = [[unit] if one is None else untagged(unit, one) for unit, one in zip(units, tagged, strict=True)]
        parts = iter(self.untagged_answers([part for some in asked for part in some], options))
        answers = [
            next(parts) if one is None else with_tags(unit, one, [next(parts) for _ in some])
            for unit, one, some in zip(units, tagged, asked, strict=True)
        ]
        crossed = [unit for unit, answer in zip(units, answers, strict=True) if answer is None]
        again = iter(self.untagged_answers(crossed, options))
        return [answer or next(again) for answer in answers]

    def untagged_answers(self, units: list[SentenceUnit], options: SearchOptions) -> list[UnitAnswer]:
        """One for each unit: of the first search where that will do, else of the second."""
        asked = [[form.source for form in unit.first_forms] for unit in units]
        first = [surest(unit, results) for unit, results in zip(units, self.search(asked, options), strict=True)]
        right = [
            answer if answer and keeps_numbers(unit.text, answer.text) else None
            for unit, answer in zip(units, first, strict=True)
        ]
        failing = [
            unit.with_numbers() if answer else unit  # nothing but a number was lost
            for unit, answer, whole in zip(units, first, right, strict=True) if not whole
        ]  # fmt: skip
        again = iter(self.repaired(failing, options))
        return [answer or next(again) for answer in right]

    def repaired(self, units: list[SentenceUnit], options: SearchOptions) -> Iterator[UnitAnswer]:
        """The answers to units whose best hypothesis would not do."""
        asked = [[*(form.source for form in unit.forms), *cores(unit)] for unit in units]
        beams = max(options.get("beams") or 0, BEAMS)
        for unit, results in zip(units, self.search(asked, {**options, "beams": beams, "nbest": beams}), strict=True):
            number = len(unit.forms)
            yield accepted(unit, results[:number]) or in_pieces(unit, results[number:])

    def search(self, asked: list[list[str]], options: SearchOptions) -> list[list[list[Translation]]]:
        """The hypotheses for each text of each unit, all in one search."""
        texts = [text for some in asked for text in some]
        results = iter(self.translator.search(texts, **options) if texts else [])
        return [[next(results) for _ in some] for some in asked]


def of_text(error: TooLongError, parts: list[list[str | SentenceUnit]]) -> TooLongError:
    """The error with the number of the text that the sentence stands in."""
    for number, some in enumerate(parts, 1):
        units = (part for part in some if isinstance(part, SentenceUnit))
        if any(error.text in (form.source for form in unit.first_forms) for unit in units):
            return TooLongError(number, error.tokens, error.longest, error.text)
    return error


def search_lines(
    task: BaseTranslator,
    lines: Sequence[str],
    options: SearchOptions,
    *,
    pipeline: bool = True,
    glossary: Glossary | None = None,
) -> Sequence[Best]:
    """The best translations of each line: by a pipeline if that is wanted, else as the bare model has them.

    Several translations of a line are always the bare model's, and so are those of models of Hugging Face, which give
    what transformers does, unless there is a glossary.
    """
    if not pipeline or options.get("nbest", 1) > 1 or (task.generation is not None and glossary is None):
        return task.search(lines, **options)
    return [[text] for text in TranslationPipeline(task, glossary).translate(lines, **options)]


def untagged(unit: SentenceUnit, tagged: TaggedText) -> list[SentenceUnit]:
    """The sentence without its tags, and what stands inside each pair of them."""
    whole = replace(unit, text=tagged.text, spans=tagged.spans)
    return [whole, *(replace(unit, text=text.strip(), spans=()) for text in tagged.contents() if is_apart(text))]


def is_apart(content: str) -> bool:
    """Whether the content of a pair can be asked for by itself: it has words and nothing to protect."""
    return has_words(content) and not find_spans(content)


def with_tags(unit: SentenceUnit, tagged: TaggedText, answers: list[UnitAnswer]) -> UnitAnswer | None:
    """The answer of the sentence with its tags; None where these cannot be put in."""
    whole, rest = answers[0], iter(answers[1:])
    contents = [next(rest).text if is_apart(text) else text for text in tagged.contents()]
    text = tagged.tag(whole.text, contents)
    if text is None or not keeps_spans(unit.text, text, unit.protected):
        return None
    return whole._replace(text=text)


def cores(unit: SentenceUnit) -> list[str]:
    """What is to be translated of the pieces between spans that must be kept."""
    return [around(piece)[1] for piece in unit.pieces if has_words(piece)] if unit.protected else []


def surest(unit: SentenceUnit, results: list[list[Translation]]) -> UnitAnswer | None:
    """The likeliest of the first hypotheses that keeps all it must."""
    ways = sorted(zip(unit.first_forms, results, strict=True), key=lambda way: -total_of(way[1][0])[0])
    return next(filter(None, (answer_of(unit, form, best[0]) for form, best in ways)), None)


def accepted(unit: SentenceUnit, results: list[list[Translation]]) -> UnitAnswer | None:
    """The first hypothesis of the forms in turn that keeps all it must.

    If all say the same again and again, the first that does when that is said once.
    """
    ways = [(form, one) for form, best in zip(unit.forms, results, strict=True) for one in best]
    short = ((form, one._replace(text=without_repeats(one.text, form.source))) for form, one in ways)
    answers = (answer_of(unit, form, one) for form, one in chain(ways, short))
    return next(filter(None, answers), None)


def answer_of(unit: SentenceUnit, form: Slotted, one: Translation) -> UnitAnswer | None:
    text = unit.accept(form, one.text)
    return None if text is None else UnitAnswer(text, doubt_of(one), max(one.tokens, 1), one.cut)


def in_pieces(unit: SentenceUnit, results: list[list[Translation]]) -> UnitAnswer:
    """The pieces translated by themselves, with the spans between them; what cannot be translated stays."""
    answers, rest, pieces = [], iter(results if unit.protected else []), []
    for piece in unit.pieces:
        best = next(rest, []) if has_words(piece) else []
        fitting = ((one, text) for one in best if (text := unit.accept_piece(piece, one.text)) is not None)
        one, text = next(fitting, (None, unit.change(piece)))
        pieces.append(text)
        if one is not None:
            answers.append(UnitAnswer(text, doubt_of(one), max(one.tokens, 1), one.cut))
        elif has_words(piece):
            answers.append(UnitAnswer(text, 1.0, len(piece.split())))
    whole = unit.assemble(pieces)
    if whole is None or not answers:
        return UnitAnswer(unit.original, 1.0, len(unit.text.split()))
    return UnitAnswer(whole, text_doubt(answers), sum(one.tokens for one in answers), any(one.cut for one in answers))


def doubt_of(one: Translation) -> float:
    """How far a hypothesis is from sure: 1 less the geometric mean of the probabilities of its tokens."""
    total, tokens = total_of(one)
    return 1 - exp(min(total / tokens, 0.0))


def total_of(one: Translation) -> tuple[float, int]:
    """The log probability and how many tokens it is of; by score and words where a searcher counts no tokens."""
    return (one.log_probability, one.tokens) if one.tokens else (one.score, len(one.text.split()) + 1)


def text_doubt(answers: Sequence[UnitAnswer]) -> float:
    """Of a text: the mean over its tokens and the most doubtful sentence, half of each."""
    answers = [one for one in answers if one.tokens]
    if not answers:
        return 0.0
    mean = sum(one.doubt * one.tokens for one in answers) / sum(one.tokens for one in answers)
    return (mean + max(one.doubt for one in answers)) / 2


def joined(text: str, spans: list[Span], terms: list[Term], answers: list[UnitAnswer]) -> TranslatedText:
    """The translation of a text; the text itself, should its sentences put together not keep its spans after all."""
    translation = "".join(one.text for one in answers)
    if any(translation.count(span.fill) != text.count(span.fill) for span in spans):
        return TranslatedText(text, 1.0, unused_terms(terms, text))
    cut = any(one.cut for one in answers)
    return TranslatedText(translation, text_doubt(answers), unused_terms(terms, translation), cut)
