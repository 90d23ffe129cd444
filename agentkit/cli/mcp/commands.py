"""`mcp`: servers of tools that teams may use, added, seen, started once confirmed, and removed."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.mcp.showing import (
    describe_command,
    describe_server,
    describe_tools,
    server_to_json,
    tool_to_json,
)
from agentkit.cli.output import count, note, put, put_json, put_table
from agentkit.errors import ConfigError, NotFound, ToolServerError
from agentkit.settings import load_settings

if TYPE_CHECKING:
    from agentkit.mcp.servers import AllowedTool, ListedTool, ToolServer, ToolServers

app = typer.Typer(
    help="Servers that offer tools to teams, by the Model Context Protocol.",
    no_args_is_help=True,
)
_Name = Annotated[str, typer.Argument(metavar="SERVER", help="As `mcp list` names it.")]
_Json = Annotated[bool, typer.Option("--json", help="One JSON object.")]
_Yes = Annotated[
    bool, typer.Option("--yes", help="Start its command without asking: you have read it.")
]


@app.command("list")
def list_servers(as_json: _Json = False) -> None:
    """List the servers; nothing of them is started."""
    known = _open_servers().all()
    if as_json:
        put_json({"servers": [server_to_json(one) for one in known]})
        return
    if not known:
        note("There is no server of tools yet; `mcp add` adds one.")
        return
    states = {True: "ready", False: "not confirmed"}
    rows = [(one.name, one.where, states[one.may_start], ", ".join(one.tools)) for one in known]
    put_table(("server", "command or address", "state", "allowed tools"), rows)


@app.command()
def show(server: _Name, as_json: _Json = False) -> None:
    """Show a server whole, but for the values of its variables and headers."""
    found = _find(_open_servers(), server)
    if as_json:
        put_json(server_to_json(found))
        return
    put("\n".join(describe_server(found)))


@app.command()
def add(
    server: Annotated[
        str, typer.Argument(metavar="SERVER", help="Its name: letters, digits, - and _.")
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="A program with its arguments, behind `--`."),
    ] = None,
    url: Annotated[str, typer.Option(help="An address, instead of a command.")] = "",
    variable: Annotated[
        list[str] | None, typer.Option(help="NAME=value, which the program gets; may be repeated.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option(help="Name: value, sent to the address; may be repeated.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Add a server. Nothing is started or sent: `mcp test` starts it, once you have confirmed."""
    from agentkit.mcp.servers import ToolServer, parse_pairs

    servers = _open_servers()
    if server in {one.name for one in servers.all()}:
        raise ConfigError(f"There is a server {server} already; choose another name.")
    variables = parse_pairs("\n".join(variable or ()), "=")
    headers = parse_pairs("\n".join(header or ()), ":")
    given = ToolServer(server, tuple(command or ()), variables, url.strip(), headers)
    kept = servers.save(given)
    if as_json:
        put_json(server_to_json(kept))
        return
    note(f"Added {kept.name}; nothing of it has run. `mcp test {kept.name}` lists its tools.")


@app.command("test")
def try_server(server: _Name, yes: _Yes = False, as_json: _Json = False) -> None:
    """Ask a server which tools it has; a program is shown and confirmed before its first start."""
    servers = _open_servers()
    found, listed = _list_tools(servers, server, agreed=yes)
    if as_json:
        tools = [tool_to_json(found, one) for one in listed]
        put_json({"server": found.name, "tools": tools})
        return
    put("\n".join(describe_tools(found, listed)))


@app.command()
def allow(
    server: _Name,
    tools: Annotated[list[str], typer.Argument(metavar="TOOL...", help="As `mcp test` names it.")],
    harmless: Annotated[
        bool, typer.Option("--harmless", help="They change nothing, and run without being asked.")
    ] = False,
    yes: _Yes = False,
    as_json: _Json = False,
) -> None:
    """Let teams be given these tools too, as the server tells of them now."""
    servers = _open_servers()
    found, listed = _list_tools(servers, server, agreed=yes)
    chosen = [_allow(_pick(found, listed, name), harmless=harmless) for name in tools]
    servers.allow(found.name, list({**found.tools, **{one.name: one for one in chosen}}.values()))
    _tell(servers.find(found.name), as_json)


@app.command()
def remove(
    server: _Name,
    tools: Annotated[
        list[str] | None,
        typer.Argument(metavar="TOOL", help="Allow only these no more; the server stays."),
    ] = None,
    as_json: _Json = False,
) -> None:
    """Forget a server and what was allowed of it; or allow some of its tools no more."""
    servers = _open_servers()
    found = _find(servers, server)
    if tools:
        _disallow(servers, found, tools)
        _tell(servers.find(found.name), as_json)
        return
    servers.remove(found.name)
    if as_json:
        put_json(server_to_json(found))
        return
    note(f"Removed {found.name}; teams that name its tools go on without them.")


def _disallow(servers: ToolServers, server: ToolServer, tools: list[str]) -> None:
    for name in tools:
        if name not in server.tools:
            raise NotFound(f"{server.name} has no allowed tool {name!r}; `mcp show` lists them.")
    servers.allow(server.name, [one for one in server.tools.values() if one.name not in tools])


def _tell(server: ToolServer, as_json: bool) -> None:
    """What is allowed now."""
    if as_json:
        put_json(server_to_json(server))
        return
    names = ", ".join(server.tools) or "none"
    note(f"{count(len(server.tools), 'tool')} of {server.name} allowed to teams: {names}")


def _open_servers() -> ToolServers:
    from agentkit.mcp.servers import ToolServers

    return ToolServers(load_settings().data)


def _find(servers: ToolServers, name: str) -> ToolServer:
    try:
        return servers.find(name)
    except NotFound as error:
        raise NotFound(f"There is no server {name!r}; `mcp list` names those there are.") from error


def _list_tools(
    servers: ToolServers, name: str, *, agreed: bool
) -> tuple[ToolServer, list[ListedTool]]:
    """The server with what it lists, started once its command was confirmed."""
    from agentkit.mcp.connecting import open_connection

    server = _find(servers, name)
    if not server.may_start:
        _confirm(server, agreed=agreed)
        servers.confirm(server.name, server.digest)
        server = replace(server, confirmed=server.digest)
    with open_connection(server) as opened:
        return server, opened.list_tools()


def _confirm(server: ToolServer, *, agreed: bool) -> None:
    """Show the whole command, and ask; raises ToolServerError when it is not to be started."""
    note(f"{server.name} runs as a program of yours: it can do what you can do on this machine.")
    note("It gets none of your keys and variables but these.")
    note("\n".join(describe_command(server)))
    if agreed:
        return
    sys.stderr.write("Start it? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
        raise ToolServerError(f"{server.name} was not started: its command was not confirmed.")


def _pick(server: ToolServer, listed: list[ListedTool], name: str) -> ListedTool:
    """The tool of that name; raises NotFound."""
    found = {one.name: one for one in listed}
    if name not in found:
        there = ", ".join(found) or "none"
        raise NotFound(f"{server.name} has no tool {name!r}; it lists {there}.")
    return found[name]


def _allow(listed: ListedTool, *, harmless: bool) -> AllowedTool:
    from agentkit.mcp.servers import AllowedTool

    marked = AllowedTool(listed.name, listed.description, listed.parameters)
    return replace(marked, marked="harmless") if harmless else marked
