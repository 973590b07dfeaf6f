"""How a line and its translations are written: as text or as JSON, on one line whatever is in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from regard.cli.lines import plain

if TYPE_CHECKING:
    from regard.tasks.pipeline import Best
    from regard.tasks.translator import Translation
    from regard.text.scores.alignment_error import Link

    Links = list[list[Link]] | None  # of each translation


def cut_words(lines: int) -> str:
    many = "the translation of 1 line" if lines == 1 else f"the translations of {lines:,} lines"
    return (
        f"regard: {many} reached the most tokens allowed, with no end in sight, and stopped there\n"
        '  do: allow more with --max-length, or see which they are with --json ("cut": true)'
    )


def as_line(best: Best, links: Links = None) -> str:
    """Translations on one line, whatever is in them, each with its links behind it if it has any."""
    from regard.text.scores.alignment_error import pharaoh

    if not any(one.text.strip() for one in best):
        return ""
    if len(best) == 1 and not links:
        return "\t".join(map(plain, best[0].text.split("\t")))  # the line's own cells
    cells = [[plain(one.text)] for one in best]
    for cell, own_links in zip(cells, links or (), strict=False):
        cell.append(pharaoh(own_links))
    return "\t".join(part for cell in cells for part in cell)


def as_json(source: str, best: Best, links: Links = None) -> str:
    """With doubt and unused terms if a pipeline gave them, else with the scores of the search."""
    import json

    from regard.tasks.pipeline import TranslatedText

    whole: dict[str, Any] = {"source": source, "translation": best[0].text, "cut": best[0].cut}
    if isinstance(best[0], TranslatedText):
        whole |= {"doubt": best[0].doubt, "unused_terms": best[0].unused_terms}
    else:
        whole |= {"alignment": links[0]} if links else {}
        whole["nbest"] = [{"text": one.text, "score": one.score, "cut": one.cut} for one in searched(best)]
        for one, own_links in zip(whole["nbest"], links or (), strict=False):
            one["alignment"] = own_links
    return escape_line_ends(json.dumps(whole, ensure_ascii=False))


def searched(best: Best) -> list[Translation]:
    """Those of the bare model."""
    from regard.tasks.translator import Translation

    return [one for one in best if isinstance(one, Translation)]


def escape_line_ends(notation: str) -> str:
    """What some readers take for the end of a line is written as its number."""
    return re.sub("[\x7f-\x9f\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", notation)
