"""A real local server with OpenAI's chat API, for tests and for trying the app: `python -m
tests.servers.openai_server --port N`.

A script decides on each request. By default the server answers from the passages in the prompt,
with citations.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from agentkit.core.text import sentences
from agentkit.llm.offline.passages import parse_passages
from agentkit.messages import text_of

PROMPT_TOKENS, CACHED_TOKENS, REASONING_TOKENS = 120, 20, 5


@dataclass(frozen=True)
class Answer:
    """How the server answers a request."""

    text: str = ""
    thinking: str = field(default="", kw_only=True)
    """What is sent before the text, as `reasoning_content`; its words count in the pauses."""
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    function_call: dict[str, Any] | None = None
    """A call in the form that OpenAI had before tools."""
    refusal: str | None = None
    finish: str | None = ""
    """The finish reason; empty: the one that fits. None: none is sent."""
    done: bool = True
    """Streamed: whether `[DONE]` is sent at the end."""
    others: tuple[str, ...] = ()
    """The texts of further choices, as for a request with `n`."""
    delay_s: float = 0.0
    """Pause before each word (streamed) or before the whole reply."""
    usage: bool = True
    """Whether token counts are sent (streamed: if the request asks for them)."""
    status: int = 200
    error: dict[str, Any] = field(default_factory=dict)
    """The `error` object of a status other than 200."""
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    """Sent as it is, instead of a proper reply."""
    over_and_over: str | None = None
    """Sent again and again, until the client goes away."""
    drop_after: int | None = None
    """Cut the connection after so many words."""
    halt_after: int | None = None
    """After so many words (before the whole reply, where it is not streamed), wait until the
    server's `go_on` is set."""


Script = Callable[[dict[str, Any]], Answer]


def tool_call(name: str, **arguments: Any) -> Answer:
    """A reply that calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return Answer(tool_calls=[{"id": f"call-{name}", "type": "function", "function": function}])


Embed = Callable[[dict[str, Any]], "list[list[float]] | Answer"]
"""Vectors for the `input` of a request, or how it is refused."""


def fixed_vectors(body: dict[str, Any]) -> list[list[float]]:
    """The same vector for each text, from the one model `embedder`."""
    count = len(body["input"]) if isinstance(body["input"], list) else 1
    return [[0.6, 0.8, 0.0]] * count if body["model"] == "embedder" else []


@dataclass(frozen=True)
class Asked:
    """A request as it came in."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    raw: bytes = b""
    """The body of a chat's request as it came."""


def answer_from_passages(body: dict[str, Any]) -> Answer:
    """The first sentence of the first passage, cited; or that there is nothing to answer from."""
    found = [
        passage
        for message in body["messages"]
        for passage in parse_passages(text_of(message.get("content")))
    ]
    if not found:
        return Answer("The documents do not answer this question.")
    first = found[0]
    spans = sentences(first.text)
    start, end = spans[0] if spans else (0, len(first.text))
    return Answer(f"{first.text[start:end]} [{first.marker}]")


