"""Clients of LibreTranslate against the real server."""

from __future__ import annotations

from typing import Any

import pytest
import requests
from deep_translator import LibreTranslator
from deep_translator.exceptions import AuthorizationException
from libretranslatepy import LibreTranslateAPI

from regard.server.app import ServerOptions
from tests.server_cases import KEY, PATIENCE, echoing

CAT = "The cat sleeps."


def ask(url: str, **fields: Any) -> requests.Response:
    return requests.post(f"{url}/translate", json=fields, timeout=PATIENCE)


def test_libretranslatepy(url: str) -> None:
    client = LibreTranslateAPI(url)
    assert client.translate(CAT, "en", "fr") == "Le chat dort."
    assert client.translate(CAT, "auto", "fr") == "Le chat dort."
    assert client.detect("Le chat dort sur la table de la cuisine.")[0]["language"] == "fr"
    assert client.languages() == [
        {"code": "en", "name": "English", "targets": ["fr"]}, {"code": "fr", "name": "French", "targets": []},
    ]  # fmt: skip


def test_deep_translator(url: str) -> None:
    client = LibreTranslator(source="en", target="fr", api_key="any", custom_url=f"{url}/")
    assert client.translate(CAT) == "Le chat dort."
    assert client.translate_batch([CAT, "The dog is big."]) == ["Le chat dort.", "Le chien est grand."]


def test_a_key_is_asked_for_and_told() -> None:
    with echoing(ServerOptions(api_keys=(KEY,))) as (url, _):
        right = LibreTranslator(source="en", target="fr", api_key=KEY, custom_url=f"{url}/")
        assert right.translate("a") == "A"
        assert LibreTranslateAPI(url, KEY).translate("a", "en", "fr") == "A"
        with pytest.raises(AuthorizationException):
            LibreTranslator(source="en", target="fr", api_key="wrong", custom_url=f"{url}/").translate("a")
        answer = ask(url, q="a", source="en", target="fr")
        assert (answer.status_code, list(answer.json())) == (403, ["error"])


@pytest.mark.parametrize("way", ["json", "data", "params"])
def test_fields_come_in_any_way_and_lists_stay_lists(url: str, way: str) -> None:
    fields: Any = {"q": [CAT, "The dog is big."], "source": "en", "target": "fr", "format": "text"}
    answer = requests.post(f"{url}/translate", timeout=PATIENCE, **{way: fields})
    assert answer.json() == {"translatedText": ["Le chat dort.", "Le chien est grand."]}


def test_what_is_asked_for_besides_is_given(url: str) -> None:
    answer = ask(url, q=CAT, source="auto", target="fr", alternatives=2, alignments=False).json()
    assert answer["translatedText"] == "Le chat dort."
    assert len(set(answer["alternatives"]) - {"Le chat dort."}) == 2
    assert answer["detectedLanguage"]["language"] == "en"
    assert 50 < answer["detectedLanguage"]["confidence"] <= 100


def test_alignments_on_request(url: str) -> None:
    one = ask(url, q=CAT, source="en", target="fr", alignments=True).json()
    assert one == {"translatedText": "Le chat dort.", "alignments": [[0, 0], [1, 1], [2, 2]]}
    two = ask(url, q=[CAT, "", CAT], source="en", target="fr", alignments=True).json()
    assert two["alignments"] == [one["alignments"], [], one["alignments"]]


def test_what_is_in_its_language_already_stays_as_it_is(url: str) -> None:
    text = "Le chat dort sur la table de la cuisine."
    answer = ask(url, q=text, source="auto", target="fr").json()
    assert (answer["translatedText"], answer["detectedLanguage"]["language"]) == (text, "fr")
    assert ask(url, q="  ", source="en", target="fr").json() == {"translatedText": "  "}


def test_html_keeps_its_tags(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    html = "<ul><li>The cat sleeps.</li><li>The dog is big.</li></ul>"
    answer = ask(url, q=[html, "<p>The cat sleeps.</p>"], source="en", target="fr", format="html").json()
    assert answer["translatedText"] == [
        "<ul><li>Le chat dort.</li><li>Le chien est grand.</li></ul>", "<p>Le chat dort.</p>",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"source": "en", "target": "fr"}, "q"),
        ({"q": CAT, "source": "en", "target": "xx"}, "en is not translated to xx here; what is: en to fr"),
        ({"q": CAT, "source": "auto", "target": "xx"}, "to xx"),
        ({"q": CAT, "source": "en", "target": "fr", "format": "pdf"}, "format"),
        ({"q": "half \ud83d", "source": "fr", "target": "fr"}, "surrogate"),
        ({"q": CAT, "source": "en", "target": "fr", "alternatives": 99}, "alternatives"),
        ({"q": CAT, "source": "en", "target": "fr", "format": "html", "alignments": True}, "HTML"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(url: str, fields: dict[str, Any], part: str) -> None:
    answer = ask(url, **fields)
    assert (answer.status_code, list(answer.json())) == (400, ["error"])
    assert part in answer.json()["error"]


def test_settings_for_pages(url: str) -> None:
    settings = requests.get(f"{url}/frontend/settings", timeout=PATIENCE).json()
    assert settings["keyRequired"] is False
    assert settings["language"]["target"] == {"code": "fr", "name": "French"}
