"""DeepL's API, version 2: `/v2/translate`, `/v2/languages`, `/v2/usage`."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from regard.server.language_names import VARIANTS, language_name
from regard.server.refusals import DeepLError, error_responses
from regard.server.request_fields import accepts, read_fields
from regard.server.service import TranslationCall, TranslationService

ERRORS = error_responses(400, 403, 413, 429, 500, model=DeepLError)
UNLIMITED = 1_000_000_000_000  # characters: a client wants a number


class DeepLRequest(BaseModel):
    """Texts, and from which language to which; what else a client may send is left unread."""

    text: str | list[str]
    target_lang: str = Field(description="A code such as FR or EN-GB.")
    source_lang: str | None = Field(None, description="Guessed for each text where it is not said.")
    tag_handling: Literal["html", "xml", ""] | None = None
    auth_key: str | None = None


class DeepLTranslation(BaseModel):
    """One translation, and the language of its source."""

    detected_source_language: str
    text: str
    billed_characters: int


class DeepLResponse(BaseModel):
    """A translation for each text, in order."""

    translations: list[DeepLTranslation]


class DeepLLanguage(BaseModel):
    """A language that texts may be in, or be translated to."""

    language: str
    name: str
    supports_formality: bool = False


class DeepLLanguagesRequest(BaseModel):
    """Which languages are asked for."""

    type: Literal["source", "target"] = "source"
    auth_key: str | None = None


class DeepLUsage(BaseModel):
    """How many characters were translated since the server was started; nothing is billed."""

    character_count: int
    character_limit: int = UNLIMITED


def deepl_router(service: TranslationService) -> APIRouter:
    """The routes, answered by this service."""
    router = APIRouter(prefix="/v2", tags=["DeepL"], responses=ERRORS)

    @router.post("/translate", openapi_extra=accepts(DeepLRequest))
    async def translate(request: Request) -> DeepLResponse:
        """Translate texts."""
        asked = await read_fields(request, DeepLRequest, lists=("text",))
        service.guard.admit(request, asked.auth_key)
        texts = [asked.text] if isinstance(asked.text, str) else asked.text
        call = TranslationCall(texts, asked.target_lang, asked.source_lang, bool(asked.tag_handling))
        translations = [
            DeepLTranslation(
                detected_source_language=one.route.source.upper(), text=one.item.text, billed_characters=len(text)
            )
            for text, one in zip(texts, await service.translate(call), strict=True)
        ]
        return DeepLResponse(translations=translations)

    @router.get("/languages")
    async def languages(request: Request) -> list[DeepLLanguage]:
        """What is translated from, or to (`type=target`, which the client sends as a form with its GET)."""
        asked = await read_fields(request, DeepLLanguagesRequest)
        service.guard.admit(request, asked.auth_key)
        return source_languages(service) if asked.type == "source" else target_languages(service)

    @router.get("/usage")
    async def usage(request: Request) -> DeepLUsage:
        """What was translated so far."""
        service.guard.admit(request)
        return DeepLUsage(character_count=service.metrics.characters_so_far())

    return router


def source_languages(service: TranslationService) -> list[DeepLLanguage]:
    return [DeepLLanguage(language=code.upper(), name=language_name(code)) for code in service.models.sources()]


def target_languages(service: TranslationService) -> list[DeepLLanguage]:
    """English is offered as the variants that clients know; both are the same here."""
    codes = sorted({target for _, target in service.models.pairs})
    names = {code: VARIANTS.get(code, {code.upper(): language_name(code)}) for code in codes}
    return [DeepLLanguage(language=key, name=name) for code in codes for key, name in names[code].items()]
