"""`regard studio` as a person starts and stops it."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import requests
from typer.testing import CliRunner

from regard.cli import app, studio
from regard.cli.studio import beginning, open_port
from regard.server.studio.catalogue import StudioCatalogue
from tests.server_cases import PATIENCE
from tests.studio_cases import recording


def test_another_host_needs_a_token() -> None:
    found = CliRunner().invoke(app, ["studio", "--host", "0.0.0.0", "--no-open"])
    assert (found.exit_code, "--token TOKEN" in found.output) == (2, True)
    empty = CliRunner().invoke(app, ["studio", "--token", " ", "--no-open"])
    assert (empty.exit_code, "may not be empty" in empty.output) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["nowhere.regard"], "no file nowhere.regard"), (["--data", "nowhere"], "no such folder of runs")],
)
def test_what_is_not_there_is_said(arguments: list[str], words: str) -> None:
    found = CliRunner().invoke(app, ["studio", *arguments, "--no-open", "--device", "cpu"])
    assert (found.exit_code, words in found.output) == (2, True)


def test_the_next_port_that_is_free_is_taken_unless_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(studio, "PORT", port)
        with open_port("127.0.0.1", None) as listener:
            assert listener.getsockname()[1] != port
        found = CliRunner().invoke(app, ["studio", "--port", str(port), "--no-open"])
        assert (found.exit_code, "cannot listen" in found.output) == (2, True)


def test_what_is_named_is_what_the_page_opens_with(tmp_path: Path) -> None:
    assert beginning(StudioCatalogue.of()).page == "steps"
    heads = beginning(StudioCatalogue.of(["grammar"]))
    assert (heads.page, heads.model, bool(heads.text)) == ("heads", "grammar", True)
    cat = beginning(StudioCatalogue.of([str(recording(tmp_path)), "grammar"]))
    assert (cat.page, cat.recording) == ("map", "cat")


def test_it_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "regard", "studio", "grammar", "--port", "0", "--no-open", "--device", "cpu"]
    command += ["--token", "a b", "--data", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        address = re.search(r"http://127\.0\.0\.1:\d+/\?token=a%20b", next(lines))
        assert address is not None
        session = requests.Session()
        assert session.get(address[0], timeout=PATIENCE).status_code == 200
        found = session.get(address[0].partition("?")[0] + "api/studio", timeout=PATIENCE).json()
        assert found["start"]["model"] == "grammar"
        process.send_signal(signal.SIGINT)
        rest = list(lines)
        assert process.wait() == 0
        assert rest == []
