"""A server with OpenAI's embeddings API, as an embedder."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentkit.core import connections, stopping
from agentkit.core.address import without_login
from agentkit.core.given import find_first
from agentkit.errors import (
    BadModelReply,
    ModelAuthFailed,
    ModelError,
    ModelNotFound,
    ModelTimedOut,
    ModelUnreachable,
    RateLimited,
    explain,
)
from agentkit.retrieval.embedding.embed import check_vectors, emit_embedding
from agentkit.retrieval.embedding.folders import MiniLMEmbedder

if TYPE_CHECKING:
    import httpx2
    import numpy as np
    import openai

_BATCH = 64
_WORD = "ready"
_TRIES = 5
_LONGEST_WAIT_S = 60.0
_FIRST_WAIT_S = 0.5
_CONNECT_S, _SILENCE_S = 10.0, 120.0
_CHARS_PER_TOKEN = 16
_in_a_hurry: ContextVar[bool] = ContextVar("agentkit_embedding_in_a_hurry", default=False)


@contextmanager
def hurry_servers() -> Iterator[None]:
    """While the block runs, servers are asked once more at most, and soon: somebody waits, and
    there is another way.
    """
    token = _in_a_hurry.set(True)
    try:
        yield
    finally:
        _in_a_hurry.reset(token)


class ServerEmbedder:
    """The model of that name at `base_url`, which usually ends in /v1; its name is `MODEL at
    ADDRESS`.

    Tokens are counted with the tokenizer of the packaged model, which is an estimate. `price` gives
    US dollars for a number of tokens, None when unknown. Calls raise ModelError; what may pass,
    such as a rate limit, is tried again before that, when the server has had the time that it asks
    for. Texts longer than `max_tokens` are cut.
    With an `api_version` the address is an endpoint of Azure, and the model a deployment there.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        model: str,
        *,
        provider: str = "",
        max_tokens: int = 512,
        api_version: str = "",
        price: Callable[[int], float | None] = lambda tokens: None,
    ) -> None:
        self._api_version = api_version
        self._url, self._key, self._model, self._price = base_url.rstrip("/"), api_key, model, price
        self._shown = without_login(base_url)
        self.name = f"{model} at {self._shown}"
        self.provider = provider or urlsplit(self._url).netloc.rpartition("@")[2]
        self.max_tokens, self.precision, self.is_ready = max_tokens, "", True
        self._tokens = MiniLMEmbedder()
        self._lock = threading.Lock()
        self._dimension = 0

    def __repr__(self) -> str:
        return f"ServerEmbedder({self.name})"

    @property
    def dimension(self) -> int:
        """Numbers in a vector; asks the server at first use."""
        began = time.perf_counter()
        with self._lock:
            if self._dimension:
                return self._dimension
            self._dimension = len(self._answer([_WORD])[0])
        emit_embedding(self, len(self.offsets(_WORD)) + 2, time.perf_counter() - began)
        return self._dimension

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (n, dimension), float32, each of length 1."""
        import numpy as np

        dimension = self.dimension
        parts = [np.empty((0, dimension), dtype=np.float32)]
        for start in range(0, len(texts), _BATCH):
            batch = [self._cut(text) for text in texts[start : start + _BATCH]]
            vectors = check_vectors(
                _to_array(self._answer(batch), dimension), len(batch), dimension, self.name
            )
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            if not lengths.all():
                raise BadModelReply(
                    f"{self.name} gave a vector of zeros, which has no direction; check the model."
                )
            parts.append((vectors / lengths).astype(np.float32))
        return np.concatenate(parts)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Start and end character of each token of the packaged model's tokenizer."""
        return self._tokens.offsets(text)

    def cost(self, tokens: int) -> float | None:
        """US dollars for so many tokens; None when the price is unknown."""
        return self._price(tokens)

    def _cut(self, text: str) -> str:
        """The text as far as the model takes it; a space for an empty one, which servers refuse."""
        text = text[: self.max_tokens * _CHARS_PER_TOKEN]
        if len(text) > self.max_tokens:
            tokens = self.offsets(text)
            if len(tokens) > self.max_tokens:
                text = text[: tokens[self.max_tokens - 1][1]]
        return text if text.strip() else " "

    def _answer(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, in their order; what may pass is tried again."""
        hurry = _in_a_hurry.get()
        tries, longest = (2, _FIRST_WAIT_S) if hurry else (_TRIES, _LONGEST_WAIT_S)
        for attempt in range(1, tries):
            began = time.perf_counter()
            try:
                return self._try(texts)
            except (RateLimited, ModelUnreachable, ModelTimedOut) as error:
                asked = error.retry_after_s or 0.0
                takes_too_long = hurry and isinstance(error, ModelTimedOut)
                if asked > longest or takes_too_long:
                    raise
                wait = max(_FIRST_WAIT_S * 2 ** (attempt - 1), asked)
                seconds = time.perf_counter() - began
                emit_embedding(self, 0, seconds, error, attempt=attempt, retry_in_s=wait)
                stopping.current().wait(wait)
        return self._try(texts)

    def _try(self, texts: Sequence[str]) -> list[list[float]]:
        stopping.check()
        return self._read(self._ask(texts), len(texts))

    def _ask(self, texts: Sequence[str]) -> Any:
        import httpx2
        import openai

        try:
            with connections.line(self._url, connect_s=_CONNECT_S, silence_s=_SILENCE_S) as line:
                return self._sdk(line.http).embeddings.create(
                    model=self._model, input=list(texts), encoding_format="float"
                )
        except (
            openai.OpenAIError,
            httpx2.HTTPError,
            httpx2.InvalidURL,
            json.JSONDecodeError,
            UnicodeDecodeError,
        ) as error:
            # Not chained: the original may quote the key.
            raise self._translate(error) from None

    def _sdk(self, http: httpx2.Client) -> openai.OpenAI:
        import openai

        key = self._key or "none"
        if self._api_version:
            return openai.AzureOpenAI(
                azure_endpoint=self._url,
                api_version=self._api_version,
                api_key=key,
                max_retries=0,
                http_client=http,
            )
        return openai.OpenAI(base_url=self._url, api_key=key, max_retries=0, http_client=http)

    def _read(self, reply: object, wanted: int) -> list[list[float]]:
        given = getattr(reply, "data", None)
        if not isinstance(given, list):
            given = []
        if len(given) != wanted:
            raise BadModelReply(
                f"{self.name} gave {len(given):,} vectors for {wanted:,} texts; check that the"
                " model is one for embeddings."
            )
        by_index: dict[int, Any] = {}
        for number, one in enumerate(given):  # the SDK passes on whatever comes
            index = getattr(one, "index", None)
            place = index if isinstance(index, int) else number
            vector = getattr(one, "embedding", None)
            if isinstance(vector, list) and vector:
                by_index[place] = vector

        if not by_index.keys() >= set(range(wanted)):
            raise BadModelReply(
                f"{self.name} answers, but not as OpenAI's embeddings API does; check the address."
            )
        return [by_index[number] for number in range(wanted)]

    def _translate(self, error: Exception) -> ModelError:
        import openai

        if isinstance(error, openai.APITimeoutError):
            return ModelTimedOut(
                f"{self.name} did not answer in time; it may be overloaded or still loading. Try"
                " again later."
            )
        if isinstance(error, openai.APIStatusError):
            return self._translate_status(error)
        if isinstance(error, openai.APIConnectionError):
            cause = error.__cause__ or error
            return ModelUnreachable(
                f"{self.name} cannot be reached ({self._quote(cause)}); check that it runs and that"
                " the address is right."
            )
        return BadModelReply(
            f"{self.name} sent an answer that cannot be read ({self._quote(error)}); check the"
            " address."
        )

    def _translate_status(self, error: openai.APIStatusError) -> ModelError:
        status = error.status_code
        said = f"{status}: {self._quote(error)}"
        if status in (401, 403):
            return ModelAuthFailed(
                f"{self.name} refuses the key ({said}); enter a valid one in the settings."
            )
        if status == 404:
            return ModelNotFound(
                f"{self._shown} has no embedding model {self._model!r} ({said}); choose one that it"
                " lists."
            )
        if status == 429 or status >= 500 or status in (408, 409):
            kind = RateLimited if status == 429 else ModelUnreachable
            found = kind(f"{self.name} cannot answer for now ({said}); try again later.")
            found.retry_after_s = _read_retry_after_s(error)
            return found
        return ModelError(
            f"{self.name} rejects the request ({said}); check that the model is one for embeddings."
        )

    def _quote(self, error: BaseException) -> str:
        text = " ".join(explain(error).split())[:300].rstrip(".")
        if len(self._key) < 4:
            return text
        return text.replace(self._key, "***")


def _to_array(vectors: Sequence[Sequence[float]], dimension: int) -> np.ndarray:
    """The vectors as float64; where their lengths differ, an array that has not the shape to
    expect.
    """
    import numpy as np

    odd = find_first(vectors, lambda vector: len(vector) != dimension)
    try:
        return np.asarray(vectors if odd is None else [odd], dtype=np.float64)
    except (TypeError, ValueError):
        return np.full((len(vectors), dimension), np.nan)


def _read_retry_after_s(error: openai.APIStatusError) -> float:
    """Seconds of the Retry-After header; 0 where it is missing or a date."""
    try:
        return max(0.0, float(error.response.headers.get("retry-after", "")))
    except ValueError:
        return 0.0
