"""What clients of OpenAI send and get. Fields that change nothing here are left unread."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

FinishReason = Literal["stop", "length"]


class StreamOptions(BaseModel):
    """Whether the last piece of a stream counts tokens."""

    include_usage: bool = False


class OpenAIRequest(BaseModel):
    """What completions and chats share. A translator reads none of it but `model`, `n` and `stream`."""

    model: str
    temperature: float = Field(1.0, ge=0, le=2)
    top_p: float = Field(1.0, gt=0, le=1)
    n: int = 1
    seed: int | None = None
    stop: str | list[str] | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None


class CompletionRequest(OpenAIRequest):
    """Texts to go on from, or to translate."""

    prompt: str | list[str]
    max_tokens: int | None = None


class ContentPart(BaseModel):
    """A part of a message."""

    type: Literal["text"]
    text: str


class ChatMessage(BaseModel):
    """Somebody's words."""

    role: str
    content: str | list[ContentPart] | None = None

    @property
    def text(self) -> str:
        """All of it."""
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "".join(part.text for part in self.content)


class ChatRequest(OpenAIRequest):
    """A conversation to go on with; of a translator's, the user's last message is translated."""

    messages: list[ChatMessage] = Field(min_length=1)
    max_tokens: int | None = None
    max_completion_tokens: int | None = None


class TokenUsage(BaseModel):
    """How many tokens were read and said."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class CompletionChoice(BaseModel):
    """One text, or in a stream a piece of it."""

    index: int
    text: str
    logprobs: None = None
    finish_reason: FinishReason | None


class ChatAnswer(BaseModel):
    """The model's message, or in a stream a piece of it."""

    role: Literal["assistant"] | None = "assistant"
    content: str | None = None
    refusal: None = None


class ChatChoice(BaseModel):
    """One answer."""

    index: int
    message: ChatAnswer
    logprobs: None = None
    finish_reason: FinishReason | None


class ChatPiece(BaseModel):
    """A piece of one answer."""

    index: int
    delta: ChatAnswer
    finish_reason: FinishReason | None


class CompletionResponse(BaseModel):
    """Texts."""

    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: TokenUsage | None = None


class ChatResponse(BaseModel):
    """Answers."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[ChatChoice]
    usage: TokenUsage | None = None


class ChatChunk(BaseModel):
    """A piece of a stream of answers."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChatPiece]
    usage: TokenUsage | None = None


class OpenAIModel(BaseModel):
    """A model that may be asked."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "regard"


class OpenAIModelList(BaseModel):
    """All of them."""

    object: Literal["list"] = "list"
    data: list[OpenAIModel]


def stops_of(asked: OpenAIRequest) -> tuple[str, ...]:
    """The texts that end an answer."""
    given: Any = asked.stop or ()
    return tuple(one for one in ([given] if isinstance(given, str) else given) if one)
