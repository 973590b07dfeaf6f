"""Texts on standard input and output: one a line, whatever is in them, answered as soon as nothing more is there."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import Empty, Queue
from threading import Event, Thread
from time import monotonic, sleep
from typing import IO, TypeVar

from regard.errors import InputError

PATIENCE = 0.02  # seconds that a line waits for others to go with it: nobody notices, and a pipe fills up meanwhile
WAKE = 0.5  # seconds after which a wait looks up: on Windows Ctrl-C comes through only then
CHUNK = 2**16  # bytes read at a time
Answer = TypeVar("Answer")


def standard_input() -> IO[bytes]:
    """The bytes of standard input; none where it is closed, and Python has no such stream."""
    return io.BytesIO() if sys.stdin is None else sys.stdin.buffer


def read_lines() -> Iterator[str]:
    """Standard input line by line; only a line feed ends a line, and what is not UTF-8 is marked, not fatal."""
    for line in standard_input():
        yield as_text(line)


def as_text(line: bytes | bytearray) -> str:
    return line.decode("utf-8", errors="replace").removesuffix("\n").removesuffix("\r")


def read_batches(most: int, full: Callable[[], bool] = lambda: False) -> Iterator[list[str]]:
    """Standard input, as many lines at a time as are there already, and at most so many.

    Someone who types is answered line by line; what comes from a file, or while `full()`, comes in full batches.
    """
    stream = standard_input()
    lines: Queue[str | BaseException] = Queue(most)
    closed = Event()
    # The bare stream beneath the buffer: a thread that waits inside the buffer's lock would hold up the exit.
    Thread(target=pass_on, args=(getattr(stream, "raw", stream), lines, closed), daemon=True).start()
    whole = not may_trickle(stream)
    try:
        while batch := next_batch(lines, most, None if whole or full() else PATIENCE):
            yield batch
    finally:
        closed.set()
        while not lines.empty():  # whoever waits to put a line may do so, see that nobody reads it, and go
            lines.get_nowait()


def may_trickle(stream: IO[bytes]) -> bool:
    """Whether more may come later than what is there: from a terminal or a pipe, not from a file."""
    try:
        return not stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):  # no file of the system's, such as bytes in memory
        return False


def pass_on(stream: IO[bytes], lines: Queue[str | BaseException], closed: Event) -> None:
    """Read line after line into a queue, and the end, or the error, behind them."""
    pending = bytearray()
    end: BaseException = EOFError()
    try:
        while (chunk := stream.read(CHUNK)) != b"":
            if chunk is None:  # somebody made it non-blocking, and nothing is there yet
                sleep(PATIENCE)
                continue
            pending += chunk
            if b"\n" not in chunk:
                continue
            *whole, pending = pending.split(b"\n")
            for line in whole:
                if closed.is_set():
                    return
                lines.put(as_text(line))
        if pending:
            lines.put(as_text(pending))
    except Exception as error:
        end = error
    lines.put(end)


def next_batch(lines: Queue[str | BaseException], most: int, patience: float | None) -> list[str]:
    """Wait for a line, and take those that come within so many seconds (None: as long as it takes); none at the end."""
    batch: list[str] = []
    deadline = None
    while len(batch) < most:
        try:
            line = lines.get(timeout=WAKE if deadline is None else max(deadline - monotonic(), 0))
        except Empty:
            if deadline is None:
                continue
            break
        if not isinstance(line, str):
            lines.put(line)  # the next to ask will find it too
            if not batch and not isinstance(line, EOFError):
                raise line
            break
        batch.append(line)
        if patience is not None and deadline is None:
            deadline = monotonic() + patience
    return batch


def answer_lines(
    batches: Iterable[list[str]], ask: Callable[[list[str]], Sequence[Answer]]
) -> Iterator[tuple[str, Answer]]:
    """Each line with its answer, in order. An error counts lines from the first of all, not of the batch.

    A batch with a line that is refused is asked line by line: whatever was there at the time, all that comes before
    that line is answered.
    """
    before = 0
    for batch in batches:
        try:
            answers = ask_lines(ask, batch, before)
        except InputError:
            if len(batch) == 1:
                raise
            for number, line in enumerate(batch, before):
                yield line, ask_lines(ask, [line], number)[0]
        else:
            yield from zip(batch, answers, strict=True)
        before += len(batch)


def ask_lines(ask: Callable[[list[str]], Sequence[Answer]], lines: list[str], before: int) -> Sequence[Answer]:
    """The answers to some lines, of which so many others came before."""
    from regard.tasks.long_texts import TooLongError
    from regard.tasks.text_ids import check_lengths

    check_lengths(lines, what="line", first=before + 1)
    try:
        return ask(lines)
    except TooLongError as error:
        number = before + error.number
        raise TooLongError(number, error.tokens, error.longest, error.text, what="line") from None


def plain(text: str) -> str:
    """Control characters and line separators become spaces: a line stays a line."""
    return "".join(" " if char < " " or "\x7f" <= char <= "\x9f" or char in "\u2028\u2029" else char for char in text)
