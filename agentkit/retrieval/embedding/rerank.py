"""Rerankers: models that read a question together with each passage, more exact than vectors and
slower.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from agentkit.core import bus, connections
from agentkit.core.address import on_this_machine
from agentkit.errors import (
    BadModelReply,
    ConfigError,
    ModelAuthFailed,
    ModelError,
    ModelNotFound,
    ModelTimedOut,
    ModelUnreachable,
    RateLimited,
    explain,
)
from agentkit.events import ModelCalled, ModelReplied, Usage
from agentkit.messages import new_id

if TYPE_CHECKING:
    import httpx2
    from sentence_transformers import CrossEncoder

CONNECT_S, SILENCE_S = 5.0, 60.0
"""Seconds to connect to a server, and of silence while it works."""
_BATCH = 16
_CHARS_PER_TOKEN = 4
"""For servers that do not say how many tokens they read."""


class Reranker(Protocol):
    """Scores passages for a question; safe to use from several threads."""

    @property
    def name(self) -> str:
        """What it is called in the options of a search."""

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """How well each text answers the query, 0 to 1."""


class Rerankers:
    """The rerankers of one process by name.

    `find` gives the one of a name, the same one each time as long as nothing about it has changed.
    """

    def __init__(
        self,
        find: Callable[[str], Reranker | None] = lambda name: None,
        offered: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._find, self._offered = find, offered

    def names(self) -> list[str]:
        """Names of those that can be chosen."""
        return list(self._offered())

    def of(self, name: str) -> Reranker:
        """The reranker of that name; raises ConfigError when it is not to be had here."""
        found = self._find(name)
        if found is None:
            known = ""
            if self.names():
                known = f": {', '.join(self.names())}"
            raise ConfigError(
                f"There is no reranker {name!r} here; choose another{known} or none in the"
                " retrieval lab."
            )
        return found


class CrossEncoderReranker:
    """A sentence-transformers cross-encoder in a local folder, loaded at first use; asks no
    network.

    A model with one output is read as a logit, as those trained on MS MARCO are; one with several
    cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path).absolute()
        self.name = f"folder:{self.path}"
        self._lock = threading.Lock()
        self._model: CrossEncoder | None = None

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query, 0 to 1; raises ConfigError when the folder holds no
        such model.
        """
        if not texts:
            return []
        import torch

        started = time.perf_counter()
        with self._lock:  # the tokenizer of a model is not made for two threads at a time
            model = self._model = self._model or self._load()
            pairs = [(query, text) for text in texts]
            found = model.predict(
                pairs, batch_size=_BATCH, show_progress_bar=False, activation_fn=torch.nn.Sigmoid()
            )
            tokens = sum(
                len(one)
                for one in model.tokenizer([query] * len(texts), list(texts), truncation=True)[
                    "input_ids"
                ]
            )
        _emit("local", self.name, Usage(input=tokens), time.perf_counter() - started, 0.0)
        return [float(score) for score in found]

    def _load(self) -> CrossEncoder:
        from sentence_transformers import CrossEncoder
        from transformers.utils import logging

        if not (self.path / "config.json").is_file():
            raise ConfigError(
                f"{self.path} holds no model (it has no config.json); give the folder of a"
                " cross-encoder."
            )
        logging.disable_progress_bar()
        try:
            model: CrossEncoder = CrossEncoder(str(self.path), device="cpu", local_files_only=True)
        except Exception as error:  # whatever the libraries raise for files that they cannot read
            reason = explain(error).splitlines()[0]
            raise ConfigError(
                f"{self.path} cannot be loaded as a cross-encoder ({reason}); fetch the model once"
                " more."
            ) from error
        if model.num_labels != 1:
            raise ConfigError(
                f"The model in {self.path} has {model.num_labels} outputs, but a reranker has one;"
                " give a cross-encoder's folder."
            )
        return model


class ServerReranker:
    """A server that reranks at `{base_url}/rerank`, as Jina, Cohere, vLLM, llama.cpp and many
    others offer it.
    """

    def __init__(self, base_url: str, api_key: str, model: str) -> None:
        self._url = base_url.rstrip("/") + "/rerank"
        self._key, self._model = api_key, model
        parts = urlsplit(base_url.rstrip("/"))
        self._server = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        self.name = f"{model} at {self._server}"
        self.provider = parts.hostname or self._server
        """Whom the calls are booked on."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query, 0 to 1; raises ModelError when the server gives no
        usable answer.

        Scores outside of 0 to 1 are taken for logits.
        """
        if not texts:
            return []
        started = time.perf_counter()
        estimate = Usage(
            input=(len(query) * len(texts) + sum(map(len, texts))) // _CHARS_PER_TOKEN,
            estimated=True,
        )
        try:
            reply = self._ask(
                {
                    "model": self._model,
                    "query": query,
                    "documents": list(texts),
                    "top_n": len(texts),
                }
            )
            found = self._read(reply, len(texts))
        except ModelError as error:
            answered = isinstance(error, BadModelReply)
            took, cost = (estimate, self._cost()) if answered else (Usage(), 0.0)
            _emit(self.provider, self.name, took, time.perf_counter() - started, cost, error)
            raise
        _emit(
            self.provider,
            self.name,
            _read_usage(reply) or estimate,
            time.perf_counter() - started,
            self._cost(),
        )
        return found

    def _cost(self) -> float | None:
        """Nothing on this machine, else unknown."""
        if on_this_machine(self.provider):
            return 0.0
        return None

    def _ask(self, body: Mapping[str, object]) -> Any:
        import httpx2

        headers = {}
        if self._key:
            headers = {"Authorization": f"Bearer {self._key}"}
        try:
            with connections.line(self._url, connect_s=CONNECT_S, silence_s=SILENCE_S) as line:
                answer = line.http.post(self._url, json=body, headers=headers)
        except httpx2.TimeoutException as error:
            raise ModelTimedOut(
                f"The reranker {self.name} did not answer in time; try again later, or lower the"
                " number of passages it reads."
            ) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ModelUnreachable(
                f"The reranker {self.name} cannot be reached ({type(error).__name__}); check that"
                " it runs and the address, or search without a reranker."
            ) from error
        if answer.status_code != 200:
            raise self._translate_status(answer)
        try:
            return answer.json()
        except ValueError as error:
            raise self._refuse_reply("sent something that is not JSON") from error

    def _translate_status(self, answer: httpx2.Response) -> ModelError:
        said = " ".join(answer.text.split())[:200]
        if len(self._key) >= 4:
            said = said.replace(self._key, "***")
        status = f"{answer.status_code}: {said}" if said else str(answer.status_code)
        if answer.status_code in (401, 403):
            return ModelAuthFailed(
                f"The reranker {self.name} refuses the key ({status}); enter a valid one in the"
                " settings."
            )
        if answer.status_code in (404, 405):
            return ModelNotFound(
                f"There is no reranker {self.name} ({status}); check the model's name, and that the"
                " server offers `/rerank`."
            )
        if answer.status_code == 429:
            return RateLimited(
                f"The reranker {self.name} takes no more requests for now ({status}); wait, then"
                " try again."
            )
        return self._refuse_reply(f"failed ({status})")

    def _read(self, reply: Any, count: int) -> list[float]:
        """One score for each text, from `results` with `index` and `relevance_score` (or
        `score`).
        """
        scores = self._read_scores(reply)
        if set(scores) != set(range(count)):
            raise self._refuse_reply(f"gave {len(scores):,} scores for {count:,} passages")
        if not all(map(math.isfinite, scores.values())):
            raise self._refuse_reply("gave a score that is not a number")
        in_order = [scores[number] for number in range(count)]
        if all(0 <= score <= 1 for score in in_order):
            return in_order
        return list(map(_sigmoid, in_order))

    def _read_scores(self, reply: Any) -> dict[int, float]:
        """The scores by the place of the passage, in either form that servers give them."""
        results = reply
        if isinstance(reply, dict):
            results = reply.get("results")
        scores: dict[int, float] = {}
        try:
            for one in results or ():
                key = "relevance_score" if "relevance_score" in one else "score"
                scores[int(one["index"])] = float(one[key])
        except (TypeError, KeyError, ValueError) as error:
            raise self._refuse_reply("answered in a form that is not known") from error
        return scores

    def _refuse_reply(self, what: str) -> BadModelReply:
        return BadModelReply(
            f"The reranker {self.name} {what}; check that the model is a reranker, or search"
            " without one."
        )


def _read_usage(reply: object) -> Usage | None:
    """What the server says it has read, if it does."""
    if not isinstance(reply, dict):
        return None
    usage = reply.get("usage")
    if not isinstance(usage, dict):
        return None
    total = usage.get("total_tokens") or usage.get("prompt_tokens")
    if isinstance(total, int) and total > 0:
        return Usage(input=total)
    return None


def _sigmoid(value: float) -> float:
    if value <= -700:
        return 0.0
    return 1 / (1 + math.exp(-value))


def _emit(
    provider: str,
    model: str,
    usage: Usage,
    seconds: float,
    cost: float | None,
    error: ModelError | None = None,
) -> None:
    """Say that the model was called: one row among the model calls."""
    call = new_id()
    bus.emit(ModelCalled(call, "", provider, model, "rerank"))
    bus.emit(
        ModelReplied(
            call,
            "",
            provider,
            model,
            "rerank",
            status="failed" if error else "ok",
            usage=usage,
            seconds=seconds,
            cost=cost,
            error=str(error or ""),
            error_type=type(error).__name__ if error else "",
        )
    )
