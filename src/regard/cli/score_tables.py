"""Scores by the names that people know, and tables of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

LABELS = {
    "bleu": "BLEU",
    "bleu_lowercase": "BLEU, lower-cased",
    "bleu_tokenised": "BLEU, lower-cased, Moses tokens",
    "chrf": "chrF",
    "pronoun_agreement": "pronouns that agree",
    "alignment_error_rate": "alignment error rate",
    "alignment_error_rate_sure": "alignment error rate, sure links only",
    "accuracy": "accuracy",
    "macro_f1": "F1, mean over labels",
    "nats_per_token": "nats per token",
    "perplexity": "perplexity per token",
    "nats_per_character": "nats per character",
}
SHARES = ("pronoun_agreement", "alignment_error_rate", "alignment_error_rate_sure", "accuracy", "macro_f1")


def shown(name: str, value: float) -> str:
    """Shares as percentages, BLEU and chrF as everyone prints them, nats with more digits."""
    if name in SHARES:
        return f"{value:.1f} %"
    return f"{value:.4f}" if name.startswith("nats") else f"{value:,.2f}"


def table(*columns: str) -> Table:
    """Names to the left, numbers to the right."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, header_style="dim")
    for number, name in enumerate(columns):
        grid.add_column(Text(name), justify="right" if number else "left", no_wrap=bool(number))
    return grid
