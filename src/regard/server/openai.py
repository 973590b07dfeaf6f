"""OpenAI's API: `/v1/models`, `/v1/completions`, `/v1/chat/completions`, whole or as a stream."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from secrets import token_hex
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from regard.server.completions import StreamPiece, TextRequest
from regard.server.openai_schema import (
    ChatAnswer,
    ChatChoice,
    ChatChunk,
    ChatPiece,
    ChatRequest,
    ChatResponse,
    CompletionChoice,
    CompletionRequest,
    CompletionResponse,
    FinishReason,
    OpenAIModel,
    OpenAIModelList,
    OpenAIRequest,
    TokenUsage,
    stops_of,
)
from regard.server.refusals import OpenAIError, Refusal, as_refusal, error_responses, refusal_response
from regard.server.served_models import GeneratedItem, ServedModel
from regard.server.service import GenerationCall, TranslationService, is_generator

ERRORS = error_responses(400, 401, 404, 413, 429, 500, model=OpenAIError)
COMPLETION_TOKENS, CHAT_TOKENS = 16, 256  # where none are asked for
Chunk = Callable[[StreamPiece, bool], BaseModel]  # of a piece, and whether it is the first


def openai_router(service: TranslationService) -> APIRouter:
    """The routes, answered by this service."""
    router = APIRouter(prefix="/v1", tags=["OpenAI"], responses=ERRORS)

    @router.get("/models")
    async def models(request: Request) -> OpenAIModelList:
        """The models that may be asked."""
        service.guard.admit(request)
        return OpenAIModelList(data=[OpenAIModel(id=name) for name in service.models.by_name])

    @router.get("/models/{name:path}")
    async def model(request: Request, name: str) -> OpenAIModel:
        """One of them."""
        service.guard.admit(request)
        return OpenAIModel(id=service.models.named(name).name)

    @router.post("/completions", response_model=CompletionResponse)
    async def completions(request: Request, asked: CompletionRequest) -> Any:
        """Go on with a text, or translate it."""
        service.guard.admit(request)
        prompts = [asked.prompt] if isinstance(asked.prompt, str) else asked.prompt
        texts = text_request(service, asked, prompts, asked.max_tokens or COMPLETION_TOKENS)
        head = heading("cmpl", asked.model)
        if asked.stream:
            return await streamed(texts, asked, lambda piece, _: completion_chunk(head, piece))
        items = await texts.texts()
        flat = [item for some in items for item in some]
        choices = [
            CompletionChoice(index=index, text=item.text, finish_reason=reason(item)) for index, item in enumerate(flat)
        ]
        return CompletionResponse(**head, choices=choices, usage=usage(items))

    @router.post("/chat/completions", response_model=ChatResponse)
    async def chat(request: Request, asked: ChatRequest) -> Any:
        """Answer a conversation, or translate the user's last message."""
        service.guard.admit(request)
        tokens = asked.max_completion_tokens or asked.max_tokens or CHAT_TOKENS
        prompt = prompt_of(asked, service.models.named(asked.model))
        texts = text_request(service, asked, [prompt], tokens)
        head = heading("chatcmpl", asked.model)
        if asked.stream:
            return await streamed(texts, asked, lambda piece, first: chat_chunk(head, piece, first))
        items = await texts.texts()
        choices = [
            ChatChoice(index=index, message=ChatAnswer(content=item.text), finish_reason=reason(item))
            for index, item in enumerate(items[0])
        ]
        return ChatResponse(**head, choices=choices, usage=usage(items))

    return router


def text_request(service: TranslationService, asked: OpenAIRequest, prompts: Sequence[str], tokens: int) -> TextRequest:
    """What is asked for, of which model."""
    if asked.stream and (asked.n != 1 or len(prompts) != 1):
        raise Refusal(400, "A stream has one prompt and one choice")
    top_p = asked.top_p if asked.top_p < 1 else None
    call = GenerationCall(prompts, tokens, asked.temperature, top_p, asked.seed, asked.n)
    return TextRequest(service, service.models.named(asked.model), call, stops_of(asked))


def prompt_of(asked: ChatRequest, model: ServedModel) -> str:
    """Of a translator's conversation the user's last message; a generator goes on from all that was said."""
    if is_generator(model):
        return "\n".join(message.text for message in asked.messages)
    mine = [message.text for message in asked.messages if message.role == "user"]
    if not mine:
        raise Refusal(400, "There is no message of the user to translate")
    return mine[-1]


def heading(kind: str, model: str) -> dict[str, Any]:
    return {"id": f"{kind}-{token_hex(12)}", "created": int(time.time()), "model": model}


def reason(item: GeneratedItem) -> FinishReason:
    return "stop" if item.ended else "length"


def usage(items: Sequence[Sequence[GeneratedItem]]) -> TokenUsage:
    """A prompt counts once, however many texts follow it."""
    read = sum(some[0].prompt_tokens for some in items if some)
    new = sum(item.new_tokens for some in items for item in some)
    return TokenUsage(prompt_tokens=read, completion_tokens=new, total_tokens=read + new)


def completion_chunk(head: dict[str, Any], piece: StreamPiece) -> CompletionResponse:
    end = None if piece.item is None else reason(piece.item)
    return CompletionResponse(**head, choices=[CompletionChoice(index=0, text=piece.text, finish_reason=end)])


def chat_chunk(head: dict[str, Any], piece: StreamPiece, first: bool) -> ChatChunk:
    end = None if piece.item is None else reason(piece.item)
    delta = ChatAnswer(role="assistant" if first else None, content=piece.text)
    return ChatChunk(**head, choices=[ChatPiece(index=0, delta=delta, finish_reason=end)])


async def streamed(texts: TextRequest, asked: OpenAIRequest, chunk: Chunk) -> StreamingResponse:
    """Events as the clients read them; what goes wrong before the first of them is an error like any other."""
    counts = asked.stream_options is not None and asked.stream_options.include_usage
    pieces = texts.pieces()
    first = await anext(pieces)

    async def events() -> AsyncIterator[str]:
        yield event(chunk(first, True).model_dump_json())
        last = first
        try:
            async for last in pieces:
                yield event(chunk(last, False).model_dump_json())
        except Exception as error:
            yield event(bytes(refusal_response("/v1/", as_refusal(error)).body).decode())
        if last.item is not None and counts:
            tally = chunk(last, False).model_copy(update={"choices": [], "usage": usage([[last.item]])})
            yield event(tally.model_dump_json())
        yield event("[DONE]")

    return StreamingResponse(events(), media_type="text/event-stream", headers={"Cache-Control": "no-cache"})


def event(data: str) -> str:
    return f"data: {data}\n\n"
