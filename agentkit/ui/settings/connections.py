"""The model servers: which there are, and the ways to more of them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from agentkit.core.address import without_login
from agentkit.core.given import join_filled
from agentkit.errors import AgentkitError
from agentkit.llm import Connection, connections, save_connection
from agentkit.llm.connections.discover import discover
from agentkit.ui.settings import connection_form, connection_test, default_model
from agentkit.ui.shared import dialogs, state
from agentkit.ui.text import figures, markdown

_FOUND = "found-servers"
_WHERE = {
    "environment": "set by the environment or the secrets file, changed there",
    "saved": "saved here",
}


def draw_connections() -> None:
    """The list, the ways to make it longer, and the dialog that is open."""
    try:
        known = connections(state.workspace().settings)
        default_model.draw_default()
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return
    with st.container(border=True, gap="xsmall"):
        st.markdown(":material/offline_bolt: **Offline**")
        st.caption(
            "Always there, free, on this machine. It is not a language model: it quotes the"
            " sentences of your documents that answer."
        )
    for connection in known:
        _draw_connection(connection)
    with st.container(horizontal=True):
        st.button(
            "Add a connection",
            key="add-connection",
            icon=":material/add:",
            type="primary",
            on_click=dialogs.ask,
            args=("Edit", Connection("", "")),
        )
        if st.button("Find local servers", key="find-servers", icon=":material/radar:"):
            with st.spinner("Asking the usual ports of this machine"):
                st.session_state[_FOUND] = discover()
    _draw_found(known)
    name, subject = dialogs.read_open()
    if name == "Edit" and isinstance(subject, Connection):
        connection_form.edit(subject, known)
    elif name == "Delete" and isinstance(subject, Connection):
        connection_form.delete(subject)


def _draw_connection(connection: Connection) -> None:
    name, address = connection.name, without_login(connection.base_url)
    title = address if name in address else name  # a name that is part of it would say it twice
    with st.container(border=True, gap="xsmall", key=f"connection-{name}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f":material/dns: **{markdown.literal(title)}**", width="stretch")
            st.button(
                f"Test *{markdown.literal(title)}*",
                key=f"test-{name}",
                icon=":material/network_check:",
                on_click=connection_test.begin,
                args=(connection,),
            )
            if connection.source == "saved":
                icon, about = ":material/more_horiz:", f"Edit or delete {markdown.literal(name)}"
                menu = f"server-menu-{name}"

                def manage() -> None:
                    dialogs.ask(st.session_state[menu], connection)

                st.menu_button(
                    about,
                    ["Edit", "Delete"],
                    key=menu,
                    icon=icon,
                    type="tertiary",
                    help=about,
                    on_click=manage,
                )
        models = (
            ", ".join(markdown.literal(model) for model in connection.models)
            or "the first that the server lists"
        )
        st.caption(_facts(connection, "" if title == address else address))
        st.caption(f"{'Deployments' if connection.kind == 'azure' else 'Models'}: {models}")
        for kind, names in (
            ("Embedding models", connection.embedding_models),
            ("Rerankers", connection.reranker_models),
        ):
            if names:
                st.caption(f"{kind}: {', '.join(markdown.literal(model) for model in names)}")
        if told := connection_form.sizes_in_words(connection):
            st.caption(f"Sizes: {told}")
        connection_test.draw(connection)


def _facts(connection: Connection, address: str) -> str:
    """What kind of server it is, where, with a key or without, and who set it; as Markdown."""
    facts = [
        "Azure OpenAI" if connection.kind == "azure" else "",
        markdown.literal(address),
        "a key is set" if connection.api_key else "no key",
        _WHERE.get(connection.source, ""),
    ]
    return join_filled(" · ", facts)


def _draw_found(known: Sequence[Connection]) -> None:
    found: list[Connection] | None = st.session_state.get(_FOUND)
    if found is None:
        return
    if not found:
        st.info(
            "No model server answers on this machine. Start Ollama, LM Studio, vLLM or llama.cpp"
            " and look again, or add a connection by its address.",
            icon=":material/search_off:",
        )
    addresses = {connection.base_url for connection in known}
    for connection in found:
        with st.container(horizontal=True, vertical_alignment="center", border=True):
            where = (
                f"{markdown.literal(without_login(connection.base_url))},"
                f" {figures.count(len(connection.models), 'model')}"
            )
            st.markdown(f"**{markdown.literal(connection.name)}** at {where}", width="stretch")
            if connection.base_url in addresses:
                st.caption("in the list already", width="content")
            else:
                st.button(
                    "Add",
                    key=f"take-{connection.base_url}",
                    icon=":material/add:",
                    on_click=_save,
                    args=(connection,),
                )


def _save(connection: Connection) -> None:
    try:
        save_connection(state.workspace().settings, connection)
    except AgentkitError as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:")
