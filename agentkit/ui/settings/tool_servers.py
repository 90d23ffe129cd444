"""Servers of tools that speak MCP: added, confirmed, tested, and what teams may use of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, starmap

import streamlit as st

from agentkit.core.given import list_missing
from agentkit.core.text import shorten
from agentkit.errors import AgentkitError, ConfigError
from agentkit.mcp.connecting import open_connection
from agentkit.mcp.servers import (
    AllowedTool,
    ListedTool,
    Marked,
    ToolServer,
    ToolServers,
    parse_command,
    parse_pairs,
)
from agentkit.ui.shared import dialogs, state
from agentkit.ui.text import figures, markdown

_ADD, _START, _REMOVE = "Add an MCP server", "Start the command", "Remove the MCP server"
_KINDS = {"address": "At an address", "program": "A program on this machine"}
_MARKS: Mapping[Marked, str] = {"dangerous": "Dangerous: asks", "harmless": "Harmless"}
_OPEN = (
    "This app serves other machines, and nobody logs in. So no command can be added or confirmed"
    " here: start the app for this machine alone, without AGENTKIT_OPEN, and add it there."
)
_MARK_WIDTH = 170  # pixels
_NAMED = 8
"""Tools that are named where all are counted."""
_LONGEST = 300
"""Characters of a description."""


def draw_tool_servers() -> None:
    """The list, each server with its tools, and the dialog that is open."""
    st.subheader("MCP servers", anchor=False)
    servers = ToolServers(state.workspace().settings.data)
    try:
        known = servers.all()
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return
    if not known:
        st.caption(
            "Programs and addresses that offer tools to agents, by the Model Context Protocol."
            " None yet; nothing of a server runs before you have seen and confirmed it."
        )
    for server in known:
        _draw_server(servers, server)
    st.button(
        "Add an MCP server",
        key="add-tool-server",
        icon=":material/add:",
        on_click=_ask,
        args=(_ADD,),
    )
    _draw_dialog(servers)


def _ask(name: str, subject: object = None) -> None:
    dialogs.ask(name, subject)


def _draw_dialog(servers: ToolServers) -> None:
    name, subject = dialogs.read_open()
    if name == _ADD:
        _add(servers)
    if isinstance(subject, ToolServer) and name in _DIALOGS:
        _DIALOGS[name](servers, subject)


def _draw_server(servers: ToolServers, server: ToolServer) -> None:
    name = server.name
    with st.container(border=True, gap="xsmall", key=f"tool-server-{name}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f":material/extension: **{markdown.literal(name)}**", width="stretch")
            _draw_ways(server)
        st.code(server.where, language=None, wrap_lines=True)
        st.caption(_describe(server))
        listed = st.session_state.get(_key(name))
        if isinstance(listed, str):
            st.error(markdown.literal(listed), icon=":material/error:")
        if isinstance(listed, list):
            _draw_tools(servers, server, listed)


def _draw_ways(server: ToolServer) -> None:
    """What can be done with it: seen before it is started, then tested, and removed."""
    name = server.name
    if server.may_start:
        st.button(
            "List its tools",
            key=f"test-tools-{name}",
            icon=":material/network_check:",
            on_click=_list_tools,
            args=(server,),
        )
    else:
        st.button(
            "See and start",
            key=f"start-tools-{name}",
            icon=":material/play_arrow:",
            on_click=_ask,
            args=(_START, server),
        )
    st.button(
        f"Remove {markdown.literal(name)}",
        key=f"remove-tools-{name}",
        icon=":material/delete:",
        type="tertiary",
        on_click=_ask,
        args=(_REMOVE, server),
    )


def _describe(server: ToolServer) -> str:
    told = _describe_allowed(server)
    if server.may_start:
        return told
    return f"not confirmed: nothing of it has run · {told}"


def _describe_allowed(server: ToolServer) -> str:
    """How many of its tools teams may use, and the first of them."""
    if not server.tools:
        return "nothing of it is allowed yet"
    count, names = len(server.tools), ", ".join(islice(server.tools, _NAMED))
    more = f" and {count - _NAMED:,} more" if count > _NAMED else ""
    return f"{figures.count(count, 'tool')} allowed to teams: {markdown.literal(names)}{more}"


def _key(name: str) -> str:
    return f"tools-listed-{name}"


def _list_tools(server: ToolServer) -> None:
    """Ask the server, and keep what it lists, or why it does not."""
    try:
        with open_connection(server) as opened:
            st.session_state[_key(server.name)] = opened.list_tools()
    except AgentkitError as error:
        st.session_state[_key(server.name)] = str(error)


def _draw_tools(servers: ToolServers, server: ToolServer, listed: Sequence[ListedTool]) -> None:
    """Each tool with a box that allows it; what it says of itself binds nobody."""
    gone = list_missing(server.tools, {one.name for one in listed})
    for name in gone:
        st.warning(f"{markdown.literal(name)} is there no more.", icon=":material/warning:")
    if not listed:
        st.caption("It lists no tools.")
        return
    with st.form(f"allow-tools-{server.name}", border=False):
        for tool in listed:
            _draw_tool(server, tool)
        if st.form_submit_button(
            "Allow what is ticked", key=f"allow-{server.name}", icon=":material/check:"
        ):
            _allow(servers, server, listed)


def _draw_tool(server: ToolServer, tool: ListedTool) -> None:
    known, key = server.tools.get(tool.name), f"{server.name}-{tool.name}"
    is_same = known is not None and known.listed.digest == tool.digest
    with st.container(horizontal=True, vertical_alignment="top", gap="small"):
        with st.container(gap=None, width="stretch"):
            st.checkbox(
                f"**{markdown.literal(tool.name)}**",
                is_same,
                key=f"tool-allowed-{key}",
                disabled=bool(tool.problem),
            )
            st.caption(_describe_tool(tool))
        st.selectbox(
            f"{tool.name} is",
            list(_MARKS),
            list(_MARKS).index(known.marked) if known else 0,
            format_func=_MARKS.__getitem__,
            key=f"tool-marked-{key}",
            label_visibility="collapsed",
            width=_MARK_WIDTH,
        )
    if known is not None and not is_same:
        _draw_change(known, tool)


def _describe_tool(tool: ListedTool) -> str:
    if tool.problem:
        return f":red[It cannot be allowed: {markdown.literal(tool.problem)}.]"
    names = ", ".join(map(str, tool.parameters.get("properties", {}))) or "nothing"
    about = shorten(tool.description, _LONGEST)
    return markdown.literal(f"{about or 'It says nothing of itself.'} Takes: {names}.")


def _draw_change(known: AllowedTool, tool: ListedTool) -> None:
    """What the server said of it before, so that the change is seen."""
    st.warning(
        "It says something else of itself than when you allowed it, so it is not called. Look at"
        " it, and allow it again if it is right.",
        icon=":material/warning:",
    )
    before, now = known.listed, tool
    told = f"before: {before.description}\n{before.parameters}\n\nnow: {now.description}"
    st.code(f"{told}\n{now.parameters}", language=None, wrap_lines=True)


def _allow(servers: ToolServers, server: ToolServer, listed: Sequence[ListedTool]) -> None:
    marked = [one for one in listed if st.session_state[f"tool-allowed-{server.name}-{one.name}"]]
    tools = [
        AllowedTool(
            one.name,
            one.description,
            one.parameters,
            st.session_state[f"tool-marked-{server.name}-{one.name}"],
        )
        for one in marked
    ]
    try:
        servers.allow(server.name, tools)
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return
    st.session_state.pop(_key(server.name), None)
    st.rerun()


@dialogs.dialog(_ADD)
def _add(servers: ToolServers) -> None:
    """Ask for a server; nothing is started or sent."""
    kind = st.segmented_control(
        "What it is",
        list(_KINDS),
        format_func=_KINDS.__getitem__,
        key="tool-server-kind",
        default="address",
        required=True,
    )
    if kind == "program" and state.workspace().settings.open:
        st.warning(_OPEN, icon=":material/warning:")
        return
    with st.form("tool-server", border=False):
        name = st.text_input("Name", key="tool-server-name", max_chars=40, placeholder="files")
        read = _ask_program if kind == "program" else _ask_address
        given = read()
        saved = st.form_submit_button("Save", type="primary", key="save-tool-server")
    if saved:
        _save(servers, name.strip(), kind == "program", given)


def _ask_program() -> tuple[str, str]:
    command = st.text_area(
        "Command",
        key="tool-server-command",
        placeholder="npx -y @modelcontextprotocol/server-everything",
        help="As in a shell, but no shell runs it. You see it once more before its first start.",
    )
    variables = st.text_area(
        "Variables, NAME=value, one a line",
        key="tool-server-variables",
        help="It gets these, PATH, HOME and what names the user; nothing else of yours.",
    )
    return command, variables


def _ask_address() -> tuple[str, str]:
    url = st.text_input("Address", key="tool-server-url", placeholder="https://example.com/mcp")
    headers = st.text_area(
        "Headers, Name: value, one a line",
        key="tool-server-headers",
        help="Such as Authorization. Stored in the data folder, never shown again.",
    )
    return url, headers


def _save(servers: ToolServers, name: str, is_program: bool, given: tuple[str, str]) -> None:
    where, pairs = given
    try:
        if name in {one.name for one in servers.all()}:
            raise ConfigError(f"There is a server {name} already; choose another name.")
        if is_program:
            command, variables = parse_command(where), parse_pairs(pairs, "=")
            servers.save(ToolServer(name, command, variables))
        else:
            servers.save(ToolServer(name, url=where.strip(), headers=parse_pairs(pairs, ":")))
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return
    dialogs.close()
    st.rerun()


@dialogs.dialog("Start this command?")
def _confirm(servers: ToolServers, server: ToolServer) -> None:
    """The whole command, before it is started for the first time."""
    st.markdown(
        f"**{markdown.literal(server.name)}** runs as a program of yours: it can do what you can"
        " do on this machine. It gets none of your keys and variables but these."
    )
    # A space that does not break keeps a number with its argument on a narrow screen.
    shown = "\n".join(starmap("{}:\u00a0{}".format, enumerate(server.command)))
    st.code(shown, language=None, wrap_lines=True)
    names = ", ".join(server.environment) or "none"
    st.caption(f"Variables: {markdown.literal(names)}")
    if state.workspace().settings.open:
        st.warning(_OPEN, icon=":material/warning:")
        return
    if dialogs.confirm("start-tool-server", "Start it", ":material/play_arrow:", "Not now"):
        try:
            servers.confirm(server.name, server.digest)
        except AgentkitError as error:
            st.error(markdown.literal(str(error)), icon=":material/error:")
            return
        with st.spinner("Starting it"):
            _list_tools(servers.find(server.name))
        dialogs.close()
        st.rerun()


@dialogs.dialog("Remove the MCP server?")
def _remove(servers: ToolServers, server: ToolServer) -> None:
    st.markdown(
        f"**{markdown.literal(server.name)}** and what was allowed of it are forgotten. Teams that"
        " name its tools go on without them."
    )
    if dialogs.confirm("remove-tool-server", "Remove"):
        servers.remove(server.name)
        st.session_state.pop(_key(server.name), None)
        dialogs.close()
        st.rerun()


_DIALOGS = {_START: _confirm, _REMOVE: _remove}
