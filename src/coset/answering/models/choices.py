"""Which model answers (`anthropic:...`, `openai:...`, `ollama:...`, an endpoint), and its errors in plain words.

In: what the user wrote, and keys from the process's environment. Out: an `OpenModel` that can be asked. A key goes to
the provider it belongs to and nowhere else: an endpoint given by address gets `COSET_MODEL_KEY`, never another's key.
An error of the model library becomes a `UserError` (what the user can mend) or a `ModelFailed`, without any secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from coset.answering.quoting import one_line
from coset.errors import CosetError, MissingDependency, UserError

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider


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
        return UserError(f"the model '{model}' cannot call tools{quoted}: choose one that can")
    if isinstance(error, of_library.ModelAuthenticationError):
        return UserError(f"the provider of '{model}' refused the key: check {key_name}, and that it may use this model")
    if isinstance(error, of_library.ModelNotFoundError):
        return UserError(f"the provider knows no model '{model}'{quoted}: check its name and the endpoint's address")
    if isinstance(error, of_library.ModelQuotaExceededError):
        return ModelFailed(f"the account for '{model}' has no quota left{quoted}: top it up or choose another model")
    if isinstance(error, of_library.ModelContextWindowExceededError):
        return ModelFailed(f"this run is too long for '{model}': give a smaller budget or fewer steps")
    times = f" after {attempts} attempts" if attempts > 1 else ""
    if isinstance(error, of_library.ModelRateLimitError):
        return ModelFailed(f"the provider of '{model}' is still limiting requests{times}: try again later")
    if isinstance(error, of_library.ModelTimeoutError | of_library.ModelRequestTimeout):
        return ModelFailed(f"the model '{model}' did not answer in time{times}: allow it a longer timeout")
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


ENDPOINT = "endpoint"
ENDPOINT_KEY = "COSET_MODEL_KEY"
DEFAULT_MODEL = "COSET_MODEL"
LISTING_SECONDS = 10.0
OLLAMA = "http://127.0.0.1:11434/v1"
KEYS = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openai-chat": ("OPENAI_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
}
"""Where each provider's key is looked for. Other providers say so themselves when theirs is missing."""
EXTRAS = {"anthropic": "anthropic", "google": "google"}
HOW_TO_SET = (
    "no model is set: name one (anthropic:NAME, openai:NAME, google:NAME, ollama:NAME or http://host:port/v1#NAME) as "
    "`model` (--model in the command line), as `models: {agent: ...}` in coset.yaml, or in COSET_MODEL; `coset view` "
    "and the MCP server need no model"
)


@dataclass(frozen=True)
class ModelChoice:
    """A model as the user named it."""

    text: str
    provider: str
    name: str
    """Empty for an endpoint that is to say itself which model it has."""
    base_url: str | None = None

    @property
    def key_name(self) -> str:
        """The variable that its key comes from."""
        if self.provider == ENDPOINT:
            return ENDPOINT_KEY
        return " or ".join(KEYS.get(self.provider, (f"{self.provider.upper().replace('-', '_')}_API_KEY",)))

    @property
    def is_local(self) -> bool:
        """An endpoint of one's own has no list price, and takes a temperature."""
        return self.provider in {ENDPOINT, "ollama"}


@dataclass(frozen=True)
class ModelChoices:
    """The models of one run: what decides, what works, and what reads texts. Each defaults to the agent's."""

    agent: ModelChoice
    arbiter: ModelChoice
    text: ModelChoice


@dataclass(frozen=True)
class OpenModel:
    """A model that can be asked, and the settings every request to it has."""

    choice: ModelChoice
    model: Model[Any]
    settings: Mapping[str, Any]


def choose_models(
    agent: str | None,
    arbiter: str | None = None,
    text: str | None = None,
    configured: Mapping[str, str] | None = None,
) -> ModelChoices:
    """What the call names, else what `coset.yaml` names, else COSET_MODEL. Raises `UserError` when there is none."""
    configured = configured or {}
    main = agent or configured.get("agent") or os.environ.get(DEFAULT_MODEL)
    if not main:
        raise UserError(HOW_TO_SET)
    # A model given for this call alone is meant for all of it: what the file says of the others yields to it.
    others = {} if agent else configured
    return ModelChoices(
        parse_model(main),
        parse_model(arbiter or others.get("arbiter") or main),
        parse_model(text or others.get("text") or main),
    )


