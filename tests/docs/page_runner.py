"""A page of the book, run as a reader would: its files are written, its Python and its commands run, in order.

What would take long, wait for somebody, or need more machines than one is run in small: `rehearsed` says how.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import uvicorn
from fastapi.testclient import TestClient
from torch.distributed.run import get_args_parser
from typer.testing import CliRunner

from regard.cli import app

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\S*)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"^:(\w+): (.*)\n", re.MULTILINE)
SMALL = ["training.steps=2", "training.batch_tokens=256", "decoding.beams=1"]
NEW = ["model.dim=16", "model.heads=2", "model.feedforward=16", "tokenizer.vocabulary=300"]
LAYERS = {"small.toml": ["model.encoder_layers=1", "model.decoder_layers=1"]}


class Block(NamedTuple):
    """A fenced part of a page: what language it is in, and the file whose text it shows."""

    language: str
    text: str
    file: str | None = None


def blocks(page: str) -> Iterator[Block]:
    """In order, those of a directive (`{code-block} toml`) with their options read."""
    for kind, argument, body in FENCE.findall(page):
        if kind != "{code-block}":
            yield Block(kind, body)
            continue
        options = dict(OPTION.findall(body))
        yield Block(argument, OPTION.sub("", body).lstrip("\n"), options.get("caption"))


def commands(block: Block) -> list[str]:
    """The lines of a shell block, a backslash at the end joining two."""
    return [line for line in block.text.replace("\\\n", " ").splitlines() if line.strip()]


def shown_commands(page: str) -> Iterator[tuple[str, str]]:
    """Each `$ command` of the console blocks with the output printed below it."""
    for block in blocks(page):
        for entry in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:] if block.language == "console" else []:
            line, _, shown = entry.partition("\n")
            yield line, shown


def assert_shown(printed: str, shown: str) -> None:
    """What stands together in a page comes out together; three dots stand for anything."""
    lines = [line.rstrip() for line in printed.splitlines()]
    for piece in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE):
        wanted = [line.rstrip() for line in piece.strip("\n").splitlines()]
        starts = range(len(lines) - len(wanted) + 1)
        assert any(lines[start : start + len(wanted)] == wanted for start in starts), piece


def option(words: list[str], name: str) -> str | None:
    return words[words.index(name) + 1] if name in words else None


def rehearsed(words: list[str]) -> list[str]:
    """A command of `regard` that takes seconds, and waits for nobody."""
    verb, *rest = words
    if verb in ("serve", "studio"):
        port = [] if "--port" in rest else ["--port", "0"]
        return [*words, "--device", "cpu", *port, *(["--no-open"] if verb == "studio" else [])]
    if verb == "train" and "--dry-run" not in rest and "--out" in rest:
        return [verb, *in_small(rest), "--device", "cpu", "--threads", "1"]
    return words


def in_small(rest: list[str]) -> list[str]:
    """Two steps of something tiny; what would start from a large model starts from a small one."""
    if "--minutes" in rest:
        place = rest.index("--minutes")
        rest = rest[:place] + rest[place + 2 :]
    pairs = not any(word.endswith(".toml") for word in rest) and "--task" not in rest and "--scratch" not in rest
    if option(rest, "--start"):
        rest[rest.index("--start") + 1] = "grammar"
    elif pairs:
        rest = [*rest, "--start", "grammar"]
    settings = SMALL[:2] if "--task" in rest else SMALL
    if "--start" not in rest:
        settings = [*settings, *NEW, *LAYERS.get(rest[0], [])]
    return [*rest, *(word for setting in settings for word in ("--set", setting))]


@dataclass
class PageRunner:
    """Runs one page in the current folder; what an example defines, the next one has."""

    monkeypatch: pytest.MonkeyPatch
    names: dict[str, Any] = field(default_factory=dict)
    served: Any = None  # the app that `regard serve` would have shown to clients

    def run(self, page: str) -> int:
        """How many examples ran."""
        self.monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets=None: self.keep(server))
        ran = 0
        for block in blocks(page):
            if block.file:
                Path(block.file).write_text(block.text, encoding="utf-8")
            elif block.language == "python":
                self.python(block.text)
                ran += 1
            elif block.language == "sh":
                ran += len([self.command(line) for line in commands(block)])
        for line, shown in shown_commands(page):
            assert_shown(self.command(line), shown)
            ran += 1
        return ran

    def keep(self, server: uvicorn.Server) -> None:
        self.served = server.config.app

    def python(self, text: str) -> None:
        """With its requests answered by the server that the page has started."""
        if self.served is None:
            exec(compile(text, "page", "exec"), self.names)
            return
        with TestClient(self.served, "http://127.0.0.1:5000") as client, self.monkeypatch.context() as patched:
            patched.setattr("urllib.request.urlopen", lambda request: answered(client, request))
            exec(compile(text, "page", "exec"), self.names)

    def command(self, line: str) -> str:
        """What it prints to standard output."""
        text, _, command = line.rpartition(" | ")
        words = shlex.split(command)
        if words[0] == "pip":
            assert_extra(words[-1])
            return ""
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), line
            return ""
        if words[0] == "torchrun":
            words = [*get_args_parser().parse_args(words[1:]).training_script_args, "--dry-run"]
        else:
            assert words.pop(0) == "regard", line
        given = "".join(f"{word}\n" for word in shlex.split(text)[1:])
        result = CliRunner().invoke(app, rehearsed(words), input=given or None)
        mistakes = words[0] == "check" and "--example" in words  # which has some: then it ends with status 1
        assert result.exit_code == int(mistakes), f"{line}\n{result.output}\n{result.exception!r}"
        return result.stdout


def answered(client: TestClient, request: Any) -> Any:
    """As urlopen gives it: a file to read."""
    path = "/" + request.full_url.split("/", 3)[3]
    response = client.request(request.get_method(), path, content=request.data, headers=dict(request.header_items()))
    assert response.status_code == 200, response.text
    return BytesIO(response.content)


def assert_extra(requirement: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    found = re.fullmatch(r"regard\[(\w+)\]", requirement)
    assert found, requirement
    assert found[1] in extras, requirement
