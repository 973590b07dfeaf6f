"""Results of claims as the book keeps them: measured by command, stored with it, the versions and the date, and read.

A result is two files in `docs/claims/results/quick` or `full`: NAME.json, which is what `regard claim NAME --json`
prints with `command`, `date`, `device_name` and `experiment` added, and NAME.svg, its plot.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import regard
from regard.claims import NAMES, Estimate
from regard.errors import UnknownNameError

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "claims" / "results"
FORMS = ("quick", "full")
IMPORTED = re.compile(r"^from regard\.claims\.((?:lab|tried)\.\w+) import", re.MULTILINE)


@dataclass(frozen=True)
class MeasureOptions:
    """How `--measure` tries claims: quickly or in full, on which text and device, and where results go."""

    full: bool = False
    data: Path | None = None
    device: str = "cpu"
    out: Path = RESULTS

    @property
    def form(self) -> str:
        return FORMS[self.full]

    def command(self, name: str) -> str:
        """What gives the same result, without this machine's names of places."""
        words = ["regard claim", name]
        words += ["--full"] if self.full else []
        words += ["--data DIR"] if self.data and regard.claim(name).claim.data else []
        words += [f"--device {self.device}"] if self.device != "cpu" else []
        return " ".join(words)


def measure(names: Sequence[str], options: MeasureOptions) -> list[str]:
    """Try claims one after the other and keep each result at once; the names of those that could not be tried."""
    for name in names:
        if name not in NAMES:
            raise UnknownNameError("claim", name, NAMES)
    failed = []
    for name in names or NAMES:
        try:
            seconds = measure_one(name, options)
        except Exception as error:
            print(f"{name}: could not be tried: {type(error).__name__}: {error}", flush=True)
            failed.append(name)
        else:
            print(f"{name}: {verdict_in(options.out / options.form / f'{name}.json')} ({seconds:.0f} s)", flush=True)
    return failed


def measure_one(name: str, options: MeasureOptions) -> float:
    """The files of one result; how many seconds it took."""
    result = regard.claim(name).run(
        full=options.full, data=options.data, device=options.device, processes=len(os.sched_getaffinity(0))
    )
    folder = options.out / options.form
    folder.mkdir(parents=True, exist_ok=True)
    facts = {
        **result.to_dict(),
        "command": options.command(name),
        "date": datetime.now(UTC).date().isoformat(),
        "device_name": device_name(options.device),
        "experiment": experiment(name),
    }
    (folder / f"{name}.json").write_text(json.dumps(facts, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    result.to_svg(folder / f"{name}.svg")
    return result.provenance.seconds


def experiment(name: str) -> str:
    """Which text of the claim and of what it is made of was run: a result is told by it if that has changed since."""
    texts = (path.read_bytes() for path in sources(name))
    return sha256(b"".join(texts)).hexdigest()[:16]


def sources(name: str) -> list[Path]:
    """The claim's own file, those that it imports of `tried` and `lab`, those that these import, and the intervals."""
    room = Path(regard.claims.__path__[0])
    waiting, known = [room / "tried" / f"{name.replace('-', '_')}.py"], {room / "estimates.py"}
    while waiting:
        path = waiting.pop()
        if path not in known:
            known.add(path)
            modules = IMPORTED.findall(path.read_text(encoding="utf-8"))
            waiting += [room.joinpath(*module.split(".")).with_suffix(".py") for module in modules]
    return sorted(known)


def device_name(device: str) -> str:
    """What a reader can compare with: a GPU's name, or how many processors of which kind."""
    if device.startswith("cuda"):
        import torch

        return torch.cuda.get_device_name(device)
    return f"{len(os.sched_getaffinity(0))} cores, {platform.machine()}"


def verdict_in(path: Path) -> str:
    return str(json.loads(path.read_text(encoding="utf-8"))["verdict"])


def stored(name: str, form: str, results: Path = RESULTS) -> dict[str, Any] | None:
    """A result as it lies there, with its plot as `svg`; None where that form has not been run."""
    path = results / form / f"{name}.json"
    if not path.is_file():
        return None
    facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return {**facts, "svg": path.with_suffix(".svg").read_text(encoding="utf-8")}


def estimate_of(cell: dict[str, float | None]) -> Estimate:
    """As it was before JSON, which has no infinity: an interval that is open there has none."""
    low, value, high = cell["low"], cell["value"], cell["high"]
    return Estimate(
        math.nan if value is None else value, -math.inf if low is None else low, math.inf if high is None else high
    )
