"""The graphs of `onnx_export` in onnxruntime, and the likeliest next id, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from regard.interop.folders import read_json
from regard.interop.onnx_export import import_onnx, layer_names

Array = np.ndarray[Any, Any]


class GreedyOutput(NamedTuple):
    """What was written: ids (batch, steps), and the logits (batch, steps, vocabulary) that each was the largest of."""

    ids: Array
    logits: Array


class OnnxModel:
    """Encoder and decoder step of a folder."""

    def __init__(self, folder: Path) -> None:
        runtime = import_onnx()
        self.config = read_json(folder / "config.json")["transformer"]
        self.encoder, self.decoder = (
            runtime.InferenceSession(str(folder / name), providers=["CPUExecutionProvider"])
            for name in ("encoder.onnx", "decoder.onnx")
        )

    def greedy(self, source_ids: Array, source_mask: Array, steps: int) -> GreedyOutput:
        """So many steps, or fewer if every text has come to its end before."""
        config, texts = self.config, len(source_ids)
        cross_names, past_names = (layer_names(name, config["decoder_layers"]) for name in ("cross", "past"))
        read = self.encoder.run(cross_names, {"source_ids": source_ids, "source_mask": source_mask})
        cross = dict(zip(cross_names, read, strict=True))
        nothing = np.zeros((texts, config["heads"], 0, config["dim"] // config["heads"]), np.float32)
        past = dict.fromkeys(past_names, nothing)
        newest = np.full((texts, 1), config["start"], np.int64)
        ids, logits = np.zeros((texts, 0), np.int64), []
        while ids.shape[1] < steps and not (ids == config["end"]).any(1).all():
            step, *present = self.decoder.run(
                None, {"target_ids": newest, "source_mask": source_mask, **past, **cross}
            )  # fmt: skip
            past = dict(zip(past_names, present, strict=True))
            newest = step[:, -1].argmax(-1)[:, None]
            ids = np.concatenate([ids, newest], 1)
            logits.append(step)
        return GreedyOutput(ids, np.concatenate(logits, 1))
