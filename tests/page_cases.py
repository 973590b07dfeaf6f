"""Calls to make pages of, and a page's numbers read back without a browser."""

from __future__ import annotations

import json
import zlib
from base64 import b85decode
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

import torch
from torch import Tensor

from regard.attention import attend
from regard.lens.draw.page.payload import Payload
from regard.lens.recording.fidelity import Badge
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording.map import Map
from regard.lens.recording.score_terms import Terms
from regard.lens.recording.tokens import Text

LEVELS, PARTS = 255, 1 << 14


def noise(
    sites: int, heads: int, tokens: int, *, spread: float = 1.0, causal: bool = False, seed: int = 0,
    values: bool = False,
) -> ForwardCall:  # fmt: skip
    """Random queries and keys of dim 64, as a fresh model has them; scores have this standard deviation.

    With `values`, norms from 0 to 5, every one as likely: nothing compresses worse.
    """
    generator = torch.Generator().manual_seed(seed)
    maps = {}
    for site in range(sites):
        query, key = (torch.randn(1, heads, tokens, 64, generator=generator) for _ in range(2))
        terms = Terms(scale=spread / 8, offset=0, causal=causal)
        _, found = attend(query, key, key[..., :1], scale=terms.scale, causal=causal, see="stats")
        badge = Badge("regard", "float32", terms.sees, rows=8, size=1.0)
        norms = 5 * torch.rand(1, heads, tokens, generator=generator) if values else None
        maps[f"layers.{site}.attn"] = Map(query, key, found.lse, terms, tuple(range(heads)), norms, badge=badge)
    return ForwardCall(maps, Text([list(range(tokens))], strings=[[f" word{number}" for number in range(tokens)]]))


def named(call: ForwardCall, tokens: Sequence[str]) -> ForwardCall:
    """The same over other tokens."""
    return ForwardCall(call.maps, Text([list(range(len(tokens)))], strings=[list(tokens)]))


class Elements(HTMLParser):
    """The elements of a page, and the text of those that carry data."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.parts: dict[str, str] = {}
        self.text = self.policy = ""
        self.part: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        named = dict(attrs)
        self.part = named.get("data-part")
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named.get("content") or ""

    def handle_endtag(self, tag: str) -> None:
        self.part = None

    def handle_data(self, data: str) -> None:
        if self.part is None:
            self.text += data
        else:
            self.parts[self.part] = self.parts.get(self.part, "") + data

    def payload(self) -> Payload:
        return self.packed(json.loads(self.parts["description"]), self.parts)

    @staticmethod
    def packed(description: dict[str, Any], parts: Mapping[str, str]) -> Payload:
        """The bytes behind a page's letters."""
        return Payload(
            description, *(b85decode(parts[part].replace(",", "<")) for part in ("levels", "exact", "norms"))
        )


class Read:
    """Every weight of a payload, as a browser reads it."""

    def __init__(self, made: Payload) -> None:
        self.description: dict[str, Any] = made.description
        self.levels, self.exact = zlib.decompress(made.levels), zlib.decompress(made.exact)
        self.norms = zlib.decompress(made.norms)
        self.at = self.entry = 0
        self.maps = [self.map(told) for told in made.description["maps"]]
        assert self.at == len(self.levels)
        assert 4 * self.entry == len(self.exact)

    def map(self, told: dict[str, Any]) -> tuple[Tensor, list[list[dict[int, float]]]]:
        """The bytes (heads, rows, columns), and for every row of every head its exact weights by column."""
        texts = [self.description["texts"][told[side]] for side in ("rows", "columns")]
        sizes = [text["count"] if "count" in text else len(text["tokens"]) for text in texts]
        high, wide = (-(-size // cell) for size, cell in zip(sizes, told["cell"], strict=True))
        found = torch.zeros(len(told["heads"]), high, wide, dtype=torch.uint8)
        pooled = tuple(told["cell"]) != (1, 1)
        for row in range(high):
            kept = wide if pooled or told["bound"] is None else min(max(0, row + told["bound"]), wide)
            for head in range(len(found)):
                found[head, row, :kept] = torch.tensor(list(self.levels[self.at : self.at + kept]), dtype=torch.uint8)
                self.at += kept
        keys = min(told["keys"], wide)
        return found, [[self.row(found[h, i], keys, h, i, len(found)) for i in range(high)] for h in range(len(found))]

    def shares(self) -> list[int]:
        """The norms, all maps' one after another, as parts of 65535."""
        half = len(self.norms) // 2
        return [self.norms[at] | self.norms[half + at] << 8 for at in range(half)]

    def row(self, levels: Tensor, keys: int, head: int, row: int, heads: int) -> dict[int, float]:
        if head == row == 0:
            self.first, self.entry = self.entry, self.entry
        count, order = len(self.exact) // 4, sorted(range(len(levels)), key=lambda column: -int(levels[column]))
        found = {}
        for entry in range(self.first + (row * heads + head) * keys, self.first + (row * heads + head + 1) * keys):
            place, part = (self.exact[at + entry] | self.exact[at + count + entry] << 8 for at in (0, 2 * count))
            found[order[place]] = (int(levels[order[place]]) - 0.5 + part / PARTS) / LEVELS
        self.entry = max(self.entry, self.first + (row * heads + head + 1) * keys)
        return found
