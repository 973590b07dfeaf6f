"""The API does what it says: Schemathesis asks it all that its description allows, and some that it does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from regard.server.studio.catalogue import StudioCatalogue
from regard.server.studio.openapi import main
from regard.server.studio.schema import StudioError
from regard.server.studio.studio_app import api_description, create_studio
from tests.server_cases import PATIENCE, running
from tests.studio_cases import CAT, sentence

CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)
TYPES = Path(__file__).resolve().parents[4] / "studio" / "src" / "contract" / "openapi.json"


@pytest.fixture(scope="module")
def url(catalogue: StudioCatalogue) -> Iterator[str]:
    """A server that really listens."""
    with running(create_studio(catalogue)) as address:
        yield address


@pytest.fixture(scope="module")
def number(url: str) -> str:
    """A look's id, so that more than 404 is met."""
    asked = {"model": "grammar", "text": CAT}
    return str(requests.post(f"{url}/api/looks", json=asked, timeout=PATIENCE).json()["id"])


SCHEMA = schemathesis.openapi.from_dict(api_description())
OPERATIONS = {operation.label: operation for operation in (one.ok() for one in SCHEMA.get_all_operations())}


@pytest.mark.parametrize("label", OPERATIONS)
def test_whatever_is_asked_is_answered_as_described(label: str, url: str, number: str) -> None:
    @settings(max_examples=15, suppress_health_check=list(HealthCheck))
    @given(case=OPERATIONS[label].as_strategy())
    def ask(case: Any) -> None:
        if "look" in case.path_parameters:
            case.path_parameters["look"] = number
        case.call_and_validate(base_url=url, checks=list(CHECKS))

    ask()


def test_every_route_describes_its_errors() -> None:
    paths = api_description()["paths"]
    assert len(paths) == 20
    for path, methods in paths.items():
        for asked in methods.values():
            errors = {status for status in asked["responses"] if not status.startswith(("2", "3"))}
            assert {"400", "403", "404", "413", "429", "500"} <= errors, path
            assert "422" not in errors
            for status in errors:
                schema = asked["responses"][status]["content"]["application/json"]["schema"]
                assert schema["$ref"].endswith(StudioError.__name__)


def test_the_description_is_the_one_that_the_pages_types_are_made_from(tmp_path: Path) -> None:
    main(str(tmp_path / "openapi.json"))
    written = json.loads((tmp_path / "openapi.json").read_text(encoding="utf-8"))
    if TYPES.is_file():
        assert written == json.loads(TYPES.read_text(encoding="utf-8")), "python -m regard.server.studio.openapi FILE"


def test_half_a_character_is_refused(client: TestClient) -> None:
    for body in (b'{"model": "grammar", "text": "\\ud800"}', b'{"model": "grammar", "\\ud800": 1}'):
        refused = client.post("/api/looks", content=body, headers={"Content-Type": "application/json"})
        sentence(refused, 400)
