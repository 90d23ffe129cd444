"""The model servers: which there are, adding and changing them, and a test that shows the exact error."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from agentkit.core.address import without_login
from agentkit.errors import AgentkitError
from agentkit.llm import Connection, connections, delete_connection, save_connection
from agentkit.llm.config import key_for
from agentkit.llm.discover import TESTER, Probe, discover, probe
from agentkit.ui import dialogs, figures, markdown, state

_FOUND = "found-servers"
_NO_KEY = "empty when the server wants none"
_WHERE = {"environment": "set by the environment or the secrets file, changed there", "saved": "saved here"}


def draw_connections() -> None:
    """The list, the ways to make it longer, and the dialog that is open."""
    try:
        known = connections(state.workspace().settings)
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return
    with st.container(border=True, gap="xsmall"):
        st.markdown(":material/offline_bolt: **Offline**")
        st.caption(
            "Always there, free, on this machine. It is no language model: it quotes the sentences of your documents that answer."
        )
    for connection in known:
        _draw_connection(connection)
    with st.container(horizontal=True):
        st.button(
            "Add a connection", key="add-connection", icon=":material/add:", type="primary",
            on_click=dialogs.ask, args=("Edit", Connection("", "")),
        )  # fmt: skip
        if st.button("Find local servers", key="find-servers", icon=":material/radar:"):
            with st.spinner("Asking the usual ports of this machine"):
                st.session_state[_FOUND] = discover()
    _draw_found(known)
    name, subject = dialogs.asked()
    if name == "Edit" and isinstance(subject, Connection):
        _edit(subject, known)
    elif name == "Delete" and isinstance(subject, Connection):
        _delete(subject)


def _draw_connection(connection: Connection) -> None:
    name = connection.name
    with st.container(border=True, gap="xsmall", key=f"connection-{name}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f":material/dns: **{markdown.literal(name)}**", width="stretch")
            tested = st.button("Test", key=f"test-{name}", icon=":material/network_check:")
            if connection.source == "saved":
                icon, about = ":material/more_horiz:", f"Edit or delete {markdown.literal(name)}"
                menu = f"menu-{name}"

                def manage() -> None:
                    dialogs.ask(st.session_state[menu], connection)

                st.menu_button("", ["Edit", "Delete"], key=menu, icon=icon, type="tertiary", help=about, on_click=manage)
        models = ", ".join(markdown.literal(model) for model in connection.models) or "the first that the server lists"
        key = "a key is set" if connection.api_key else "no key"
        st.caption(f"{markdown.literal(without_login(connection.base_url))} · {key} · {_WHERE.get(connection.source, '')}")
        st.caption(f"Models: {models}")
        for kind, names in (("Embedding models", connection.embedding_models), ("Rerankers", connection.reranker_models)):
            if names:
                st.caption(f"{kind}: {', '.join(markdown.literal(model) for model in names)}")
        if tested:
            counted = state.workspace().counted(state.owner(), TESTER, "test")
            with st.spinner(f"Asking {markdown.literal(without_login(connection.base_url))}"), counted:
                st.session_state[f"probe-{name}"] = probe(connection)
        if result := st.session_state.get(f"probe-{name}"):
            draw_probe(result)


def draw_probe(result: Probe) -> None:
    """Each step of a test with its time and what came of it, word for word."""
    for step in result.steps:
        icon = ":material/check_circle:" if step.ok else ":material/error:"
        text = f"**{markdown.literal(step.name)}**, {figures.seconds(step.seconds)}: {markdown.literal(step.detail)}"
        if step.ok:
            st.success(text, icon=icon)
        else:
            st.error(text, icon=icon)
    if result.models:
        sizes = result.context_windows
        room = {model: f" ({figures.count(size, 'token')})" for model, size in sizes.items()}
        listed = [markdown.literal(model) + room.get(model, "") for model in sorted(result.models)]
        with st.expander(f"The server offers {figures.count(len(listed), 'model')}", type="compact"):
            st.markdown("\n".join(f"- {model}" for model in listed))


def _draw_found(known: Sequence[Connection]) -> None:
    found: list[Connection] | None = st.session_state.get(_FOUND)
    if found is None:
        return
    if not found:
        st.info(
            "No model server answers on this machine. Start Ollama, LM Studio, vLLM or llama.cpp and look again, "
            "or add a connection by its address.",
            icon=":material/search_off:",
        )
    addresses = {connection.base_url for connection in known}
    for connection in found:
        with st.container(horizontal=True, vertical_alignment="center", border=True):
            where = f"{markdown.literal(without_login(connection.base_url))}, {figures.count(len(connection.models), 'model')}"
            st.markdown(f"**{markdown.literal(connection.name)}** at {where}", width="stretch")
            if connection.base_url in addresses:
                st.caption("in the list already", width="content")
            else:
                st.button("Add", key=f"take-{connection.base_url}", icon=":material/add:", on_click=_save, args=(connection,))


def _save(connection: Connection) -> None:
    try:
        save_connection(state.workspace().settings, connection)
    except AgentkitError as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:")


@st.dialog("Model connection", on_dismiss=dialogs.close)
def _edit(connection: Connection, known: Sequence[Connection]) -> None:
    """Ask for a connection; a new one may not have the name of one that is known."""
    new = not connection.name
    with st.form("connection", border=False):
        name = st.text_input(
            "Name", key="connection-name", value=connection.name, max_chars=60, placeholder="Our server", disabled=not new
        )
        base_url = st.text_input(
            "Address", key="connection-address", value=connection.base_url, placeholder="https://api.openai.com/v1"
        )
        kept = "leave empty to keep the one that is set, which is sent to the same scheme, host and port only"
        about = f"Stored in the data folder, never shown again; {kept if connection.api_key else _NO_KEY}."
        api_key = st.text_input("Key", key="connection-key", type="password", autocomplete="off", help=about)
        forget = st.checkbox("Remove the key that is set") if connection.api_key else False
        about, listed = "Empty: the first that the server lists.", "\n".join(connection.models)
        models = st.text_area("Models, one a line", key="connection-models", value=listed, placeholder="gpt-5-mini", help=about)
        about = "To embed documents with; choose one of them in the retrieval lab. Empty when the server embeds nothing."
        listed = "\n".join(connection.embedding_models)
        embedding = st.text_area("Embedding models, one a line", key="connection-embedding-models", value=listed, help=about)
        about = "To rank passages once more with; choose one of them in the retrieval lab. Asked at the address plus `/rerank`."
        listed = "\n".join(connection.reranker_models)
        reranking = st.text_area("Rerankers, one a line", key="connection-reranker-models", value=listed, help=about)
        saved = st.form_submit_button("Save", type="primary", key="save-connection")
    if not saved:
        return
    if new and " ".join(name.split()) in {one.name for one in known}:
        st.error("There is a connection of this name already; choose another, or edit that one.")
        return
    try:
        stored = save_connection(
            state.workspace().settings,
            Connection(
                name,
                base_url,
                "" if forget else api_key.strip() or key_for(connection, base_url),
                tuple(models.splitlines()),
                embedding_models=tuple(embedding.splitlines()),
                reranker_models=tuple(reranking.splitlines()),
            ),
            key_entered=bool(api_key.strip()),
        )
    except AgentkitError as error:
        st.error(markdown.literal(str(error)))
        return
    st.session_state.pop(f"probe-{stored.name}", None)
    dialogs.close()
    st.rerun()


@st.dialog("Delete the connection?", on_dismiss=dialogs.close)
def _delete(connection: Connection) -> None:
    st.markdown(f"**{markdown.literal(connection.name)}** and its key are forgotten. Chats that used its models stay.")
    if dialogs.confirm("delete-connection", "Delete"):
        try:
            delete_connection(state.workspace().settings, connection.name)
        except AgentkitError as error:
            st.error(markdown.literal(str(error)))
            return
        dialogs.close()
        st.rerun()
