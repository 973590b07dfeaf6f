"""Any model of Hugging Face that reads text, through their own classes: to look at, where ours do not equal it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from textwrap import shorten
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import InputError, RegardError
from regard.text.tokenizer import Batch, padded

LONGEST = 256  # tokens of what a model says, where its folder sets no bound


@dataclass(frozen=True)
class Auto:
    """A model of theirs with its tokenizer: texts to ids, and ids through the model."""

    model: Any
    tokenizer: Any
    notes: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        return f"Hugging Face ({type(self.model).__name__})"

    @cached_property
    def pair(self) -> bool:
        """Has it a source and a target?"""
        return "decoder_input_ids" in signature(self.model.forward).parameters

    @property
    def pad(self) -> int:
        ends = self.tokenizer.eos_token_id
        return next(number for number in (self.tokenizer.pad_token_id, ends, 0) if number is not None)

    @property
    def limits(self) -> tuple[int | None, int | None]:
        """The most tokens it can read, of a source and of a target: where positions are learned, or in a table."""
        sides: tuple[list[int], list[int]] = ([], [])
        for name, module in self.model.named_modules():
            if isinstance(module, nn.Embedding) and ("position" in name.lower() or name.endswith("wpe")):
                if "relative" in name.lower():
                    continue
                sides[self.pair and "decoder." in name].append(position_count(module))
        source, target = (min(side, default=None) for side in sides)
        return source, target

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return self.known(texts, self.tokenizer(list(texts))["input_ids"])

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        """What the decoder reads when it is to say these texts, as in training, and behind it what it writes last."""
        rows = self.known(texts, self.tokenizer(text_target=list(texts))["input_ids"])
        shift = getattr(self.model, "prepare_decoder_input_ids_from_labels", None)
        if shift is None:
            return [[self.start, *self.without_end(row), self.ends[0]] for row in rows]
        return [[*shift(labels=torch.tensor([row]))[0].tolist(), row[-1]] for row in rows]

    def known(self, texts: Sequence[str], rows: list[list[int]]) -> list[list[int]]:
        """The ids, if the model has them all."""
        vocabulary = self.model.get_input_embeddings().num_embeddings
        for text, ids in zip(texts, rows, strict=True):
            if max(ids, default=0) >= vocabulary:
                raise InputError(
                    "the tokenizer has tokens that the model does not know",
                    found=f"id {max(ids)} in {text!r:.60}; the model knows 0 to {vocabulary - 1}",
                    do="use the tokenizer that belongs to the model",
                )
        return rows

    @property
    def start(self) -> int:
        settings = (getattr(self.model, "generation_config", None), self.model.config)
        names = ("decoder_start_token_id", "bos_token_id")
        ids = (getattr(where, name, None) for name in names for where in settings)
        return next((number for number in ids if number is not None), self.pad)

    @property
    def ends(self) -> list[int]:
        """The ids that end a text."""
        theirs = getattr(getattr(self.model, "generation_config", None), "eos_token_id", None)
        ends = self.tokenizer.eos_token_id if theirs is None else theirs
        return ends if isinstance(ends, list) else [self.pad if ends is None else ends]

    def without_end(self, row: list[int]) -> list[int]:
        """Up to the first end, which nobody reads."""
        return row[: next((position for position, number in enumerate(row) if number in self.ends), len(row))]

    @torch.no_grad()
    def say(self, rows: list[list[int]], *, greedy: bool = False) -> list[list[int]]:
        """What the model makes of each source: from the start to the end, or to the last word where there was none.

        The decoder of a model that writes nothing reads the source again, as its own forward has it.
        """
        if not self.model.can_generate():
            return [[self.start, *row] for row in rows]
        ids, mask = padded(rows, self.pad)
        how: dict[str, Any] = {"num_beams": 1} if greedy else {}
        theirs = self.model.generation_config
        if theirs.max_length in (None, 20) and theirs.max_new_tokens is None:  # 20 is what nobody chose
            how["max_new_tokens"] = min(LONGEST, self.limits[1] or LONGEST) - 1
        device = self.model.device
        with quiet():
            output_ids = self.model.generate(
                ids.to(device), attention_mask=mask.long().to(device), do_sample=False, **how
            )
        return [[row[0], *row[1 : len(self.without_end(row[1:])) + 2]] for row in output_ids.tolist()]

    @torch.no_grad()
    def read(self, source: Batch, target: Batch | None) -> Tensor | None:
        """The logits of one forward, of as few positions as can be. Masks are given only where something fills up."""
        given: dict[str, Any] = named("input_ids", "attention_mask", source)
        if target is not None:
            given |= named("decoder_input_ids", "decoder_attention_mask", target)
        taken = signature(self.model.forward).parameters
        given |= {name: value for name, value in (("use_cache", False), ("logits_to_keep", 1)) if name in taken}
        given = {name: x.to(self.model.device) if isinstance(x, torch.Tensor) else x for name, x in given.items()}
        try:
            logits = self.model(**given)[0]
        except RegardError:
            raise
        except Exception as error:  # whatever a model may say to inputs that are not its own
            raise InputError(
                f"{type(self.model).__name__} could not read this",
                found=shorten(f"{type(error).__name__}: {error}", 160),
                do="call it in Python as it wants: with regard.watch(model) as seen: model(...)",
            ) from error
        return logits if isinstance(logits, Tensor) else None


def named(ids: str, mask: str, batch: Batch) -> dict[str, Any]:
    return {ids: batch.ids} if bool(batch.mask.all()) else {ids: batch.ids, mask: batch.mask.long()}


def position_count(table: nn.Embedding) -> int:
    """How many positions a table has room for; some leave the first rows unused."""
    unused = getattr(table, "offset", None)
    if unused is None:
        unused = 0 if table.padding_idx is None else table.padding_idx + 1
    return table.num_embeddings - int(unused)


@contextmanager
def quiet() -> Iterator[Any]:
    """transformers without its reports and bars: what matters of them is said in our words."""
    import transformers

    log: Any = transformers.utils.logging
    before, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield transformers
    finally:
        log.set_verbosity(before)
        if bars:
            log.enable_progress_bar()
