"""The fields of a request, wherever its client puts them: in JSON, in a form, or behind the question mark."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel

from regard.server.refusals import Refusal

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")  # which starlette reads by python_multipart
M = TypeVar("M", bound=BaseModel)


async def read_fields(request: Request, model: type[M], *, lists: tuple[str, ...] = ()) -> M:
    """The fields as a model; a field of `lists` that comes several times, or as a list, is one."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    fields = gathered(request.query_params.multi_items(), lists)
    if kind in FORMS:
        async with request.form() as form:
            fields |= gathered([(name, str(value)) for name, value in form.multi_items()], lists)
    elif body := await request.body():
        fields |= as_object(body)
    return model.model_validate(fields)


def gathered(items: list[tuple[str, str]], lists: tuple[str, ...]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in items:
        fields[name] = [*fields.get(name, []), value] if name in lists else value
    return {name: value[0] if name in lists and len(value) == 1 else value for name, value in fields.items()}


def as_object(body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"Invalid request: the body is no JSON ({error})") from error
    if not isinstance(fields, dict):
        raise Refusal(400, "Invalid request: the body must be a JSON object")
    return fields


def accepts(model: type[BaseModel]) -> dict[str, Any]:
    """What OpenAPI says of a route whose fields come as JSON or as a form."""
    schema = model.model_json_schema()
    kinds = ("application/json", *FORMS)
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}}
