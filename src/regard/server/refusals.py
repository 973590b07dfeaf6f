"""Why a request was not answered: one exception, told to each client as its own API tells errors."""

from __future__ import annotations

import logging
import math
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from regard.errors import RegardError

LOG = logging.getLogger("regard.server")
KINDS = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


class Refusal(Exception):
    """A request that gets no answer: the status of HTTP, a sentence, and when to come again if that would help."""

    def __init__(self, status: int, sentence: str, retry_after: float | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.retry_after = status, sentence, retry_after


class LibreTranslateError(BaseModel):
    """How LibreTranslate tells an error."""

    error: str


class DeepLError(BaseModel):
    """How DeepL tells an error."""

    message: str


class OpenAIErrorDetail(BaseModel):
    """What went wrong, and of what kind it is."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class OpenAIError(BaseModel):
    """How OpenAI tells an error."""

    error: OpenAIErrorDetail


def api_of(path: str) -> str:
    """Whose API a path belongs to."""
    if path.startswith("/v1/"):
        return "openai"
    if path.startswith("/api/"):
        return "studio"
    return "deepl" if path.startswith("/v2/") else "libretranslate"


def refusal_response(path: str, refusal: Refusal) -> JSONResponse:
    """The refusal in the words of the API that was asked."""
    api, status, sentence = api_of(path), refusal.status, refusal.sentence
    content: BaseModel
    if api == "openai":
        status = 401 if status == 403 else status  # what its clients take for a wrong key
        code = {401: "invalid_api_key", 429: "rate_limit_exceeded"}.get(status)
        content = OpenAIError(error=OpenAIErrorDetail(message=sentence, type=KINDS.get(status, "api_error"), code=code))
    else:
        content = DeepLError(message=sentence) if api == "deepl" else LibreTranslateError(error=sentence)
    after = refusal.retry_after
    headers = {} if after is None else {"Retry-After": str(max(math.ceil(after), 1))}
    return JSONResponse(content.model_dump(), status, headers)


def error_responses(*statuses: int, model: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """The errors of a route, for its page of OpenAPI."""
    return {status: {"model": model} for status in statuses}


def as_refusal(error: Exception) -> Refusal:
    """What a client may know of an error: all of its own mistakes, and of ours that there was one."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, HTTPException):
        return Refusal(error.status_code, f"{error.detail}: see /openapi.json for what is served here")
    if isinstance(error, (RequestValidationError, ValidationError)):
        return Refusal(400, invalid_fields(list(error.errors())))
    if isinstance(error, RegardError):
        return Refusal(400, " ".join(str(error).split()))
    LOG.error("a request failed", exc_info=error)
    return Refusal(500, f"the server failed to answer ({type(error).__name__}); its log says where")


def invalid_fields(errors: list[Any]) -> str:
    """Which fields are wrong, and what each should be."""
    fields = [f"{'.'.join(str(part) for part in one['loc'] if part != 'body')}: {one['msg']}" for one in errors]
    sentence = f"Invalid request: {'; '.join(fields[:4])}"
    return sentence.encode("utf-8", errors="replace").decode()  # the name of a field may be half a character


def install_refusals(app: FastAPI) -> None:
    """Let every error leave the server as JSON."""

    async def refuse(request: Request, error: Exception) -> JSONResponse:
        return refusal_response(request.url.path, as_refusal(error))

    for kind in (Refusal, HTTPException, RequestValidationError, ValidationError, RegardError, Exception):
        app.add_exception_handler(kind, refuse)
