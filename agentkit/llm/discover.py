"""Looking whether a model server works, and which ones run on this machine."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from agentkit.errors import AgentkitError
from agentkit.llm.client import Model, call
from agentkit.llm.config import Connection
from agentkit.llm.openai_client import OpenAIClient, provider_of
from agentkit.messages import message

LOCAL_SERVERS = (("Ollama", 11434), ("LM Studio", 1234), ("vLLM", 8000), ("llama.cpp", 8080))
TESTER = "Connection test"
"""Who asked, of the calls that trying a connection takes."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was tried; `detail` is what came of it, or the exact error."""

    name: str
    ok: bool
    seconds: float
    detail: str


@dataclass(frozen=True, slots=True)
class Probe:
    """What trying a connection showed."""

    ok: bool
    steps: tuple[Step, ...]
    models: tuple[str, ...] = ()
    context_windows: dict[str, int] = field(default_factory=dict)
    """Tokens by model, where the server tells."""


def probe(connection: Connection, model: str = "", *, timeout_s: float = 20.0) -> Probe:
    """List the models of a server, ask one of them (by default the first offered) for a word, and embed a word where it can.

    What fails is in the steps; whether the server embeds does not count for `ok`.
    """
    client = OpenAIClient(
        connection.base_url, connection.api_key, connect_timeout_s=min(5.0, timeout_s), read_timeout_s=timeout_s
    )
    listed: dict[str, int | None] = {}
    listing = _tried("List models", lambda: _listed(client, listed))
    embedding = [offered for offered in listed if "embed" in offered.lower()]
    name = model or next(iter((*connection.models, *(offered for offered in listed if offered not in embedding))), "")
    steps = [listing]
    if name:
        asked = Model(connection.name, connection.name, client, name, provider_of(connection.base_url))
        steps.append(_tried(f"Ask {name}", lambda: _asked(asked)))
    ok = bool(name) and steps[-1].ok  # some servers answer but list nothing: that they answer is what counts
    if embedding:
        steps.append(_tried(f"Embed with {embedding[0]}", lambda: f"{client.dimension(embedding[0]):,} numbers for a text."))
    return Probe(ok, tuple(steps), tuple(listed), {name: size for name, size in listed.items() if size})


def reachable(connection: Connection, timeout_s: float = 3.0) -> Step:
    """Whether the server answers: its models are listed, none of them is asked."""
    client = OpenAIClient(connection.base_url, connection.api_key, connect_timeout_s=timeout_s, read_timeout_s=timeout_s)
    return _tried("List models", lambda: _listed(client, {}))


def discover(timeout_s: float = 0.4, servers: tuple[tuple[str, int], ...] = LOCAL_SERVERS) -> list[Connection]:
    """Model servers that answer on this machine at the usual ports, asked at the same time."""
    with ThreadPoolExecutor(len(servers) or 1) as pool:
        found = list(pool.map(lambda server: _local(server[0], server[1], timeout_s), servers))
    return [connection for connection in found if connection is not None]


def _tried(name: str, what: Callable[[], str]) -> Step:
    began = time.monotonic()
    try:
        detail, ok = what(), True
    except AgentkitError as error:
        detail, ok = str(error), False
    return Step(name, ok, time.monotonic() - began, detail)


def _listed(client: OpenAIClient, into: dict[str, int | None]) -> str:
    into.update(client.models())
    return f"{len(into)} models" if into else "The server lists no models; load one there."


def _asked(model: Model) -> str:
    reply = call(model, [message("user", "Reply with the word: ready")], agent=TESTER)
    speed = f", first token after {reply.first_token_s:.2f} s" if reply.first_token_s is not None else ""
    return f"It answered {reply.text.strip()[:60]!r}{speed}."


def _local(name: str, port: int, timeout_s: float) -> Connection | None:
    base_url = f"http://127.0.0.1:{port}/v1"
    listed = _fetched(f"{base_url}/models", timeout_s)
    if listed is None:
        return None
    return Connection(name, base_url, "", tuple(str(one["id"]) for one in listed), "found")


def _fetched(url: str, timeout_s: float) -> list[dict[str, Any]] | None:
    """The entries of a list of models on this machine; None when there is no such list."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=timeout_s) as answer:
            data = json.loads(answer.read(5_000_000))
    except (OSError, ValueError):
        return None
    entries = data.get("data") if isinstance(data, dict) else None
    return [one for one in entries if isinstance(one, dict) and "id" in one] if isinstance(entries, list) else None
