"""Looking whether a model server works, and which ones run on this machine."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import filterfalse

from agentkit.core import stopping
from agentkit.core.address import without_login
from agentkit.core.given import pick, pick_filled
from agentkit.core.stopping import StopSignal, stoppable
from agentkit.errors import AgentkitError, ModelTimedOut, Stopped
from agentkit.llm.calls.client import call
from agentkit.llm.calls.openai_client import OPENAI_URL, OpenAIClient
from agentkit.llm.connections.config import Connection, make_client, provider_to
from agentkit.llm.connections.contexts import Context, find_context
from agentkit.llm.model import Model
from agentkit.messages import message

LOCAL_SERVERS = (("Ollama", 11434), ("LM Studio", 1234), ("vLLM", 8000), ("llama.cpp", 8080))
TESTER = "Connection test"
"""Who asked, of the calls that trying a connection takes."""
PROBE_S = 10.0
"""Seconds that trying a connection may take in all."""
_MOST_EMBEDDERS = 5


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
    contexts: dict[str, Context] = field(default_factory=dict)
    """By model, where the server tells."""
    dimensions: dict[str, int] = field(default_factory=dict)
    """Numbers in a vector, by embedding model."""
    asked: str = ""
    """The model that was asked for a word."""

    def add_sizes(self, connection: Connection) -> Connection:
        """The connection with the sizes that the test showed of its models."""
        ours = {*connection.models, self.asked}
        told = pick(self.contexts, ours)
        sizes = pick_filled({name: found.tokens for name, found in told.items()})
        return replace(
            connection,
            contexts={**connection.contexts, **sizes},
            dimensions={**connection.dimensions, **self.dimensions},
        )


def probe(connection: Connection, model: str = "", *, timeout_s: float = PROBE_S) -> Probe:
    """List the models of a server, ask one of them for a word, and embed a word where it can.

    The one that is asked is by default the first offered.
    Each is tried once. What fails is in the steps, and what did not end in `timeout_s`; whether the
    server embeds does not count for `ok`. Raises Stopped.
    """
    trial = _Trial(connection, model, timeout_s)
    if not _finish_in_time(trial.run, timeout_s):
        trial.give_up()
    return trial.to_probe()


def reachable(connection: Connection, timeout_s: float = 3.0) -> Step:
    """Whether the server answers: its models are listed, none of them is asked. Raises Stopped."""
    trial = _Trial(connection, "", timeout_s)
    if not _finish_in_time(trial.list_models, timeout_s):
        trial.give_up()
    return trial.to_probe().steps[0]


def discover(
    timeout_s: float = 1.0, servers: tuple[tuple[str, int], ...] = LOCAL_SERVERS
) -> list[Connection]:
    """Model servers that answer on this machine at the usual ports, asked at the same time."""
    with ThreadPoolExecutor(len(servers) or 1) as pool:
        found = pool.map(lambda server: _find_local(server[0], server[1], timeout_s), servers)
        return list(filter(None, found))


class _Trial:
    """The steps of one test, as far as they have come."""

    def __init__(self, connection: Connection, model: str, timeout_s: float) -> None:
        self._connection, self._model, self._timeout_s = connection, model, timeout_s
        # Silence is waited for longer than all may take: so the deadline alone ends it.
        self._client = make_client(connection, min(5.0, timeout_s), 2 * timeout_s)
        self._listed: dict[str, int | None] = {}
        self._lock = threading.Lock()
        self._under_way = ("", 0.0)
        self._given_up = False
        self._steps: list[Step] = []
        self._answers = False
        self._name = ""
        self._contexts: dict[str, Context] = {}
        self._dimensions: dict[str, int] = {}

    def run(self) -> None:
        self.list_models()
        embedding, chatting = _part_models(self._list_offered())
        names = filter(None, [self._model, *self._connection.models, *chatting])
        self._name = next(names, "")
        if self._name:
            self._answers = self._try(f"Ask {self._name}", partial(self._ask, self._name))
        if self._answers and self._tells_sizes():
            self._try("", partial(self._measure, self._name))
        known = self._connection.embedding_models or embedding[:1]
        for one in known[:_MOST_EMBEDDERS]:
            self._try(f"Embed with {one}", partial(self._embed, one))

    def _list_offered(self) -> list[str]:
        """The models that can be asked; Azure lists what one could deploy."""
        if self._connection.kind == "azure":
            return []
        return list(self._listed)

    def _tells_sizes(self) -> bool:
        """Whether the server may tell how much its models take."""
        return self._connection.kind != "azure" and self._connection.base_url != OPENAI_URL

    def list_models(self) -> None:
        self._try("List models", self._list)

    def give_up(self) -> None:
        """The time is over: keep what has come, and say what was waited for."""
        with self._lock:
            self._given_up = True
            name, began = self._under_way
            if name:
                server = without_login(self._connection.base_url)
                late = ModelTimedOut(
                    f"{server} did not answer within {self._timeout_s:g} s; it may hang, be "
                    "overloaded or still load the model. Try again later."
                )
                self._steps.append(Step(name, False, time.monotonic() - began, str(late)))

    def to_probe(self) -> Probe:
        with self._lock:
            models = tuple(self._list_offered())
            sizes = pick_filled(self._listed)
            listed = {name: Context(size) for name, size in sizes.items()}
            contexts = {**listed, **self._contexts}
            steps, dimensions = tuple(self._steps), dict(self._dimensions)
            return Probe(self._answers, steps, models, contexts, dimensions, self._name)

    def _try(self, name: str, what: Callable[[], str]) -> bool:
        """Do it and note what came of it; without a name only an answer counts."""
        began = time.monotonic()
        with self._lock:
            self._under_way = (name, began)
        try:
            detail, ok = what(), True
        except Stopped:
            raise
        except AgentkitError as error:
            detail, ok = str(error), False
        with self._lock:
            if name and not self._given_up:
                self._steps.append(Step(name, ok, time.monotonic() - began, detail))
            self._under_way = ("", 0.0)
        return ok

    def _list(self) -> str:
        listed = self._client.models()
        with self._lock:
            self._listed.update(listed)
        if not listed:
            return "The server lists no models; load one there."
        if len(listed) == 1:
            return "1 model"
        return f"{len(listed):,} models"

    def _ask(self, name: str) -> str:
        connection = self._connection
        model = Model(connection.name, connection.name, self._client, name, provider_to(connection))
        word = [message("user", "Reply with the word: ready")]
        reply = call(model, word, agent=TESTER, attempts=1)
        if reply.stopped:
            raise Stopped("stopped by the user")
        first = reply.first_token_s
        speed = ""
        if first is not None:
            speed = f", first token after {first:.2f} s"
        return f"It answered {reply.text.strip()[:60]!r}{speed}."

    def _measure(self, name: str) -> str:
        found = find_context(self._client, name, self._listed.get(name))
        if found:
            with self._lock:
                self._contexts[name] = found
        return ""

    def _embed(self, name: str) -> str:
        size = self._client.dimension(name)
        with self._lock:
            self._dimensions[name] = size
        return f"{size:,} numbers for a text."


def _finish_in_time(work: Callable[[], None], timeout_s: float) -> bool:
    """Do it on a thread of its own; False when it has not ended in time, and is told to stop.

    Nothing holds up whoever asks, not even a look-up of a name. Raises Stopped when the enclosing
    run is stopped, and what the work raises.
    """
    signal, ended = StopSignal(), threading.Event()
    errors: list[BaseException] = []

    def body() -> None:
        try:
            with stoppable(signal):
                work()
        except BaseException as error:  # noqa: BLE001 (raised below, in the thread that asked)
            errors.append(error)
        ended.set()

    context = contextvars.copy_context()
    thread = threading.Thread(target=lambda: context.run(body), name="agentkit-probe", daemon=True)
    outer = stopping.current()
    with outer.on_stop(signal.set), outer.on_stop(ended.set):
        thread.start()
        in_time = ended.wait(timeout_s)
    signal.set()
    if outer.is_set:
        raise Stopped("stopped by the user")
    for error in errors:
        if not isinstance(error, Stopped):
            raise error
    return in_time


def _find_local(name: str, port: int, timeout_s: float) -> Connection | None:
    """The model server at a port of this machine; None where none answers in time."""
    base_url = f"http://127.0.0.1:{port}/v1"
    client = OpenAIClient(base_url, connect_timeout_s=timeout_s, read_timeout_s=timeout_s)
    listed: list[str] = []
    try:
        is_there = _finish_in_time(lambda: listed.extend(client.models()), 2 * timeout_s)
    except AgentkitError:  # somebody else is there
        return None
    embedding, chatting = _part_models(listed)
    if is_there:
        return Connection(name, base_url, "", chatting, "found", embedding)
    return None


def _part_models(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The models that embed, by their names, and the others."""
    return tuple(filter(_embeds, names)), tuple(filterfalse(_embeds, names))


def _embeds(name: str) -> bool:
    return "embed" in name.lower()
