"""Secrets by reference: `${NAME}` in `coset.yaml` stands for an environment variable, or a line of the secrets file.

In: a text with references. Out: the text filled in, and the values to keep out of every message.
The secrets file holds `NAME=value` lines and is readable by its owner only; `coset.yaml` never holds a secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from coset.errors import UserError

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
SECRETS_FILE = "secrets.env"
PASSWORD_PARAMETER = re.compile(
    r"([?&](?:password|passwd|pwd|sslpassword|token|access_token|secret_access_key|account_key|sas_token)=)([^&#]*)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class FilledText:
    """A text whose references were replaced, and every form in which a secret could show up in a message."""

    text: str
    secrets: tuple[str, ...]


def read_secrets_file(path: Path) -> dict[str, str]:
    """The `NAME=value` lines of a file; empty when there is no such file. Blank lines and `#` comments are skipped."""
    values: dict[str, str] = {}
    if not path.exists():
        return values
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise UserError(f"other users can read the secrets in '{path}': run `chmod 600 '{path}'`")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, separator, value = line.partition("=")
        if not separator or not REFERENCE.fullmatch("${" + name.strip() + "}"):
            raise UserError(f"{path.name}, line {number}: expected NAME=value")
        values[name.strip()] = value.strip().strip("\"'")
    return values


def write_secret(path: Path, name: str, value: str) -> None:
    """Add or replace one secret in the file, which only its owner may read. Other lines stay as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    lines = [line for line in lines if line.partition("=")[0].strip() != name] + [f"{name}={value}"]
    # Created with its final mode: there is no moment at which others could read it.
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    part.replace(path)


def fill(text: str, values: Mapping[str, str]) -> FilledText:
    """Replace every `${NAME}`, from the environment first, then from `values`. Names all that are missing at once."""
    names = REFERENCE.findall(text)
    found = {name: os.environ.get(name, values.get(name)) for name in names}
    missing = sorted(name for name, value in found.items() if value is None)
    if missing:
        raise UserError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set: "
            f"set it in the environment or write {missing[0]}=... to the secrets file"
        )
    known = {name: value for name, value in found.items() if value is not None}
    if REFERENCE.fullmatch(text):
        whole = known[names[0]]
        return FilledText(whole, tuple(value for value in (whole, *passwords_of(whole)) if value))
    # Inside a URL the value is percent-encoded, so that a password with '@' or '/' works as it is.
    in_url = "://" in text
    filled = REFERENCE.sub(lambda match: quote(known[match[1]], safe="") if in_url else known[match[1]], text)
    forms = {form for value in known.values() for form in (value, quote(value, safe=""))}
    return FilledText(filled, tuple(sorted(form for form in forms if form)))


def passwords_of(location: str) -> tuple[str, ...]:
    """The passwords inside a URL, as written and decoded; empty when there are none."""
    if "://" not in location:
        return ()
    try:
        password = urlsplit(location).password
    except ValueError:
        password = None
    written = [password] if password else []
    written += [match[2] for match in PASSWORD_PARAMETER.finditer(location) if match[2]]
    return tuple(dict.fromkeys(form for text in written for form in (text, unquote(text))))


def without_password(location: str, reference: str) -> str:
    """The URL with its password replaced by a reference."""
    location = PASSWORD_PARAMETER.sub(lambda match: match[1] + reference, location)
    head, _, tail = location.partition("://")
    userinfo, separator, rest = tail.rpartition("@")
    if not separator or ":" not in userinfo:
        return location
    return f"{head}://{userinfo.partition(':')[0]}:{reference}@{rest}"
