"""The test of a connection: it runs beside the page, can be cancelled, and shows what it found."""

from __future__ import annotations

import streamlit as st

from agentkit import runs
from agentkit.core.address import without_login
from agentkit.core.given import join_filled
from agentkit.errors import AgentkitError, Stopped
from agentkit.llm import Connection
from agentkit.llm.connections.config import keep_found
from agentkit.llm.connections.contexts import Context
from agentkit.llm.connections.discover import PROBE_S, TESTER, Probe, probe
from agentkit.runs import Run
from agentkit.ui.shared import looks, state
from agentkit.ui.text import figures, markdown

POLL_S = 0.3
KIND = "probe"


def begin(connection: Connection) -> None:
    """Start the test of a connection; one of it that goes on is cancelled."""
    settings = state.workspace().settings
    forget(connection.name)

    def work() -> Probe:
        found = probe(connection)
        keep_found(settings, found.add_sizes(connection))
        return found

    with state.workspace().counted(
        state.owner(), TESTER, "test"
    ):  # the run hears what is heard here
        run = runs.start(work, kind=KIND, title=connection.name, owner=state.owner())
    st.session_state[_key(connection.name)] = run


def forget(name: str) -> None:
    """Cancel the test of the connection of that name, if one goes on, and show nothing of it."""
    run: Run[Probe] | None = st.session_state.pop(_key(name), None)
    if run is not None:
        run.stop()


def draw(connection: Connection) -> None:
    """How far the test of this connection is, or what came of it; nothing when there was none."""
    run: Run[Probe] | None = st.session_state.get(_key(connection.name))
    if run is None:
        return
    if not run.ended:
        _draw_waiting(connection.name, without_login(connection.base_url), run)
        return
    try:
        draw_probe(run.result())
    except Stopped:
        st.info("The test was cancelled.", icon=":material/block:")
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")


@st.fragment(run_every=POLL_S)
def _draw_waiting(name: str, address: str, run: Run[Probe]) -> None:
    if run.ended:
        st.rerun()
    with (
        looks.drawing(lambda: looks.state_of(run)),
        st.container(horizontal=True, vertical_alignment="center"),
    ):
        text = f"Asking {markdown.literal(address)}, for {PROBE_S:g} s at most"
        st.markdown(f":material/hourglass_top: {text}", width="stretch")
        label = "Cancelling" if run.stopping else "Cancel"
        st.button(
            label,
            key=f"cancel-{name}",
            icon=":material/stop_circle:",
            type="tertiary",
            on_click=run.stop,
            disabled=run.stopping,
        )


def draw_probe(result: Probe) -> None:
    """Each step of a test with its time and what came of it, word for word; then the sizes."""
    for step in result.steps:
        name, detail = markdown.literal(step.name), markdown.literal(step.detail)
        text = f"**{name}**, {figures.seconds(step.seconds)}: {detail}"
        if step.ok:
            st.success(text, icon=":material/check_circle:")
        else:
            st.error(text, icon=":material/error:")
    for model, found in result.contexts.items():
        is_unknown = found.cuts and found.tokens is None
        if found.is_less or is_unknown:
            text = f"**{markdown.literal(model)}**: {markdown.literal(context_in_words(found))}"
            st.warning(text, icon=":material/content_cut:")
    if result.models:
        _draw_models(result)


def _draw_models(result: Probe) -> None:
    sizes = {
        model: f": {markdown.literal(context_in_words(found))}"
        for model, found in result.contexts.items()
    }
    for model, size in result.dimensions.items():
        sizes[model] = f": vectors of {figures.count(size, 'number')}"
    title = f"The server offers {figures.count(len(result.models), 'model')}"
    with st.expander(title, type="compact"):
        listed = [markdown.literal(model) + sizes.get(model, "") for model in sorted(result.models)]
        st.markdown("\n".join(f"- {model}" for model in listed))


def context_in_words(found: Context) -> str:
    """How much the model takes, and what happens to more."""
    trained = ""
    if found.trained:
        trained = f"the model was made for {found.trained:,}"
    if found.tokens is None:
        given = "the server does not tell how many tokens it gives the model"
        parts = [given, trained]
    else:
        given = figures.count(found.tokens, "token")
        parts = [given, trained if found.is_less else ""]
    words = join_filled("; ", parts)
    if not (found.is_less or (found.cuts and found.tokens is None)):
        return words
    if found.cuts:
        return (
            f"{words}. Longer questions lose their beginning without an error. "
            "For more, start Ollama with OLLAMA_CONTEXT_LENGTH set, for example to 32768."
        )
    return f"{words}. For more, load the model with a longer context on the server."


def _key(name: str) -> str:
    return f"probe-{name}"
