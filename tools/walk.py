"""The walk of data: which files of the package a call enters, from the verb down.

`python -m tools.walk` prints the three that ARCHITECTURE.md draws. A file counts when one of its functions runs; what
`__torch_function__` passes on is PyTorch's doing, and does not count.
"""

from __future__ import annotations

import ast
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "regard"
SILENT = ("<module>", "__torch_function__", "__getattr__")


def main() -> None:
    for name, files in walks().items():
        print(f"{name}: {len(files)} files, {sum(file.startswith('lens/') for file in files)} of lens")
        print("\n".join(f"  {file}" for file in files))


def walks() -> dict[str, list[str]]:
    """By the call that is walked, the files it enters, each before those that it imports."""
    calls = {"regard.watch": watch_call, "Translator.translate": translate_call, "regard.train": train_call}
    return {name: in_order(entered(prepare())) for name, prepare in calls.items()}


def entered(run: Callable[[], Any]) -> list[str]:
    """The files that a call enters, in the order it does."""
    files: dict[str, None] = {}

    def look(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name not in SILENT:
            file = frame.f_code.co_filename
            if file.startswith(f"{PACKAGE}{os.sep}"):
                files.setdefault(Path(file).relative_to(PACKAGE).as_posix())

    sys.setprofile(look)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run()
    finally:
        sys.setprofile(None)
    return list(files)


def in_order(files: list[str]) -> list[str]:
    """Each file before those that it imports; among equals, as they were entered."""
    return topological(files, {file: imported(file) for file in files})


def topological(names: list[str], below: dict[str, set[str]]) -> list[str]:
    """Each name before those below it; that there is such an order is what "in one direction" means."""
    order: list[str] = []
    left = list(names)
    while left:
        free = [name for name in left if not any(name in below[other] for other in left if other != name)]
        assert free, f"no order: {left} import each other"
        order.append(free[0])
        left.remove(free[0])
    return order


def imported(file: str) -> set[str]:
    """The files that a file imports, inside functions and for types too; what a package hands on counts as its own."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((PACKAGE / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("regard."):
            module = str(node.module).removeprefix("regard.").replace(".", "/")
            names |= {f"{module}.py", f"{module}/__init__.py", *(f"{module}/{alias.name}.py" for alias in node.names)}
    packages = {name for name in names if name.endswith("/__init__.py") and (PACKAGE / name).exists() and name != file}
    return names.union(*map(imported, packages))


def watch_call() -> Callable[[], Any]:
    """A watched forward of a Hugging Face model."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.utils import logging

    import regard

    logging.set_verbosity_error()
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(**sizes, vocab_size=20, max_position_embeddings=32)).eval()
    ids = torch.arange(6)[None]

    def run() -> None:
        with torch.no_grad(), regard.watch(model):
            model(ids)

    run()  # what is only imported or prepared once is not walked
    return run


def translate_call() -> Callable[[], Any]:
    """A sentence through the translator that ships."""
    import regard

    task: Any = regard.load("grammar", "cpu")
    task.translate(["the cat sleeps ."])
    return lambda: task.translate(["the cat sleeps ."])


def train_call() -> Callable[[], Any]:
    """Two steps of a small translator on a few lines."""
    import regard

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            rows = "".join(f"a b {number}\tc d {number}\n" for number in range(40))
            (Path(folder) / "pairs.tsv").write_text(rows, encoding="utf-8")
            small = ["model.dim=16", "model.heads=2", "model.feedforward=16", "tokenizer.vocabulary=280"]
            settings = [*small, "training.steps=2", "training.batch_tokens=64", "model.encoder_layers=1"]
            regard.train(
                Path(folder) / "pairs.tsv", Path(folder) / "out", settings=settings, device="cpu", threads=1, seed=0
            )

    run()
    return run


if __name__ == "__main__":
    main()
