"""One entry of a config_list: which model it means, through which client, and what it adds to each
call.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentkit.core.address import without_login
from agentkit.core.given import coalesce, pick, pick_given
from agentkit.core.lenient import count_or_zero
from agentkit.errors import ConfigError, WrongArgument, WrongType
from agentkit.llm.calls.client import ATTEMPTS
from agentkit.llm.calls.openai_client import OPENAI_URL, AzureClient, OpenAIClient, provider_of
from agentkit.llm.model import Client, Model
from agentkit.messages import without_keys

SDK_OPTIONS = frozenset(
    {
        "organization",
        "project",
        "websocket_base_url",
        "default_headers",
        "default_query",
        "http_client",
        "_strict_response_validation",
    }
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
_AZURE_SIGN_IN = ("azure_ad_token", "azure_ad_token_provider")
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
    def client_class(self) -> object:
        """The name of the class of a script that its client is of; None for our own clients."""
        return self.config.get("model_client_cls", self.params.get("model_client_cls"))

    def use(self, model: Model) -> None:
        """Let calls ask this model."""
        self.model = model
        self.params["model"] = model.name

    @property
    def awaits(self) -> str:
        """The name of the client class that is to be registered; empty when there is a client."""
        if self.model:
            return ""
        return str(self.params["model_client_cls"])


def make_entry(given: object, base: Mapping[str, object], cache_seed: int) -> Entry:
    """The entry for a configuration; `base` holds what all have in common. Raises WrongType,
    WrongArgument, ConfigError.
    """
    if not isinstance(given, Mapping):
        kind = type(given).__name__  # not the value, in which keys may stand
        raise WrongType(
            f"config_list holds a {kind}; each entry must be a dict with at least a 'model'."
        )
    config = {**base, **given}
    retries = config.get("max_retries", ATTEMPTS - 1)
    if not isinstance(retries, int) or retries < 0:
        raise WrongArgument(
            f"max_retries is {retries!r}; it must be a number of further attempts, 0 or more."
        )
    params = without_keys(config, CLIENT_KEYS)
    entry = Entry(dict(given), params, None, 1 + retries, cache_seed)
    model, window = config.get("model"), _read_window(config)
    if isinstance(model, Model):  # the app's own: nothing of it is cached unless that is asked for
        entry.use(replace(model, context_window=coalesce(window, model.context_window)))
        entry.cache_seed = None
    elif config.get("model_client_cls") is None:
        entry.use(replace(_make_model(config), context_window=window))
    return entry


def make_custom_model(client: Any, config: Mapping[str, Any]) -> Model:
    """The model that a script's own client asks."""
    name, kind = _read_text(config, "model"), type(client).__qualname__
    server = _read_text(config, "base_url")
    if server:
        server = f"{without_login(server)}/"
    return Model(
        f"{kind}/{server}{name}",
        name or kind,
        CustomClient(client),
        name,
        "custom",
        _read_window(config),
    )


def is_made_by(model: Model | None, model_client_cls: type[object]) -> bool:
    """Whether it asks a client of exactly this class of a script."""
    client = getattr(model, "client", None)
    return isinstance(client, CustomClient) and type(client.client) is model_client_cls


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
        return coalesce(self.client.get_usage(response), {})


def _make_model(config: Mapping[str, Any]) -> Model:
    """The model of a server that a configuration names."""
    kind = _read_text(config, "api_type")
    if kind.startswith("azure"):
        return _azure_model(config)
    return _openai_model(config)


def _openai_model(config: Mapping[str, Any]) -> Model:
    kind = (_read_text(config, "api_type") or "openai").lower()
    variable = "OPENAI_API_KEY"
    if kind in ADDRESSES:
        variable = f"{kind.upper()}_API_KEY"
    name, api_key = _read_text(config, "model"), _read_text(config, "api_key", variable)
    base_url = _read_text(config, "base_url") or _find_address(kind)
    if not base_url:
        raise WrongArgument(
            f"api_type is {config.get('api_type')!r}, whose address is not known; use one of"
            f" openai, azure, {', '.join(sorted(ADDRESSES))}, or give base_url."
        )
    if not api_key and base_url == OPENAI_URL:
        raise ConfigError(
            f"The config of the model {name!r} has no api_key; add one, or set {variable}."
        )
    connect, read = _read_timeouts(config.get("timeout"))
    client = OpenAIClient(
        base_url,
        api_key,
        connect_timeout_s=connect,
        read_timeout_s=read,
        options=_pick(config, SDK_OPTIONS),
    )
    return Model(f"{without_login(base_url)}/{name}", name, client, name, provider_of(base_url))


def _find_address(kind: str) -> str:
    """Where a kind of server answers; empty when that is not known."""
    if kind == "openai":
        return os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    return ADDRESSES.get(kind, "")


def _azure_model(config: Mapping[str, Any]) -> Model:
    """Azure names deployments without dots: gpt-35-turbo."""
    name = _read_text(config, "model").replace(".", "")
    deployment = (_read_text(config, "azure_deployment") or name).replace(".", "")
    base_url = _read_text(config, "base_url", "AZURE_OPENAI_ENDPOINT")
    endpoint = _read_text(config, "azure_endpoint") or base_url
    version = _read_text(config, "api_version", "OPENAI_API_VERSION")
    if not endpoint or not version:
        missing = "azure_endpoint or base_url"
        if endpoint:
            missing = "api_version (or OPENAI_API_VERSION)"
        raise WrongArgument(f"The config of the model {name!r} is for Azure and needs {missing}.")
    api_key = _read_text(config, "api_key", "AZURE_OPENAI_API_KEY")
    options = _pick(config, SDK_OPTIONS | AZURE_OPTIONS)
    if not api_key and options.keys().isdisjoint(_AZURE_SIGN_IN):
        raise ConfigError(
            f"The config of the model {name!r} has no api_key for Azure; add one or an"
            " azure_ad_token."
        )
    connect, read = _read_timeouts(config.get("timeout"))
    client = AzureClient(
        endpoint,
        api_key,
        deployment=deployment,
        connect_timeout_s=connect,
        read_timeout_s=read,
        options={**options, "api_version": version},
    )
    return Model(f"{without_login(endpoint)}/{deployment}", name, client, name, "azure")


def _read_text(config: Mapping[str, Any], key: str, variable: str = "") -> str:
    """A value of the configuration, or else of the environment, as text; empty without either."""
    return str(config.get(key) or os.environ.get(variable, ""))


def _pick(config: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    """The values of these keys, but for None."""
    return pick_given(pick(config, keys))


def _read_window(config: Mapping[str, Any]) -> int | None:
    """Tokens of the context window, where the configuration tells it."""
    window: int | None = config.get("context_window")
    if window is not None and not count_or_zero(window):
        raise WrongArgument(
            f"context_window is {window!r}; it must be a number of tokens, 1 or more."
        )
    return window


def _read_timeouts(timeout: Any) -> tuple[float, float]:
    """Seconds to connect, and of silence; `timeout` is a number, an httpx Timeout or None."""
    connect, read = getattr(timeout, "connect", timeout), getattr(timeout, "read", timeout)
    if not all(map(_is_timeout, (connect, read))):
        raise WrongArgument(f"timeout is {timeout!r}; it must be a number of seconds above 0.")
    return min(_CONNECT_S, coalesce(connect, _CONNECT_S)), coalesce(read, _READ_S)


def _is_timeout(value: object) -> bool:
    """Whether it is a number of seconds, or None."""
    seconds = coalesce(value, _READ_S)
    return isinstance(seconds, int | float) and seconds > 0
