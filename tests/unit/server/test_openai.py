"""OpenAI's own client against the real server."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from regard.server import served_models
from regard.server.app import ServerOptions
from regard.server.completions import first_stop, ready
from regard.server.registry import ModelRegistry
from regard.server.streaming import AbandonedError
from regard.tasks import Generator
from tests.server_cases import KEY, PATIENCE, echoing

PROMPT = "w5 w6 w7"


def client_of(url: str, key: str = "any") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=PATIENCE)


@pytest.fixture
def client(url: str) -> Iterator[openai.OpenAI]:
    with client_of(url) as one:
        yield one


@pytest.fixture
def generator(models: ModelRegistry) -> Generator:
    task = models.by_name["decoder"].task
    assert isinstance(task, Generator)
    return task


def new_text(generator: Generator, tokens: int, **how: Any) -> str:
    return generator.generate(PROMPT, tokens, **how).removeprefix(PROMPT)


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert [one.id for one in client.models.list()] == ["grammar", "decoder"]
    assert client.models.retrieve("grammar").id == "grammar"
    with pytest.raises(openai.NotFoundError, match="there is grammar, decoder"):
        client.models.retrieve("gpt-9")


def test_a_translator_translates_the_prompt_and_the_last_message(client: openai.OpenAI) -> None:
    one = client.completions.create(model="grammar", prompt=["The cat sleeps.", "The dog is big."])
    assert [(choice.text, choice.finish_reason) for choice in one.choices] == [
        ("Le chat dort.", "stop"), ("Le chien est grand.", "stop"),
    ]  # fmt: skip
    assert one.usage is not None
    assert one.usage.total_tokens == one.usage.prompt_tokens + one.usage.completion_tokens > 0
    messages: Any = [
        {"role": "system", "content": "Translate."}, {"role": "user", "content": "The dog is big."},
        {"role": "assistant", "content": "Le chien est grand."},
        {"role": "user", "content": [{"type": "text", "text": "The cat sleeps."}]},
    ]  # fmt: skip
    chat = client.chat.completions.create(model="grammar", messages=messages, n=3)
    assert len(chat.choices) == 3
    assert chat.choices[0].message.content == "Le chat dort."


def test_a_translation_is_streamed(client: openai.OpenAI) -> None:
    messages: Any = [{"role": "user", "content": "The cat sleeps."}]
    chunks = list(
        client.chat.completions.create(
            model="grammar", messages=messages, stream=True, stream_options={"include_usage": True}
        )
    )
    assert [chunk.choices[0].delta.content for chunk in chunks[:-1]] == ["Le ", "chat ", "dort.", ""]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage is not None


def test_a_generator_goes_on(client: openai.OpenAI, generator: Generator) -> None:
    one = client.completions.create(model="decoder", prompt=PROMPT, max_tokens=6, temperature=0, n=2)
    assert [choice.text for choice in one.choices] == [new_text(generator, 6)] * 2
    drawn = client.completions.create(model="decoder", prompt=PROMPT, max_tokens=6, temperature=1, seed=3)
    assert drawn.choices[0].text == new_text(generator, 6, temperature=1.0, seed=3)
    chat = client.chat.completions.create(
        model="decoder", messages=[{"role": "user", "content": PROMPT}], max_tokens=6, temperature=0
    )
    assert chat.choices[0].message.content == new_text(generator, 6)


@pytest.mark.parametrize("how", [{"temperature": 0.0}, {"temperature": 1.5, "top_p": 0.9, "seed": 4}])
def test_a_stream_says_the_same_piece_by_piece(
    client: openai.OpenAI, generator: Generator, how: dict[str, Any]
) -> None:
    chunks = list(client.completions.create(model="decoder", prompt=PROMPT, max_tokens=12, stream=True, **how))
    assert "".join(chunk.choices[0].text for chunk in chunks) == new_text(generator, 12, **how)
    assert len(chunks) > 3
    assert chunks[-1].choices[0].finish_reason in ("stop", "length")


def test_a_stop_ends_a_text_whole_or_streamed(client: openai.OpenAI, generator: Generator) -> None:
    text = new_text(generator, 12)
    stop = text.split()[3]
    how: Any = {"model": "decoder", "prompt": PROMPT, "max_tokens": 12, "temperature": 0, "stop": [stop]}
    expected = text[: text.index(stop)]
    assert client.completions.create(**how).choices[0].text == expected
    chunks = list(client.completions.create(**how, stream=True))
    assert "".join(chunk.choices[0].text for chunk in chunks) == expected
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_nothing_is_sent_that_may_yet_be_a_stop() -> None:
    assert first_stop("a-b.c", (".", "-")) == 1
    assert first_stop("abc", (".",)) is None
    assert ready("abc", ()) == 3
    assert ready("abcEN", ("END",)) == 3
    assert ready("abEND", ("END",)) == 2


def test_errors_are_those_of_its_client(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="no model 'gpt-9' here"):
        client.completions.create(model="gpt-9", prompt="a")
    with pytest.raises(openai.BadRequestError, match="temperature"):
        client.completions.create(model="decoder", prompt="a", temperature=9)
    with pytest.raises(openai.BadRequestError, match="tokens"):
        client.completions.create(model="decoder", prompt="a", max_tokens=999_999)
    with pytest.raises(openai.BadRequestError, match="one choice"):
        client.completions.create(model="decoder", prompt="a", n=2, stream=True)
    with pytest.raises(openai.APIStatusError, match="at most 10,000") as error:
        client.completions.create(model="decoder", prompt="w5 " * 9_000, stream=True)
    assert error.value.status_code == 413


def test_what_goes_wrong_in_a_stream_ends_it_with_the_error(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*given: Any) -> None:
        given[-1]("w1")
        raise ZeroDivisionError

    monkeypatch.setattr(served_models, "stream_continuation", failing)
    with client_of(url) as client, pytest.raises(openai.APIError, match="ZeroDivisionError"):
        list(client.completions.create(model="decoder", prompt=PROMPT, stream=True))


def test_a_stream_that_nobody_reads_is_broken_off(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def endless(*given: Any) -> None:
        end = time.monotonic() + PATIENCE
        try:
            while time.monotonic() < end:
                given[-1]("w1 " * (1 + int(10 * (time.monotonic() - end + PATIENCE))))
        except AbandonedError:
            ended.set()
            raise

    monkeypatch.setattr(served_models, "stream_continuation", endless)
    with client_of(url) as client:
        with client.completions.create(model="decoder", prompt=PROMPT, stream=True) as stream:
            next(iter(stream))
        assert ended.wait(PATIENCE)
        assert client.completions.create(model="grammar", prompt="The cat sleeps.").choices[0].text == "Le chat dort."


def test_a_key_is_asked_for() -> None:
    with echoing(ServerOptions(api_keys=(KEY,))) as (url, _):
        with client_of(url, KEY) as right:
            assert right.completions.create(model="echo", prompt="a b").choices[0].text == "A B"
        with client_of(url, "wrong") as wrong, pytest.raises(openai.AuthenticationError, match="Invalid API key"):
            wrong.models.list()
