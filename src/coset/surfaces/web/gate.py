"""Who gets in: requests for this host, from this page itself, with the token where there is one.

In: requests. Out: those that may pass, and answers that no other page can use. Against a page elsewhere that makes a
browser ask us: the name it asks for (a name that was bent to this machine is none of ours), where the request comes
from (`Origin`, `Sec-Fetch-Site`), a token in every form. Against a value that is a script: a policy that runs none but
our own files. Knows no page but the one that asks for the token.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from urllib.parse import parse_qs, quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coset.surfaces.http_server import LOOPBACK_NAMES, in_address, is_loopback
from coset.surfaces.web.rendering import TEMPLATES

COOKIE = "coset_ui"
LOGIN = "/token"
OPEN_TO_ALL = ("/assets/style.css", "/assets/icon.svg", LOGIN)
LARGEST_TOKEN = 4_096
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: with that a browser says `Origin: null` of our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Gate:
    """Stands before the whole application."""

    def __init__(self, application: ASGIApp, host: str, token: str | None) -> None:
        self._application, self._token = application, token
        # Beyond loopback a server has names that it does not know; there the token keeps foreign pages out.
        self._names = {*LOOPBACK_NAMES, in_address(host).lower()} if is_loopback(host) else None
        self._admitted = "" if token is None else _signed(secrets.token_bytes(32), token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        request = Request(scope, receive)
        answer = self._refusal(request.method, request.headers) or await self._without_token(request)
        await (answer or self._application)(scope, receive, send_guarded)

    def _refusal(self, method: str, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or (self._names is not None and _name(host) not in self._names):
            return PlainTextResponse("this server does not go by that name: open the address that it printed", 421)
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return PlainTextResponse("a request from another page is not taken", 403)
        from_elsewhere = headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}
        is_link = (
            method in {"GET", "HEAD"}
            and headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
        )
        if from_elsewhere and not is_link:
            return PlainTextResponse("a request from another page is not taken", 403)
        return None

    async def _without_token(self, request: Request) -> Response | None:
        """What is answered in place of the application; None for whoever may pass."""
        if self._token is None:
            return None
        if request.url.path == LOGIN:
            return await self._login(request)
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token.encode()):
            return None
        if hmac.compare_digest(request.cookies.get(COOKIE, "").encode(), self._admitted.encode()):
            return None
        if request.url.path in OPEN_TO_ALL:
            return None
        if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
            wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"{LOGIN}?next={quote(wanted)}", 303)
        return PlainTextResponse("a token is needed", 401, headers={"WWW-Authenticate": "Bearer"})

    async def _login(self, request: Request) -> Response:
        wanted = request.query_params.get("next", "/")
        if request.method != "POST":
            return _login_page(wanted, 200, "")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LARGEST_TOKEN:
                return PlainTextResponse("that is too long for a token", 413)
        given = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0]
        if not hmac.compare_digest(given.strip().encode(), (self._token or "").encode()):
            await asyncio.sleep(0.5)  # Whoever tries one after the other shall wait.
            return _login_page(wanted, 403, "That is not the token.")
        answer = RedirectResponse(_within(wanted), 303)
        answer.set_cookie(COOKIE, self._admitted, httponly=True, samesite="strict", path="/")
        return answer


def _login_page(wanted: str, status: int, problem: str) -> Response:
    text = TEMPLATES.get_template("token.html").render(wanted=quote(_within(wanted)), problem=problem)
    return HTMLResponse(text, status)


def _within(address: str) -> str:
    """An address on this server; anything that could lead elsewhere is the first page."""
    return address if address.startswith("/") and not address.startswith(("//", "/\\")) else "/"


def _name(host: str) -> str:
    """The name of a `Host` header, without its port."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdecimal() else host.lower()


def _signed(secret: bytes, token: str) -> str:
    return hmac.new(secret, token.encode(), hashlib.sha256).hexdigest()
