"""A model written as ONNX, run by onnxruntime and compared: every logit of a greedy search, to rounding."""

from __future__ import annotations

from pathlib import Path

import torch

from regard.interop.onnx_export import import_onnx, write_onnx
from regard.interop.onnx_greedy import OnnxModel
from regard.interop.transformers_export import LogitComparison, difference, same_texts
from regard.models import Transformer
from regard.tasks.ctranslate2_folder import samples
from regard.text.bpe import Paired, read_tokenizer
from regard.text.tokenizer import Tokenizer, padded

STEPS = 6


def write_compared_onnx(
    model: Transformer, tokenizer: Tokenizer | Paired, folder: Path, *, longest: int
) -> list[LogitComparison]:
    """Write the folder and run it on texts of different lengths, side by side and alone."""
    model = model.eval()
    write_onnx(model, tokenizer, folder, longest=longest)
    name = f"onnxruntime {import_onnx().__version__}"
    graphs, (sources, _) = OnnxModel(folder), samples(model)
    steps = min(STEPS, model.config.max_length) if model.config.positions == "learned" else STEPS
    shares = [
        compare_logits(model, graphs, rows, steps, name) for rows in (sources, sources[:1])  # another batch, too
    ]  # fmt: skip
    same_texts(tokenizer, read_tokenizer(folder), "regard")
    return [LogitComparison(name, max(shares))]


@torch.no_grad()
def compare_logits(model: Transformer, graphs: OnnxModel, rows: list[list[int]], steps: int, name: str) -> float:
    """How far its logits are from ours along what it writes, whose ids are the largest of them."""
    source, mask = padded(rows, model.config.pad or 0)
    ids, logits = graphs.greedy(source.numpy(), mask.numpy(), steps)
    device = next(model.parameters()).device
    inputs = torch.cat([torch.full((len(rows), 1), model.config.start), torch.from_numpy(ids[:, :-1])], 1)
    expected = model(source.to(device), inputs.to(device), mask.to(device)).cpu()
    return difference(torch.from_numpy(logits), expected, name)
