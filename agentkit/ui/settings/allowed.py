"""The tools of one's own on the settings page: what each may change, and whether it runs unasked."""

from __future__ import annotations

import streamlit as st

from agentkit.core.tools import effects_of
from agentkit.errors import AgentkitError
from agentkit.teams.allowed import AllowedTools
from agentkit.teams.own_tools import own_tools
from agentkit.ui.shared import state
from agentkit.ui.text import markdown


def draw_tools() -> None:
    """Draw a row for each tool, with a button that takes a permission back."""
    settings = state.workspace().settings
    allowed = AllowedTools(settings.data)
    try:
        always = allowed.names()
        tools = {tool.__name__: effects_of(tool) for tool in own_tools(settings.tools)}
    except AgentkitError as error:
        st.error(str(error), icon=":material/error:")
        return
    if not tools and not always:
        st.caption(
            "Agents use the tools that come with agentkit. Set `AGENTKIT_TOOLS` to a Python file "
            "before the start to let them call your own functions, too."
        )
        return
    for name in sorted({*tools, *always}):
        _draw_tool(name, tools.get(name), allowed if name in always else None)


def _draw_tool(name: str, effects: str | None, allowed: AllowedTools | None) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        told = "runs without asking: it changes nothing" if effects == "none" else "asks before it runs"
        if allowed is not None:
            told = "runs without asking: you always allow it"
        elif effects is None:
            told = "is not there now"
        st.markdown(f"**{markdown.literal(name)}** {told}.", width="stretch")
        if allowed is not None:
            label = "Ask again"
            st.button(label, key=f"ask-again-{name}", on_click=allowed.remove, args=(name,))
