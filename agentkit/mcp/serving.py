"""The tools of servers as agents call them: as they were allowed, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from agentkit.core.tools import Effects, Origin, make_tool
from agentkit.errors import NotFound, ToolServerError
from agentkit.mcp.connecting import Connection, ToolFailed, start
from agentkit.mcp.servers import AllowedTool, Marked, ServerList, ToolServer, ToolServers

LONGEST = 30_000
"""Characters of a result that a model is told."""
_EFFECTS: Mapping[Marked, Effects] = {"harmless": "none", "dangerous": "some"}
Start = Callable[[ToolServer], Connection]


class ServedTools:
    """The allowed tools, as `server/tool`; a server is started when it is first called."""

    def __init__(self, servers: ToolServers | ServerList, start_server: Start = start) -> None:
        self._servers, self._start = servers, start_server
        self._open: dict[str, Connection] = {}
        self._opening = threading.Lock()
        self._starting: dict[str, threading.Lock] = {}
        """By server: held while it starts, for which others need not wait."""

    def names(self) -> list[str]:
        """All that are allowed."""
        return [f"{one.name}/{tool}" for one in self._servers.all() for tool in one.tools]

    def find(self, name: str) -> Callable[..., str] | None:
        """The tool of that name; None where it is not allowed."""
        server_name, _, tool_name = name.partition("/")
        try:
            server = self._servers.find(server_name)
        except NotFound:
            return None
        known = server.tools.get(tool_name)
        return self._make(server, known) if known else None

    def close(self) -> None:
        """Let go of the servers that were started."""
        with self._opening:
            begun = list(self._starting.items())
        for name, lock in begun:
            with lock:
                self._forget(name)

    def _make(self, server: ToolServer, tool: AllowedTool) -> Callable[..., str]:
        def call(given: dict[str, Any]) -> str:
            return self._call(server, tool, given)

        return make_tool(
            f"{server.name}__{tool.name}".replace(".", "_"),
            tool.description or tool.name,
            tool.parameters,
            call,
            effects=_EFFECTS[tool.marked],
            allowed_as=f"{server.name}/{tool.name} ({tool.listed.digest[:12]})",
            origin=Origin(tool.name, server.name),
        )

    def _call(self, server: ToolServer, tool: AllowedTool, given: dict[str, Any]) -> str:
        try:
            connection = self._connect(server)
            check_unchanged(connection, tool)
            text = connection.call(tool.name, given)
        except ToolFailed:
            raise
        except ToolServerError:
            self._forget(server.name)
            raise
        if len(text) > LONGEST:
            return f"{text[:LONGEST]}\n[cut: it gave {len(text):,} characters]"
        return text or "(it gave nothing)"

    def _connect(self, server: ToolServer) -> Connection:
        with self._opening:
            lock = self._starting.setdefault(server.name, threading.Lock())
        with lock:
            if server.name not in self._open:
                self._open[server.name] = self._start(server)
            return self._open[server.name]

    def _forget(self, name: str) -> None:
        """Begin anew with the next call: what failed may be beyond use."""
        with self._opening:
            broken = self._open.pop(name, None)
        if broken is not None:
            broken.close()


def check_unchanged(connection: Connection, tool: AllowedTool) -> None:
    """Raise ToolServerError when the server says something else of the tool than it did when it was
    allowed.
    """
    now = {one.name: one for one in connection.list_tools()}
    name = connection.server.name
    if tool.name not in now:
        raise ToolServerError(f"The server of tools {name} has no tool {tool.name} any more.")
    if now[tool.name].digest != tool.listed.digest:
        raise ToolServerError(
            f"The server of tools {name} says something else of {tool.name} than when it was"
            " allowed, so it was not called. Look at it on the Settings page, and allow it again."
        )
