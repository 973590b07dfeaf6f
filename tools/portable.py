"""`make test-portable`: all tests as other processors would run them, on other numbers of threads and other Pythons.

What a processor can do decides in which order sums are added, and so how they round. PyTorch, MKL and oneDNN can each
be told to do with less than the machine has. The configurations together name every value at least once; a Python is
taken where this machine has it, with a virtual environment of its own made from the lock. Anything that fails makes the
whole fail, and is named.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
CHOICES = ("ATEN_CPU_CAPABILITY", "MKL_CBWR", "ONEDNN_MAX_CPU_ISA", "REGARD_TEST_THREADS")
COPIES = "2"  # processes that run tests side by side


@dataclass(frozen=True)
class Configuration:
    """One run of all tests: what it is, and what is told to PyTorch, MKL and oneDNN; else they take what there is."""

    name: str
    what: str
    settings: dict[str, str] = field(default_factory=dict)
    python: str = ""  # a version; else the one that runs this

    def environment(self) -> dict[str, str]:
        """That of a process, without what this one was told."""
        kept = {name: value for name, value in os.environ.items() if name not in CHOICES}
        threads = self.settings.get("REGARD_TEST_THREADS", "1")
        patient = {"OMP_WAIT_POLICY": "PASSIVE"}  # threads beyond the cores must not wait in circles
        return {**kept, **patient, "OMP_NUM_THREADS": threads, **self.settings}


CONFIGURATIONS = (
    Configuration(
        "plain", "no vector instructions: PyTorch's default, MKL's and oneDNN's most compatible code, one thread",
        {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41",
         "REGARD_TEST_THREADS": "1"},
    ),
    Configuration(
        "avx2", "AVX2 everywhere, as most laptops have it, two threads",
        {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2", "REGARD_TEST_THREADS": "2"},
    ),
    Configuration("own", "whatever this machine has, one thread", {"REGARD_TEST_THREADS": "1"}),
    Configuration("own, 4 threads", "whatever this machine has, four threads", {"REGARD_TEST_THREADS": "4"}),
    Configuration(
        "mixed", "PyTorch's default code above MKL's and oneDNN's own, four threads: sums are cut in other places",
        {"ATEN_CPU_CAPABILITY": "default", "REGARD_TEST_THREADS": "4"},
    ),
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="All tests under several configurations.")
    parser.add_argument("--only", action="append", metavar="NAME", help="this configuration; may be given again")
    parser.add_argument("tests", nargs="*", help="what pytest is to run; by default everything")
    given = parser.parse_args()
    everything = (*CONFIGURATIONS, *other_pythons())
    wanted = [one for one in everything if given.only is None or one.name in given.only]
    if set(given.only or ()) - {one.name for one in wanted}:
        parser.error(f"there is no such configuration; known: {', '.join(repr(one.name) for one in everything)}")
    red = [one.name for one in wanted if not green(one, given.tests)]
    print(f"\n{len(wanted) - len(red)} of {len(wanted)} configurations green" + ": all" * (not red))
    if red:
        sys.exit(f"red: {', '.join(red)}")


def other_pythons() -> list[Configuration]:
    """One for each further version of Python that this machine has; which it has not is said."""
    found = []
    for version in PYTHONS:
        if version == running():
            continue
        if find_python(version) is None:
            print(f"Python {version}: not on this machine, so not tried")
        else:
            found.append(Configuration(f"python {version}", f"Python {version}, otherwise as it is", python=version))
    return found


def running() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def find_python(version: str) -> Path | None:
    """On the path, or among those that pyenv keeps: its names on the path do not always lead to one."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    beside = sorted(kept.glob(f"{version}.*/bin/python{version}"), reverse=True)
    named = shutil.which(f"python{version}")
    return next((each for each in (*beside, *([Path(named)] if named else [])) if answers(each, version)), None)


def answers(python: Path, version: str) -> bool:
    asked = [python, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False)
    return said.returncode == 0 and said.stdout.strip() == version


def green(one: Configuration, tests: list[str]) -> bool:
    """Run it, and say how it went."""
    settings = " ".join(f"{name}={value}" for name, value in one.settings.items())
    print(f"\n== {one.name}: {one.what}\n   {settings}", flush=True)
    started = time.monotonic()
    python = Path(sys.executable) if not one.python else prepared(one.python)
    status = 1
    if python is not None:
        command = [python, "-m", "pytest", "-n", COPIES, "--dist", "loadgroup", *tests]
        status = subprocess.run(command, cwd=ROOT, env=one.environment(), check=False).returncode
    print(f"== {one.name}: {'green' if status == 0 else 'RED'} after {time.monotonic() - started:.0f} s", flush=True)
    return status == 0


def prepared(version: str) -> Path | None:
    """The Python of a virtual environment made from the lock, once; None where that cannot be made."""
    place = ROOT / f".venv-{version}"
    python, ready = place / "bin" / "python", place / ".ready"
    sources = [ROOT / "pyproject.toml", ROOT / "requirements.lock"]
    if ready.exists() and all(ready.stat().st_mtime >= source.stat().st_mtime for source in sources):
        return python
    print(f"   setting up {place.name}", flush=True)
    found = find_python(version)
    assert found is not None
    pip = [python, "-m", "pip", "install", "--quiet", "-c", "requirements.lock"]
    for command in (
        [found, "-m", "venv", place],
        [*pip, "hatchling", "editables"],
        [*pip, "--no-build-isolation", "-e", ".[dev]"],
    ):
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            return None
    ready.touch()
    return python


if __name__ == "__main__":
    main()
