"""DeepL's own client against the real server."""

from __future__ import annotations

from collections.abc import Iterator

import deepl
import pytest
import requests

from regard.server.app import ServerOptions
from regard.server.registry import ModelRegistry
from regard.server.served_models import ServedModel
from tests.server_cases import KEY, PATIENCE, EchoTranslator, echoing, running


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client would ask five times again, with seconds between."""
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 0)


@pytest.fixture
def client(url: str) -> Iterator[deepl.Translator]:
    one = deepl.Translator("any", server_url=url)
    yield one
    one.close()


def test_texts_are_translated(client: deepl.Translator) -> None:
    one = client.translate_text("The cat sleeps.", target_lang="FR")
    assert (one.text, one.detected_source_lang, one.billed_characters) == ("Le chat dort.", "EN", 15)
    several = client.translate_text(["The cat sleeps.", "The dog is big."], source_lang="EN", target_lang="FR")
    assert [text.text for text in several] == ["Le chat dort.", "Le chien est grand."]


def test_tags_are_kept(client: deepl.Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    one = client.translate_text("<p>The cat sleeps.</p>", source_lang="EN", target_lang="FR", tag_handling="html")
    assert one.text == "<p>Le chat dort.</p>"


def test_languages_and_usage(client: deepl.Translator) -> None:
    assert [(one.code, one.name) for one in client.get_source_languages()] == [("EN", "English")]
    assert [(one.code, one.name) for one in client.get_target_languages()] == [("FR", "French")]
    before = client.get_usage().character.count
    client.translate_text("The cat sleeps.", target_lang="FR")
    assert client.get_usage().character.count == before + 15
    assert not client.get_usage().any_limit_reached


def test_english_is_offered_by_its_variants() -> None:
    from regard.server.app import create_app

    models = ModelRegistry([ServedModel("fr-en", EchoTranslator(), ("fr", "en"))])  # type: ignore[arg-type]
    with running(create_app(models)) as url:
        client = deepl.Translator("any", server_url=url)
        assert [one.code for one in client.get_target_languages()] == ["EN-GB", "EN-US"]
        assert client.translate_text("chat", source_lang="FR", target_lang="EN-GB").text == "CHAT"
        client.close()


def test_a_form_is_read_too(url: str) -> None:
    form = {"text": ["The cat sleeps.", "The dog is big."], "target_lang": "fr"}
    answer = requests.post(f"{url}/v2/translate", data=form, timeout=PATIENCE).json()
    assert [one["text"] for one in answer["translations"]] == ["Le chat dort.", "Le chien est grand."]


def test_errors_are_those_of_its_client(client: deepl.Translator) -> None:
    with pytest.raises(deepl.DeepLException, match="en is not translated to de here") as error:
        client.translate_text("a", source_lang="EN", target_lang="DE")
    assert error.value.http_status_code == 400


def test_a_key_is_asked_for() -> None:
    with echoing(ServerOptions(api_keys=(KEY,))) as (url, _):
        right, wrong = deepl.Translator(KEY, server_url=url), deepl.Translator("wrong", server_url=url)
        assert right.translate_text("a", source_lang="EN", target_lang="FR").text == "A"
        for call in (wrong.get_usage, lambda: wrong.translate_text("a", target_lang="FR")):
            with pytest.raises(deepl.AuthorizationException, match="Invalid API key"):
                call()
        right.close()
        wrong.close()


def test_too_many_requests_are_told_as_such() -> None:
    with echoing(ServerOptions(rate=1)) as (url, _):
        client = deepl.Translator("any", server_url=url)
        client.get_usage()
        with pytest.raises(deepl.TooManyRequestsException, match="1 a minute"):
            client.get_usage()
        client.close()