class OpenAIServer:
    """Serves on a free loopback port while the block runs; `requests` holds what was asked."""

    def __init__(
        self,
        script: Script = answer_from_passages,
        *,
        models: tuple[str, ...] = ("test-model",),
        port: int = 0,
        delay_s: float = 0.0,
        embed: Embed = fixed_vectors,
        windows: bool = True,
        beside: Mapping[str, Any] | None = None,
        certificate: Path | None = None,
    ) -> None:
        """`windows`: whether the list of models tells contexts; `beside`: JSON at other paths.

        With a `certificate` (with its key) it speaks TLS.
        """
        self.script = script
        self.embed = embed
        self.models = models
        self.windows = windows
        self.beside = dict(beside or {})
        self.delay_s = delay_s
        self.requests: list[Asked] = []
        self.connections: set[tuple[str, int]] = set()
        """From where connections came that carried a request."""
        self.broken_off = threading.Event()
        """Set when a client went away in the middle of a stream."""
        self.go_on = threading.Event()
        """Lets answers go on that halt."""
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port: int = self._socket.getsockname()[1]
        self.base_url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port}/v1"
        routes = [
            Route("/v1/models", self._models),
            Route("/v1/chat/completions", self._chat, methods=["POST"]),
            Route("/v1/completions", self._completions, methods=["POST"]),
            Route("/v1/embeddings", self._embeddings, methods=["POST"]),
            # Azure's addresses
            Route("/openai/deployments/{name}/chat/completions", self._chat, methods=["POST"]),
            Route("/openai/deployments/{name}/embeddings", self._embeddings, methods=["POST"]),
            Route("/openai/models", self._models),
            *(Route(path, self._value, methods=["GET", "POST"]) for path in self.beside),
        ]
        self._app = Starlette(routes=routes)
        config = uvicorn.Config(
            self._counted,
            interface="asgi3",
            ssl_certfile=certificate,
            ssl_keyfile=certificate,
            log_level="critical",
            lifespan="off",
            timeout_graceful_shutdown=1,
            ws="none",
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        deadline = time.monotonic() + 10
        while not self._server.started and time.monotonic() < deadline:
            time.sleep(0.005)
        assert self._server.started, "the test server did not start within 10 s"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(120)
        self._socket.close()

    def serve(self) -> None:
        """Serve in this thread until interrupted."""
        self._server.run(sockets=[self._socket])

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The bodies of the chat requests."""
        return [asked.body for asked in self.requests if asked.path.endswith("/chat/completions")]

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        if client := scope.get("client"):
            self.connections.add(tuple(client))
        await self._app(scope, receive, send)

    async def _models(self, request: Request) -> Response:
        self.requests.append(Asked(request.url.path, {}, dict(request.headers)))
        room = {"max_model_len": 4096} if self.windows else {}
        facts = {"object": "model", "created": 0, "owned_by": "tests", **room}
        listed = [{"id": name, **facts} for name in self.models]
        return JSONResponse({"object": "list", "data": listed})

    async def _value(self, request: Request) -> Response:
        asked = json.loads(await request.body() or b"{}")
        self.requests.append(Asked(request.url.path, asked, dict(request.headers)))
        return JSONResponse(self.beside[request.url.path])

    async def _embeddings(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.requests.append(Asked(request.url.path, body, dict(request.headers)))
        made = self.embed(body)
        if isinstance(made, Answer):
            return JSONResponse(
                {"error": made.error or {"message": "no reason"}}, made.status, made.headers
            )
        data = [
            {"object": "embedding", "index": index, "embedding": vector}
            for index, vector in enumerate(made)
        ]
        counted = {"prompt_tokens": len(data), "total_tokens": len(data)}
        whole = json.dumps(
            {"object": "list", "data": data[::-1], "model": body["model"], "usage": counted}
        )  # NaN passes
        return Response(whole, media_type="application/json")

    async def _chat(self, request: Request) -> Response:
        raw = await request.body()
        body = json.loads(raw)
        self.requests.append(Asked(request.url.path, body, dict(request.headers), raw))
        answer = self.script(body)
        if answer.over_and_over is not None:
            return StreamingResponse(
                self._endless(answer.over_and_over), answer.status, media_type="text/event-stream"
            )
        if answer.body is not None:
            kind = "text/event-stream" if body.get("stream") else "application/json"
            return Response(
                answer.body, answer.status, media_type=answer.headers.get("content-type", kind)
            )
        if answer.status != 200:
            return JSONResponse(
                {"error": answer.error or {"message": "no reason"}}, answer.status, answer.headers
            )
        if body.get("stream"):
            return StreamingResponse(self._events(body, answer), media_type="text/event-stream")
        if answer.halt_after is not None:
            await self._halted()
        await asyncio.sleep(answer.delay_s)
        return JSONResponse(_whole(body, answer))

    async def _completions(self, request: Request) -> Response:
        """The older API: a prompt is continued."""
        body = json.loads(await request.body())
        self.requests.append(Asked(request.url.path, body, dict(request.headers)))
        text = self.script(body).text
        choice = {"index": 0, "text": text, "finish_reason": "stop", "logprobs": None}
        made = {
            "id": "cmpl-1",
            "object": "text_completion",
            "created": 0,
            "model": body["model"],
            "choices": [choice],
        }
        return JSONResponse({**made, "usage": usage(text)})

    async def _events(self, body: dict[str, Any], answer: Answer) -> AsyncIterator[str]:
        asks_for_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        try:
            pieces = [{"reasoning_content": word} for word in words(answer.thinking)]
            pieces += [{"content": word} for word in words(answer.text)]
            for number, piece in enumerate(pieces):
                if number == answer.drop_after:
                    raise ConnectionAbortedError("the script says so")
                if number == answer.halt_after:
                    await self._halted()
                await asyncio.sleep(answer.delay_s or self.delay_s)
                yield _event(body, [{"index": 0, "delta": piece, "finish_reason": None}])
            for index, delta in _pieces(answer):
                yield _event(body, [{"index": index, "delta": delta, "finish_reason": None}])
            for index in range(1 + len(answer.others)) if answer.finish is not None else ():
                yield _event(
                    body, [{"index": index, "delta": {}, "finish_reason": _reason(answer)}]
                )
            if answer.usage and asks_for_usage:
                yield _event(body, [], usage(answer.text))
            if answer.done:
                yield "data: [DONE]\n\n"
        except (asyncio.CancelledError, GeneratorExit):
            self.broken_off.set()
            raise

    async def _endless(self, piece: str) -> AsyncIterator[str]:
        try:
            while True:
                yield piece
                await asyncio.sleep(0)  # else nobody would notice that the client has gone
        except (asyncio.CancelledError, GeneratorExit):
            self.broken_off.set()
            raise

    async def _halted(self) -> None:
        # It is set from another thread, which an asyncio.Event cannot be.
        while not self.go_on.is_set():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def words(text: str) -> list[str]:
    """The text in pieces, each with the space before it."""
    return (
        [(" " if number else "") + word for number, word in enumerate(text.split(" "))]
        if text
        else []
    )


def usage(text: str) -> dict[str, Any]:
    """What the server says that a reply of this text took."""
    completion = len(words(text)) + REASONING_TOKENS
    return {
        "prompt_tokens": PROMPT_TOKENS,
        "completion_tokens": completion,
        "total_tokens": PROMPT_TOKENS + completion,
        "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
        "completion_tokens_details": {"reasoning_tokens": REASONING_TOKENS},
    }


def _whole(body: dict[str, Any], answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.thinking:
        message["reasoning_content"] = answer.thinking
    for key in ("tool_calls", "function_call", "refusal"):
        if value := getattr(answer, key):
            message[key] = value
    messages = [message, *({"role": "assistant", "content": text} for text in answer.others)]
    choices = [
        {"index": index, "message": one, "finish_reason": _reason(answer)}
        for index, one in enumerate(messages)
    ]
    made = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model", ""),
        "choices": choices,
    }
    return {**made, "usage": usage(answer.text)} if answer.usage else made


def _event(
    body: dict[str, Any], choices: list[dict[str, Any]], counted: dict[str, Any] | None = None
) -> str:
    chunk = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": body.get("model", ""),
        "choices": choices,
    }
    if counted:
        chunk["usage"] = counted
    return f"data: {json.dumps(chunk)}\n\n"


def _reason(answer: Answer) -> str | None:
    if answer.finish != "":
        return answer.finish
    return (
        "tool_calls" if answer.tool_calls else "function_call" if answer.function_call else "stop"
    )


def _pieces(answer: Answer) -> list[tuple[int, dict[str, Any]]]:
    """What is streamed after the first choice's text: index of the choice, and the delta."""
    pieces: list[tuple[int, dict[str, Any]]] = [
        (0, {"tool_calls": [piece]}) for piece in _tool_pieces(answer.tool_calls)
    ]
    if answer.function_call:
        first, rest = {**answer.function_call, "arguments": ""}, answer.function_call["arguments"]
        pieces += [(0, {"function_call": piece}) for piece in (first, {"arguments": rest})]
    if answer.refusal:
        pieces.append((0, {"refusal": answer.refusal}))
    return pieces + [
        (index, {"content": word})
        for index, text in enumerate(answer.others, 1)
        for word in words(text)
    ]


def _tool_pieces(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each call as OpenAI streams it: first id and name, then the arguments in two halves."""
    pieces: list[dict[str, Any]] = []
    for index, made in enumerate(calls):
        name, arguments = made["function"]["name"], made["function"]["arguments"]
        middle = len(arguments) // 2
        pieces.append(
            {
                "index": index,
                "id": made["id"],
                "type": "function",
                "function": {"name": name, "arguments": ""},
            }
        )
        pieces += [
            {"index": index, "function": {"arguments": half}}
            for half in (arguments[:middle], arguments[middle:])
        ]
    return pieces


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(
        description=(
            "A local server with OpenAI's chat API that answers from the passages in the prompt."
        )
    )
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--delay", type=float, default=0.03, help="seconds before each word")
    options = parser.parse_args()
    OpenAIServer(port=options.port, delay_s=options.delay).serve()


if __name__ == "__main__":
    main()
