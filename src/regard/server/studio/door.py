"""Who may come in: this machine's own pages, or whoever has the token; and what a browser is told about the page.

A page of somebody else's could send requests to this machine, or pose as it by a name that it lets point here. So the
Host header must name this machine (without a token), an Origin must be this very server, and what a browser itself
calls cross-site is refused. The token comes once, in the address, and then lives in a cookie.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.server.middleware import LOCAL
from regard.server.refusals import Refusal, refusal_response

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; worker-src 'self' blob:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors "
)
SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
BEARER = "Bearer "


class Door:
    """Stands before everything: hosts, origins, the token, and the headers of every answer."""

    def __init__(self, app: ASGIApp, token: str | None = None) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        frames = "'self'" if request.query_params.get("embed") == "1" else "'none'"

        async def safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update({**SAFE, "Content-Security-Policy": POLICY + frames})
                headers["X-Frame-Options"] = "SAMEORIGIN" if frames == "'self'" else "DENY"
            await send(message)

        try:
            self.check_host(request)
            self.check_origin(request)
            if (token := request.query_params.get("token")) is not None and scope["path"] == "/":
                await self.let_in(request, token)(scope, receive, safely)
                return
            self.check_token(request)
        except Refusal as refusal:
            await refusal_response(scope["path"], refusal)(scope, receive, safely)
            return
        await self.app(scope, receive, safely)

    def check_host(self, request: Request) -> None:
        """Without a token only names of this machine are answered, so that no web page can pose as one of them."""
        host = request.headers.get("host", "")
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if self.token is None and name.lower() not in LOCAL:
            raise Refusal(403, f"This server answers to {' and '.join(LOCAL)} only, unless it is started with --token")

    def check_origin(self, request: Request) -> None:
        """A page of another server may follow a link to here, and nothing else."""
        origin = request.headers.get("origin")
        own = request.headers.get("host", "").lower()
        if origin is not None and origin.lower() not in (f"http://{own}", f"https://{own}"):
            raise Refusal(403, "Pages of other servers may not ask this one")
        site = request.headers.get("sec-fetch-site", "none")
        visit = request.headers.get("sec-fetch-mode") == "navigate" and request.headers.get("sec-fetch-dest") in (
            "document", None,
        )  # fmt: skip
        if site in ("cross-site", "same-site") and not (visit and request.url.path == "/"):
            raise Refusal(403, "Pages of other servers may not ask this one")

    def let_in(self, request: Request, token: str) -> RedirectResponse:
        """Keep the token in a cookie, and take it out of the address."""
        if not self.fits(token):
            raise Refusal(403, "This is not the token of this server")
        rest = urlencode([pair for pair in parse_qsl(request.url.query) if pair[0] != "token"])
        answer = RedirectResponse("/" + (f"?{rest}" if rest else ""), 303)
        answer.set_cookie(self.cookie(request), self.secret, httponly=True, samesite="lax", path="/")
        return answer

    def check_token(self, request: Request) -> None:
        if self.token is None:
            return
        header = request.headers.get("authorization", "")
        cookie = cookies_of(request).get(self.cookie(request), "")
        if secrets.compare_digest(cookie.encode(), self.secret.encode()):
            return
        if not (header.startswith(BEARER) and self.fits(header.removeprefix(BEARER).strip())):
            raise Refusal(403, "Please open the address with the token that this server was started with: /?token=...")

    def fits(self, token: str) -> bool:
        return self.token is None or secrets.compare_digest(token.encode(), self.token.encode())

    def cookie(self, request: Request) -> str:
        """Cookies know no ports: two studios on one machine each have their own."""
        server = request.scope.get("server")
        return f"regard-studio-{server[1] if server else 0}"

    @property
    def secret(self) -> str:
        """What the cookie holds: not the token itself."""
        return hashlib.sha256(f"regard studio {self.token}".encode()).hexdigest()


def cookies_of(request: Request) -> Mapping[str, str]:
    try:
        return {name: one.value for name, one in SimpleCookie(request.headers.get("cookie", "")).items()}
    except CookieError:
        return {}
