"""Texts piece by piece: the same as whole ones, and no half letters."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from regard.decoding import Sampling
from regard.server.registry import ModelRegistry
from regard.server.streaming import new_text, stream_continuation
from regard.tasks import Generator


class ByteTokenizer:
    """An id for each byte."""

    def decode(self, ids: Sequence[int]) -> str:
        return bytes(ids).decode(errors="replace")


def test_a_letter_is_told_once_all_its_bytes_are_there() -> None:
    generator: Any = SimpleNamespace(tokenizer=ByteTokenizer())
    ids = "né".encode()
    assert [new_text(generator, b"a ", ids[:length]) for length in range(4)] == ["", "n", "n", "né"]


@pytest.mark.parametrize("drawn", [None, Sampling(1.3, top_p=0.9, seed=5)])
def test_a_stream_grows_into_the_very_text(models: ModelRegistry, drawn: Sampling | None) -> None:
    generator = models.by_name["decoder"].task
    assert isinstance(generator, Generator)
    texts: list[str] = []
    streamed = stream_continuation(generator, "w5 w6", 9, drawn, texts.append)
    assert streamed == generator.go_on(["w5 w6"], 9, drawn)[0]
    assert len(texts) >= len(streamed.new) - 1
    whole = new_text(generator, streamed.prompt, streamed.new)
    assert all(whole.startswith(text) for text in texts)
