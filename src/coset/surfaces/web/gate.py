"""Access control of the web page: requests for this host, from this page itself, with the token where there is one.

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
from urllib.parse import parse_qs, quote, unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coset.errors import CosetError
from coset.people import ANYONE, OneToken, People, Person, Right, acting_for
from coset.surfaces.http_server import LOOPBACK_NAMES, in_address, is_loopback
from coset.surfaces.web.rendering import TEMPLATES

COOKIE = "coset_ui"
LOGIN = "/token"
OPEN_TO_ALL = ("/assets/style.css", "/assets/icon.svg", LOGIN)
LOOKING = ("/question", "/sql", LOGIN)
"""What takes a question or statement and changes nothing."""
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

    def __init__(self, application: ASGIApp, host: str, people: People | OneToken | None) -> None:
        self._application, self._people = application, people
        # Beyond loopback a server has names that it does not know; there the token keeps foreign pages out.
        self._names = {*LOOPBACK_NAMES, in_address(host).lower()} if is_loopback(host) else None
        self._secret = secrets.token_bytes(32)

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
        try:
            person = self._person(request)
        except CosetError as error:  # The file of people cannot be read: nobody is let in.
            await PlainTextResponse(f"nobody can be let in: {error}", 503)(scope, receive, send_guarded)
            return
        answer = self._refusal(request.method, request.headers)
        if answer is None and self._people is not None and request.url.path == LOGIN:
            answer = await self._login(request)
        answer = answer or (self._stranger(request) if person is None else _not_allowed(request, person))
        with acting_for(person):
            await (answer or self._application)(scope, receive, send_guarded)

    def _person(self, request: Request) -> Person | None:
        """Who sent a request, by the token in its header or the cookie that stands for it."""
        if self._people is None:
            return ANYONE
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._people.find(given.strip())
        encoded, _, signature = request.cookies.get(COOKIE, "").partition(".")
        if signature and hmac.compare_digest(signature.encode(), _signed(self._secret, encoded).encode()):
            return self._people.named(unquote(encoded))
        return None

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

    def _stranger(self, request: Request) -> Response | None:
        """What is answered to whoever has shown no token; None for what is open to all."""
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
        person = self._people.find(given.strip()) if self._people is not None else None
        if person is None:
            await asyncio.sleep(0.5)  # Whoever tries one after the other shall wait.
            return _login_page(wanted, 403, "That is not the token.")
        answer = RedirectResponse(_within(wanted), 303)
        encoded = quote(person.name, safe="")
        answer.set_cookie(
            COOKIE, f"{encoded}.{_signed(self._secret, encoded)}", httponly=True, samesite="strict", path="/"
        )
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


def _signed(secret: bytes, text: str) -> str:
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()


def _not_allowed(request: Request, person: Person) -> Response | None:
    """A refusal where the person lacks the right; looking is a right too."""
    right = right_needed(request.method, request.url.path)
    if person.may(right):
        return None
    return PlainTextResponse(f"{person.name} may not do this: it needs the right '{right}'", 403)


def right_needed(method: str, path: str) -> Right:
    """What an address needs. A new page that takes something in needs the right to correct, until it is listed."""
    if method in {"GET", "HEAD"} or path in LOOKING or path.endswith("/replay"):
        return "look"
    return "ask" if path == "/ask" or (path.startswith("/asked/") and path.endswith("/stop")) else "correct"
