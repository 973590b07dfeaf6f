"""What a verb imports before it answers: torch, and nothing heavy that it does not use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.subjects import ours

# Together they take longer to import than a small model takes to translate a line. What `import torch` brings along by
# itself is no choice of ours, and not listed.
HEAVY = (
    "sympy", "sacrebleu", "transformers", "huggingface_hub", "matplotlib", "PIL", "scipy", "pandas", "lxml", "fastapi",
    "uvicorn", "torch._dynamo", "torch._inductor", "regard.training", "regard.worked",
)  # fmt: skip
PROGRAM = """
import sys
import torch
before = set(sys.modules)
from typer.testing import CliRunner
from regard.cli import app
found = CliRunner().invoke(app, sys.argv[2:], input="w1 w2\\n")
assert found.exit_code == 0, found.output
loaded = [name for name in sys.argv[1].split(",") if name in set(sys.modules) - before]
print(",".join(loaded))
"""


@pytest.mark.parametrize(
    "verb", [("translate", "FOLDER", "--max-length", "4"), ("look", "FOLDER", "w1 w2", "--target", "w3")]
)
def test_nothing_heavy_is_imported(verb: tuple[str, ...], tmp_path: Path) -> None:
    folder = str(ours("transformer post", tmp_path))
    arguments = [folder if argument == "FOLDER" else argument for argument in verb]
    command = [sys.executable, "-c", PROGRAM, ",".join(HEAVY), *arguments, "--device", "cpu"]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == ""
