"""Standard input line by line: answered as soon as nothing more is there, and the same whatever was there when."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks import peers
from regard.cli import app, recordings
from regard.cli.lines import answer_lines, next_batch, read_batches, read_lines
from regard.errors import InputError
from regard.tasks.long_texts import TooLongError

LONG_ENOUGH = 300  # seconds for a process to answer: it only says that one that never does has failed


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("models")
    peers.save(peers.marian(1, gain=1.6), root / "marian", "seq2seq", num_beams=3, max_length=12)
    peers.save(peers.bert(), root / "classes", "bert")
    peers.save(peers.bert("BertForMaskedLM"), root / "masks", "bert")
    return {path.name: str(path) for path in root.iterdir()}


class Conversation:
    """A verb in a process of its own, spoken to through pipes."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "regard", *arguments, "--device", "cpu"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def say(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def hear(self) -> str:
        """The next line that comes back."""
        assert self.process.stdout is not None
        with ThreadPoolExecutor() as pool:
            line = pool.submit(self.process.stdout.readline)
            try:
                return line.result(LONG_ENOUGH)
            except TimeoutError:
                self.process.kill()  # ends the wait for a line too
                pytest.fail("no answer came before the next line was asked for")

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        with self.process:  # closes the pipes and waits
            self.process.kill()


CONVERSATIONS = [
    (["translate", "marian"], ["w1 w2 w3\n", "\n", "w4 w5\nw6\n", "w1 w2 w3\n"]),
    (["classify", "classes"], ["w1 w2\n", "w3\n\n", "w1 w2\n"]),
    (["classify", "masks"], ["w1 [MASK]\n", "w3 [MASK] w4\n"]),
]


@pytest.mark.parametrize(("verb", "given"), CONVERSATIONS, ids=["translate", "classify", "fill"])
def test_a_line_is_answered_before_the_next_is_there(
    verb: list[str], given: list[str], folders: dict[str, str]
) -> None:
    """And with the text that it has when all lines come at once."""
    arguments = [verb[0], folders[verb[1]]]
    heard = []
    with Conversation(*arguments) as conversation:
        for text in given:
            conversation.say(text)
            heard += [conversation.hear() for _ in range(text.count("\n"))]
        assert conversation.process.stdin is not None
        conversation.process.stdin.close()
        assert conversation.process.wait(LONG_ENOUGH) == 0
    assert "".join(heard) == CliRunner().invoke(app, [*arguments, "--device", "cpu"], input="".join(given)).stdout


def test_an_error_ends_it_although_more_could_come(folders: dict[str, str]) -> None:
    """The thread that still waits for standard input does not hold up the exit."""
    with Conversation("translate", folders["marian"], "--long", "refuse") as conversation:
        conversation.say("w1\n")
        assert conversation.hear()
        conversation.say("w2\n" + "w1 " * 200 + "\n")
        assert conversation.hear()
        assert conversation.process.wait(LONG_ENOUGH) == 2
        assert conversation.process.stderr is not None
        words = conversation.process.stderr.read()
    assert "line 3 is longer than this model can read" in words
    assert "Fatal" not in words


