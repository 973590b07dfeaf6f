"""Numbers as bytes, with their shape beside them: little-endian, row after row."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from fastapi import Request, Response
from torch import Tensor

from regard.server.studio.map_questions import NumberType

MEDIA_TYPE = "application/octet-stream"
HEADERS = {
    "X-Shape": {"schema": {"type": "string"}, "description": "The size of each dim: 8,14,14."},
    "X-Dtype": {"schema": {"type": "string"}, "description": "float16 or float32, little-endian."},
    "X-Meta": {"schema": {"type": "string"}, "description": "What else is known of the numbers, as JSON."},
    "ETag": {"schema": {"type": "string"}},
}
NUMBERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The numbers, little-endian.",
        "headers": HEADERS,
        "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
    },
    304: {"description": "They are as they were."},
}


class NumbersResponse(Response):
    """Bytes of numbers. A class with a media type of its own would have errors described by it too."""


def numbers_response(
    numbers: Tensor, etag: str, meta: Mapping[str, Any] | None = None, dtype: NumberType = "float32"
) -> NumbersResponse:
    """The answer; what is too large for half precision becomes the largest that there is."""
    array = numbers.detach().float().cpu().numpy()
    if dtype == "float16":
        array = np.clip(array, -np.finfo(np.float16).max, np.finfo(np.float16).max)
    body = array.astype(np.dtype("<f2" if dtype == "float16" else "<f4")).tobytes()
    headers = {
        "X-Shape": ",".join(map(str, array.shape)),
        "X-Dtype": dtype,
        "X-Meta": json.dumps(meta or {}),  # in ASCII, as headers are
        **caching(etag),
    }
    return NumbersResponse(body, headers=headers, media_type=MEDIA_TYPE)


def caching(etag: str) -> dict[str, str]:
    """The same question to the same look has the same answer, for as long as the look is kept."""
    return {"ETag": etag, "Cache-Control": "private, max-age=3600"}


def etag_of(*question: object) -> str:
    """A tag for the answer to a question whose parts decide it."""
    return f'"{hashlib.blake2b(repr(question).encode(), digest_size=12).hexdigest()}"'


def unchanged(request: Request, etag: str) -> Response | None:
    """304 for whoever has the answer already."""
    given = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
    return Response(status_code=304, headers=caching(etag)) if etag in given or "*" in given else None
