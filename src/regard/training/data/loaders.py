"""The batch loaders of a run: one to train on, one to validate with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regard.errors import InputError
from regard.models.config import Config
from regard.text.batches import Budget
from regard.text.bpe import Paired, source_of, target_of
from regard.text.store import Store
from regard.text.subwords import Sampled
from regard.text.tokenizer import Tokenizer
from regard.training.data.prepared_text import PreparedText
from regard.training.data.task_batches import (
    BatchLoader,
    BlockLoader,
    Column,
    EpochSampler,
    LabelledLoader,
    MaskedLoader,
    PairLoader,
    in_order,
)
from regard.training.recipe.build_model import mask_id
from regard.training.recipe.recipe import Recipe
from regard.training.report.events import Listener, Note, silent


def loaders_for(
    recipe: Recipe, prepared: PreparedText, config: Config, *, fixed: bool, listener: Listener = silent
) -> tuple[BatchLoader, BatchLoader]:
    """`fixed`: few shapes, for a device that replays them."""
    prepared = readable(recipe, prepared, config, listener)
    how = recipe.training
    sampler = EpochSampler(Budget(how.batch_tokens), how.seed, prepared.sources, prepared.weights)
    held = in_order(EpochSampler(Budget(how.batch_tokens), how.seed))
    loader = {"translate": pairs, "generate": blocks, "mask": masked, "classify": labelled}[recipe.task]
    train, valid = (loader(recipe, prepared, config, *rows) for rows in ((sampler, None), (held, prepared.valid)))
    if fixed:
        train.sampler.fix_shapes(*train.lengths())
    return train, valid


def readable(recipe: Recipe, prepared: PreparedText, config: Config, listener: Listener) -> PreparedText:
    """Where positions are learned, longer texts cannot be read: refused to train on, left out of the validation."""
    if getattr(config, "positions", "") != "learned":
        return prepared
    most: int = config.max_length  # type: ignore[attr-defined]
    stores = prepared.columns.values()
    longest = max(int(store.lengths.max(initial=0)) for store in stores)
    wanted = recipe.training.block if recipe.task == "generate" else longest
    if wanted > most:
        raise InputError(
            f"the model has positions for {most} tokens",
            found=f"training.block = {wanted}" if recipe.task == "generate" else f"a text of {wanted}",
            do=f"training.block = {most}" if recipe.task == "generate" else f"data.longest = {most}",
        )
    if recipe.task == "generate":
        return prepared
    sides = (prepared.tokenizer, target_of(prepared.tokenizer))[: len(stores)]
    columns = [side.encode([row[n] for row in prepared.valid]) for n, side in enumerate(sides)]
    fit = [row for row, *ids in zip(prepared.valid, *columns, strict=True) if max(map(len, ids)) <= most]
    if not fit:
        raise InputError("no validation text is short enough", found=f"all have more than {most} tokens")
    if len(fit) < len(prepared.valid):
        listener(Note(f"{len(prepared.valid) - len(fit):,} validation texts have more than {most} tokens: "
                  "left out while training", warning=True))  # fmt: skip
    return replace(prepared, valid=fit)


HeldRows = list[tuple[str, ...]] | None


def pairs(recipe: Recipe, prepared: PreparedText, config: Config, sampler: EpochSampler, held: HeldRows) -> BatchLoader:
    pad, start = getattr(config, "pad", 0) or 0, config.start  # type: ignore[attr-defined]
    sides = prepared.tokenizer, target_of(prepared.tokenizer)
    if held is not None:
        source, target = (encoded(side, [row[n] for row in held]) for n, side in enumerate(sides))
        return PairLoader(sampler, source, target, pad, start)
    how, dropout = recipe.training, recipe.training.subword_dropout
    columns: list[Column] = [prepared.columns["source"], prepared.columns["target"]]
    if dropout:
        columns = [
            Sampled(
                [row[n] for row in prepared.texts], target_of(side) if n else source_of(side), dropout, how.seed + n
            )
            for n, side in enumerate(sides)
        ]
        longest = max(column.longest for column in columns if isinstance(column, Sampled))
        if getattr(config, "positions", "") == "learned" and longest > config.max_length:  # type: ignore[attr-defined]
            raise InputError(
                f"in other pieces, texts have more tokens than the model has positions: {config.max_length}",  # type: ignore[attr-defined]
                found=f"up to {longest} with subword_dropout = {dropout}",
                do=f"model.max_length = {longest}, or a smaller data.longest",
            )
    return PairLoader(sampler, columns[0], columns[1], pad, start, prepared.links)


def blocks(
    recipe: Recipe, prepared: PreparedText, config: Config, sampler: EpochSampler, held: HeldRows
) -> BatchLoader:
    sampler.sources = np.zeros(0, np.int64)  # blocks have no source of their own
    if held is None:
        return BlockLoader(sampler, prepared.columns["text"].ids, recipe.training.block)
    store = encoded(prepared.tokenizer, [row[0] + "\n" for row in held])
    return BlockLoader(sampler, store.ids, min(recipe.training.block, max(len(store.ids) - 1, 1)))


def masked(
    recipe: Recipe, prepared: PreparedText, config: Config, sampler: EpochSampler, held: HeldRows
) -> BatchLoader:
    text = prepared.columns["text"] if held is None else encoded(prepared.tokenizer, [row[0] for row in held])
    special = tuple(prepared.tokenizer.encode([""])[0])
    pad, size = getattr(config, "pad", 0) or 0, prepared.tokenizer.size
    return MaskedLoader(sampler, text, pad, mask_id(prepared.tokenizer), size, special, recipe.training.masked)


def labelled(
    recipe: Recipe, prepared: PreparedText, config: Config, sampler: EpochSampler, held: HeldRows
) -> BatchLoader:
    pad = getattr(config, "pad", 0) or 0
    if held is None:
        return LabelledLoader(sampler, prepared.columns["text"], prepared.classes, pad)
    known = {label: number for number, label in enumerate(prepared.labels)}
    some = [row for row in held if row[1].strip() in known]
    classes = np.array([known[row[1].strip()] for row in some], np.int64)
    return LabelledLoader(sampler, encoded(prepared.tokenizer, [row[0] for row in some]), classes, pad)


def encoded(tokenizer: Tokenizer | Paired, texts: list[str]) -> Store:
    return Store.of(tokenizer.encode(texts))
