"""What a form sends, read and checked.

In: a request. Out: its fields. A form that does not carry the token of this process is refused: it was not made by
one of our pages.
"""

from __future__ import annotations

import hmac
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request

from coset.surfaces.web.site import site_of

LARGEST = 64 * 1024
FIELD = "form_token"


async def read_form(request: Request) -> dict[str, str]:
    """The fields, each once. Raises an `HTTPException` for what is no form of ours."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind != "application/x-www-form-urlencoded":
        raise HTTPException(415, "this takes a form of its own page")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            raise HTTPException(413, f"the form is too long: at most {LARGEST // 1024} kB are taken")
    try:
        fields = {name: values[-1] for name, values in parse_qs(body.decode(), keep_blank_values=True).items()}
    except UnicodeDecodeError:
        raise HTTPException(400, "the form is not in UTF-8") from None
    if not hmac.compare_digest(fields.get(FIELD, "").encode(), site_of(request).form_token.encode()):
        raise HTTPException(403, "this page is older than the server that it came from: load it again")
    return fields


def number_in(fields: dict[str, str], name: str, otherwise: int, least: int, most: int) -> int:
    """A whole number of a form or address, kept within its bounds."""
    text = fields.get(name, "")
    return min(max(int(text), least), most) if text.isascii() and text.isdecimal() and len(text) < 10 else otherwise
