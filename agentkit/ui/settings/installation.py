"""What the app stands on: the tools of one's own, answers that broke off, the data folder and its
health, the versions.
"""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import streamlit as st

from agentkit.core.address import without_login
from agentkit.core.tools import effects_of
from agentkit.errors import AgentkitError
from agentkit.settings import choose, origins
from agentkit.teams.allowed import AllowedTools
from agentkit.teams.own_tools import load_tools
from agentkit.ui.shared import state
from agentkit.ui.text import figures, markdown, times

_FOLLOWUPS = "followups-choice"
_WAYS = {"off": "Off", "headings": "From headings", "model": "Drafted by the model"}
_PACKAGES = ("streamlit", "duckdb", "torch", "hnswlib", "tantivy", "openai", "pypdfium2")


def draw_tools() -> None:
    """A row for each tool of one's own: whether it runs unasked, with a button that takes that
    back.
    """
    settings = state.workspace().settings
    allowed = AllowedTools(settings.data)
    try:
        always = allowed.names()
        tools = {tool.__name__: effects_of(tool) for tool in load_tools(settings.tools)}
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
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
        told = (
            "runs without asking: it changes nothing"
            if effects == "none"
            else "asks before it runs"
        )
        if allowed is not None:
            told = "runs without asking: you always allow it"
        elif effects is None:
            told = "is not there now"
        st.markdown(f"**{markdown.literal(name)}** {told}.", width="stretch")
        if allowed is not None:
            label = "Ask again"
            st.button(label, key=f"ask-again-{name}", on_click=allowed.remove, args=(name,))


def draw_fetching() -> None:
    """Whether agents may fetch pages of the web."""
    _draw_switch(
        "fetch_pages",
        "Agents may fetch pages of the public web",
        "With the tool fetch_page, in teams that you give it to; you are asked before each"
        " address, unless the team says otherwise. Private addresses and this machine are refused.",
    )


def draw_resuming() -> None:
    """Whether answers that broke off when the app was closed go on by themselves."""
    _draw_switch(
        "resume",
        "Go on by itself with answers that broke off when the app was closed",
        "At the next start, once for each answer. Otherwise *Continue* below it does that."
        " What waits for you waits on in any case.",
    )


def _draw_switch(name: str, label: str, about: str) -> None:
    """A setting that is on or off, unless the environment says which."""
    given, key = origins().get(name), f"{name}-switch"
    st.session_state[key] = getattr(state.workspace().settings, name)
    st.toggle(
        label,
        key=key,
        on_change=lambda: _keep(name, st.session_state[key] or None),
        disabled=given is not None,
        help=about,
    )
    if given:
        st.caption(f"Set by {markdown.literal(given)}, which wins over a choice here.")


def _keep(name: str, value: str | bool | None) -> None:
    workspace = state.workspace()
    try:
        chosen = choose(workspace.settings, name, value)
    except (AgentkitError, OSError) as error:
        st.toast(markdown.literal(f"It could not be kept: {error}"), icon=":material/error:")
    else:
        workspace.adopt(chosen)


def draw_followups() -> None:
    """What may be asked after an answer, and what that costs."""
    given = origins().get("followups")
    chosen = state.workspace().settings.followups
    st.session_state[_FOLLOWUPS] = chosen if chosen in _WAYS else "headings"
    st.segmented_control(
        "Questions to go on with, below an answer",
        list(_WAYS),
        format_func=_WAYS.__getitem__,
        key=_FOLLOWUPS,
        on_change=_keep_followups,
        disabled=given is not None,
        required=True,
        help="From headings: of the passages that were found, which costs nothing. Drafted by the"
        " model: one more call after each answer, which does not delay it; the Usage page counts"
        " these calls apart.",
    )
    if given:
        st.caption(f"Set by {markdown.literal(given)}, which wins over a choice here.")


def _keep_followups() -> None:
    _keep("followups", st.session_state[_FOLLOWUPS])


def draw_store() -> None:
    """The data folder, its size, and whether database and indexes agree."""
    workspace = state.workspace()
    st.markdown(f"Data folder: **{markdown.literal(str(workspace.settings.data.resolve()))}**")
    st.caption(
        f"Database {figures.size(workspace.database.bytes())} · embedder"
        f" {markdown.literal(workspace.library.embedder.name)} · the folder is chosen with the"
        " environment variable AGENTKIT\\_DATA"
    )
    with st.spinner("Checking the store"):
        try:
            problems = workspace.library.check()
        except AgentkitError as error:
            st.error(markdown.literal(str(error)), icon=":material/error:")
            return
    if not problems:
        st.success(
            "The database, the indexes and the originals agree.", icon=":material/check_circle:"
        )
    for problem in problems:
        st.error(
            f"{markdown.literal(problem.what)} **{markdown.literal(problem.advice)}**",
            icon=":material/error:",
        )


def draw_spans() -> None:
    """Whether finished runs are sent to an OpenTelemetry endpoint, and how that goes."""
    status = state.workspace().spans.status()
    if not status.endpoint:
        st.caption(
            "Finished runs are kept here alone. Set `AGENTKIT_OTLP_ENDPOINT` before the start to"
            " send them as OpenTelemetry spans, without what was asked and answered."
        )
        return
    st.markdown(f"Finished runs go to **{markdown.literal(without_login(status.endpoint))}**")
    last = "nothing so far"
    if status.last_sent:
        last = times.format_time(status.last_sent)
    st.caption(f"Last sent: {last} · {figures.count(status.waiting, 'run')} waiting")
    if status.problem:
        st.error(markdown.literal(status.problem), icon=":material/error:")
    if status.refused:
        refused = figures.count(status.refused, "run")
        st.warning(f"{refused} refused for good: {markdown.literal(status.refusal)}")


def draw_versions() -> None:
    """What is installed."""
    found = [
        f"Python {platform.python_version()}",
        *(f"{name} {_version(name)}" for name in _PACKAGES),
    ]
    st.caption(" · ".join(found))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
