"""Workers of Ray: one is killed outright while it translates, then the whole command; nothing is lost or doubled.

Ray takes seconds to start, so each of these says as much as it can.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from regard.errors import FileError, InputError
from regard.tasks.bulk import ray_engine
from regard.tasks.bulk.chunk_worker import ChunkResult, WorkerOptions
from regard.tasks.bulk.job_folder import JobFolder, chunks_of
from regard.tasks.bulk.ray_engine import environment, import_ray, knock, share, translate_with_ray
from regard.tasks.bulk.translate_files import BulkRequest, translate_files
from regard.tasks.translator import SearchOptions, Translation
from tests.unit.tasks.bulk.conftest import LINES

pytestmark = pytest.mark.xdist_group("ray")  # in one process: two at once would only wait for each other
PATIENCE = 120.0  # seconds after which something hangs
needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills a process outright")


@needs_kill
def test_a_worker_killed_while_it_translates_costs_nothing(model: str, source: Path, tmp_path: Path) -> None:
    search: Any = {"beams": 1, "max_length": 6}
    plain = BulkRequest(model, [source], tmp_path / "plain.fr", search, device="cpu", chunk=2)
    translate_files(plain)
    victim = tmp_path / "victim"

    def waiting(line: str, best: list[Translation]) -> str:
        """The first worker to come to the ninth line says who it is, and stays in the middle of its chunk."""
        if line == LINES[8] and not victim.exists():
            beside = victim.with_suffix(".part")
            beside.write_text(str(os.getpid()))
            beside.rename(victim)
            time.sleep(PATIENCE)
        return " ".join(best[0].text.split())

    tries: dict[int, int] = {}
    workers: dict[int, str] = {}

    def engine(options: WorkerOptions, numbers: Sequence[int]) -> Iterator[ChunkResult]:
        entry = options.job.manifest()
        assert entry is not None
        chunks = chunks_of(entry[0])
        for result in translate_with_ray(options, numbers, workers=2):
            translated = options.job.target(chunks[result.number])
            assert translated is not None
            assert result.number not in workers
            workers[result.number] = translated.worker
            tries[result.number] = (options.job.tries / f"{result.number:08}").stat().st_size
            yield result

    killer = threading.Thread(target=kill, args=(victim,))
    killer.start()
    many = BulkRequest(model, [source], tmp_path / "many.fr", search, waiting, device="cpu", chunk=2)
    translate_files(many, engine)
    killer.join()
    assert (tmp_path / "many.fr").read_bytes() == (tmp_path / "plain.fr").read_bytes()
    assert sorted(workers) == list(range(len(workers)))
    assert tries == {number: 2 if number == 4 else tries[number] for number in tries}
    killed = victim.read_text()
    assert workers[4].rpartition(":")[2] not in (killed, str(os.getpid()))


def kill(victim: Path) -> None:
    end = time.monotonic() + PATIENCE
    while not victim.exists() and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(int(victim.read_text()), signal.SIGKILL)


STUCK = """
import sys, time
from regard.cli import app, bulk
plain = bulk.text_line
def text_line(source, best):
    if source == "w9 w9":
        time.sleep(600)
    return plain(source, best)
bulk.text_line = text_line
app(sys.argv[1:])
"""  # the command, but for a line that it never gets past


@needs_kill
@pytest.mark.parametrize("workers", [1, 2])
def test_the_command_killed_and_given_again_ends_with_the_same_file(workers: int, model: str, tmp_path: Path) -> None:
    """The chunks that are there when it is killed are those of the end: nobody translates them again."""
    source, out = tmp_path / "source.txt", tmp_path / "out.fr"
    lines = [f"w{number} w{number}" for number in range(16)]
    source.write_text("\n".join(lines) + "\n")
    how = ["--beams", "1", "--max-length", "6", "--device", "cpu", "--chunk", "2", "--workers", str(workers)]
    command = ["translate", model, str(source), "--out", str(out), *how]
    targets = JobFolder.beside(out).targets
    process = subprocess.Popen([sys.executable, "-c", STUCK, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + PATIENCE
    while len(list(targets.glob("*.json"))) < 4 and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert not out.exists()
    done = len(list(targets.glob("[0-9]*.json")))
    assert 4 <= done < 8
    again = subprocess.run([sys.executable, "-m", "regard", *command], capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert again.stdout == ""
    kept = int(again.stderr.rpartition("lines, ")[2].split()[0])
    assert 2 * done <= kept < len(lines)  # a worker that was still alive may have ended its chunk
    search: SearchOptions = {"beams": 1, "max_length": 6}
    translate_files(BulkRequest(model, [source], tmp_path / "here.fr", search, device="cpu", chunk=2, pipeline=True))
    assert out.read_bytes() == (tmp_path / "here.fr").read_bytes()


@pytest.mark.parametrize(
    ("amounts", "workers", "each"),
    [
        ([2.0], 2, 1.0),
        ([16.0], 3, 5.0),
        ([5.0, 5.0], 3, 2.0),  # three each would leave the third worker without room
        ([4.0, 0.0], 2, 2.0),
        ([2.0], 3, 0.5),
        ([1.0, 1.0], 3, 0.5),
        ([0.0], 3, 0.0),
    ],
)
def test_every_worker_finds_room(amounts: list[float], workers: int, each: float) -> None:
    assert share(amounts, workers) == each
    assert not each or sum(amount // each for amount in amounts) >= workers


def test_a_gpu_is_one_worker_s_or_shared() -> None:
    assert share([8.0], 2, most=1.0) == 1.0
    assert share([1.0], 3, most=1.0) == pytest.approx(1 / 3, abs=1e-4)
    assert 3 * share([1.0], 3, most=1.0) <= 1.0


def test_without_ray_the_command_that_brings_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(FileError) as error:
        import_ray()
    assert 'pip install "regard[ray]"' in error.value.do


@pytest.fixture
def closed_port() -> Iterator[str]:
    """An address that is bound, so that nobody else gets it, and where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield "{}:{}".format(*taken.getsockname())


@pytest.fixture
def nowhere(closed_port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Ray looks by itself nobody answers, whatever clusters other tests have left to end."""
    monkeypatch.setenv("RAY_ADDRESS", closed_port)
    monkeypatch.setattr(ray_engine, "SEARCH", 3.0)


@pytest.mark.usefixtures("nowhere")
def test_a_cluster_that_is_not_there_is_an_error_of_ours(model: str, source: Path, tmp_path: Path) -> None:
    request = BulkRequest(model, [source], tmp_path / "out.fr", device="cpu")
    with pytest.raises(InputError, match="no Ray cluster at auto"):
        translate_files(request, partial(translate_with_ray, workers=2, cluster="auto"))


def test_the_environment_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_ONE", "before")
    monkeypatch.delenv("REGARD_TWO", raising=False)
    with environment({"REGARD_ONE": "now", "REGARD_TWO": "now"}):
        assert (os.environ["REGARD_ONE"], os.environ["REGARD_TWO"]) == ("now", "now")
    assert os.environ["REGARD_ONE"] == "before"
    assert "REGARD_TWO" not in os.environ


def test_an_address_where_nobody_listens_is_said_at_once(closed_port: str) -> None:
    with pytest.raises(OSError, match="refused"):
        knock(closed_port)
    with pytest.raises(OSError, match="refused"):
        knock(f"ray://{closed_port}")
