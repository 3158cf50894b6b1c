"""What can go wrong with a model, in words for the person who asked, and with no secret in them.

In: an error of the model library. Out: a `CosetError` of ours: a `UserError` for what the user can mend (a wrong key,
an unknown model, one that cannot call tools), a `ModelFailed` for the rest. A provider's own message is quoted only in
short: it may repeat what was sent.
"""

from __future__ import annotations

import os
import re
from typing import Any

from coset.answering.quoting import one_line
from coset.errors import CosetError, UserError

_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)$", re.IGNORECASE)
_NO_TOOLS = re.compile(
    r"(not|n't)\s+support\w*\s+(\w+\s+)?(tool|function)|(tool|function)[\w\s`\"'-]{0,40}(not|n't)\s+support|--jinja"
    r"|enable-auto-tool-choice",
    re.IGNORECASE,
)
_SHORTEST_SECRET = 6


class ModelFailed(CosetError):
    """A model that could not be reached, or gave nothing that can be used, though it was tried again."""


class Refused(CosetError):
    """The provider or the model declined to answer."""


def without_secrets(text: str) -> str:
    """The text with the value of every key, token or password of the process's environment taken out."""
    for name, value in os.environ.items():
        if len(value) >= _SHORTEST_SECRET and _SECRET_NAME.search(name):
            text = text.replace(value, "***")
    return text


def is_passing(error: Exception) -> bool:
    """Whether the same request may succeed a little later."""
    from pydantic_ai import exceptions as of_library

    if isinstance(error, of_library.ModelRequestRejectedError | of_library.ModelQuotaExceededError):
        return False
    if isinstance(error, of_library.ModelHTTPError):
        return error.status_code in {408, 409, 425, 429} or error.status_code >= 500
    # What is left is of the way there and back: a connection, a time-out, a body that breaks off or is no JSON.
    return isinstance(error, of_library.ModelAPIError | of_library.UnexpectedModelBehavior)


def plain(error: Exception, model: str, key_name: str, attempts: int) -> CosetError:
    """The error as one sentence that names the model and says what to do."""
    from pydantic_ai import exceptions as of_library

    said = _said(error)
    quoted = f" ({said})" if said else ""
    if _NO_TOOLS.search(said):
        return UserError(f"the model '{model}' cannot call tools{quoted}: choose one that can with --model")
    if isinstance(error, of_library.ModelAuthenticationError):
        return UserError(f"the provider of '{model}' refused the key: check {key_name}, and that it may use this model")
    if isinstance(error, of_library.ModelNotFoundError):
        return UserError(f"the provider knows no model '{model}'{quoted}: check its name and the endpoint's address")
    if isinstance(error, of_library.ModelQuotaExceededError):
        return ModelFailed(f"the account for '{model}' has no quota left{quoted}: top it up or choose another --model")
    if isinstance(error, of_library.ModelContextWindowExceededError):
        return ModelFailed(f"this run is too long for '{model}': use a smaller --budget or fewer --steps")
    times = f" after {attempts} attempts" if attempts > 1 else ""
    if isinstance(error, of_library.ModelRateLimitError):
        return ModelFailed(f"the provider of '{model}' is still limiting requests{times}: try again later")
    if isinstance(error, of_library.ModelTimeoutError | of_library.ModelRequestTimeout):
        return ModelFailed(f"the model '{model}' did not answer in time{times}: allow it more with --timeout")
    if isinstance(error, of_library.ModelHTTPError):
        return ModelFailed(f"the provider of '{model}' failed with status {error.status_code}{times}{quoted}")
    if isinstance(error, of_library.ModelConnectionError):
        return ModelFailed(f"the provider of '{model}' cannot be reached{times}: check the address and the network")
    if isinstance(error, of_library.UserError):
        return UserError(f"the model '{model}' cannot be used: {one_line(without_secrets(str(error)), 200)}")
    return ModelFailed(f"the model '{model}' gave an answer that cannot be read{times}: choose another one")


def _said(error: Exception) -> str:
    """The provider's own words, in short."""
    body: Any = getattr(error, "body", None)
    for key in ("error", "message", "detail"):
        if isinstance(body, dict) and key in body:
            body = body[key]
    return one_line(without_secrets(body), 160) if isinstance(body, str) else ""
