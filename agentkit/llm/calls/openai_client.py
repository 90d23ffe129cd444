"""Any server with OpenAI's chat API, through the official SDK."""

from __future__ import annotations

import inspect
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from agentkit.core import bus, connections
from agentkit.core.address import without_login
from agentkit.core.given import coalesce, list_missing
from agentkit.core.lenient import count_or_zero, find_below
from agentkit.errors import BadModelReply, ModelError, ModelNotFound, Stopped, WrongType
from agentkit.events import CallStatus, ModelCalled, ModelReplied, Usage
from agentkit.llm.calls.assembly import assemble_stream
from agentkit.llm.calls.failures import find_http_errors, to_model_error
from agentkit.llm.calls.replies import read_chat_completion, read_completion
from agentkit.llm.calls.stream import delta, note_sent, thought
from agentkit.llm.calls.usage import check_usage, to_usage
from agentkit.llm.calls.wire import Sender, read_events, read_value
from agentkit.llm.prices import price
from agentkit.llm.response import ModelResponse
from agentkit.messages import THINKING, mappings_in, new_id, without_keys

if TYPE_CHECKING:
    import httpx2
    import openai

OPENAI_URL = "https://api.openai.com/v1"
_UNKNOWN_OPTION = re.compile("stream_options|include_usage")
_LARGEST_ERROR = 65_536  # bytes
_OWN_KEYS = (
    "api_key",
    "api_type",
    "api_version",
    "base_url",
    "cache_seed",
    "max_retries",
    "price",
    "tags",
    "timeout",
)
"""Other keys that somebody may have meant."""
_WINDOW_FIELDS = ("max_model_len", "context_length", "context_window")
_NO_KEY = "none"  # the SDK insists on one; local servers ignore it


