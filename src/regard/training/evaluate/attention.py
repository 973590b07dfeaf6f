"""What the attention of a translator does, where the grammar knows what it should do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from regard.interop.folders import locate
from regard.lens.alignment.bitext import Bitext, read_bitext
from regard.lens.alignment.choice import ReadingChoice, choose_by_gold, error_rates
from regard.lens.alignment.decision import align, compare
from regard.lens.alignment.stored_choice import read_choice
from regard.models import seams
from regard.tasks import Translator
from regard.text.grammar import Sentence, words
from regard.text.scores import Gold, Score
from regard.training.evaluate.antecedents import antecedent_attention
from regard.training.evaluate.attention_report import AttentionReport
from regard.training.evaluate.batching import ProgressCallback, ignore_progress
from regard.training.evaluate.result import Evaluation
from regard.training.evaluate.sets import EvaluationData

SENTENCES = 300  # aligned at most: more would change little
VALIDATION = f"grammar:valid:{SENTENCES}"


def look_into(
    evaluation: Evaluation,
    translator: Translator,
    data: EvaluationData,
    name: str | Path,
    on_progress: ProgressCallback = ignore_progress,
) -> Evaluation:
    """The same evaluation with what attention did on a grammar set; as it is for other data and for other models.

    `name` is the model's folder, where a choice of where to read alignments may be kept.
    """
    if data.grammar is None or not seams(translator.model):
        return evaluation
    sentences = data.sentences()
    attention = attention_of(translator, sentences, read_choice(locate(name), translator.model), on_progress)
    rate, pronouns = attention.lines[0].rate, attention.antecedents.pronouns
    signature = f"read:{attention.choice.reading}|sentences:{rate.sentences}"
    scores = [
        Score("alignment_error_rate", 100 * rate.aer, f"{signature}|links:possible"),
        Score("alignment_error_rate_sure", 100 * rate.sure_only, f"{signature}|links:sure"),
    ]
    notes = [f"alignments are read at {attention.choice.reading} ({attention.choice.how})"]
    if data.grammar.name == "valid":
        notes += ["the place was chosen on this very set, where it reads best"]
    if len(sentences) > SENTENCES:
        notes += [f"alignments are scored on the first {SENTENCES} sentences, antecedents on {pronouns} pronouns"]
    return replace(
        evaluation, scores=[*evaluation.scores, *scores], attention=attention, notes=[*evaluation.notes, *notes]
    )


def attention_of(
    translator: Translator,
    sentences: list[Sentence],
    choice: ReadingChoice | None,
    on_progress: ProgressCallback = ignore_progress,
) -> AttentionReport:
    """On sentences of the grammar; without a choice of where to read, it is made on its validation set."""
    tuning = read_bitext([VALIDATION])
    elsewhere = align(translator, tuning, on_progress=on_progress)
    choice = choose_by_gold(elsewhere, tuning.gold) if choice is None else choice
    some = sentences[:SENTENCES]
    texts = Bitext(
        "sentences", [one.source for one in some], [one.target for one in some], words,
        [Gold(one.sure, one.possible) for one in some],
    )  # fmt: skip
    lines = compare(translator, texts, choice, error_rates(elsewhere, tuning.gold), on_progress)
    return AttentionReport(choice, lines, antecedent_attention(translator, sentences, on_progress))
