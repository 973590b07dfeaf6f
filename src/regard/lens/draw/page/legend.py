"""What a page says in words: the texts, the sites and their kinds, and how true it all is."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from regard.lens.draw.heat import sides_in_words
from regard.lens.draw.page.cells import bound
from regard.lens.draw.page.plan import Plate
from regard.lens.recording.fidelity import Badge, counted, together
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording.tokens import Row, Token, as_read, read_bytes

COUNTED = 1 << 27  # weights whose statistics are worth waiting for
TITLE = 72  # characters of a text that make a title
SPECIAL = re.compile(r"<[^<>\s]+>|\[[A-Z]+\]")  # <s>, <|endoftext|>, [CLS]: no part of a text
NAMES = {"source": "source", "text": "target"}
MEASURES = {  # their names in the statistics
    "entropy": "entropy", "top_weight": "top_weight", "distance": "distance", "first": "first_weight",
    "own": "self_weight",
}  # fmt: skip
WITHIN = ("distance", "own")  # which have no meaning from one text to another


def describe(call: ForwardCall, plates: Sequence[Plate], batch: int, keys: Sequence[int]) -> dict[str, Any]:
    """All that is not a weight, as JSON can hold it; `keys` of each plate's rows are exact."""
    texts = TextIndex()
    short = short_names(call, plates)
    counted = sum(len(plate.heads) * plate.rows * plate.columns for plate in plates) <= COUNTED
    maps = [
        {
            "site": plate.site, "short": short[plate.site], "kind": kind(call, plate.site), "heads": plate.heads,
            "rows": texts.add(call, plate.site, batch, 0), "columns": texts.add(call, plate.site, batch, 1),
            "written": texts.add(call, plate.site, batch, 0, "output") if call.writes(plate.site) else None,
            "says": [sides_in_words(call, plate.site, row) for row in rows_of(call, plate.site)],
            "cell": plate.cell, "bound": bound(call, plate.site), "own": own(call, plate.site), "keys": exact,
            "closer": plate.closer, "by": plate.by, "norms": norms(call, plate, batch),
            "measures": measures(call, plate, batch) if counted else {},
            "badge": badge_lines(call.map(plate.site).badge.pooled(plate.pooling), exact),
        }
        for plate, exact in zip(plates, keys, strict=True)
    ]  # fmt: skip
    whole = together(call.map(plate.site).badge.pooled(plate.pooling) for plate in plates if not plate.closer)
    return {"texts": texts.texts, "maps": maps, "badge": badge_lines(whole, max(keys, default=0))}


@dataclass
class TextIndex:
    """The labels of all maps, each text once."""

    texts: list[dict[str, Any]] = field(default_factory=list)
    numbers: dict[tuple[str, tuple[Token, ...]], int] = field(default_factory=dict)

    def add(self, call: ForwardCall, site: str, batch: int, side: int, row: Row = "input") -> int:
        """The place of the text beside the rows (side 0) or above the columns (1)."""
        name = "text" if call.source is None else NAMES[call.sides(site)[side]]
        tokens = call.labels(site, batch, row)[side]
        place = self.numbers.setdefault((name, tuple(tokens)), len(self.texts))
        if place == len(self.texts):
            bare = tokens == list(range(len(tokens)))  # positions need no list
            self.texts.append({"name": name, "count": len(tokens)} if bare else {"name": name, "tokens": tokens})
        return place


def rows_of(call: ForwardCall, site: str) -> tuple[Row, ...]:
    """The two ways to name its rows, or the only one."""
    return ("input", "output") if call.writes(site) else ("input",)


def kind(call: ForwardCall, site: str) -> str:
    """Maps of a kind stand together."""
    if call.source is None:
        return "cross" if call.crosses(site) else "self"
    rows, columns = call.sides(site)
    return "cross" if rows != columns else "encoder" if rows == "source" else "decoder"


def own(call: ForwardCall, site: str) -> int | None:
    """Where query 0 stands among the keys; None where the keys are another text."""
    return None if call.crosses(site) else call.map(site).terms.offset


