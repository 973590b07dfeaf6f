"""LibreTranslate's API: `/translate`, `/detect`, `/languages`."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from regard.server.language_names import language_name
from regard.server.refusals import LibreTranslateError, error_responses
from regard.server.request_fields import accepts, read_fields
from regard.server.service import RoutedTranslation, TranslationCall, TranslationService

ERRORS = error_responses(400, 403, 413, 429, 500, model=LibreTranslateError)
AUTO = "auto"


class LibreTranslateRequest(BaseModel):
    """A text or several, and from which language to which."""

    q: str | list[str] = Field(description="The text, or a list of texts.")
    source: str = Field(description="The code of its language, or auto.")
    target: str = Field(description="The code of the language to translate to.")
    format: Literal["text", "html"] = "text"
    alternatives: int = Field(0, description="How many other translations to give.")
    alignments: bool = Field(False, description="Which word became which: pairs of numbers of words at white space.")
    api_key: str | None = None


class DetectedLanguage(BaseModel):
    """A language, and how sure that is, of 100."""

    confidence: float
    language: str


class LibreTranslateResponse(BaseModel):
    """One of each for a text, a list of each for a list."""

    translatedText: str | list[str]
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] | None = None
    alternatives: list[str] | list[list[str]] | None = None
    alignments: list[tuple[int, int]] | list[list[tuple[int, int]]] | None = None


class DetectRequest(BaseModel):
    """A text of unknown language."""

    q: str
    api_key: str | None = None


class ServedLanguage(BaseModel):
    """A language, and what it is translated to."""

    code: str
    name: str
    targets: list[str]


class FrontendLanguage(BaseModel):
    """A language that a page begins with."""

    code: str
    name: str


class FrontendSettings(BaseModel):
    """What pages made for LibreTranslate ask first."""

    apiKeys: bool
    keyRequired: bool
    charLimit: int
    frontendTimeout: int = 500
    language: dict[str, FrontendLanguage]
    suggestions: bool = False
    supportedFilesFormat: list[str] = []


def libretranslate_router(service: TranslationService) -> APIRouter:
    """The routes, answered by this service."""
    router = APIRouter(tags=["LibreTranslate"], responses=ERRORS)

    @router.post("/translate", openapi_extra=accepts(LibreTranslateRequest), response_model_exclude_none=True)
    async def translate(request: Request) -> LibreTranslateResponse:
        """Translate a text or a list of texts."""
        asked = await read_fields(request, LibreTranslateRequest, lists=("q",))
        service.guard.admit(request, asked.api_key)
        texts = [asked.q] if isinstance(asked.q, str) else asked.q
        source = None if asked.source.lower() == AUTO else asked.source
        html = asked.format == "html"
        call = TranslationCall(texts, asked.target, source, html, asked.alternatives, asked.alignments)
        return response(asked, await service.translate(call))

    @router.post("/detect", openapi_extra=accepts(DetectRequest))
    async def detect(request: Request) -> list[DetectedLanguage]:
        """The languages served here, the likeliest first."""
        asked = await read_fields(request, DetectRequest)
        service.guard.admit(request, asked.api_key)
        service.check_texts([asked.q])
        ranked = await service.models.detect(asked.q)
        return [DetectedLanguage(confidence=percent(share), language=code) for code, share in ranked]

    @router.get("/languages")
    async def languages() -> list[ServedLanguage]:
        """What is translated to what."""
        return [
            ServedLanguage(code=code, name=language_name(code), targets=service.models.targets(code))
            for code in service.models.languages
        ]

    @router.get("/frontend/settings")
    async def settings() -> FrontendSettings:
        """Limits, and the languages to begin with."""
        source, target = next(iter(service.models.pairs), ("", ""))
        keys = bool(service.guard.keys)
        sides = {"source": source, "target": target}
        language = {side: FrontendLanguage(code=code, name=language_name(code)) for side, code in sides.items()}
        return FrontendSettings(apiKeys=keys, keyRequired=keys, charLimit=service.characters, language=language)

    return router


def response(asked: LibreTranslateRequest, answers: list[RoutedTranslation]) -> LibreTranslateResponse:
    """A text for a text, a list for a list; what was not asked for is left out."""
    one = isinstance(asked.q, str)
    texts = [answer.item.text for answer in answers]
    guesses = [
        DetectedLanguage(confidence=percent(answer.route.confidence), language=answer.route.source)
        for answer in answers
    ]
    others = [list(answer.item.alternatives) for answer in answers]
    links = [list(answer.item.links or ()) for answer in answers]
    auto = asked.source.lower() == AUTO
    return LibreTranslateResponse(
        translatedText=texts[0] if one else texts,
        detectedLanguage=(guesses[0] if one else guesses) if auto else None,
        alternatives=(others[0] if one else others) if asked.alternatives else None,
        alignments=(links[0] if one else links) if asked.alignments else None,
    )


def percent(share: float) -> float:
    return round(100 * share, 1)
