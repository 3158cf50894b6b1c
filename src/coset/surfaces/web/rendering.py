"""From requests to pages: forms read and checked, and templates filled.

Every value is escaped: a cell with `<script>` is shown as text. The filters write numbers, shares and references the
way a person reads them. A form without the token of this process is refused, since none of our pages made it.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import re
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse

from coset.surfaces.command_line.output import cell, join_kind, size
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


NAVIGATION = (
    ("/question", "Ask"),
    ("/", "Overview"),
    ("/tables", "Tables"),
    ("/relations", "Joins"),
    ("/documents", "Documents"),
    ("/review", "Review"),
    ("/sql", "SQL"),
    ("/identities", "Roles"),
    ("/diagnostics", "Quality"),
    ("/map", "Map"),
    ("/runs", "Runs"),
    ("/refresh", "Refresh"),
    ("/reports", "Reports"),
)


def count(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def percent(value: float | None, digits: int = 0) -> str:
    if value is None:
        return ""
    return "< 0.1 %" if 0 < value < 0.0005 and digits else f"{100 * value:.{digits}f} %"


def degree(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def radius(value: float | str | None) -> str:
    """A stability radius: any, where nothing can change the role."""
    if value is None:
        return ""
    return "any" if isinstance(value, str) or value < 0 else f"{value:.2f}"


def path_of(reference: str, width: int = 200) -> Markup:
    """A reference that may go on in the next line after its parts."""
    return Markup("").join(
        Markup("{}<wbr>").format(part) if part[-1] in "/._#" else escape(part)
        for part in re.findall(r"[^/._#]*[/._#]|[^/._#]+", cell(reference, width))
    )


def moment(value: datetime.datetime | str | None) -> str:
    text = value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else str(value or "")
    return text[:16].replace("T", " ")


def in_words(value: str) -> str:
    return str(value).replace("_", " ")


def object_address(reference: str, question: str = "", budget: int = 0) -> str:
    """The page of an object; with a question, the page leads back to that question's view."""
    about = {"reference": reference}
    if question:
        about |= {"q": question, "budget": str(budget)}
    return f"/object?{urlencode(about)}"


def question_address(question: str, budget: int = 0) -> str:
    return "/question?" + urlencode({"q": question} | ({"budget": str(budget)} if budget else {}))


def role_address(role: str) -> str:
    return f"/identities/role?{urlencode({'role': role})}"


def identity_address(coordinate: str, identity: str) -> str:
    return f"/identities/{coordinate}?{urlencode({'id': identity})}"


@cache
def asset(name: str) -> str:
    """The address of a file of ours; it changes with the file, so that a browser may keep it."""
    content = files("coset.surfaces.web").joinpath("assets", name).read_bytes()
    return f"/assets/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"


def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("coset.surfaces.web"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "count": count, "percent": percent, "degree": degree, "radius": radius, "moment": moment, "cell": cell,
        "size": size, "in_words": in_words, "join_kind": join_kind, "path_of": path_of,
    }  # fmt: skip
    environment.globals |= {
        "asset": asset, "object_address": object_address, "question_address": question_address,
        "role_address": role_address, "identity_address": identity_address, "navigation": NAVIGATION,
    }  # fmt: skip
    return environment


TEMPLATES = _templates()


def render(request: Request, template: str, status: int = 200, /, **shown: Any) -> HTMLResponse:
    """A page, or a part of one."""
    site = site_of(request)
    known = {
        "told": site.environment.workspace.names().told,
        "path": request.url.path, "has_reports": site.reports is not None,
        "site_name": site.name, "form_token": site.form_token, "question": "", "budget": 0,
    }  # fmt: skip
    return HTMLResponse(TEMPLATES.get_template(template).render(**known | shown), status)
