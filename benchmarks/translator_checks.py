"""What a general translator does with lines as people type them, and with "it": for its card, beside the test sets."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any

from benchmarks.typed import FOLDER, read_lines, score
from regard.tasks.pipeline import TranslationPipeline
from regard.tasks.translator import BaseTranslator
from regard.text.scores import pronoun_agreement
from regard.training.evaluate import read_data

PRONOUNS = "grammar:test:600:20261118"  # nobody has chosen anything on these


def check(task: BaseTranslator, languages: tuple[str, str], beams: int = 4, pronouns: str = PRONOUNS) -> dict[str, Any]:
    """The counts, as the JSON of scores holds them: lines where there are some, "it" from English to French."""
    found: dict[str, Any] = {}
    if (FOLDER / f"typed_lines.{'-'.join(languages)}.tsv").is_file():
        lines = read_lines("-".join(languages))
        answers = TranslationPipeline(task).translate([line.source for line in lines], beams=beams)
        found["typed"] = {"lines": len(lines), "right": score(lines, [one.text for one in answers]).right.total()}
    if languages == ("en", "fr"):
        pairs = read_data([pronouns]).pairs()
        agreed = pronoun_agreement(pairs.sentences, task.translate(pairs.sources, beams=beams))
        found["pronouns"] = {"data": pronouns, "asked": agreed.asked, "right": round(agreed.share * agreed.asked)}
    return found


def check_lines(scores: dict[str, Any]) -> Iterator[str]:
    """What was counted, in words; nothing where nothing was."""
    typed, pronouns = scores.get("typed"), scores.get("pronouns")
    if typed:
        name = "-".join(scores["languages"])
        yield (
            f"Of {typed['lines']} lines as people type them (single words, capitals, dates, addresses, greetings), "
            f"{typed['right']} become one of the answers written down for them "
            f"({share(typed['right'], typed['lines'])}; `python -m benchmarks.typed {name} --wrong` shows the others)."
        )
    if pronouns:
        yield (
            f'Whether "it" becomes il or elle by what it stands for: right in {pronouns["right"]} of '
            f"{pronouns['asked']} sentences of the built-in language ({share(pronouns['right'], pronouns['asked'])}; "
            f"chance is 50 %; `{pronouns['data']}`)."
        )


def share(right: int, count: int) -> str:
    """With half of its 95 % interval."""
    part = right / count
    return f"{100 * part:.1f} ± {196 * sqrt(part * (1 - part) / count):.1f} %"
