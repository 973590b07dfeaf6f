"""Text as ids on disk, as a run opens it and a resumed run opens it again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from regard.errors import FileError
from regard.text.bpe import Paired, read_tokenizer
from regard.text.store import Array, Store
from regard.text.tokenizer import Tokenizer
from regard.training.recipe.recipe import Recipe

TextCodec = Tokenizer | Paired
TextRow = tuple[str, ...]


@dataclass(frozen=True)
class PreparedText:
    """Text as ids. Columns: source and target, or text; `valid` and, where pieces are drawn anew, `texts` are words."""

    tokenizer: TextCodec
    columns: dict[str, Store]
    valid: list[TextRow]
    sources: Array
    weights: tuple[float, ...]
    labels: tuple[str, ...] = ()
    classes: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    texts: list[TextRow] = field(default_factory=list)
    links: Store | None = None  # between tokens, where a head is guided by them


def open_prepared(folder: Path, recipe: Recipe, weights: tuple[float, ...]) -> PreparedText:
    """What stands in a run's folder, if it is all there."""
    store = folder / "prepared"
    meta = json.loads((store / "meta.json").read_text(encoding="utf-8"))
    stores = {name: Store.open(store / file) for name, file in meta["files"].items()}
    links = stores.pop("links", None)
    prepared = PreparedText(
        tokenizer=read_tokenizer(folder, masked=recipe.task == "mask"),
        columns=stores,
        valid=read_lines(store / "valid.jsonl"),
        sources=np.load(store / "sources.npy").astype(np.int64),
        weights=weights,
        labels=tuple(meta["labels"]),
        classes=np.load(store / "classes.npy"),
        texts=read_lines(store / "texts.jsonl"),
        links=links,
    )
    sizes = {len(prepared.sources), *map(len, prepared.columns.values()), *([] if links is None else [len(links)])}
    sizes |= {len(prepared.classes)} if recipe.task == "classify" else set()
    sizes |= {len(prepared.texts)} if recipe.training.subword_dropout else set()
    if sizes != {meta["rows"]} or len(prepared.valid) != meta["valid"]:
        raise FileError(f"{store} is not whole", found=f"{sorted(sizes)} rows, {len(prepared.valid)} to validate")
    return prepared


def write_lines(path: Path, rows: list[TextRow]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def read_lines(path: Path) -> list[TextRow]:
    with path.open(encoding="utf-8", newline="\n") as file:
        return [tuple(json.loads(line)) for line in file]
