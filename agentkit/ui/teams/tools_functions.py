"""The tools that agents can be given, and functions that are written in the page: what a model is
told of one, and a call to try it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from agentkit.coding.chat_kernel.kernel import CellResult, is_available
from agentkit.core.tools import Written, effects_of, parse_arguments, read_function
from agentkit.errors import AgentkitError
from agentkit.mcp.servers import ToolServers
from agentkit.teams.built.agents import WrittenFunction
from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.offers.catalog import CATALOG, FETCH, RUN
from agentkit.teams.own_tools import load_tools
from agentkit.ui.shared import state
from agentkit.ui.teams.consequences import Path
from agentkit.ui.teams.fields import list_fields
from agentkit.ui.teams.forms import CODE_FONT, Field, Form, draw_rows
from agentkit.ui.text import markdown
from agentkit.workspace.kernels import call_function

_KINDS = {True: "harmless", False: "asks first"}
_ABOUT = 100
"""Characters of what a server says of a tool."""
_SHOWN = 5_000
"""Characters of a result."""
_ENDED = {
    "ok": (":material/check:", "It gave this"),
    "error": (":material/error:", "It failed"),
    "timeout": (":material/timer_off:", "It took too long, and was interrupted"),
    "died": (":material/error:", "It was ended"),
}


def find_tools() -> dict[str, str]:
    """The tools that there are for every team, by name, each with what is told of it."""
    settings = state.workspace().settings
    off = set() if settings.fetch_pages else {FETCH}
    off |= set() if is_available() else {RUN}
    found = {
        name: f"{name} ({_KINDS[about.harmless]}): {about.text}"
        for name, about in CATALOG.items()
        if name not in off
    }
    return found | _find_own(settings.tools) | _find_served()


def _find_own(setting: str) -> dict[str, str]:
    """The functions of AGENTKIT_TOOLS."""
    try:
        own = load_tools(setting)
    except AgentkitError as error:
        st.warning(markdown.literal(str(error)), icon=":material/warning:")
        return {}
    return {
        tool.__name__: f"{tool.__name__} ({_KINDS[effects_of(tool) == 'none']}): of AGENTKIT_TOOLS"
        for tool in own
    }


def _find_served() -> dict[str, str]:
    """What the Settings page allows of MCP servers."""
    try:
        servers = ToolServers(state.workspace().settings.data).all()
    except AgentkitError as error:
        st.warning(markdown.literal(str(error)), icon=":material/warning:")
        return {}
    told: dict[str, str] = {}
    for server in servers:
        for tool in server.tools.values():
            name, kind = f"{server.name}/{tool.name}", _KINDS[tool.marked == "harmless"]
            told[name] = f"{name} ({kind}): {_shorten(tool.description)}"
    return told


def _shorten(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _ABOUT else f"{words[:_ABOUT]}…"


def describe_tools(tools: Mapping[str, str], document: Mapping[str, Any]) -> dict[str, str]:
    """Those for every team, and the functions of this one."""
    written = {
        str(one.get("name")): f"{one.get('name')}: a function of this team"
        for one in document.get("functions") or []
    }
    return {**tools, **written}


def draw_functions(form: Form) -> None:
    """The functions of the team, each folded."""
    if form.fixed and not form.value(("functions",)):
        return
    st.subheader("Functions of its own", anchor=False)
    st.caption(
        "Python that agents call as tools. It runs in the kernel of the chat, in isolation and"
        " without network; nothing of it runs while you look at or import a team."
    )
    if not (available := is_available()):
        st.warning(
            f"Functions stay off here. {markdown.literal(available.reason)}",
            icon=":material/warning:",
        )
    known = next(one for one in list_fields(TeamDocument) if one.key == "functions")
    draw_rows(Field(form, TeamDocument, known, ("functions",)))


def draw_below(form: Form, path: Path) -> None:
    """Below the fields of one function: what a model is told, and the place to try it."""
    value = form.value(path)
    try:
        told = read_function(str(value.get("code", "")), str(value.get("name", "")))
    except AgentkitError:  # told beside the code
        return
    _draw_told(told)
    if form.fixed:
        return
    key = form.draft.spot("call", *path)
    st.html(CODE_FONT)
    st.text_area("Arguments (JSON)", _suggest(told), key=f"{key}-given", height=90)
    pressed = st.button(
        "Test it",
        key=f"{key}-go",
        icon=":material/play_arrow:",
        disabled=not is_available(),
    )
    if pressed:
        st.session_state[key] = _call(value, str(st.session_state[f"{key}-given"]))
    if (result := st.session_state.get(key)) is not None:
        _draw_result(result)


def _draw_told(told: Written) -> None:
    properties = told.parameters["properties"]
    lines = [f"- `{name}`: {_describe(schema)}" for name, schema in properties.items()]
    takes = "\n".join(lines) or "It takes nothing."
    st.caption(f"The model is told what its docstring says, and that it takes:\n{takes}")


def _describe(schema: dict[str, Any]) -> str:
    kind = schema.get("type") or ("one of several" if "anyOf" in schema else "a value")
    return markdown.literal(f"{kind}, {schema.get('description', '')}".removesuffix(", "))


def _suggest(told: Written) -> str:
    """Arguments to begin with: what is needed, as empty as it can be."""
    examples = {"string": '""', "integer": "1", "number": "1.0", "boolean": "true", "array": "[]"}
    properties = told.parameters["properties"]
    given = [
        f'"{name}": {examples.get(properties[name].get("type"), "{}")}'
        for name in told.parameters["required"]
    ]
    return f"{{{', '.join(given)}}}"


def _call(value: dict[str, Any], text: str) -> CellResult | str:
    """What came of it, or why it was not called."""
    try:
        function = WrittenFunction.model_validate(value)
        with st.spinner("Running it"):
            return call_function(state.workspace().settings.data, function, parse_arguments(text))
    except (AgentkitError, ValueError) as error:
        return str(error)


def _draw_result(result: CellResult | str) -> None:
    if isinstance(result, str):
        st.error(markdown.literal(result), icon=":material/error:")
        return
    icon, told = _ENDED[result.status]
    st.caption(f"{icon} {told} ({result.seconds:.1f} s):")
    text = result.text().strip()
    more = len(text) - _SHOWN
    rest = f"\n[and {more:,} characters more]" if more > 0 else ""
    st.code(f"{text[:_SHOWN]}{rest}" or "(nothing)", language=None, wrap_lines=True)
