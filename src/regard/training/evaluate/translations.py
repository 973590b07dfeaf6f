"""How good translations are: BLEU in the three ways that papers print it, chrF, and what only a grammar can know."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

from regard.tasks import Translator
from regard.text.corpora import guess_language
from regard.text.scores import (
    Score,
    bleu,
    bleu_by_length,
    bleu_interval,
    bleu_tokenised,
    chrf,
    chrf_interval,
    paired_bootstrap,
    pronoun_agreement,
)
from regard.text.scores.moses import DEFAULT, known_language
from regard.training.evaluate.batching import ProgressCallback, batched, eval_mode_with_batch, ignore_progress
from regard.training.evaluate.result import Evaluation
from regard.training.evaluate.sets import EvaluationData, PairSet

AHEAD = 4  # batches between two reports of progress
REPORTED = 128  # texts that count as a batch in a report
DICTIONARY = "a dictionary, word for word"


class TranslationOptions(NamedTuple):
    """How to look for translations; None: as the model says."""

    beams: int | None = None
    alpha: float | None = None
    max_length: int | None = None
    batch: int | None = None


class TranslationOutputs(NamedTuple):
    """The translations, in order, how many of them came to no end, and how long it took."""

    texts: list[str]
    cut: int
    seconds: float


class TargetLanguage(NamedTuple):
    """A language, how it is known ("" where somebody said it), and what to tell of that."""

    code: str
    how: str
    notes: list[str]


def evaluate_translations(
    translator: Translator,
    data: EvaluationData,
    search: TranslationOptions,
    code: str | None,
    against: Translator | None,
    on_progress: ProgressCallback,
) -> Evaluation:
    """Translate the sources and compare with the references; on a grammar set a dictionary does so too."""
    pairs = data.pairs()
    count, total = len(pairs.sources), len(pairs.sources) * (1 if against is None else 2)
    ours = translations(translator, pairs.sources, search, lambda done, _: on_progress(done, total))
    comparison = None
    if against is not None:
        theirs = translations(against, pairs.sources, search, lambda done, _: on_progress(count + done, total))
        comparison = paired_bootstrap(ours.texts, theirs.texts, pairs.references)
    language = language_of(pairs, code)
    baselines = {score.name: score.value for score in scores(pairs, word_for_word(pairs), language)}
    return Evaluation(
        task="translation",
        data=data.name,
        count=count,
        unit="pairs",
        seconds=ours.seconds,
        scores=scores(pairs, ours.texts, language),
        baseline=DICTIONARY if baselines else "",
        baselines=baselines,
        words_per_second=sum(len(source.split()) for source in pairs.sources) / ours.seconds,
        by_length=bleu_by_length(pairs.sources, ours.texts, pairs.references),
        comparison=comparison,
        notes=[*pairs.notes, *language.notes, *cut_note(ours)],
        outputs=ours.texts,
    )


def translations(
    translator: Translator,
    sources: Sequence[str],
    search: TranslationOptions,
    on_progress: ProgressCallback = ignore_progress,
) -> TranslationOutputs:
    """Translate all. Texts of like length come together, the longest first: what is left never takes longer."""
    order = sorted(range(len(sources)), key=lambda number: -len(sources[number]))
    done: dict[int, str] = {}
    cut, start = 0, perf_counter()
    with eval_mode_with_batch(translator, search.batch):
        for numbers in batched(order, AHEAD * (translator.batch or REPORTED), on_progress):
            texts = [sources[number] for number in numbers]
            how = {"beams": search.beams, "alpha": search.alpha, "max_length": search.max_length}
            for number, best in zip(numbers, translator.search(texts, **how), strict=True):  # type: ignore[arg-type]
                done[number] = best[0].text
                cut += best[0].cut
    return TranslationOutputs([done[number] for number in range(len(sources))], cut, perf_counter() - start)


def language_of(pairs: PairSet, asked: str | None) -> TargetLanguage:
    """The language whose tokens Moses cuts: as asked, as known of the texts, or by the look of the references."""
    code = asked or pairs.language
    if code is not None:
        rules = known_language(code)
        known = code.lower().replace("_", "-").split("-")[0] == rules
        note = [] if known else [f"Moses knows no {code!r}: its tokens are cut as those of {rules!r}"]
        return TargetLanguage(rules, "", note)
    guess = guess_language(pairs.references)
    if guess is None:
        note = [f"the language of the references is not known: Moses cuts tokens as in {DEFAULT!r}; --language says it"]
        return TargetLanguage(DEFAULT, "assumed", note)
    note = [f"the references look like {guess!r}, so Moses cuts tokens as there; --language says otherwise"]
    return TargetLanguage(guess, "guessed", note)


def cut_note(ours: TranslationOutputs) -> list[str]:
    return [f"{ours.cut:,} translations were cut before they ended"] if ours.cut else []


def scores(pairs: PairSet, outputs: Sequence[str], language: TargetLanguage) -> list[Score]:
    """All that can be said of some translations; nothing of none."""
    if not outputs:
        return []
    values = [
        bleu(outputs, pairs.references),
        bleu(outputs, pairs.references, lowercase=True),
        bleu_tokenised(outputs, pairs.references, language.code, language.how),
        chrf(outputs, pairs.references),
    ]
    if pairs.sentences:
        agreed = pronoun_agreement(pairs.sentences, outputs)
        signature = f"sentences:{agreed.asked}|chance:50"
        values += [Score("pronoun_agreement", 100 * agreed.share, signature)] if agreed.asked else []
    return values


def word_for_word(pairs: PairSet) -> list[str]:
    """What a dictionary makes of the sources, where there is one: the grammar has its own."""
    if not pairs.sentences:
        return []
    from regard.text import grammar

    return [grammar.word_for_word(source) for source in pairs.sources]


def validate_translations(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    *,
    beams: int = 1,
    batch: int = 64,
    max_length: int | None = None,
) -> tuple[dict[str, float], dict[str, float], list[str]]:
    """BLEU and chrF while a model is being trained, their intervals, and the translations: greedy, unless asked."""
    outputs = translations(translator, sources, TranslationOptions(beams, None, max_length, batch)).texts
    scores = {"bleu": bleu(outputs, references).value, "chrf": chrf(outputs, references).value}
    return scores, {"bleu": bleu_interval(outputs, references), "chrf": chrf_interval(outputs, references)}, outputs
