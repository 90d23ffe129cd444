"""Functions that are written in the page: what a model is told of one, and a call to try it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import chain, starmap
from operator import itemgetter
from typing import Any

import streamlit as st

from agentkit.coding.chat_kernel.kernel import CellResult, is_available
from agentkit.core.tools import Written, parse_arguments, read_function
from agentkit.errors import AgentkitError
from agentkit.teams.built.agents import WrittenFunction
from agentkit.teams.built.document import TeamDocument
from agentkit.ui.shared import state
from agentkit.ui.teams.consequences import Path
from agentkit.ui.teams.fields import list_fields
from agentkit.ui.teams.forms import CODE_FONT, Field, Form, draw_rows
from agentkit.ui.text import markdown
from agentkit.workspace.kernels import call_function

_EXAMPLES = {"string": '""', "integer": "1", "number": "1.0", "boolean": "true", "array": "[]"}
"""What an argument may be, by its type."""
_SHOWN = 5_000
"""Characters of a result."""
_ENDED = {
    "ok": (":material/check:", "It gave this"),
    "error": (":material/error:", "It failed"),
    "timeout": (":material/timer_off:", "It took too long, and was interrupted"),
    "died": (":material/error:", "It was ended"),
}


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
    draw_rows(Field(form, TeamDocument, known, ("functions",)), headed=False)


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
    _draw_owners(form, str(value["name"]))
    key = form.draft.spot("call", *path)
    _suggest(told, key)
    st.html(CODE_FONT)
    st.text_area("Arguments (JSON)", key=f"{key}-given", height=90)
    pressed = st.button(
        "Test it",
        key=f"{key}-go",
        icon=":material/play_arrow:",
        disabled=not is_available(),
    )
    if pressed:
        given = str(st.session_state[f"{key}-given"])
        st.session_state[key] = dict(value), _call(value, given)
    tried, result = st.session_state.get(key, (None, None))
    if tried == value:  # else it is of the code before, or of the function that stood here
        _draw_result(result)


def _draw_told(told: Written) -> None:
    takes = "\n".join(starmap(_describe, told.parameters["properties"].items()))
    takes = takes or "- nothing"
    st.caption(f"The model is told what its docstring says, and that it takes:\n{takes}")


def _describe(name: str, schema: Mapping[str, Any]) -> str:
    told = f"- `{name}`: {schema.get('type', 'a value')}"
    about = schema.get("description", name)
    return told if about == name else f"{told}, {markdown.literal(about)}"


def _draw_owners(form: Form, name: str) -> None:
    """Where it is to be given to an agent, as long as none has it."""
    given = chain.from_iterable(map(_list_tools, form.value(("agents",))))
    if name not in given:
        st.caption(
            "No agent may call it yet: open one above, and choose it in *Add a tool*.",
        )


def _list_tools(agent: Mapping[str, Any]) -> list[str]:
    return list(map(itemgetter("name"), agent.get("tools", ())))


def _suggest(told: Written, key: str) -> None:
    """Arguments to begin with: what is needed, as empty as it can be; what a person wrote stays."""
    needed = map(partial(_suggest_one, told), told.parameters["required"])
    suggested = f"{{{', '.join(needed)}}}"
    before = st.session_state.get(f"{key}-suggested")
    st.session_state[f"{key}-suggested"] = suggested
    if st.session_state.get(f"{key}-given", before) == before:
        st.session_state[f"{key}-given"] = suggested


def _suggest_one(told: Written, name: str) -> str:
    kind = told.parameters["properties"][name].get("type")
    return f'"{name}": {_EXAMPLES.get(kind, "{}")}'


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
    st.code(_cut(result.text().strip()) or "(nothing)", language=None, wrap_lines=True)


def _cut(text: str) -> str:
    more = len(text) - _SHOWN
    if more <= 0:
        return text
    return f"{text[:_SHOWN]}\n[and {more:,} characters more]"
