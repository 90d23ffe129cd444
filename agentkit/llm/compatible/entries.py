"""One entry of a config_list: which model it means, through which client, and what it adds to each
call.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentkit.core.address import without_login
from agentkit.errors import ConfigError, WrongArgument, WrongType
from agentkit.llm.calls.client import ATTEMPTS
from agentkit.llm.calls.openai_client import OPENAI_URL, AzureClient, OpenAIClient, provider_of
from agentkit.llm.model import Client, Model

SDK_OPTIONS = frozenset(
    {
        "organization",
        "project",
        "websocket_base_url",
        "default_headers",
        "default_query",
        "http_client",
    }
    | {"_strict_response_validation"}
)
AZURE_OPTIONS = frozenset(
    {
        "azure_endpoint",
        "azure_deployment",
        "azure_ad_token",
        "azure_ad_token_provider",
        "api_version",
    }
)
CLIENT_KEYS = SDK_OPTIONS | AZURE_OPTIONS | {"api_key", "base_url", "timeout", "max_retries"}
"""What a client is built from; everything else is a parameter of the call or for OpenAIWrapper
itself.
"""
ADDRESSES = {
    "anthropic": "https://api.anthropic.com/v1",
    "cerebras": "https://api.cerebras.ai/v1",
    "cohere": "https://api.cohere.ai/compatibility/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "google": "https://generativelanguage.googleapis.com/v1beta/openai",
    "groq": "https://api.groq.com/openai/v1",
    "mistral": "https://api.mistral.ai/v1",
    "ollama": "http://localhost:11434/v1",
    "together": "https://api.together.xyz/v1",
}
"""Where the kinds of `api_type` answer with OpenAI's chat API."""
_CONNECT_S, _READ_S = 10.0, 300.0


@dataclass(slots=True)
class Entry:
    """A configuration of the list."""

    config: dict[str, Any]
    """As it was given."""
    params: dict[str, Any]
    """What it adds to each call, with what all entries have in common."""
    model: Model | None
    """None while the class that it names in `model_client_cls` is not registered."""
    attempts: int
    cache_seed: int | None
    """The cache on disk that is used where a call names none."""

    @property
    def awaits(self) -> str:
        """The name of the client class that is to be registered; empty when there is a client."""
        return "" if self.model else str(self.params["model_client_cls"])


def entry_of(given: object, base: Mapping[str, object], cache_seed: int) -> Entry:
    """The entry for a configuration; `base` holds what all have in common. Raises WrongType,
    WrongArgument, ConfigError.
    """
    if not isinstance(given, Mapping):
        kind = type(given).__name__  # not the value, in which keys may stand
        raise WrongType(
            f"config_list holds a {kind}; each entry must be a dict with at least a 'model'."
        )
    config = {**base, **given}
    params = {key: value for key, value in config.items() if key not in CLIENT_KEYS}
    retries = config.get("max_retries", ATTEMPTS - 1)
    if not isinstance(retries, int) or retries < 0:
        raise WrongArgument(
            f"max_retries is {retries!r}; it must be a number of further attempts, 0 or more."
        )
    model, window = config.get("model"), _window(config)
    if isinstance(model, Model):  # the app's own: nothing of it is cached unless that is asked for
        model = replace(model, context_window=window or model.context_window)
        return Entry(dict(given), {**params, "model": model.name}, model, 1 + retries, None)
    if config.get("model_client_cls") is not None:
        return Entry(dict(given), params, None, 1 + retries, cache_seed)
    made = (
        _azure_model(config)
        if str(config.get("api_type") or "").startswith("azure")
        else _openai_model(config)
    )
    made = replace(made, context_window=window)
    return Entry(dict(given), {**params, "model": made.name}, made, 1 + retries, cache_seed)


def custom_model(client: Any, config: Mapping[str, Any]) -> Model:
    """The model that a script's own client asks."""
    name, kind = str(config.get("model") or ""), type(client).__qualname__
    server = without_login(str(config["base_url"])) + "/" if config.get("base_url") else ""
    return Model(
        f"{kind}/{server}{name}",
        name or kind,
        CustomClient(client),
        name,
        "custom",
        _window(config),
    )


def made_by(model: Model, model_client_cls: type[object]) -> bool:
    """Whether it asks a client of exactly this class of a script."""
    return isinstance(model.client, CustomClient) and type(model.client.client) is model_client_cls


