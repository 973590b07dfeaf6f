"""The load benchmark's own arithmetic, and its clients against a server that answers as it is told."""

from __future__ import annotations

import asyncio
import json
import lzma
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from benchmarks.serving.client import OpenLoop, Questions, closed_loop, request_of
from benchmarks.serving.comparison import limit_cells, limit_columns, tables
from benchmarks.serving.figures import (
    Level,
    MemoryTrack,
    Tally,
    bad_outcomes,
    best_within,
    capacity_of,
    outcome_of,
    percentile,
    rising_levels,
    saturated,
)
from benchmarks.serving.sentences import english_texts, stable_answers
from benchmarks.serving.soak import SoakResult
from regard.errors import FileError

TRUTH = {"one": "un", "two": "deux", "three": "trois"}


def level(clients: int, rate: float, p95: float = 0.1, **outcomes: int) -> Level:
    return Level(clients, rate, p95 / 2, p95, outcomes or {"right": 10}, 1.5, 0.1)


# Numbers


def test_a_percentile_is_a_value_that_was_seen() -> None:
    assert percentile(range(1, 101), 0.95) == 95
    assert percentile(range(1, 101), 0.5) == 50
    assert percentile([3.0, 1.0, 2.0], 0.95) == 3.0
    assert percentile([7.0], 0.5) == 7.0
    assert percentile([], 0.95) == 0.0


def test_an_answer_is_right_wrong_swapped_or_refused() -> None:
    known = frozenset(TRUTH.values())
    assert outcome_of(200, "un", "un", known) == "right"
    assert outcome_of(200, "deux", "un", known) == "swapped"
    assert outcome_of(200, "quatre", "un", known) == "wrong"
    assert outcome_of(429, "later", "un", known) == "refused with 429"
    assert outcome_of(500, "oh", "un", known) == "status 500"


def test_a_tally_times_answers_alone() -> None:
    tally = Tally()
    for outcome, seconds in (("right", 0.1), ("wrong", 0.3), ("refused with 429", 9.0), ("lost", 9.0)):
        tally.note(outcome, seconds)
    summary = tally.summary(2.0)
    assert (summary["rate"], summary["p50"], summary["p95"]) == (1.0, 0.1, 0.3)
    assert summary["outcomes"] == {"right": 1, "wrong": 1, "refused with 429": 1, "lost": 1}


@pytest.mark.parametrize(
    ("rates", "over"),
    [
        ([100.0], False),
        ([100.0, 200.0, 400.0], False),
        ([100.0, 200.0, 201.0], False),  # one level without a gain may be chance
        ([100.0, 200.0, 201.0, 202.0], True),
        ([100.0, 200.0, 190.0, 230.0], False),
        ([100.0, 90.0, 80.0], True),
    ],
)
def test_throughput_has_stopped_growing_after_two_levels_without_a_gain(rates: list[float], over: bool) -> None:
    assert saturated(rates) == over


def test_clients_double_until_nothing_is_gained_and_answers_are_late() -> None:
    def measure(clients: int) -> Level:
        rate = min(50.0 * clients, 400.0)
        return level(clients, rate, clients / rate)

    quick = list(rising_levels(measure, enough=0.0))
    assert [one.clients for one in quick] == [1, 2, 4, 8, 16, 32]
    late = list(rising_levels(measure, enough=0.3))
    assert [one.clients for one in late] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert [one.clients for one in rising_levels(measure, enough=10.0, most=16)] == [1, 2, 4, 8, 16]
    assert capacity_of(quick).rate == 400.0


def test_the_most_within_a_limit_counts_only_levels_without_faults() -> None:
    levels = [level(1, 50, 0.02), level(8, 300, 0.09), level(16, 320, 0.2), level(32, 500, 0.09, right=9, lost=1)]
    best = best_within(levels, 0.1)
    assert best is not None
    assert best.clients == 8
    assert best_within(levels, 0.01) is None
    assert limit_cells("who", levels) == ("who", "300 (8)", "320 (16)", "320 (16)", "320 (16)")
    text = "\n".join(tables({"who": levels}))
    assert "| who | 32 | 500 | 45 ms | 90 ms | 100.0 %, 1 lost | 1.50 | 0.10 |" in text
    assert len(limit_columns()) == len(limit_cells("who", levels))


def test_memory_is_looked_at_after_the_beginning() -> None:
    track = MemoryTrack.of([*range(0, 100, 5), *[100.0] * 80])
    assert track == (100.0, 100.0, 100.0, 100.0)
    assert MemoryTrack.of([5.0]) == (5.0, 5.0, 5.0, 5.0)


def soaked(memory: MemoryTrack, **outcomes: int) -> SoakResult:
    named = {name.replace("_", " "): count for name, count in outcomes.items()}
    return SoakResult(level(64, 500.0), 1000.0, 600.0, 450.0, 0.2, 0.4, named, memory, 1.9, 0.2)


