"""The errors that every route may answer with, for its page of OpenAPI."""

from __future__ import annotations

from typing import Any

from regard.server.studio.schema import StudioError

STATUSES: tuple[int | str, ...] = (400, 403, 404, 408, 413, 429, 500, 503, "4XX")  # with 4XX, FastAPI adds no 422
WAITING = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": StudioError, **({"headers": WAITING} if status in (429, 503) else {})} for status in STATUSES
}