def measures(call: ForwardCall, plate: Plate, batch: int) -> dict[str, list[float | None]]:
    """What kind each head is, by the names of `regard heads`: means over the rows of this text; None without any."""
    one = call.map(plate.site)
    rows = call.counted(plate.site, batch).to(one.query.device)
    statistics = call.statistics(plate.site) if len(one.query) == 1 else one.pick(batch).statistics()
    shown = [one.heads.index(head) for head in plate.heads]
    means = {
        name: getattr(statistics, field)[0][:, rows].double().mean(-1)[shown].tolist()
        for name, field in MEASURES.items()
        if not (call.crosses(plate.site) and name in WITHIN)
    }
    return {name: [round(mean, 4) if math.isfinite(mean) else None for mean in each] for name, each in means.items()}


def norms(call: ForwardCall, plate: Plate, batch: int) -> dict[str, Any] | None:
    """What the norms of the values are of, and the largest of each head; None where they were not kept."""
    one = call.map(plate.site)
    if one.norms is None:
        return None
    largest = call.largest_norms(plate.site, plate.heads, batch).double().tolist()
    return {"of": one.norm_symbol, "largest": [float(f"{number:.6g}") for number in largest]}


def badge_lines(badge: Badge, keys: int) -> dict[str, Any]:
    """The truth badge, laid out: what it is called, and what it says."""
    if not badge.true:
        state, verdict = "false", "These are not the weights the model used."
    elif not badge.compared:
        state, verdict = "unchecked", "Not compared with what the model used."
    else:
        state, verdict = "true", "These are the weights the model used."
    rows = "a sink takes part of each" if badge.sinks else (
        "sum to 1" if badge.sums_to_one else f"sum to 1 within {badge.row_sum:.1g}")  # fmt: skip
    compared = f"{badge.difference:.1g} on {counted(badge.rows)}" if badge.rows else "no row was compared"
    exact = "" if not keys else "; top key of a row exact" if keys == 1 else f"; top {keys} keys of a row exact"
    lines = [
        ("implementation", badge.implementation), ("dtype", badge.dtype), ("mask", badge.mask),
        ("pooling", badge.pooling), ("rows", rows),
        ("difference from the model's output", "dropout was on" if badge.dropout else compared),
        ("shown", f"to 0.002{exact}"),
    ]  # fmt: skip
    return {"state": state, "verdict": verdict, "lines": lines, "text": str(badge)}


def headline(call: ForwardCall, batch: int) -> str:
    """The text itself, cut short; numbers of tokens are no title."""
    text = call.text if call.source is None else call.source
    tokens = [] if text is None or batch >= len(text.ids) else text.tokens(batch)
    strings = as_read([str(token) for token in tokens if isinstance(token, str)])
    words = [token for token in strings if token and not SPECIAL.fullmatch(token)]
    if not words:
        return "What each head looked at"
    glue = "" if any(word.startswith(" ") for word in words) else " "
    whole = " ".join(read_bytes(glue.join(words), glue).split()).replace(" ##", "")
    return whole if len(whole) <= TITLE else whole[: TITLE - 1].rstrip() + "…"


def short_names(call: ForwardCall, plates: Sequence[Plate]) -> dict[str, str]:
    """Among sites of a kind."""
    kinds: dict[str, list[str]] = {}
    for plate in plates:
        kinds.setdefault(kind(call, plate.site), []).append(plate.site)
    return {site: name for sites in kinds.values() for site, name in shorter(sites).items()}


def shorter(sites: Sequence[str]) -> dict[str, str]:
    """Names of sites without the parts that all of them share: h.0.attn and h.1.attn are 0 and 1."""
    split = [site.split(".") for site in dict.fromkeys(sites)]
    first, last = shared(split), shared([one[::-1] for one in split])
    return {".".join(one): ".".join(one[first : len(one) - last] or one) for one in split}


def shared(split: Sequence[Sequence[str]]) -> int:
    """How many parts all names begin with alike."""
    alike = [len(set(parts)) == 1 for parts in zip(*split, strict=False)]
    return alike.index(False) if False in alike else len(alike)
