"""The tools that agents can be given, and what is told of each where one is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from agentkit.coding.chat_kernel.kernel import is_available
from agentkit.core.text import shorten
from agentkit.core.tools import effects_of
from agentkit.errors import AgentkitError
from agentkit.mcp.servers import ToolServers
from agentkit.settings import Settings
from agentkit.teams.built.offers.catalog import CATALOG, FETCH, RUN
from agentkit.teams.own_tools import load_tools
from agentkit.ui.shared import state
from agentkit.ui.text import markdown

_MARKS = {"harmless": "Harmless", "dangerous": "Dangerous"}
WORDS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("ToolUse", "approval"): {
        "always": "Always",
        "first": "First time in a chat",
        "never": "Never",
    },
    ("ToolUse", "marked"): {"as_declared": "As declared", **_MARKS},
    ("WrittenFunction", "marked"): _MARKS,
}
"""What values of a tool are called, by part and field."""
_KINDS = {True: "harmless", False: "asks first"}
_ABOUT = 100
"""Characters of what a server says of a tool."""
Told = Iterator[tuple[str, str]]


def find_tools() -> dict[str, str]:
    """The tools that there are for every team, by name, each with what is told of it."""
    settings = state.workspace().settings
    told = dict(_tell_built_in(settings))
    told |= _read(partial(_tell_own, settings.tools))
    told |= _read(partial(_tell_served, settings.data))
    return told


def _read(tell: Callable[[], Told]) -> dict[str, str]:
    """What there is of one kind; the page says what keeps it from being read."""
    try:
        return dict(tell())
    except AgentkitError as error:
        st.warning(markdown.literal(str(error)), icon=":material/warning:")
        return {}


def _tell(name: str, harmless: bool, text: str) -> tuple[str, str]:
    kind = _KINDS[harmless]
    return name, f"{name} ({kind}): {text}"


def _tell_built_in(settings: Settings) -> Told:
    """Those that come with agentkit, but for what is off in this installation."""
    is_on = {FETCH: settings.fetch_pages, RUN: bool(is_available())}
    for name, about in CATALOG.items():
        if is_on.get(name, True):
            yield _tell(name, about.harmless, about.text)


def _tell_own(setting: str) -> Told:
    """The functions of AGENTKIT_TOOLS."""
    tools = load_tools(setting)
    for tool in tools:
        is_harmless = effects_of(tool) == "none"
        yield _tell(tool.__name__, is_harmless, "of AGENTKIT_TOOLS")


def _tell_served(data: Path) -> Told:
    """What the Settings page allows of MCP servers."""
    servers = ToolServers(data).all()
    for server in servers:
        for tool in server.tools.values():
            name = f"{server.name}/{tool.name}"
            is_harmless = tool.marked == "harmless"
            about = shorten(tool.description, _ABOUT)
            yield _tell(name, is_harmless, about)


def describe_tools(tools: Mapping[str, str], document: Mapping[str, Any]) -> dict[str, str]:
    """Those for every team, and the functions of this one."""
    written = {}
    functions = document.get("functions", ())
    for one in functions:
        name = str(one.get("name"))
        written[name] = f"{name}: a function of this team"
    return {**tools, **written}
