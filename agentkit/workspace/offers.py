"""The embedding models and rerankers that the settings offer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from agentkit.core.given import find_first
from agentkit.events import Usage
from agentkit.llm import connections
from agentkit.llm.connections.config import provider_to
from agentkit.llm.prices import price
from agentkit.retrieval import Embedder
from agentkit.retrieval.embedding.embedders import Embedders
from agentkit.retrieval.embedding.folders import FolderEmbedder
from agentkit.retrieval.embedding.rerank import (
    CrossEncoderReranker,
    Reranker,
    Rerankers,
    ServerReranker,
)
from agentkit.retrieval.embedding.servers import ServerEmbedder
from agentkit.settings import Settings


class _Named(Protocol):
    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=_Named)


class _Offers(Generic[T]):
    """Models that are listed anew each time, as servers and folders come and go."""

    def __init__(self, list_models: Callable[[], Iterable[T]]) -> None:
        self._list_models = list_models

    def find(self, name: str) -> T | None:
        """The model of that name; None when it is not offered."""
        return find_first(self._list_models(), lambda one: one.name == name)

    def names(self) -> list[str]:
        """What can be chosen."""
        return [one.name for one in self._list_models()]


def build_offers(settings: Settings, default: Embedder) -> tuple[Embedders, Rerankers]:
    """What can be chosen under these settings, besides the default embedding model."""
    embedders = _Offers(partial(list_embedders, settings))
    rerankers = _Offers(partial(list_rerankers, settings))
    return (
        Embedders(default, embedders.find, embedders.names),
        Rerankers(rerankers.find, rerankers.names),
    )


def list_embedders(settings: Settings) -> Iterator[Embedder]:
    """Embedding models that can be chosen besides the packaged one: in folders, and on connected
    servers.
    """
    for folder in _folders(settings.embedding_folders):
        yield _folder_embedder(folder, settings.models)
    for server in connections(settings):
        provider = provider_to(server)
        for model in server.embedding_models:
            yield _server_embedder(
                server.base_url, server.api_key, model, provider, server.api_version
            )


def list_rerankers(settings: Settings) -> Iterator[Reranker]:
    """Rerankers that can be chosen, likewise."""
    yield from (_folder_reranker(folder) for folder in _folders(settings.reranker_folders))
    for server in connections(settings):
        yield from (
            ServerReranker(server.base_url, server.api_key, model)
            for model in server.reranker_models
        )


def _folders(setting: str) -> list[Path]:
    return [Path(part).expanduser() for part in setting.split(os.pathsep) if part.strip()]


# One of each in the process: a model is loaded once, a server is asked for its dimension once.
# Another key makes another one.
@cache
def _folder_embedder(folder: Path, kept: Path) -> Embedder:
    return FolderEmbedder(folder, kept)


@cache
def _folder_reranker(folder: Path) -> Reranker:
    return CrossEncoderReranker(folder)


@cache
def _server_embedder(
    base_url: str, api_key: str, model: str, provider: str, api_version: str
) -> Embedder:
    return ServerEmbedder(
        base_url,
        api_key,
        model,
        provider=provider,
        api_version=api_version,
        price=lambda tokens: price(model, provider, Usage(input=tokens)),
    )
