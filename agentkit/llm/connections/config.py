"""Which models there are: the offline one, those of the environment, and the connections that were
saved.
"""

from __future__ import annotations

import dataclasses
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal
from urllib.parse import SplitResult, parse_qs, urlsplit

from agentkit import private
from agentkit.core.address import server_of, without_login
from agentkit.core.given import pick
from agentkit.errors import ConfigError, NotFound
from agentkit.llm.calls.openai_client import OPENAI_URL, AzureClient, OpenAIClient, provider_of
from agentkit.llm.model import Model
from agentkit.llm.offline.client import ExtractiveClient
from agentkit.messages import without_keys
from agentkit.settings import Settings

OFFLINE = "offline"
_NAME = re.compile(r"[^/]{1,60}")
_UNWANTED = re.compile(r"[\s\\]")
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
    return [*_read_settings(settings), *_read_saved(settings).values()]


def save_connection(
    settings: Settings, connection: Connection, *, key_entered: bool = False
) -> Connection:
    """Store a connection, in the place of a saved one of that name, else at the end.

    Returns it as stored. A key that is set for other servers only is refused, unless the person has
    entered it for this one: `key_entered`.
    Raises ConfigError for that and on bad values.
    """
    checked = _check(connection)
    given = _read_settings(settings)
    if checked.name in map(attrgetter("name"), given):
        raise ConfigError(
            f"The name {checked.name!r} belongs to the connection of the environment; "
            "choose another."
        )
    with _changing:
        saved = _read_saved(settings)
        if not key_entered:
            _check_owner(checked, [*given, *saved.values()])
        before = saved.get(checked.name, checked)
        if before.base_url != checked.base_url:
            checked = dataclasses.replace(checked, contexts={}, dimensions={})  # another server's
        saved[checked.name] = checked
        _write(settings, saved)
    return checked


def keep_found(settings: Settings, connection: Connection) -> None:
    """Keep the sizes that a test showed of a saved connection, if it is still the same.

    Raises ConfigError.
    """
    with _changing:
        saved = _read_saved(settings)
        before = saved.get(connection.name)
        if before is None or before == connection:
            return
        saved[connection.name] = dataclasses.replace(
            before, contexts=connection.contexts, dimensions=connection.dimensions
        )
        if saved[connection.name] == connection:
            _write(settings, saved)


def key_for(connection: Connection, base_url: str) -> str:
    """The key of a connection, for the same server at a new address.

    Raises ConfigError when scheme, host or port are other ones, and when it cannot be an address.
    """
    address = _read_address(base_url)
    if connection.api_key and not _same_server(connection.base_url, address):
        raise _foreign_key(connection, address)
    return connection.api_key


def delete_connection(settings: Settings, name: str) -> None:
    """Forget a saved connection; raises NotFound."""
    with _changing:
        saved = _read_saved(settings)
        if name not in saved:
            raise NotFound(
                f"There is no saved connection {name!r}; "
                "those of the environment are removed there."
            )
        del saved[name]
        _write(settings, saved)


def available_models(settings: Settings, similarity: Similarity | None = None) -> list[Model]:
    """All models to choose from, the default first.

    Those that share a name are told apart by their connections. The default is the chosen one, else
    the first configured one, else the offline one. A chosen one that is not offered any more counts
    as none. Asks no server.
    """
    found: list[Model] = []
    servers: list[str] = []
    for one in connections(settings):
        for model in models_of(one):
            found.append(model)
            servers.append(one.name)
    labels = Counter(model.label for model in found)
    for place, model in enumerate(found):
        if labels[model.label] > 1:
            label = f"{model.label} ({servers[place]})"
            found[place] = dataclasses.replace(model, label=label)
    found.append(offline_model(similarity))
    return sorted(found, key=lambda model: model.id != settings.default_model)


def default_connection(settings: Settings) -> Connection | None:
    """The connection of the default model; None for the offline one. Raises ConfigError."""
    default = available_models(settings)[0].id
    known = connections(settings)
    offering = {model.id: one for one in reversed(known) for model in models_of(one)}
    return offering.get(default)


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
    client, provider = make_client(connection), provider_to(connection)
    if not connection.models and connection.kind == "openai":
        label = f"{connection.name} (its first model)"
        return [Model(f"{connection.name}/default", label, client, "", provider)]
    models: list[Model] = []
    for name in connection.models:
        window = connection.contexts.get(name)
        models.append(Model(f"{connection.name}/{name}", name, client, name, provider, window))
    return models


