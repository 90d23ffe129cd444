"""Servers of tools as commands tell them: names of variables and headers, never the values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from agentkit.cli.output import count
from agentkit.core.given import list_missing
from agentkit.core.text import shorten
from agentkit.core.unseen import reveal

if TYPE_CHECKING:
    from agentkit.mcp.servers import ListedTool, ToolServer

State = Literal["new", "changed", "harmless", "dangerous"]
_STATES: Mapping[State, str] = {
    "new": "not allowed",
    "changed": "says something else than when it was allowed, so it is not called",
    "harmless": "allowed, harmless",
    "dangerous": "allowed, dangerous",
}
_LONGEST = 300
"""Characters of what a tool says of itself."""


def server_to_json(server: ToolServer) -> dict[str, Any]:
    """The server as `--json` tells it."""
    tools = [
        {"tool": one.name, "marked": one.marked, "description": one.description}
        for one in server.tools.values()
    ]
    return {
        "server": server.name,
        "command": list(server.command),
        "variables": list(server.environment),
        "url": server.url,
        "headers": list(server.headers),
        "confirmed": server.may_start,
        "tools": tools,
    }


def tool_to_json(server: ToolServer, listed: ListedTool) -> dict[str, Any]:
    """A tool that a server lists, and what was said of it before."""
    state = find_state(server, listed)
    return {
        "tool": listed.name,
        "description": listed.description,
        "parameters": listed.parameters,
        "allowed": listed.name in server.tools,
        "changed": state == "changed",
        "problem": listed.problem,
    }


def describe_command(server: ToolServer) -> list[str]:
    """The whole command, each argument on a line, with what nobody would see written out."""
    lines = []
    for number, argument in enumerate(server.command):
        shown = reveal(argument).text.replace("\n", "⟨U+000A⟩")
        lines.append(f"  {number}: {shown}")
    return [*lines, f"  Variables: {_join(server.environment)}"]


def describe_server(server: ToolServer) -> list[str]:
    """Everything of the server but its secrets, line by line."""
    where = describe_command(server)
    if not server.is_program:
        where = [f"  Address: {server.url}", f"  Headers: {_join(server.headers)}"]
    if not server.may_start:
        where.append("  It was not confirmed yet: nothing of it has run.")
    tools = [
        f"    {one.name} ({one.marked}): {_describe(one.description)}"
        for one in server.tools.values()
    ]
    allowed = f"  {count(len(server.tools), 'tool')} allowed to teams"
    return [server.name, *where, allowed, *tools]


def describe_tools(server: ToolServer, listed: Sequence[ListedTool]) -> list[str]:
    """What the server lists, and which of it is allowed, line by line."""
    lines = [
        f"{one.name} ({_describe_state(server, one)}): {_describe(one.description)}"
        for one in listed
    ]
    gone = list_missing(server.tools, {one.name for one in listed})
    lines += map("{} (allowed): it is there no more".format, gone)
    return lines or [f"{server.name} lists no tools."]


def find_state(server: ToolServer, tool: ListedTool) -> State:
    """What becomes of a tool that the server lists."""
    known = server.tools.get(tool.name)
    if known is None:
        return "new"
    if known.listed.digest != tool.digest:
        return "changed"
    return known.marked


def _describe_state(server: ToolServer, tool: ListedTool) -> str:
    if tool.problem:
        return f"cannot be allowed: {tool.problem}"
    return _STATES[find_state(server, tool)]


def _join(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _describe(text: str) -> str:
    return shorten(text, _LONGEST) or "it says nothing of itself"
