"""The clients, in a process of their own that imports little: `python -m benchmarks.serving.generator`.

Reads a load a line as JSON, puts it on a server, and answers with a line of what came of it.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from typing import Any

from benchmarks.serving.client import OpenLoop, Questions, closed_loop
from benchmarks.serving.figures import Tally


def main() -> None:
    for line in sys.stdin:
        load = json.loads(line)
        questions = Questions.of(load["truth"], tuple(load["languages"]))
        before = time.process_time()
        tally = asyncio.run(put(load, questions))
        seconds = time.process_time() - before
        print(json.dumps({**tally.summary(load["seconds"]), "cpu": seconds}), flush=True)


async def put(load: dict[str, Any], questions: Questions) -> Tally:
    """The load on its server."""
    if "rate" in load:
        return await OpenLoop(load["port"], questions, load["rate"], load["seconds"]).run()
    return await closed_loop(load["port"], questions, load["clients"], load["seconds"], load["ramp"])


class LoadProcess:
    """The generator as its own process, for whoever measures."""

    def __init__(self, languages: tuple[str, str]) -> None:
        command = [sys.executable, "-m", "benchmarks.serving.generator"]
        self.languages = languages
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> LoadProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()

    def put(self, port: int, truth: dict[str, str], **load: float) -> dict[str, Any]:
        """`clients`, `seconds` and `ramp`, or `rate` and `seconds`."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        line = {"port": port, "truth": truth, "languages": self.languages, **load}
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        result: dict[str, Any] = json.loads(self.process.stdout.readline())
        return result


if __name__ == "__main__":
    main()
