"""A model written for CTranslate2, read again and compared: with what it was exported from, to rounding."""

from __future__ import annotations

import shutil
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from regard.decoding import Beams, Limits
from regard.errors import UnknownNameError
from regard.interop.ctranslate2_export import QUANTIZATIONS, import_ctranslate2, write_ctranslate2
from regard.interop.transformers_export import TOLERANCE, LogitComparison, mismatch, same_texts
from regard.models import Transformer
from regard.tasks.ctranslate2_translator import CTranslate2Translator
from regard.text.bpe import Paired
from regard.text.tokenizer import Tokenizer, padded

SOURCES, TARGETS = (9, 2, 5), (4, 8, 6)  # tokens of the texts that log probabilities are compared on
STEPS = 12  # of the searches that are compared
SEARCHES = (Beams(1), Beams(4))
INTEGERS = ("int8", "int8_float32")


def write_compared(
    model: Transformer, tokenizer: Tokenizer | Paired, folder: Path, *, longest: int, quantization: str = "float32"
) -> list[LogitComparison]:
    """Write the folder and compare it; any difference that is not rounding is refused.

    Weights in float32 and halves are compared with the model, the latter after it is rounded in the same way. Eight
    bits also round what passes through, which no other program does alike: so the weights are compared in float32
    first, and the folder with what CTranslate2 makes of those; how far that is from the model is reported.
    """
    if quantization not in QUANTIZATIONS:
        raise UnknownNameError("quantization", quantization, QUANTIZATIONS)
    name = f"ctranslate2 {import_ctranslate2().__version__}"
    if quantization not in INTEGERS:
        write_ctranslate2(model, tokenizer, folder, longest=longest, quantization=quantization)
        translator, dtype = CTranslate2Translator(folder, "cpu", "float32"), getattr(torch, quantization)
        return [compare(model, tokenizer, translator, Tolerance.of(dtype, name))]
    exact = folder.with_name(f"{folder.name}.exact")
    try:
        whole = write_compared(model, tokenizer, exact, longest=longest)
        write_ctranslate2(model, tokenizer, folder, longest=longest, quantization=quantization)
        expected = logs_of(CTranslate2Translator(exact, "cpu", "int8"), model)
        actual = logs_of(CTranslate2Translator(folder, "cpu"), model)
    finally:
        shutil.rmtree(exact, ignore_errors=True)
    Tolerance(f"{name} in 8 bits").check(actual, expected)
    ours = our_logs(model, *samples(model))
    share = apart(actual, ours)
    return [*whole, LogitComparison(f"{name} in 8 bits", share, exact=False)]


class Tolerance(NamedTuple):
    """Who reads a folder, and how far its log probabilities may be from ours, as a share of the largest."""

    reader: str
    share: float = TOLERANCE
    dtype: torch.dtype = torch.float32  # that weights are kept in

    @classmethod
    def of(cls, dtype: torch.dtype, reader: str) -> Tolerance:
        """Beside the rounding of sums in float32, theirs rounds a table of positions where halves are kept."""
        return cls(reader, TOLERANCE + (0.0 if dtype == torch.float32 else 2 * torch.finfo(dtype).eps), dtype)

    def check(self, actual: Tensor, expected: Tensor, search: str = "") -> float:
        """How far these are apart, if that is no more than may be."""
        share = apart(actual, expected)
        if not share <= self.share:
            raise mismatch(f"{self.reader}{search}", f"log probabilities differ by {share:.2g} of the largest")
        return share


def compare(
    model: Transformer, tokenizer: Tokenizer | Paired, translator: CTranslate2Translator, tolerance: Tolerance
) -> LogitComparison:
    """Log probabilities of texts that are given, of those that its searches find, and the tokenizer."""
    model = model.eval()
    if tolerance.dtype != torch.float32:
        model = deepcopy(model).to(tolerance.dtype).float()  # the weights rounded, what is computed with them not
    share = tolerance.check(logs_of(translator, model), our_logs(model, *samples(model)))
    sources, _ = samples(model)
    limits = Limits(min(STEPS, translator.settings.positions), (model.config.end,))
    for how in SEARCHES:
        for row, best in zip(sources, translator.hypotheses(sources, how, limits), strict=True):
            ids = [*best[0].ids, *([] if best[0].end is None else [best[0].end])]
            logs = next_logs(model, row, ids)
            chosen = logs[torch.arange(len(ids)), torch.tensor(ids)]
            divisor = how.divisor(len(ids)) if how.width > 1 else 1.0
            tolerance.check(torch.tensor([best[0].score]), (chosen.sum() / divisor)[None], f", {how.width} beams")
            if how.width == 1:  # at every step the likeliest, to rounding
                tolerance.check(chosen, logs.amax(-1), ", greedy")
    same_texts(tokenizer, translator.tokenizer, "regard")
    return LogitComparison(tolerance.reader, share)


def apart(actual: Tensor, expected: Tensor) -> float:
    """The largest difference as a share of the largest; those near 0 come from logits no smaller than 1."""
    return float((actual.double() - expected.double()).abs().max() / expected.double().abs().max().clamp_min(1.0))


def samples(model: Transformer) -> tuple[list[list[int]], list[list[int]]]:
    """Sources and targets of different lengths, the same every time; a target has no end in it."""
    config, rng = model.config, torch.Generator().manual_seed(0)
    most = config.max_length if config.positions == "learned" else max(*SOURCES, *TARGETS)

    def row(length: int, size: int) -> list[int]:
        ids = torch.randint(size, (min(length, most),), generator=rng).tolist()
        return [(number + 1) % size if number in (config.end, config.pad) else number for number in ids]

    sources = [[*row(length - 1, config.source_vocabulary), config.end] for length in SOURCES]
    return sources, [row(length - 1, config.target_vocabulary) for length in TARGETS]


def logs_of(translator: CTranslate2Translator, model: Transformer) -> Tensor:
    """What it says of the samples."""
    return torch.tensor([log for row in translator.log_probabilities(*samples(model)) for log in row])


@torch.no_grad()
def our_logs(model: Transformer, sources: list[list[int]], targets: list[list[int]]) -> Tensor:
    """What our model says of the same, side by side."""
    ends = [[*row, model.config.end] for row in targets]
    device, pad = next(model.parameters()).device, model.config.pad or 0
    (source, mask), (inputs, _), (labels, counted) = (
        padded(rows, pad) for rows in (sources, [[model.config.start, *row] for row in targets], ends)
    )
    logs: Tensor = model(source.to(device), inputs.to(device), mask.to(device)).cpu().log_softmax(-1)
    return logs.gather(-1, labels[..., None])[..., 0][counted]


@torch.no_grad()
def next_logs(model: Transformer, source: list[int], ids: list[int]) -> Tensor:
    """Log probabilities of every token at each step of one text."""
    device = next(model.parameters()).device
    inputs = torch.tensor([[model.config.start, *ids[:-1]]], device=device)
    logs: Tensor = model(torch.tensor([source], device=device), inputs)[0].cpu().log_softmax(-1)
    return logs
