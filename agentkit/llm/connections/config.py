"""Which models there are: the offline one, those of the environment, and the connections that were
saved.
"""

from __future__ import annotations

import dataclasses
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from agentkit import private
from agentkit.core.address import server_of, without_login
from agentkit.errors import ConfigError, NotFound
from agentkit.llm.calls.openai_client import OPENAI_URL, AzureClient, OpenAIClient, provider_of
from agentkit.llm.model import Model
from agentkit.llm.offline.extractive import ExtractiveClient
from agentkit.settings import Settings

OFFLINE = "offline"
_SCHEMES = ("http", "https")
_changing = threading.Lock()
"""Held while the file is read and written anew: tests that end together keep what they found."""
_API_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(-preview)?")
DEFAULT_OPENAI_MODEL = "gpt-5-mini"
OPENAI_EMBEDDING_MODEL = "text-embedding-3-small"
Similarity = Callable[[str, Sequence[str]], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Connection:
    """A model server: where it is, the key for it, and which of its models are offered."""

    name: str
    base_url: str
    api_key: str = field(default="", repr=False)
    models: tuple[str, ...] = ()
    """Empty: one entry for the first model that the server lists when it is asked."""
    source: Literal["environment", "saved", "found"] = "saved"
    embedding_models: tuple[str, ...] = ()
    """Models of the server to embed documents with."""
    reranker_models: tuple[str, ...] = ()
    """Models of the server to rerank passages with."""
    kind: Literal["openai", "azure"] = "openai"
    """With `azure` the address is the endpoint, and the models are deployments."""
    api_version: str = ""
    """Of Azure, such as `2024-10-21`."""
    contexts: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Tokens that the server gives a model, as a test showed."""
    dimensions: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Numbers in a vector of an embedding model, as a test showed."""


def connections(settings: Settings) -> list[Connection]:
    """All configured servers, the one of the environment or the secrets file first; raises
    ConfigError.
    """
    return [*_from_settings(settings), *_saved(settings)]


def save_connection(
    settings: Settings, connection: Connection, *, key_entered: bool = False
) -> Connection:
    """Store a connection, in the place of a saved one of that name, else at the end.

    Returns it as stored. A key that is set for other servers only is refused, unless the person has
    entered it for this one: `key_entered`.
    Raises ConfigError for that and on bad values.
    """
    checked = _checked(connection)
    given = _from_settings(settings)
    if any(one.name == checked.name for one in given):
        raise ConfigError(
            f"The name {checked.name!r} belongs to the connection of the environment; "
            "choose another."
        )
    with _changing:
        saved = _saved(settings)
        owners = [
            one for one in (*given, *saved) if checked.api_key and one.api_key == checked.api_key
        ]
        if (
            owners
            and not key_entered
            and not any(_same_server(one.base_url, checked.base_url) for one in owners)
        ):
            raise _foreign_key(owners[0], checked.base_url)
        places = {one.name: place for place, one in enumerate(saved)}
        place = places.get(checked.name, len(saved))
        if [one for one in saved[place : place + 1] if one.base_url != checked.base_url]:
            checked = dataclasses.replace(checked, contexts={}, dimensions={})  # another server's
        _write(settings, [*saved[:place], checked, *saved[place + 1 :]])
    return checked


def keep_found(settings: Settings, connection: Connection) -> None:
    """Keep the sizes that a test showed of a saved connection, if it is still the same.

    Raises ConfigError.
    """
    with _changing:
        saved = _saved(settings)
        kept = [
            (
                dataclasses.replace(
                    one, contexts=connection.contexts, dimensions=connection.dimensions
                )
                if one.name == connection.name
                else one
            )
            for one in saved
        ]
        if connection in kept and kept != saved:
            _write(settings, kept)


def key_for(connection: Connection, base_url: str) -> str:
    """The key of a connection, for the same server at a new address.

    Raises ConfigError when scheme, host or port are other ones, and for what is no address.
    """
    address = _address(base_url)
    if connection.api_key and not _same_server(connection.base_url, address):
        raise _foreign_key(connection, address)
    return connection.api_key


def delete_connection(settings: Settings, name: str) -> None:
    """Forget a saved connection; raises NotFound."""
    with _changing:
        saved = _saved(settings)
        if name not in {connection.name for connection in saved}:
            raise NotFound(
                f"There is no saved connection {name!r}; "
                "those of the environment are removed there."
            )
        _write(settings, [connection for connection in saved if connection.name != name])


def available_models(settings: Settings, similarity: Similarity | None = None) -> list[Model]:
    """All models to choose from, the default first.

    Those that share a name are told apart by their connections. The default is the chosen one, else
    the first configured one, else the offline one. A chosen one that is not offered any more counts
    as none. Asks no server.
    """
    known = [(one.name, model) for one in connections(settings) for model in models_of(one)]
    labels = Counter(model.label for _, model in known)
    found = [
        (
            dataclasses.replace(model, label=f"{model.label} ({connection})")
            if labels[model.label] > 1
            else model
        )
        for connection, model in known
    ]
    found.append(offline_model(similarity))
    return sorted(found, key=lambda model: model.id != settings.default_model)


def default_connection(settings: Settings) -> Connection | None:
    """The connection of the default model; None for the offline one. Raises ConfigError."""
    default = available_models(settings)[0].id
    known = connections(settings)
    return next((one for one in known if default in [model.id for model in models_of(one)]), None)


def model_by_id(
    settings: Settings, model_id: str = "", similarity: Similarity | None = None
) -> Model:
    """The model of that id; the default when it is empty. Raises NotFound naming those there
    are.
    """
    models = available_models(settings, similarity)
    for model in models:
        if model_id in ("", model.id):
            return model
    raise NotFound(
        f"There is no model {model_id!r}; choose one of: {', '.join(model.id for model in models)}."
    )


def models_of(connection: Connection) -> list[Model]:
    """The models of a connection."""
    client, provider = client_of(connection), provider_to(connection)
    if not connection.models and connection.kind == "openai":
        return [
            Model(
                f"{connection.name}/default",
                f"{connection.name} (its first model)",
                client,
                "",
                provider,
            )
        ]
    return [
        Model(
            f"{connection.name}/{name}",
            name,
            client,
            name,
            provider,
            connection.contexts.get(name),
        )
        for name in connection.models
    ]


def client_of(
    connection: Connection, connect_timeout_s: float = 10.0, read_timeout_s: float = 300.0
) -> OpenAIClient:
    """What asks the server of a connection."""
    kind = AzureClient if connection.kind == "azure" else OpenAIClient
    options = {"api_version": connection.api_version} if connection.kind == "azure" else None
    return kind(
        connection.base_url,
        connection.api_key,
        connect_timeout_s=connect_timeout_s,
        read_timeout_s=read_timeout_s,
        options=options,
    )


def provider_to(connection: Connection) -> str:
    """Whose price list counts for a connection."""
    return "azure" if connection.kind == "azure" else provider_of(connection.base_url)


def offline_model(similarity: Similarity | None = None) -> Model:
    """The model that quotes; it needs no server."""
    return Model(
        OFFLINE,
        "Offline (quotes the documents)",
        ExtractiveClient(similarity),
        "extractive",
        OFFLINE,
        is_language_model=False,
    )


def _from_settings(settings: Settings) -> list[Connection]:
    if not settings.openai_api_key and not settings.openai_base_url:
        return []
    base_url = _address(settings.openai_base_url) if settings.openai_base_url else OPENAI_URL
    provider = provider_of(base_url)
    name = "OpenAI" if provider == "openai" else provider
    model = settings.openai_model or (DEFAULT_OPENAI_MODEL if provider == "openai" else "")
    embedding = (OPENAI_EMBEDDING_MODEL,) if provider == "openai" else ()
    models = (model,) if model else ()
    return [Connection(name, base_url, settings.openai_api_key, models, "environment", embedding)]


def _checked(connection: Connection) -> Connection:
    name = " ".join(connection.name.split())
    if not name or len(name) > 60 or "/" in name or name.lower() == OFFLINE:
        raise ConfigError(
            f"A connection cannot be named {connection.name!r}; use 1 to 60 characters without a"
            f" slash, not {OFFLINE!r}."
        )
    address = connection.base_url.strip()
    if connection.kind == "azure" and address and "://" not in address:
        address = f"https://{address}"  # Azure has no other
    checked = Connection(
        name,
        _address(address),
        connection.api_key.strip(),
        _names(connection.models),
        embedding_models=_names(connection.embedding_models),
        reranker_models=_names(connection.reranker_models),
    )
    if connection.kind == "azure":
        checked = _checked_azure(checked, connection)
    offered = (*checked.models, *checked.embedding_models)
    return dataclasses.replace(
        checked,
        contexts={model: size for model, size in connection.contexts.items() if model in offered},
        dimensions={
            model: size for model, size in connection.dimensions.items() if model in offered
        },
    )


def _checked_azure(checked: Connection, connection: Connection) -> Connection:
    """With the endpoint out of whatever address of Azure was given.

    Raises ConfigError for what is missing.
    """
    version = connection.api_version.strip() or _version_in(connection.base_url)
    if not _API_VERSION.fullmatch(version):
        raise ConfigError(
            f"The API version is {version!r}, but Azure needs one such as 2024-10-21; "
            "its portal shows it beside the deployment."
        )
    if not (checked.models or checked.embedding_models):
        raise ConfigError(
            "Azure answers by deployments, but none is named; "
            "enter at least one, as Azure's portal calls it."
        )
    endpoint = re.split(r"/openai(?=/|$)|/v1$", checked.base_url.partition("?")[0])[0]
    return dataclasses.replace(checked, base_url=endpoint, kind="azure", api_version=version)


def _version_in(address: str) -> str:
    """The API version in an address that was copied from Azure's portal."""
    return next(iter(parse_qs(address.partition("?")[2]).get("api-version", ())), "")


def _same_server(one: str, other: str) -> bool:
    try:
        return server_of(one) == server_of(other)
    except ValueError:  # the file was edited by hand
        return False


def _foreign_key(owner: Connection, address: str) -> ConfigError:
    return ConfigError(
        f"The key of {owner.name!r} was given for {without_login(owner.base_url)};"
        f" {without_login(address)} is another server (scheme, host or port), so it is not sent"
        " there: enter the key for that server, or remove the key."
    )


def _names(models: Sequence[str]) -> tuple[str, ...]:
    """The names of models without blanks around them, each once."""
    return tuple(dict.fromkeys(model.strip() for model in models if model.strip()))


def _address(base_url: str) -> str:
    """The address with `/v1` where only a host was given; raises ConfigError for what is no web
    address.
    """
    address = base_url.strip()
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        is_one = parts.scheme in _SCHEMES and bool(server_of(parts.geturl()) and parts.hostname)
    except ValueError:  # a port that is none, or half of an IPv6 address
        is_one = False
    if not is_one or re.search(r"[\s\\]", address):
        raise ConfigError(
            f"{base_url!r} is no address of a model server; it looks like https://api.openai.com/v1"
            " or http://localhost:11434/v1."
        )
    return parts.geturl().rstrip("/") + ("" if parts.path.strip("/") else "/v1")


def _file(settings: Settings) -> Path:
    return settings.data / "connections.json"


def _saved(settings: Settings) -> list[Connection]:
    path = _file(settings)
    try:
        stored: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        return [_connection(one) for one in stored]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(
            f"{path} cannot be read as saved connections ({type(error).__name__}); correct or"
            " remove it."
        ) from error


def _connection(row: dict[str, Any]) -> Connection:
    return Connection(
        row["name"],
        row["base_url"],
        row.get("api_key", ""),
        tuple(row.get("models", ())),
        embedding_models=tuple(row.get("embedding_models", ())),
        reranker_models=tuple(row.get("reranker_models", ())),
        kind=row.get("kind", "openai"),
        api_version=row.get("api_version", ""),
        contexts=dict(row.get("contexts", {})),
        dimensions=dict(row.get("dimensions", {})),
    )


def _write(settings: Settings, saved: Sequence[Connection]) -> None:
    """Replace the file in one step; only its owner may read it, for the keys in it."""
    rows = [
        {key: value for key, value in dataclasses.asdict(one).items() if key != "source"}
        for one in saved
    ]
    private.write_text(_file(settings), json.dumps(rows, indent=1, ensure_ascii=False))
