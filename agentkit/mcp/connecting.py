"""One server of tools, connected: its tools are listed and called, within limits of time and size,
from any thread.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from agentkit import private
from agentkit.core import stopping
from agentkit.core.given import join_filled
from agentkit.errors import AgentkitError, ToolServerError, explain
from agentkit.mcp.servers import ListedTool, ToolServer

if TYPE_CHECKING:
    from mcp.client.client import Client

START_S, CALL_S, CLOSE_S = 30.0, 60.0, 10.0
MOST_TOOLS, _MOST_PAGES = 200, 20
MOST_CHARS = 5_000_000
"""Characters of a result; a longer one is not taken."""
_LOOK_EVERY_S = 0.2
_LAST_WORDS, _LAST_BYTES = 200, 65_536
"""Characters of what a program said last before it ended; they are looked for in so many bytes."""
T = TypeVar("T")


class ToolFailed(ToolServerError):
    """A tool said that it failed; its server goes on."""


class Connection:
    """A server that is spoken to; it is started by `open_connection`."""

    def __init__(self, server: ToolServer, call_s: float) -> None:
        self.server, self._call_s = server, call_s
        self._kept = tempfile.TemporaryDirectory(
            prefix=f"agentkit-mcp-{server.name}-", ignore_cleanup_errors=True
        )
        self._folder = Path(self._kept.name)
        self._loop = asyncio.new_event_loop()
        self._ready: concurrent.futures.Future[Client] = concurrent.futures.Future()
        self._ending = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name=f"mcp-{server.name}", daemon=True)

    def open(self, start_s: float) -> None:
        """Start it, and wait until it answers; raises ToolServerError, and Stopped."""
        self._thread.start()
        self._wait(self._ready, start_s, "did not begin to answer")

    def list_tools(self) -> list[ListedTool]:
        """What the server says it has; raises ToolServerError, and Stopped."""
        client = self._ready.result()
        return self._ask(_list_tools(client), "did not list its tools")

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        """What a tool gives, as text; raises ToolServerError for failures too, and Stopped."""
        client = self._ready.result()
        result = self._ask(client.call_tool(name, arguments), f"did not answer {name}")
        text = _to_text(result)
        if len(text) > MOST_CHARS:
            told = f"answered {name} with {len(text):,} characters, more than {MOST_CHARS:,}"
            raise self._explain(told)
        if result.is_error:
            raise ToolFailed(text or f"{name} failed, and did not say why.")
        return text

    def close(self) -> None:
        """End the program, or the talk with the server; also where it has not answered yet."""
        if self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # it is just ending by itself
                self._loop.call_soon_threadsafe(self._end)
            self._thread.join(CLOSE_S)
        self._kept.cleanup()

    def _end(self) -> None:
        self._ending.set()
        is_spoken_to = self._ready.done() and not self._ready.cancelled()
        if self._serving is not None and not is_spoken_to:
            self._serving.cancel()

    def _ask(self, asked: Coroutine[Any, Any, T], told: str) -> T:
        try:
            begun = asyncio.run_coroutine_threadsafe(asked, self._loop)
        except RuntimeError:  # the loop is closed, as the thread ends
            asked.close()
            raise self._explain("has ended") from None
        return self._wait(begun, self._call_s, told)

    def _wait(self, future: concurrent.futures.Future[T], seconds: float, told: str) -> T:
        """The result, looked for until the time is over, or the run is stopped."""
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                stopping.check()
                with contextlib.suppress(TimeoutError):
                    return future.result(_LOOK_EVERY_S)
        except Exception as error:
            future.cancel()
            raise self._to_error(error, told) from error
        future.cancel()
        raise self._explain(f"{told} within {seconds:g} s")

    def _to_error(self, error: Exception, told: str) -> Exception:
        """Ours as they are, all else in words: a server may break in any way."""
        if isinstance(error, AgentkitError):
            return error
        cause = _find_cause(error)
        said = self._find_last_words()
        rest = f" Its last words: {said}" if said else ""
        return self._explain(f"{told} ({cause}){rest}")

    def _explain(self, told: str) -> ToolServerError:
        return ToolServerError(f"The server of tools {self.server.name} {told}")

    def _find_last_words(self) -> str:
        """What the program wrote to its error output last."""
        with contextlib.suppress(OSError), (self._folder / "stderr.txt").open("rb") as written:
            written.seek(max(0, written.seek(0, os.SEEK_END) - _LAST_BYTES))
            words = written.read().decode(errors="replace").split()
            return " ".join(words)[-_LAST_WORDS:]
        return ""

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        except asyncio.CancelledError:
            pass  # whoever waited has given up
        except Exception as error:  # noqa: BLE001 (told to whoever waits for the server)
            self._refuse(error)
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def _refuse(self, error: Exception) -> None:
        """Tell it to whoever waits; after that, the next call tells that it has ended."""
        if not self._ready.done():
            self._ready.set_exception(error)

    async def _serve(self) -> None:
        self._serving = asyncio.current_task()
        if self._ending.is_set():
            return
        async with _open_client(self.server, self._folder) as client:
            self._ready.set_result(client)
            await self._ending.wait()


@contextlib.asynccontextmanager
async def _open_client(server: ToolServer, folder: Path) -> AsyncIterator[Client]:
    from mcp.client.client import Client

    async with contextlib.AsyncExitStack() as stack:
        if server.is_program:
            errors = stack.enter_context(_open_errors(folder))
            transport = _start_program(server, folder, errors)
        else:
            transport = await _reach(server, stack)
        yield await stack.enter_async_context(Client(transport, cache=None))


def _start_program(server: ToolServer, folder: Path, errors: TextIO) -> Any:
    """A program with an environment of its own: what every program needs, and what was set."""
    from mcp.client.stdio import StdioServerParameters, stdio_client

    program, *arguments = server.command
    variables = dict(server.environment)
    given = StdioServerParameters(command=program, args=arguments, env=variables, cwd=folder)
    return stdio_client(given, errlog=errors)


async def _reach(server: ToolServer, stack: contextlib.AsyncExitStack) -> Any:
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    client = create_mcp_http_client(headers=dict(server.headers))
    await stack.enter_async_context(client)
    return streamable_http_client(server.url, http_client=client)


@contextmanager
def _open_errors(folder: Path) -> Iterator[TextIO]:
    """Where the program writes its errors: a file of this start alone."""
    with open(folder / "stderr.txt", "w", encoding="utf-8", opener=private.opener) as written:
        yield written


async def _list_tools(client: Client) -> list[ListedTool]:
    """All pages; of several tools with one name only the first counts."""
    found: dict[str, ListedTool] = {}
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        for one in page.tools:
            told = ListedTool(one.name, str(one.description or ""), dict(one.input_schema))
            found.setdefault(one.name, told)
        cursor = page.next_cursor
        if cursor is None or len(found) > MOST_TOOLS:
            break
    return list(found.values())[:MOST_TOOLS]


def _to_text(result: Any) -> str:
    """The parts as text, those of files that are sent along, too; of others, kind and size."""
    import json

    parts = list(map(_read_part, result.content))
    if not parts and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return "\n".join(parts)


def _read_part(part: Any) -> str:
    held = getattr(part, "resource", part)
    text = getattr(held, "text", None)
    if isinstance(text, str):
        return text
    left = ""
    if size := len(getattr(held, "data", "") or getattr(held, "blob", "")):
        left = f"{size:,} characters of data left out"
    named = (part.type, getattr(held, "name", ""), str(getattr(held, "uri", "")), left)
    return f"[{join_filled(', ', named)}]"


def _find_cause(error: BaseException) -> str:
    """The first error in groups of them, in words."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return explain(error)


@contextmanager
def open_connection(
    server: ToolServer, *, start_s: float = START_S, call_s: float = CALL_S
) -> Iterator[Connection]:
    """The server, spoken to for the enclosed work; raises ToolServerError, also for a program that
    nobody has confirmed.
    """
    connection = start(server, start_s=start_s, call_s=call_s)
    try:
        yield connection
    finally:
        connection.close()


def start(server: ToolServer, *, start_s: float = START_S, call_s: float = CALL_S) -> Connection:
    """The server, which is spoken to until `close`; raises ToolServerError."""
    if not server.may_start:
        raise ToolServerError(
            f"The command of {server.name} was not confirmed yet; the Settings page shows it."
        )
    connection = Connection(server, call_s)
    try:
        connection.open(start_s)
    except BaseException:
        connection.close()
        raise
    return connection
