"""A real browser without a network: Chromium, driven over a pipe, so that nothing beyond Python is needed."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
from base64 import b64decode
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
         "--disable-extensions", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND")  # fmt: skip
LAUNCH = """import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 20) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""  # a browser reads from 3 and writes to 4, whatever numbers the pipes have here
PATIENCE = 20.0  # seconds for one answer


def program() -> str | None:
    """Where a Chromium is, if there is one."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Chromium:
    """One page of one browser; what it complained of is in `complaints`, what it asked of a network in `requests`."""

    def __init__(self, profile: Path) -> None:
        self.profile = profile
        self.number, self.held = 0, b""
        self.complaints: list[str] = []
        self.requests: list[str] = []

    def __enter__(self) -> Chromium:
        theirs, self.into = os.pipe()
        self.out, answers = os.pipe()
        self.process = subprocess.Popen(
            [
                sys.executable, "-c", LAUNCH, str(theirs), str(answers),
                str(program()), *FLAGS, f"--user-data-dir={self.profile}", "about:blank",
            ],
            pass_fds=(theirs, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs)
        os.close(answers)
        target = self.call("Target.createTarget", url="about:blank", session="")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True, session="")["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(10)
        os.close(self.into)
        os.close(self.out)

    def call(self, method: str, *, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Ask and wait; what happens meanwhile is noted."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if session is None:
            message["sessionId"] = self.session
        os.write(self.into, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            found = self.receive(until)
            if found.get("id") == self.number:
                assert "error" not in found, f"{method}: {found['error']}"
                result: dict[str, Any] = found["result"]
                return result
            self.note(found)

    def receive(self, until: float) -> dict[str, Any]:
        while b"\0" not in self.held:
            ready, _, _ = select.select([self.out], [], [], max(0.0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            self.held += os.read(self.out, 1 << 20)
        one, _, self.held = self.held.partition(b"\0")
        message: dict[str, Any] = json.loads(one)
        return message

    def note(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"])[:500])
        elif event.get("method") == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(told["args"])[:500])
        elif event.get("method") == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])

    def open(self, address: str, ready: str) -> None:
        """Go there, and wait until an expression is true."""
        self.call("Page.navigate", url=address)
        self.wait(ready)

    def wait(self, ready: str) -> None:
        until = time.monotonic() + PATIENCE
        while not self.value(f"document.readyState === 'complete' && Boolean({ready})"):
            if time.monotonic() > until:
                shown = self.value("location.href + ': ' + document.body.innerText.slice(0, 300)")
                raise AssertionError(f"never true: {ready}; complaints: {self.complaints}; shown: {shown}")
            time.sleep(0.02)

    def value(self, expression: str) -> Any:
        """What an expression (or a promise of it) comes to."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, json.dumps(found["exceptionDetails"])[:800]
        return found["result"].get("value")

    def size(self, width: int, height: int, sharp: float = 1.0) -> None:
        screen = {"width": width, "height": height, "deviceScaleFactor": sharp, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", **screen)

    def media(self, **features: str) -> None:
        """media(prefers_color_scheme="dark")"""
        told = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", features=told)

    def key(self, name: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, **({"text": name} if len(name) == 1 else {}))

    def move(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path: Path) -> None:
        """A screenshot."""
        path.write_bytes(b64decode(self.call("Page.captureScreenshot")["data"]))