def parse_model(text: str) -> ModelChoice:
    """What the user wrote, taken apart. Opens nothing."""
    text = text.strip()
    if "://" in text:
        return _endpoint(text)
    provider, colon, name = text.partition(":")
    if not colon or not provider or not name.strip():
        raise UserError(f"'{text}' names no model: write provider:name, such as anthropic:NAME, or an address")
    if provider == "ollama":
        return ModelChoice(text, provider, name, os.environ.get("OLLAMA_BASE_URL") or OLLAMA)
    return ModelChoice(text, provider, name)


def _endpoint(text: str) -> ModelChoice:
    address, _, name = text.partition("#")
    try:
        parts = urlsplit(address)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good:
        raise UserError("the address of the model is not one: write it like http://127.0.0.1:8080/v1#NAME")
    if parts.username or parts.password or parts.query:
        raise UserError(f"the address of the model holds more than an address: put its key into {ENDPOINT_KEY} instead")
    return ModelChoice(text, ENDPOINT, name, address.rstrip("/"))


async def open_model(choice: ModelChoice, request_seconds: float) -> OpenModel:
    """The model behind a choice. Raises `UserError` for a missing key or an unknown provider. Nothing is sent, except
    that an endpoint without a name is asked which model it has."""
    missing = MissingDependency(f"the model '{choice.text}'", EXTRAS.get(choice.provider, "openai"))
    try:
        from pydantic_ai.exceptions import UserError as LibraryError
        from pydantic_ai.models import infer_model
    except ImportError:
        raise missing from None
    names = KEYS.get(choice.provider, ())
    if names and not any(os.environ.get(name) for name in names):
        raise UserError(f"the model '{choice.text}' needs a key: set {choice.key_name} in the environment")
    try:
        model = await _own_endpoint(choice) if choice.base_url is not None else infer_model(choice.text)
    except ImportError:
        raise missing from None
    except LibraryError as error:
        raise plain(error, choice.text, choice.key_name, 1) from None
    # Tried again by us alone, so that every attempt is counted and told; `cache` marks the stable part of a prompt
    # where a provider wants it marked.
    settings: dict[str, Any] = {"timeout": request_seconds, "request_timeout": request_seconds, "max_retries": 0}
    if choice.is_local:
        settings["temperature"] = 0.0
    elif choice.provider in {"anthropic", "openai", "openai-chat"}:
        settings["cache"] = True
    if choice.provider == "openai":
        settings["openai_store"] = False  # What was asked of one's data is not to be kept by the provider.
    return OpenModel(choice, model, settings)


async def _own_endpoint(choice: ModelChoice) -> Model[Any]:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    key = os.environ.get("OLLAMA_API_KEY" if choice.provider == "ollama" else ENDPOINT_KEY)
    provider = OpenAICompatibleProvider(ENDPOINT, base_url=choice.base_url or "", api_key=key)
    return OpenAIChatModel(choice.name or await _first_model(provider), provider=provider)


async def _first_model(provider: OpenAICompatibleProvider) -> str:
    """The first model that an endpoint lists. One that lists none, or cannot be asked, gets a name that says nothing:
    if it is not there at all, the first question to it will tell."""
    from openai import OpenAIError

    try:
        listed = await provider.client.models.list(timeout=LISTING_SECONDS)
    except OpenAIError:
        return "default"
    return listed.data[0].id if listed.data else "default"


def has_price(choice: ModelChoice) -> bool:
    """Whether a list price is known: a limit on cost means nothing without one."""
    from genai_prices import Usage, calc_price

    if choice.is_local:
        return False
    try:
        calc_price(Usage(input_tokens=1), model_ref=choice.name, provider_id=choice.provider.removesuffix("-chat"))
    except LookupError:
        return False
    return True


def cost_of(response: ModelResponse, choice: ModelChoice) -> float | None:
    """The cost of one answered request by the list prices that ship with the model library; None where unknown."""
    if choice.is_local:
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None