def make_client(
    connection: Connection, connect_timeout_s: float = 10.0, read_timeout_s: float = 300.0
) -> OpenAIClient:
    """What asks the server of a connection."""
    make: Callable[..., OpenAIClient] = OpenAIClient
    if connection.kind == "azure":
        make = partial(AzureClient, options={"api_version": connection.api_version})
    return make(
        connection.base_url,
        connection.api_key,
        connect_timeout_s=connect_timeout_s,
        read_timeout_s=read_timeout_s,
    )


def provider_to(connection: Connection) -> str:
    """Whose price list counts for a connection."""
    if connection.kind == "azure":
        return "azure"
    return provider_of(connection.base_url)


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


def _read_settings(settings: Settings) -> list[Connection]:
    """The connection of the environment or the secrets file, if there is one."""
    key, models = settings.openai_api_key, _clean_names([settings.openai_model])
    if not key and not settings.openai_base_url:
        return []
    base_url = _read_address(settings.openai_base_url or OPENAI_URL)
    found = Connection(provider_of(base_url), base_url, key, models, "environment")
    if found.name != "openai":
        return [found]
    ours = dataclasses.replace(
        found,
        name="OpenAI",
        models=models or (DEFAULT_OPENAI_MODEL,),
        embedding_models=(OPENAI_EMBEDDING_MODEL,),
    )
    return [ours]


def _check(connection: Connection) -> Connection:
    """The connection as it can be saved; raises ConfigError for bad values."""
    name = " ".join(connection.name.split())
    if not _NAME.fullmatch(name) or name.lower() == OFFLINE:
        raise ConfigError(
            f"A connection cannot be named {connection.name!r}; use 1 to 60 characters without a"
            f" slash, not {OFFLINE!r}."
        )
    address = connection.base_url.strip()
    if connection.kind == "azure" and address and "://" not in address:
        address = f"https://{address}"  # Azure has no other
    checked = Connection(
        name,
        _read_address(address),
        connection.api_key.strip(),
        _clean_names(connection.models),
        embedding_models=_clean_names(connection.embedding_models),
        reranker_models=_clean_names(connection.reranker_models),
    )
    if connection.kind == "azure":
        checked = _check_azure(checked, connection)
    offered = {*checked.models, *checked.embedding_models}
    return dataclasses.replace(
        checked,
        contexts=pick(connection.contexts, offered),
        dimensions=pick(connection.dimensions, offered),
    )


def _check_owner(connection: Connection, known: Iterable[Connection]) -> None:
    """Raise ConfigError for a key that was given for other servers only."""
    if not connection.api_key:
        return
    owners = [one for one in known if one.api_key == connection.api_key]
    for owner in owners:
        if _same_server(connection.base_url, owner.base_url):
            return
    if owners:
        raise _foreign_key(owners[0], connection.base_url)


def _check_azure(checked: Connection, connection: Connection) -> Connection:
    """With the endpoint out of whatever address of Azure was given.

    Raises ConfigError for what is missing.
    """
    version = connection.api_version.strip() or _find_version(connection.base_url)
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


def _find_version(address: str) -> str:
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


def _clean_names(models: Sequence[str]) -> tuple[str, ...]:
    """The names of models without blanks around them, each once."""
    return tuple(dict.fromkeys(filter(None, map(str.strip, models))))


def _read_address(base_url: str) -> str:
    """The address with `/v1` where only a host was given; raises ConfigError for other
    texts.
    """
    address = base_url.strip()
    parts = _split_address(address)
    if parts is None or _UNWANTED.search(address):
        raise ConfigError(
            f"{base_url!r} is not an address of a model server; it looks like"
            " https://api.openai.com/v1 or http://localhost:11434/v1."
        )
    path = "/v1"
    if parts.path.strip("/"):
        path = ""
    return parts.geturl().rstrip("/") + path


def _split_address(address: str) -> SplitResult | None:
    """The parts of a web address, which may lack the scheme; None for anything else."""
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        server_of(parts.geturl())
    except ValueError:  # a port in letters, or half of an IPv6 address
        return None
    if parts.scheme in _SCHEMES and parts.hostname:
        return parts
    return None


def _file(settings: Settings) -> Path:
    return settings.data / "connections.json"


def _read_saved(settings: Settings) -> dict[str, Connection]:
    """The saved connections by their names, in their order; raises ConfigError."""
    path = _file(settings)
    try:
        rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        return {row["name"]: _read_row(row) for row in rows}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(
            f"{path} cannot be read as saved connections ({type(error).__name__}); correct or"
            " remove it."
        ) from error


def _read_row(row: dict[str, Any]) -> Connection:
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


def _write(settings: Settings, saved: Mapping[str, Connection]) -> None:
    """Replace the file in one step; only its owner may read it, for the keys in it."""
    rows = [without_keys(dataclasses.asdict(one), ["source"]) for one in saved.values()]
    private.write_text(_file(settings), json.dumps(rows, indent=1, ensure_ascii=False))
