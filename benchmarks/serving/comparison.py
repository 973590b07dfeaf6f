"""Every server under the same load, and the most that each does within the same 95th percentile."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.report import markdown
from benchmarks.serving.figures import Level, best_within, rising_levels
from benchmarks.serving.generator import LoadProcess
from benchmarks.serving.servers import RunningServer, ServerCommand, started

LIMITS = (0.1, 0.25, 0.5, 1.0)  # seconds of the 95th percentile
ENOUGH = max(LIMITS)
RAMP = 1.0  # seconds of each level that do not count
LEVEL_COLUMNS = ("server", "clients", "texts/s", "p50", "p95", "as ours", "its cores", "cores of the clients")
Levels = dict[str, list[Level]]


def measure(load: LoadProcess, running: RunningServer, truth: dict[str, str], seconds: float) -> Callable[[int], Level]:
    """A level by its number of clients."""

    def level(clients: int) -> Level:
        before = running.cpu()
        got = load.put(running.port, truth, clients=clients, seconds=seconds, ramp=RAMP)
        whole = seconds + RAMP
        cores = (running.cpu() - before) / whole, got["cpu"] / whole
        return Level(clients, got["rate"], got["p50"], got["p95"], got["outcomes"], *cores)

    return level


def levels_of(server: ServerCommand, truth: dict[str, str], seconds: float, languages: tuple[str, str]) -> list[Level]:
    """From one client to as many as bring nothing more."""
    with started(server) as running, LoadProcess(languages) as load:
        measured = measure(load, running, truth, seconds)
        measured(16)  # to warm up
        levels = []
        for level in rising_levels(measured, ENOUGH):
            levels.append(level)
            print(" | ".join(level_cells(server.name, level)), flush=True)
    return levels


def level_cells(name: str, level: Level) -> tuple[str, ...]:
    faults = "".join(f", {count} {what}" for what, count in level.faults.items())
    return (
        name, str(level.clients), f"{level.rate:,.0f}", f"{1000 * level.p50:.0f} ms", f"{1000 * level.p95:.0f} ms",
        f"{100 * level.right:.1f} %{faults}", f"{level.server_cores:.2f}", f"{level.client_cores:.2f}",
    )  # fmt: skip


def limit_cells(name: str, levels: Sequence[Level]) -> tuple[str, ...]:
    """The most texts a second within each limit, and with how many clients."""
    best = [best_within(levels, limit) for limit in LIMITS]
    return name, *("-" if level is None else f"{level.rate:,.0f} ({level.clients})" for level in best)


def limit_columns() -> tuple[str, ...]:
    return "texts/s (clients)", *(f"p95 at most {1000 * limit:.0f} ms" for limit in LIMITS)


def tables(levels: Levels) -> list[str]:
    """The most within each limit first, then every level."""
    best = [limit_cells(name, some) for name, some in levels.items()]
    rows = [level_cells(name, level) for name, some in levels.items() for level in some]
    return [*markdown(limit_columns(), best), "", *markdown(LEVEL_COLUMNS, rows)]


def offline_rate(command: Sequence[str], texts: Sequence[str], seconds: float) -> float:
    """CTranslate2 without a server, all texts in one call."""
    lines = "\n".join(" ".join(text.split()) for text in texts)
    done = subprocess.run(
        [*command, "--offline", str(seconds)], input=lines, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def exported(python: str, model: str, folder: Path) -> Path:
    """The same weights as CTranslate2 reads them."""
    place = folder / "ctranslate2"
    command = [python, "-m", "regard", "export", model, "--to", "ctranslate2", "--out", str(place)]
    subprocess.run(command, check=True, capture_output=True)
    return place
