"""Which model answers: `anthropic:...`, `openai:...`, `google:...`, `ollama:...`, or the address of an endpoint.

In: what the user wrote, and keys from the process's environment. Out: an `OpenModel` that can be asked. A key goes to
the provider it belongs to and nowhere else: an endpoint given by address gets `COSET_MODEL_KEY`, never another's key.
Knows no question and no prompt.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from coset.answering.failures import plain
from coset.errors import MissingDependency, UserError

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

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
    "no model is set: give --model anthropic:NAME, openai:NAME, google:NAME, ollama:NAME or http://host:port/v1#NAME, "
    "or write `models: {agent: ...}` in coset.yaml, or set COSET_MODEL; `coset view` and the MCP server need no model"
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
        from pydantic_ai.exceptions import UserError
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
    except UserError as error:
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