class CustomClient:
    """A script's client in AutoGen's protocol as one of ours: the response carries its cost, and
    usage may be None.
    """

    def __init__(self, client: Client) -> None:
        self.client = client

    def create(self, params: Mapping[str, Any]) -> Any:
        """Ask; raises whatever the script's client raises."""
        return self.client.create(params)

    def message_retrieval(self, response: object) -> Any:
        """The messages of the response."""
        return self.client.message_retrieval(response)

    def cost(self, response: Any) -> float | None:
        """US dollars, noted in `response.cost` too."""
        response.cost = self.client.cost(response)
        cost: float | None = response.cost
        return cost

    def get_usage(self, response: object) -> Mapping[str, Any]:
        """Tokens as the script's client counts them; empty when it does not."""
        return self.client.get_usage(response) or {}


def _openai_model(config: Mapping[str, Any]) -> Model:
    kind = str(config.get("api_type") or "openai").lower()
    if kind not in ADDRESSES and kind != "openai" and not config.get("base_url"):
        raise WrongArgument(
            f"api_type is {config.get('api_type')!r}, whose address is not known; use one of"
            f" openai, azure, {', '.join(sorted(ADDRESSES))}, or give base_url."
        )
    base_url = str(
        config.get("base_url")
        or ADDRESSES.get(kind)
        or os.environ.get("OPENAI_BASE_URL")
        or OPENAI_URL
    )
    variable = f"{kind.upper()}_API_KEY" if kind in ADDRESSES else "OPENAI_API_KEY"
    api_key, name = (
        str(config.get("api_key") or os.environ.get(variable, "")),
        str(config.get("model") or ""),
    )
    if not api_key and base_url == OPENAI_URL:
        raise ConfigError(
            f"The config of the model {name!r} has no api_key; add one, or set {variable}."
        )
    connect, read = _timeouts(config.get("timeout"))
    options = {key: config[key] for key in SDK_OPTIONS if config.get(key) is not None}
    client = OpenAIClient(
        base_url, api_key, connect_timeout_s=connect, read_timeout_s=read, options=options
    )
    return Model(f"{without_login(base_url)}/{name}", name, client, name, provider_of(base_url))


def _azure_model(config: Mapping[str, Any]) -> Model:
    """Azure names deployments without dots: gpt-35-turbo."""
    name = str(config.get("model") or "").replace(".", "")
    deployment = str(config.get("azure_deployment") or name).replace(".", "")
    endpoint = (
        config.get("azure_endpoint")
        or config.get("base_url")
        or os.environ.get("AZURE_OPENAI_ENDPOINT")
    )
    version = config.get("api_version") or os.environ.get("OPENAI_API_VERSION")
    if not endpoint or not version:
        missing = (
            "api_version (or OPENAI_API_VERSION)" if endpoint else "azure_endpoint or base_url"
        )
        raise WrongArgument(f"The config of the model {name!r} is for Azure and needs {missing}.")
    api_key = str(config.get("api_key") or os.environ.get("AZURE_OPENAI_API_KEY", ""))
    options = {
        key: config[key] for key in SDK_OPTIONS | AZURE_OPTIONS if config.get(key) is not None
    }
    if not (api_key or options.keys() & {"azure_ad_token", "azure_ad_token_provider"}):
        raise ConfigError(
            f"The config of the model {name!r} has no api_key for Azure; add one or an"
            " azure_ad_token."
        )
    connect, read = _timeouts(config.get("timeout"))
    client = AzureClient(
        str(endpoint),
        api_key,
        deployment=deployment,
        connect_timeout_s=connect,
        read_timeout_s=read,
        options={**options, "api_version": str(version)},
    )
    return Model(f"{without_login(str(endpoint))}/{deployment}", name, client, name, "azure")


def _window(config: Mapping[str, Any]) -> int | None:
    """Tokens of the context window, where the configuration tells it."""
    window = config.get("context_window")
    if window is not None and (
        isinstance(window, bool) or not isinstance(window, int) or window < 1
    ):
        raise WrongArgument(
            f"context_window is {window!r}; it must be a number of tokens, 1 or more."
        )
    return window


def _timeouts(timeout: Any) -> tuple[float, float]:
    """Seconds to connect, and of silence; `timeout` is a number, an httpx Timeout or None."""
    connect, read = getattr(timeout, "connect", timeout), getattr(timeout, "read", timeout)
    for value in (connect, read):
        if value is not None and (not isinstance(value, (int, float)) or value <= 0):
            raise WrongArgument(f"timeout is {timeout!r}; it must be a number of seconds above 0.")
    return min(_CONNECT_S, connect or _CONNECT_S), read or _READ_S