def test_a_soak_is_well_when_all_is_answered_or_refused_and_memory_stays() -> None:
    steady, growing = MemoryTrack(3e8, 3.1e8, 3.2e8, 3.3e8), MemoryTrack(3e8, 3.2e8, 3.4e8, 3.4e8)
    assert soaked(steady, right=10, refused_with_429=5, not_sent=1).well
    assert not soaked(growing, right=10).well
    assert not soaked(steady, right=10, swapped=1).well
    assert not soaked(steady, right=10, lost=1).well
    assert not soaked(steady, refused_with_429=5).well
    assert bad_outcomes({"right": 1, "wrong": 2, "status 500": 1}) == {"wrong": 2, "status 500": 1}
    assert "1,000 requests a second" in soaked(steady, right=10).lines()[0]
    assert soaked(growing, right=10).lines()[1].endswith("NOT WELL.")


# Texts


def test_an_answer_that_hangs_on_its_neighbours_is_left_out() -> None:
    def translate(texts: Sequence[str]) -> list[str]:
        return [f"{text}!" if text == "b" and len(texts) > 1 else text.upper() for text in texts]

    assert stable_answers(["a", "b", "c"], translate) == {"a": "A", "c": "C"}


def test_texts_of_the_built_in_language_are_distinct() -> None:
    texts = english_texts(20, None)
    assert len(texts) == len(set(texts)) == 20


def test_real_texts_come_from_both_corpora(tmp_path: Path) -> None:
    places = tmp_path / "tatoeba-en-fr", tmp_path / "wmt-news"
    for place in places:
        place.mkdir()
    rows = [f"Everyday {number}.\tQuotidien {number}.\tsomebody" for number in range(9)]
    for path, lines in (
        (places[0] / "pairs.tsv.xz", rows),
        (places[1] / "newstest2012.en-fr.en.xz", [f"News {number}." for number in range(9)]),
        (places[1] / "newstest2012.en-fr.fr.xz", [f"Nouvelles {number}." for number in range(9)]),
    ):
        path.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode()))
    texts = english_texts(7, tmp_path)
    assert (len(set(texts)), sum(text.startswith("News") for text in texts)) == (7, 3)
    assert texts == english_texts(7, tmp_path)
    with pytest.raises(FileError, match="too few sentences"):
        english_texts(30, tmp_path)


# Clients


def test_a_request_is_whole() -> None:
    head, body = request_of("l'été", ("fr", "en")).split(b"\r\n\r\n")
    assert json.loads(body) == {"q": "l'été", "source": "fr", "target": "en"}
    assert f"Content-Length: {len(body)}".encode() in head


Answer = Callable[[str, int], tuple[int, str] | None]  # of a text and its number: None hangs up


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Callable[[str], object]) -> None:
    """Answer one client, each time in two packets, until one of both has enough."""
    while True:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        answered = answer(json.loads(await reader.readexactly(length))["q"])
        if not isinstance(answered, tuple):
            return
        status, text = answered
        body = json.dumps({"translatedText": text}).encode()
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        await asyncio.sleep(0)
        writer.write(body)


def tally_of(answer: Answer, put: Callable[[int], Awaitable[Tally]]) -> Tally:
    """What a load gives, put on a server that answers like this."""
    numbers, clients = count(1), set[asyncio.Task[None]]()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        clients.add(task)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await serve(reader, writer, lambda text: answer(text, next(numbers)))
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def steps() -> Tally:
        server = await asyncio.start_server(client, "127.0.0.1", 0)
        tally = await put(server.sockets[0].getsockname()[1])
        await asyncio.gather(*clients)  # each ends when its client has hung up
        server.close()
        return tally

    return asyncio.run(asyncio.wait_for(steps(), 30))


QUESTIONS = Questions.of(TRUTH, ("en", "fr"))


def test_clients_ask_again_as_soon_as_they_are_answered() -> None:
    def answer(text: str, _: int) -> tuple[int, str]:
        return 200, TRUTH[text]

    tally = tally_of(answer, lambda port: closed_loop(port, QUESTIONS, 3, 0.5, 0.0))
    assert set(tally.outcomes) == {"right"}
    assert len(tally.times) == tally.outcomes["right"] > 0


def test_every_request_of_an_open_loop_is_accounted_for() -> None:
    def answer(text: str, number: int) -> tuple[int, str] | None:
        kinds = {2: (429, ""), 3: (500, ""), 4: (200, "quatre"), 5: None}
        other = TRUTH["two" if text != "two" else "one"]
        return (200, other) if number == 6 else kinds.get(number, (200, TRUTH[text]))

    loops: list[OpenLoop] = []

    def put(port: int) -> Awaitable[Tally]:
        loops.append(OpenLoop(port, QUESTIONS, 200.0, 0.2))
        return loops[0].run()

    tally = tally_of(answer, put)
    right = tally.outcomes.pop("right")
    expected = {"refused with 429": 1, "status 500": 1, "wrong": 1, "lost": 1, "swapped": 1}
    assert (tally.outcomes, right > 5) == (expected, True)
    assert len(tally.times) == right + 2
