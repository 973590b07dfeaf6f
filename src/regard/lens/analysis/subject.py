"""A model to look at, by name: ours or any of Hugging Face's that reads text, with one way to have it read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.decoding.finite import check_finite
from regard.errors import FileError, InputError
from regard.interop.auto_loading import installed, load_auto
from regard.interop.folders import where
from regard.interop.huggingface import READERS
from regard.lens.analysis.readers import Reader, Rows, TaskReader
from regard.lens.recording_api import Recording
from regard.lens.watch import watch
from regard.models.checkpoint import read_settings
from regard.tasks import load
from regard.tasks.model_folder import device_of
from regard.tasks.text_ids import check_lengths
from regard.text.tokenizer import Batch, padded

LONGEST_TEXT = 2_000_000  # characters of a text that is looked at: several times 100,000 tokens


def open_subject(name: str | Path, device: str = "auto") -> Subject:
    """The model in a folder, one that ships, or one of the Hugging Face hub, ready to be looked at.

    What `regard.load` knows is loaded by it; every other model of text by transformers, if that is installed.
    """
    torch_device, location = device_of(device), where(name)
    folder, notes = location.folder, (location.note,) if location.note else ()
    settings = read_settings(folder)
    kind = next(iter(settings.get("architectures") or ()), "")
    if settings.get("format") == "regard":
        return Subject(str(name), TaskReader(load(folder, device), "regard"), notes)
    if kind in READERS:
        try:
            ours = TaskReader(load(folder, device), f"Hugging Face ({kind}), as a model of ours")
            return Subject(str(name), ours, notes)
        except (InputError, FileError):  # a variant that ours do not equal, or a tokenizer only transformers reads
            if not installed():
                raise
    return Subject(str(name), load_auto(folder, torch_device), notes)


@dataclass(frozen=True)
class Subject:
    """A model with its tokenizer; `see` has it read texts and gives what every head did."""

    name: str
    reader: Reader
    location: tuple[str, ...] = ()  # which of several models of that name it is, where the name does not say it

    @property
    def notes(self) -> tuple[str, ...]:
        """What its user should know of it."""
        return (*self.location, *self.reader.notes)

    @property
    def pair(self) -> bool:
        """Has it a source and a target, as a translator?"""
        return self.reader.pair

    def see(
        self, texts: str | Sequence[str], targets: str | Sequence[str] | None = None, *, greedy: bool = False,
        **options: Any,
    ) -> Recording:  # fmt: skip
        """What every head does with these texts, read side by side in one forward: a recording of one call.

        An encoder-decoder also reads `targets`; without them, what it says itself of each text (`greedy`: its
        likeliest words one by one, which is quicker). `options` are those of `regard.watch`.
        """
        given = listed(texts)
        rows = self.encoded(given)
        target_rows = self.target_ids(given, rows, None if targets is None else listed(targets), greedy)
        # The last token is written, and not read.
        decoder_inputs = None if target_rows is None else [row[:-1] for row in target_rows]
        filler = unlike_ends(self.reader.pad, [*rows, *(decoder_inputs or [])])
        batches = [None if some is None else padded(some, filler) for some in (rows, decoder_inputs)]
        with watch(self.reader.model, self.reader.tokenizer, **options) as recording:
            assert batches[0] is not None
            logits = self.reader.read(batches[0], batches[1])
            if logits is not None:  # a search would notice it; a text that is given is only read
                check_finite(logits, self.reader.model, mask_of(logits, batches[1] or batches[0]))
        for call in recording.recorder.calls if recording.recorder else ():
            call.pad = filler
            call.after = None if target_rows is None else [row[-1] for row in target_rows]
        return recording

    def check(self, text: str, target: str | None = None) -> None:
        """Refuse a text that it cannot read."""
        self.encoded([text])
        if target is not None:
            self.forced([target])

    def encoded(self, texts: Sequence[str]) -> Rows:
        if not texts or any(not text.strip() for text in texts):
            raise InputError("there is no text to look at", found=f"{list(texts)!r:.60}", do="give at least one word")
        check_lengths(texts, LONGEST_TEXT)
        rows = self.reader.encode(texts)
        for text, row in zip(texts, rows, strict=True):
            if not row:
                raise InputError("this text has no tokens", found=f"{text!r:.60}", do="give at least one word")
            check_length("text", len(row), self.reader.limits[0])
        return rows

    def target_ids(self, texts: Sequence[str], rows: Rows, targets: Sequence[str] | None, greedy: bool) -> Rows | None:
        """What the decoder reads, and behind it what it writes last, where there is one beside an encoder."""
        if not self.pair:
            if targets is not None:
                raise InputError(
                    "this model reads one text, and no target", found=self.reader.origin, do="leave the target out"
                )
            return None
        if targets is None:
            return self.reader.say(rows, greedy=greedy)
        if len(targets) != len(texts):
            raise InputError("every text needs one target", found=f"{len(texts)} texts, {len(targets)} targets")
        return self.forced(targets)

    def forced(self, targets: Sequence[str]) -> Rows:
        """The same when it is made to say these."""
        check_lengths(targets, LONGEST_TEXT)
        rows = self.reader.encode_targets(targets)
        for row in rows:
            check_length("target", len(row) - 1, self.reader.limits[1])
        return rows


def mask_of(logits: Tensor, batch: Batch) -> Tensor | None:
    """Which logits of a batch's positions, or of its last few, are of words; None where each text has one row."""
    if logits.ndim < 3 or logits.shape[1] > batch.mask.shape[1]:
        return None
    return batch.mask[:, -logits.shape[1] :].to(logits.device)


def listed(texts: str | Sequence[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


class LongError(InputError):
    """A text of more tokens than a model has positions for."""


def check_length(what: str, tokens: int, most: int | None) -> None:
    if most is not None and tokens > most:
        raise LongError(
            f"the {what} is longer than this model can read", found=f"{tokens:,} tokens, where at most {most:,} fit",
            do="shorten it, or use a model with more positions",
        )  # fmt: skip


def unlike_ends(pad: int, rows: Rows) -> int:
    """What fills up behind: the model's own padding, or an id that no text ends with, so that the two differ."""
    ends = {row[-1] for row in rows if len(row) > 1}
    return pad if pad not in ends else next(number for number in range(len(ends) + 1) if number not in ends)
