"""Which model answers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import regard
from regard.errors import InputError
from regard.interop.folders import languages_of
from regard.server.language_names import language_code
from regard.server.refusals import Refusal
from regard.server.registry import ModelRegistry, open_model
from regard.server.served_models import ServedModel
from regard.tasks.model_folder import Task
from tests.server_cases import EchoTranslator
from tests.subjects import ours


def load(folder: Path) -> Task:
    return regard.load(folder, "cpu")


def registry(*pairs: tuple[str, str]) -> ModelRegistry:
    return ModelRegistry([ServedModel("-".join(pair), EchoTranslator(), pair) for pair in pairs])  # type: ignore[arg-type]


def test_languages_choose_the_model() -> None:
    models = registry(("en", "fr"), ("fr", "en"))
    for source, target, name in (("en", "fr", "en-fr"), ("FR", "EN-GB", "fr-en"), ("en_US", "fr-CA", "en-fr")):
        route = asyncio.run(models.route("x", source, target))
        assert route.model is not None
        assert (route.model.name, route.confidence) == (name, 1.0)
    assert asyncio.run(models.route("x", "en", "EN")).model is None
    with pytest.raises(Refusal, match="en is not translated to de here; what is: en to fr, fr to en"):
        asyncio.run(models.route("x", "en", "de"))
    assert [language_code(code) for code in ("EN-GB", " fr ", "pt_BR")] == ["en", "fr", "pt"]


def test_as_many_threads_as_every_model_allows() -> None:
    tasks = EchoTranslator(), EchoTranslator()
    served = [ServedModel(str(number), task, None) for number, task in enumerate(tasks)]  # type: ignore[arg-type]
    assert ModelRegistry(served).share() == 1
    tasks[0].threads = 4
    assert (ModelRegistry(served).share(), tasks[0].shared) == (1, False)
    tasks[1].threads = 2
    assert (ModelRegistry(served).share(), tasks[0].shared, tasks[1].shared) == (2, True, True)


def test_a_text_may_say_its_language_itself() -> None:
    models = registry(("en", "fr"), ("fr", "en"), ("de", "fr"))
    text = "Das ist ein schöner Tag, und die Sonne scheint auf unser Haus."
    for source, target, model in ((text, "fr", "de-fr"), ("Where is the station, please?", "fr", "en-fr")):
        route = asyncio.run(models.route(source, None, target))
        assert route.model is not None
        assert route.model.name == model
    assert asyncio.run(models.route("Le train part de la gare à midi.", None, "fr")).model is None
    with pytest.raises(Refusal, match="Nothing is translated to de here; what is: en, fr"):
        asyncio.run(models.route("Where is the station, please?", None, "de"))


def test_a_folder_says_its_languages_or_is_told(tmp_path: Path) -> None:
    assert open_model("grammar", load).languages == ("en", "fr")
    assert open_model("grammar=EN:de", load).languages == ("en", "de")
    folder = ours("transformer post", tmp_path)
    assert languages_of(folder) is None
    with pytest.raises(InputError, match="which languages") as error:
        open_model(str(folder), load)
    assert f"{folder}=en:fr" in str(error.value)
    told = open_model(f"{folder}=en:fr", load)
    assert (told.name, told.languages) == ("transformer-post", ("en", "fr"))
    with pytest.raises(InputError, match="two codes"):
        open_model(f"{folder}=en", load)


def test_what_cannot_be_served_is_refused(tmp_path: Path) -> None:
    assert open_model(str(ours("decoder", tmp_path)), load).languages is None
    with pytest.raises(InputError, match="cannot be served"):
        open_model(str(ours("encoder class", tmp_path)), load)
    with pytest.raises(InputError, match="nothing to serve"):
        ModelRegistry([])
    with pytest.raises(InputError, match="two models are called en-fr"):
        registry(("en", "fr"), ("en", "fr"))


def test_alignments_without_a_choice_hang_on_no_neighbour() -> None:
    from regard.server.served_models import TranslationWork

    one = open_model("grammar", load)
    unchosen = ServedModel(one.name, one.task, one.languages, None)
    texts = ["The cat sleeps.", "The small dog sees the big house."]
    together = TranslationWork(unchosen, alignments=True).run(texts)
    assert together == [TranslationWork(unchosen, alignments=True).run([text])[0] for text in texts]