class OpenAIClient:
    """Asks the server at `base_url`; the key is never shown. Times are in seconds; `read_timeout_s`
    is the longest silence.

    `options` are further arguments of the SDK's own client, such as `organization` or
    `default_headers`; a stop cannot cut the connections of an `http_client` given there, its reply
    is awaited.
    """

    takes_response_format = True
    """Whether a reply may be wished for by `response_format`; servers that cannot say so."""
    says_what_it_sends = True
    """By `stream.sent`, as the SDK and this class have made it."""

    def __init__(
        self,
        base_url: str = OPENAI_URL,
        api_key: str = "",
        *,
        connect_timeout_s: float = 10.0,
        read_timeout_s: float = 300.0,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._shown = without_login(base_url)
        self._options = dict(coalesce(options, {}))
        self.provider = provider_of(base_url)
        self._api_key = api_key
        self._timeouts = (connect_timeout_s, read_timeout_s)
        self._asks_for_usage = True
        self._default_model = ""

    def __repr__(self) -> str:
        return f"OpenAIClient({self.provider})"

    def create(self, params: Mapping[str, Any]) -> ModelResponse:
        """Ask; an empty model name means the first that the server lists. Raises ModelError and
        Stopped.

        A `prompt` goes to the older completions API, unstreamed. `response_format` may be a
        pydantic model.
        """
        request = {**params, "model": params.get("model") or self._first_model()}
        if isinstance(request.get("response_format"), type):
            request["response_format"] = _make_schema(request["response_format"])
        if "prompt" in request:
            request = without_keys(request, ("messages", "stream"))
        lacks_usage = "stream_options" not in request
        if request.get("stream") and self._asks_for_usage and lacks_usage:
            try:
                return self._ask({**request, "stream_options": {"include_usage": True}})
            except ModelError as error:
                if not _UNKNOWN_OPTION.search(str(error)):
                    raise
            # This server does not know the option: ask without, now and from now on.
            self._asks_for_usage = False
        return self._ask(request)

    def models(self) -> dict[str, int | None]:
        """The models that the server lists, in its order, with their context in tokens where it
        tells; raises ModelError.
        """
        sender = self._make_sender("")
        with (
            self._guard(sender) as line,
            self._make_sdk(line.http).models.with_streaming_response.list() as response,
        ):
            value = read_value(response.iter_bytes(), sender)
        listed = find_below(value, "data")
        if not isinstance(listed, list):
            raise BadModelReply(
                f"{self._shown} answers, but lists no models as OpenAI does; the address usually"
                " ends in /v1."
            )
        return {
            each["id"]: _find_context_window(each)
            for each in mappings_in(listed)
            if isinstance(each.get("id"), str)
        }

    def dimension(self, model: str) -> int:
        """Numbers in a vector of that embedding model, which is heard as a call of it; raises
        ModelError.
        """
        sender = self._make_sender(model)
        with _report_embedding(self.provider, model) as call, self._guard(sender) as line:
            made = self._make_sdk(line.http).embeddings.with_streaming_response.create(
                model=model, input="ready", encoding_format="float"
            )
            with made as response:
                value = read_value(response.iter_bytes(), sender)
            call.read_usage(value)
            entries = mappings_in(find_below(value, "data"))
            vector = None
            if entries:
                vector = entries[0].get("embedding")
            if not isinstance(vector, list) or not vector:
                raise BadModelReply(
                    f"{self._shown} answers, but sends no vector for {model!r}; choose another"
                    " embedding model."
                )
        return len(vector)

    def beside(self, path: str, asked: Mapping[str, object] | None = None) -> Any:
        """The JSON value that the same server has at a path beside its `/v1`; `asked` is posted.

        None when there is none; raises ModelUnreachable and Stopped.
        """
        sender = self._make_sender("")
        address = self.base_url.removesuffix("/v1") + path
        headers = {}
        if self._api_key:
            headers = {"Authorization": f"Bearer {self._api_key}"}
        method = "POST"
        if asked is None:
            method = "GET"
        with (
            self._guard(sender) as line,
            line.http.stream(method, address, json=asked, headers=headers) as answer,
        ):
            if answer.status_code != 200:
                return None
            try:
                return read_value(answer.iter_bytes(), sender)
            except BadModelReply:
                return None

    def message_retrieval(self, response: ModelResponse) -> list[Any]:
        """The messages of the choices; texts where a prompt was completed."""
        return [
            getattr(choice, "message", None) or getattr(choice, "text", None)
            for choice in response.choices
        ]

    def cost(self, response: ModelResponse) -> float | None:
        """US dollars by the price list; None when it does not know the model."""
        return price(response.model, self.provider, to_usage(self.get_usage(response)))

    @staticmethod
    def get_usage(response: ModelResponse) -> Mapping[str, Any]:
        """The server's figures; empty when it sent none."""
        usage = getattr(response, "usage", None) or {}
        if isinstance(usage, Mapping):
            return usage
        dumped: dict[str, Any] = usage.model_dump(exclude_none=True)
        return dumped

    def _first_model(self) -> str:
        if not self._default_model:
            listed = self.models()
            if not listed:
                raise ModelNotFound(
                    f"{self._shown} lists no models; load one there, or name one in the settings."
                )
            self._default_model = next(iter(listed))
        return self._default_model

    def _make_sender(self, model: str) -> Sender:
        return Sender(self._shown, model, self._api_key)

    def _ask(self, request: Mapping[str, object]) -> ModelResponse:
        """Ask once. The SDK sends; what comes back is read here, since it takes whatever comes, of
        any size.
        """
        sender = self._make_sender(str(request["model"]))
        if "http_client" in self._options:
            note_sent(request)
        with self._guard(sender, says=True) as line:
            server = self._make_sdk(line.http)
            asked: Any = server.chat.completions
            if "prompt" in request:
                asked = server.completions
            _check_names(asked.create, request)
            with asked.with_streaming_response.create(**request) as response:
                kind = response.headers.get("content-type", "")
                if request.get("stream") and "json" not in kind:
                    pieces = response.iter_bytes()
                    streamed = assemble_stream(read_events(pieces, sender), sender)
                    line.drain(pieces)
                    return streamed
                value = read_value(response.iter_bytes(), sender)
        if "prompt" in request:
            return cast(ModelResponse, read_completion(value, sender))
        made = read_chat_completion(value, sender)
        if request.get("stream"):  # asked for a stream, this server sends all at once
            first = made.choices[0].message
            thought(getattr(first, THINKING, ""))
            delta(coalesce(first.content, ""))
        return cast(ModelResponse, made)

    @contextmanager
    def _guard(self, sender: Sender, says: bool = False) -> Iterator[connections.Line]:
        """A connection for one request, which a stop can cut at any moment; errors come out as
        ours.

        With `says` it is told what goes out.
        """
        import openai

        failures: tuple[type[Exception], ...] = (
            openai.OpenAIError,
            OSError,
            *find_http_errors("HTTPError", "StreamError"),
        )
        saying = _Saying()
        try:
            with self._open_line(saying.say if says else None) as line:
                yield line
        except failures as error:
            if saying.problem is not None:  # the SDK takes it for one of the connection
                raise saying.problem from None
            # Not chained: the original may quote the key.
            raise to_model_error(error, sender.server, sender.model, self._api_key) from None

    @contextmanager
    def _open_line(
        self, says: Callable[[httpx2.Request], None] | None
    ) -> Iterator[connections.Line]:
        if given := self._options.get("http_client"):
            with connections.stoppable(connections.Line(given)) as line:
                yield line
            return
        connect_s, silence_s = self._timeouts
        with connections.line(
            self.base_url,
            connect_s=connect_s,
            silence_s=silence_s,
            sends=says,
            answers=_cut_end,
        ) as line:
            yield line

    def _make_sdk(self, http: httpx2.Client) -> openai.OpenAI:
        import openai

        own = {
            "api_key": self._api_key or _NO_KEY,
            "base_url": self.base_url,
            "max_retries": 0,
            "http_client": http,
        }
        return openai.OpenAI(**{**self._options, **own})


class AzureClient(OpenAIClient):
    """Asks a deployment at an Azure endpoint.

    `options` hold `api_version` and, for sign-in, `azure_ad_token` or a provider. Without a
    `deployment` each request goes to the one that its model names.
    """

    def __init__(
        self,
        endpoint: str,
        api_key: str = "",
        *,
        deployment: str = "",
        connect_timeout_s: float = 10.0,
        read_timeout_s: float = 300.0,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            endpoint,
            api_key,
            connect_timeout_s=connect_timeout_s,
            read_timeout_s=read_timeout_s,
            options=options,
        )
        self.provider = "azure"
        self._deployment = deployment

    def _make_sdk(self, http: httpx2.Client) -> openai.OpenAI:
        import openai

        own = {"azure_endpoint": self.base_url, "max_retries": 0, "http_client": http}
        key = {"azure_deployment": self._deployment or None, "api_key": self._api_key or None}
        return openai.AzureOpenAI(**{**self._options, **own, **key})


class _Saying:
    """Says what goes out, as the SDK has made it."""

    def __init__(self) -> None:
        self.problem: Exception | None = None
        """Of somebody who was told."""

    def say(self, request: httpx2.Request) -> None:
        try:
            note_sent(json.loads(request.read()))
        except Exception as error:
            self.problem = error
            raise


def _check_names(create: Callable[..., object], request: Mapping[str, object]) -> None:
    known = inspect.signature(create).parameters
    if unknown := list_missing(request, known):
        from difflib import get_close_matches

        near = get_close_matches(unknown[0], [*known, *_OWN_KEYS], 1)
        meant = ""
        if near:
            meant = f" Did you mean {near[0]!r}?"
        raise WrongType(
            f"A call takes no {unknown[0]!r}, which stands in an entry of the config_list or in the"
            f" call.{meant} What only this server knows goes into 'extra_body'."
        )


def _make_schema(model: type[Any]) -> dict[str, Any]:
    """The `response_format` that asks for JSON of a pydantic model."""
    import openai

    schema = openai.pydantic_function_tool(model)["function"]["parameters"]
    return {
        "type": "json_schema",
        "json_schema": {"name": model.__name__, "schema": schema, "strict": True},
    }


def _find_context_window(model: Mapping[str, object]) -> int | None:
    """As vLLM and hosted servers tell it in their lists; a model may be trained for more."""
    told = filter(None, map(model.get, _WINDOW_FIELDS))
    return count_or_zero(next(told, None)) or None


def _cut_end(response: httpx2.Response) -> None:
    """Keep only the beginning of what a server sends with an error: the SDK reads all of it,
    however much comes.
    """
    import httpx2

    if response.status_code < 300 or not isinstance(response.stream, httpx2.SyncByteStream):
        return
    head = bytearray()
    for piece in response.stream:
        head += piece
        if len(head) > _LARGEST_ERROR:
            break
    response.stream.close()
    response.stream = httpx2.ByteStream(bytes(head[:_LARGEST_ERROR]))


class _EmbeddingCall:
    """A call that embeds, for those who listen."""

    def __init__(self, provider: str, model: str) -> None:
        self._provider, self._model = provider, model
        self._id, self._began = new_id(), time.monotonic()
        self._usage = Usage()
        bus.emit(ModelCalled(self._id, "", provider, model, "embedding"))

    def read_usage(self, value: object) -> None:
        """Take the figures of what the server answers."""
        self._usage = to_usage(check_usage(find_below(value, "usage")))

    def report(self, status: CallStatus, *, error: str = "", error_type: str = "") -> None:
        """Say how it ended; a failure that was not counted costs nothing."""
        cost = price(self._model, self._provider, self._usage)
        if error_type and not self._usage.total:
            cost = 0.0
        bus.emit(
            ModelReplied(
                self._id,
                "",
                self._provider,
                self._model,
                "embedding",
                status,
                usage=self._usage,
                seconds=time.monotonic() - self._began,
                cost=cost,
                error=error,
                error_type=error_type,
            )
        )


@contextmanager
def _report_embedding(provider: str, model: str) -> Iterator[_EmbeddingCall]:
    """Let the block be heard as a call that embeds."""
    call = _EmbeddingCall(provider, model)
    try:
        yield call
    except Stopped:
        call.report("stopped")
        raise
    except ModelError as error:
        call.report("failed", error=str(error), error_type=type(error).__name__)
        raise
    call.report("ok")


def provider_of(base_url: str) -> str:
    """`openai` for OpenAI itself, else the server's host and port."""
    parts = urlsplit(base_url)
    host = parts.hostname or base_url
    if host == "api.openai.com":
        return "openai"
    if parts.port:
        return f"{host}:{parts.port}"
    return host
