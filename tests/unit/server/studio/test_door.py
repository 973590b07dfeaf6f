"""Who may come in, and what a browser is told about the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from regard.server.studio.catalogue import StudioCatalogue
from regard.server.studio.page_files import PageFiles
from regard.server.studio.studio_app import StudioOptions
from tests.studio_cases import sentence, studio_client

TOKEN = "a token & more"


@pytest.fixture
def guarded() -> Iterator[TestClient]:
    with studio_client(StudioCatalogue.of(), StudioOptions(token=TOKEN)) as client:
        yield client


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 403), ("127.0.0.1.evil.example", 403), ("localhost.evil.example:80", 403), ("", 403),
        ("localhost", 200), ("LOCALHOST:5151", 200), ("[::1]:5151", 200), ("127.0.0.1:1", 200),
    ],
)  # fmt: skip
def test_only_names_of_this_machine_are_answered(client: TestClient, host: str, status: int) -> None:
    answer = client.get("/api/runs", headers={"Host": host})
    assert answer.status_code == status
    if status == 403:
        assert "--token" in sentence(answer, 403)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:5152"}, 403),
        ({"Origin": "http://127.0.0.1"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}, 200),
    ],
)
def test_pages_of_others_may_not_ask(client: TestClient, headers: dict[str, str], status: int) -> None:
    assert client.get("/api/runs", headers=headers).status_code == status


def test_a_link_on_another_page_may_lead_here_but_no_frame(client: TestClient) -> None:
    visit = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert client.get("/", headers=visit).status_code == 200
    sentence(client.get("/", headers={**visit, "Sec-Fetch-Dest": "iframe"}), 403)


def test_with_a_token_nothing_is_told_without_it(guarded: TestClient) -> None:
    for path in ("/", "/api/studio", "/openapi.json", "/metrics", "/nowhere"):
        assert "token" in sentence(guarded.get(path), 403)
    sentence(guarded.get("/api/runs", headers={"Authorization": "Bearer wrong"}), 403)
    sentence(guarded.get("/api/runs", params={"token": TOKEN}), 403)
    sentence(guarded.get("/", params={"token": "wrong"}), 403)
    sentence(guarded.get("/api/runs", headers={"Cookie": "regard-studio-80=wrong; =;;"}), 403)
    for host in ("127.0.0.1", "studio.example"):
        headers = {"Authorization": f"Bearer {TOKEN}", "Host": host}
        assert guarded.get("/api/runs", headers=headers).status_code == 200
    assert guarded.get("/api/runs", headers={**headers, "Origin": "http://evil.example"}).status_code == 403


def test_the_token_moves_from_the_address_into_a_cookie(guarded: TestClient) -> None:
    moved = guarded.get("/", params={"token": TOKEN, "embed": "1"}, follow_redirects=False)
    assert (moved.status_code, moved.headers["Location"]) == (303, "/?embed=1")
    cookie = moved.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert TOKEN not in cookie
    assert guarded.get("/api/runs").status_code == 200


def test_what_a_browser_is_told(client: TestClient) -> None:
    for path in ("/", "/api/runs", "/nowhere", "/api/looks/0000000000000000/heads"):
        answer = client.get(path)
        policy = dict(part.strip().partition(" ")[::2] for part in answer.headers["Content-Security-Policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'"
        assert "unsafe-inline" not in policy["style-src"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["X-Frame-Options"] == "DENY"
    framed = client.get("/", params={"embed": "1"})
    assert framed.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert framed.headers["Content-Security-Policy"].endswith("frame-ancestors 'self'")


def test_a_page_that_is_not_built_says_how(tmp_path: Path) -> None:
    files = PageFiles(tmp_path / "page")
    with studio_client(StudioCatalogue.of(), StudioOptions(page=files)) as client:
        missing = client.get("/")
        assert (missing.status_code, missing.headers["Cache-Control"]) == (200, "no-cache")
        assert "make studio" in missing.text
        assert "<script" not in missing.text
        sentence(client.get("/assets/app-1.js"), 404)
        built(tmp_path / "page")
        assert client.get("/").text == "<!doctype html>built"


def built(folder: Path) -> None:
    (folder / "assets").mkdir(parents=True)
    (folder / "assets" / "app-1.js").write_text("let a = 1;\n" * 500)
    (folder / "index.html").write_text("<!doctype html>built")


def test_the_page_is_served_by_name_and_nothing_else_is(tmp_path: Path) -> None:
    built(tmp_path / "page")
    (tmp_path / "secret.txt").write_text("secret")
    with studio_client(StudioCatalogue.of(), StudioOptions(page=PageFiles(tmp_path / "page"))) as client:
        page = client.get("/")
        assert (page.headers["Cache-Control"], page.headers["Content-Type"]) == ("no-cache", "text/html; charset=utf-8")
        assert client.get("/", headers={"If-None-Match": page.headers["ETag"]}).status_code == 304
        script = client.get("/assets/app-1.js")
        assert "immutable" in script.headers["Cache-Control"]
        assert script.headers["Content-Encoding"] == "gzip"
        assert int(script.headers["Content-Length"]) < 200
        assert script.text == "let a = 1;\n" * 500
        plain = client.get("/assets/app-1.js", headers={"Accept-Encoding": "identity"})
        assert ("Content-Encoding" in plain.headers, plain.text) == (False, script.text)
        for path in ("/../secret.txt", "/%2e%2e/secret.txt", "/assets/..%2f..%2fsecret.txt", "//etc/passwd", "/assets"):
            answer = client.get(path)
            assert "secret" not in answer.text
            assert answer.status_code == 404
