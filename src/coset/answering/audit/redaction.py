"""Secrets taken out of everything that is kept.

In: an environment, and values about to be written. Out: the same values with every secret replaced by `***`: passwords
of sources, lines of the secrets file, keys of model providers in the process's environment, and texts that have the
form of such a key. Values are cleaned before they become JSON, where a quote inside a secret would hide it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from coset.environment.configuration import Environment
from coset.environment.secrets import read_secrets_file
from coset.errors import CosetError

HIDDEN = "***"
SHORTEST = 6
"""Shorter values of the process's environment are no keys; what a source is given as its password is always taken."""
_SECRET_NAME = re.compile(r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PWD|CREDENTIALS?)$", re.IGNORECASE)
_KEY_FORMS = re.compile(
    r"\b(?:sk|pk|rk|xai|gsk)-[A-Za-z0-9_-]{16,}|\bAIza[0-9A-Za-z_-]{30,}|\bgh[pousr]_[A-Za-z0-9]{30,}"
    r"|\b(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{16,}"
    r"|(?<=://)[^/\s:@]+:[^/\s:@]+(?=@)"
)

Redact = Callable[[Any], Any]


def redactor(environment: Environment, variables: Mapping[str, str] | None = None) -> Redact:
    """A function that cleans any value made of texts, numbers, lists and dictionaries."""
    secrets = _secrets(environment, os.environ if variables is None else variables)

    def clean_text(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, HIDDEN)
        return _KEY_FORMS.sub(HIDDEN, text)

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return clean_text(value)
        if isinstance(value, dict):
            return {clean(key) if isinstance(key, str) else key: clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [clean(item) for item in value]
        return value

    return clean


def _secrets(environment: Environment, variables: Mapping[str, str]) -> list[str]:
    found: set[str] = set()
    for name in environment.names:
        try:
            found.update(environment.settings(name).secrets)
        except CosetError:
            continue  # A secret that is missing here cannot be written either.
    try:
        found.update(read_secrets_file(environment.secrets_file).values())
    except (CosetError, OSError, UnicodeDecodeError):
        pass
    found.update(value for name, value in variables.items() if len(value) >= SHORTEST and _SECRET_NAME.search(name))
    found |= {quote(secret, safe="") for secret in found}
    # The longest first: a secret may be a part of another.
    return sorted((secret for secret in found if secret), key=lambda secret: (-len(secret), secret))
