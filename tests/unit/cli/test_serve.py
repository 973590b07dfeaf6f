"""`regard serve` as a person starts and stops it."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys

from libretranslatepy import LibreTranslateAPI
from typer.testing import CliRunner

from regard.cli import app
from regard.cli.serve import listening


def test_another_host_needs_a_key() -> None:
    found = CliRunner().invoke(app, ["serve", "grammar", "--host", "0.0.0.0"])
    assert found.exit_code == 2
    assert "--api-key KEY" in found.output
    empty = CliRunner().invoke(app, ["serve", "grammar", "--host", "0.0.0.0", "--api-key", " "])
    assert (empty.exit_code, "may not be empty" in empty.output) == (2, True)


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        found = CliRunner().invoke(app, ["serve", "grammar", "--port", str(taken.getsockname()[1])])
    assert found.exit_code == 2
    assert "cannot listen at 127.0.0.1" in found.output
    assert "--port 0" in found.output


def test_no_packet_waits_for_another_to_be_acknowledged() -> None:
    """The head and the body of an answer are two packets: the second must not wait until the client has spoken."""
    with listening("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()[:2]):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_quantization_needs_the_engine_that_has_it() -> None:
    found = CliRunner().invoke(app, ["serve", "grammar", "--port", "0", "--quantization", "int8"])
    assert found.exit_code == 2
    assert "--engine ctranslate2" in found.output


def test_it_serves_until_it_is_told_to_stop() -> None:
    command = [sys.executable, "-m", "regard", "serve", "grammar", "--port", "0", "--device", "cpu"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        assert next(lines) == "grammar: en to fr\n"
        address = re.search(r"http://127\.0\.0\.1:\d+", next(lines))
        assert address is not None
        assert LibreTranslateAPI(address[0]).translate("The cat sleeps.", "en", "fr") == "Le chat dort."
        process.send_signal(signal.SIGINT)
        rest = list(lines)
        assert process.wait() == 0
        assert rest == []
