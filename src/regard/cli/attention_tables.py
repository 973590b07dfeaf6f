"""What attention did on a grammar set, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from regard.lens.alignment.decision import ScoredReading
    from regard.training.evaluate.antecedents import Antecedents
    from regard.training.evaluate.attention_report import AttentionReport

FEW = 8  # heads of a site that are shown side by side
BEST = 8  # heads that are shown where there are more
LINES = 24


def attention_views(attention: AttentionReport) -> list[RenderableType]:
    """Alignments, then antecedents."""
    from rich.text import Text

    views: list[RenderableType] = [alignment_view(attention.lines, attention.lines[0].rate.sentences)]
    if attention.antecedents.pronouns:
        asked, chance = attention.antecedents.pronouns, "chance: 50 %"
        views += [Text(f'the antecedent of "it" above the rival noun, of {asked:,} pronouns; {chance}')]
        views += [antecedents_view(attention.antecedents)]
    return views


def alignment_view(lines: list[ScoredReading], sentences: int) -> Table:
    """How good the chosen reading is, and others."""
    grid = plain_table(
        f"alignments, {sentences:,} pairs", "read at", "error rate", "sure only", "precision", "recall", texts=2
    )
    for one in lines:
        rate = one.rate
        shares = (rate.aer, rate.sure_only, rate.precision, rate.recall)
        grid.add_row(one.name, str(one.reading), *(f"{100 * share:.1f} %" for share in shares))
    return grid


def antecedents_view(antecedents: Antecedents) -> Table:
    """All heads, a site on a line; the best of them where there are many."""
    from regard.training.evaluate.antecedents import ROWS

    lines: dict[tuple[str, str], list[str]] = {}
    for one in antecedents.heads:
        lines.setdefault((one.row, one.site), []).append(f"{100 * one.share:.1f} %")
    widest = max(map(len, lines.values()))
    if widest <= FEW and len(lines) <= LINES:
        grid = plain_table("row", "site", *(f"head {head}" for head in range(widest)), texts=2)
        for (row, site), shares in lines.items():
            grid.add_row(ROWS[row], site, *shares)
        return grid
    grid = plain_table(f"best {BEST} of {len(antecedents.heads):,}", "site", "head", "share", texts=2)
    for one in sorted(antecedents.heads, key=lambda one: -one.share)[:BEST]:
        grid.add_row(ROWS[one.row], one.site, str(one.head), f"{100 * one.share:.1f} %")
    return grid


def plain_table(*columns: str, texts: int) -> Table:
    """The first columns are texts, the others numbers."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, header_style="dim")
    for number, name in enumerate(columns):
        grid.add_column(Text(name), justify="right" if number >= texts else "left", no_wrap=True)
    return grid
