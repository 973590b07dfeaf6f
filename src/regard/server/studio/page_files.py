"""The built page: its files by name, read once. A name from a request is looked up, never opened."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse

from regard.server.refusals import Refusal

PAGE = Path(__file__).parent / "page"
KINDS = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon",
    ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8", ".webmanifest": "application/manifest+json",
    ".wasm": "application/wasm",
}  # fmt: skip
PACKED = (".html", ".js", ".css", ".json", ".svg", ".txt", ".wasm", ".webmanifest")  # what gzip makes smaller
HASHED = "assets/"  # where a build puts files whose names change with what is in them
FOREVER, ASK = "public, max-age=31536000, immutable", "no-cache"
MISSING = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Regard Studio: not built yet</title></head>
<body style="font: 18px/1.5 system-ui, sans-serif; max-width: 36em; margin: 4em auto; padding: 0 1em">
<h1>The page is not built yet</h1>
<p>The server runs, but this installation has no page to show. In the folder of the sources, give</p>
<pre>make studio</pre>
<p>and load this page again. It needs node, which make takes from this machine or from PyPI. An installed wheel brings
the page along.</p>
<p>What the server can be asked without a page: <a href="/openapi.json">/openapi.json</a>.</p>
</body></html>
"""


@dataclass(frozen=True)
class PageFile:
    """One file, ready to be sent."""

    kind: str
    caching: str
    body: bytes
    packed: bytes | None
    etag: str

    @classmethod
    def read(cls, name: str, path: Path) -> PageFile:
        body = path.read_bytes()
        packed = gzip.compress(body, mtime=0) if path.suffix in PACKED else None
        etag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
        caching = FOREVER if name.startswith(HASHED) else ASK
        return cls(KINDS[path.suffix], caching, body, packed, etag)

    def answer(self, request: Request) -> Response:
        headers = {"Cache-Control": self.caching, "ETag": self.etag, "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == self.etag:
            return Response(status_code=304, headers=headers)
        if self.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            return Response(self.packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=self.kind)
        return Response(self.body, headers=headers, media_type=self.kind)


@dataclass
class PageFiles:
    """All files of the build; read again when it was built again."""

    folder: Path = PAGE
    files: Mapping[str, PageFile] = field(default_factory=dict)
    built: int = -1  # when index.html was written

    def current(self) -> Mapping[str, PageFile]:
        index = self.folder / "index.html"
        built = index.stat().st_mtime_ns if index.is_file() else -1
        if built != self.built:
            self.files = self.read() if built >= 0 else {}
            self.built = built
        return self.files

    def read(self) -> dict[str, PageFile]:
        paths = (path for path in sorted(self.folder.rglob("*")) if path.is_file() and path.suffix in KINDS)
        named = ((path.relative_to(self.folder).as_posix(), path) for path in paths)
        return {name: PageFile.read(name, path) for name, path in named}


def add_page(app: FastAPI, files: PageFiles) -> None:
    """The page at /, and what it loads."""

    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        page = files.current().get("index.html")
        return HTMLResponse(MISSING, headers={"Cache-Control": ASK}) if page is None else page.answer(request)

    @app.get("/{name:path}", include_in_schema=False)
    async def file(request: Request, name: str) -> Response:
        page = files.current().get(name)
        if page is None:
            raise Refusal(404, "There is no such page here: begin at /")
        return page.answer(request)