# Batches


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Standard input is a pipe; the end to write to."""
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb") as stream:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
        yield theirs


def given(monkeypatch: pytest.MonkeyPatch, stream: Any) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))


def test_a_pipe_gives_what_is_there(pipe: int, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = read_batches(3)
    os.write(pipe, b"a\n")
    assert next(batches) == ["a"]
    os.write(pipe, b"\nb")
    assert next(batches) == [""]
    monkeypatch.setattr("regard.cli.lines.PATIENCE", LONG_ENOUGH)  # however slow the thread that reads
    os.write(pipe, b"\nc\r\nd\ne\nf")
    assert next(batches) == ["b", "c", "d"]
    os.close(pipe)
    assert list(batches) == [["e", "f"]]


def test_a_line_that_comes_in_pieces_is_one(pipe: int) -> None:
    batches = read_batches(3)
    whole = "é" * 100_000
    with ThreadPoolExecutor() as pool:
        pool.submit(lambda: [os.write(pipe, piece) for piece in (whole.encode()[:999], whole.encode()[999:], b"\n")])
        assert next(batches) == [whole]
    os.close(pipe)
    assert list(batches) == []


def test_while_it_is_asked_for_batches_are_full(pipe: int) -> None:
    waiting = [True, False]
    batches = read_batches(4, full=lambda: waiting.pop(0))
    with ThreadPoolExecutor() as pool:
        first = pool.submit(next, batches)
        for line in (b"a\n", b"b\n", b"c\n"):
            os.write(pipe, line)
            with pytest.raises(TimeoutError):
                first.result(0.1)
        os.write(pipe, b"d\n")
        assert first.result(LONG_ENOUGH) == ["a", "b", "c", "d"]
    os.write(pipe, b"e\n")
    assert next(batches) == ["e"]
    os.close(pipe)


@pytest.mark.parametrize("lines", [0, 1, 7, 8, 1000])
def test_a_file_gives_full_batches(lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(b"".join(b"%d \xff\r\n" % number for number in range(lines)))
    expected = [f"{number} \ufffd" for number in range(lines)]
    for stream in (path.open("rb"), io.BytesIO(path.read_bytes())):
        with stream:
            given(monkeypatch, stream)
            found = list(read_batches(8))
        assert [line for batch in found for line in batch] == expected
        assert all(len(batch) == 8 for batch in found[:-1])


def test_what_fails_while_reading_is_raised_behind_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell():
                raise OSError("the disk is gone")
            return super().read(4)

    given(monkeypatch, Failing(b"a\nb\nc\n"))
    batches = read_batches(8)
    assert next(batches) == ["a", "b"]
    with pytest.raises(OSError, match="the disk is gone"):
        next(batches)


def test_a_stream_that_has_nothing_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """A non-blocking one says None."""

    class Late(io.BytesIO):
        answers = iter([None, b"a\n", None, b""])

        def read(self, size: int | None = -1) -> Any:
            return next(self.answers)

    given(monkeypatch, Late())
    assert list(read_batches(8)) == [["a"]]


def test_an_input_that_is_closed_has_no_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `regard translate grammar <&-` finds it: Python then has no standard input at all."""
    monkeypatch.setattr(sys, "stdin", None)
    assert list(read_batches(8)) == []
    assert list(read_lines()) == []
    assert recordings.given("-") == ""


def test_the_end_stays_the_end() -> None:
    lines: Queue[Any] = Queue(4)
    for line in ("a", "b", EOFError()):
        lines.put(line)
    assert [next_batch(lines, 8, patience) for patience in (0.0, None, 0.0)] == [["a", "b"], [], []]


# Refusals


def shout(lines: list[str]) -> list[str]:
    for number, line in enumerate(lines, 1):
        if line == "bad":
            raise InputError("this line is bad", found=line)
        if line == "long":
            raise TooLongError(number, 9, 3, line)
    return [line.upper() for line in lines]


@pytest.mark.parametrize("batches", [[["a", "b", "bad", "d"]], [["a"], ["b"], ["bad"]], [["a", "b"], ["bad", "d"]]])
def test_all_before_a_line_that_is_refused_is_answered(batches: list[list[str]]) -> None:
    answers = answer_lines(batches, shout)
    assert [next(answers), next(answers)] == [("a", "A"), ("b", "B")]
    with pytest.raises(InputError, match="this line is bad"):
        next(answers)


@pytest.mark.parametrize("batches", [[["a", "b", "long"]], [["a", "b"], ["long"]], [["a"], ["b", "long"]]])
def test_errors_count_lines_from_the_first(batches: list[list[str]]) -> None:
    with pytest.raises(TooLongError, match="line 3 is longer"):
        list(answer_lines(batches, shout))
    endless = [[line.replace("long", "x" * 200_000) for line in batch] for batch in batches]
    with pytest.raises(InputError, match="line 3 is too long to be read as one"):
        list(answer_lines(endless, shout))
