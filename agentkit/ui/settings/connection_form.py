"""The dialogs about one connection: adding or changing it, and deleting it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from agentkit.errors import AgentkitError
from agentkit.llm import Connection, delete_connection, save_connection
from agentkit.llm.connections.config import key_for
from agentkit.ui.settings import connection_test, default_model
from agentkit.ui.shared import dialogs, state
from agentkit.ui.text import figures, markdown

_KINDS = {"openai": "OpenAI-compatible", "azure": "Azure OpenAI"}
_NO_KEY = "empty when the server wants none"
_KEPT = (
    "leave empty to keep the one that is set, which is sent to the same scheme, host and port only"
)
_ABOUT_EMBEDDING = (
    "To embed documents with; choose one of them in the retrieval lab. "
    "Empty when the server embeds nothing."
)
_ABOUT_RERANKING = (
    "To rank passages once more with; choose one of them in the retrieval lab. "
    "Asked at the address plus `/rerank`."
)


@dialogs.dialog("Model connection")
def edit(connection: Connection, known: Sequence[Connection]) -> None:
    """Ask for a connection; a new one may not have the name of one that is known."""
    new = not connection.name
    kind = st.segmented_control(
        "Kind of server",
        list(_KINDS),
        format_func=_KINDS.__getitem__,
        key="connection-kind",
        default=connection.kind,
        required=True,
        help="OpenAI itself, Ollama, vLLM, llama.cpp, LM Studio and most others, also Azure's "
        "addresses that end in /openai/v1, are OpenAI-compatible.",
    )
    with st.form("connection", border=False):
        name = st.text_input(
            "Name",
            key="connection-name",
            value=connection.name,
            max_chars=60,
            placeholder="Our server",
            disabled=not new,
        )
        filled = _azure_fields(connection) if kind == "azure" else _fields(connection)
        _draw_sizes(connection)
        saved = st.form_submit_button("Save", type="primary", key="save-connection")
    if not saved:
        return
    if new and " ".join(name.split()) in {one.name for one in known}:
        st.error(
            "There is a connection of this name already; choose another, or edit that one.",
            icon=":material/error:",
        )
        return
    _save(connection, name, filled)


Filled = tuple[Connection, str, bool]
"""What was filled in but name and key; the key entered; whether the one that is set is removed."""


def _fields(connection: Connection) -> Filled:
    address = st.text_input(
        "Address",
        key="connection-address",
        value=connection.base_url,
        placeholder="https://api.openai.com/v1",
    )
    key, forget = _key_fields(connection)
    about = "Empty: the first that the server lists."
    models = _names("Models", "models", connection.models, about, "gpt-5-mini")
    embedding = _names(
        "Embedding models", "embedding-models", connection.embedding_models, _ABOUT_EMBEDDING
    )
    reranking = _names("Rerankers", "reranker-models", connection.reranker_models, _ABOUT_RERANKING)
    filled = Connection(
        "", address, "", models, embedding_models=embedding, reranker_models=reranking
    )
    return filled, key, forget


def _azure_fields(connection: Connection) -> Filled:
    endpoint = st.text_input(
        "Endpoint",
        key="connection-address",
        value=connection.base_url,
        placeholder="https://our-name.openai.azure.com",
        help="The target address of a deployment, as Azure's portal shows it, works as well.",
    )
    version = st.text_input(
        "API version",
        key="connection-api-version",
        value=connection.api_version,
        placeholder="2024-10-21",
        help="Empty when the address names it.",
    )
    key, forget = _key_fields(connection)
    about = "As they are called in Azure's portal, which need not be the names of their models."
    models = _names("Deployments", "models", connection.models, about, "our-gpt-5-mini")
    embedding = _names(
        "Embedding deployments", "embedding-models", connection.embedding_models, _ABOUT_EMBEDDING
    )
    filled = Connection(
        "", endpoint, "", models, embedding_models=embedding, kind="azure", api_version=version
    )
    return filled, key, forget


def _key_fields(connection: Connection) -> tuple[str, bool]:
    about = (
        f"Stored in the data folder, never shown again; {_KEPT if connection.api_key else _NO_KEY}."
    )
    key = st.text_input(
        "Key", key="connection-key", type="password", autocomplete="off", help=about
    )
    forget = False
    if connection.api_key:
        forget = st.checkbox("Remove the key that is set")
    return key.strip(), forget


def _names(
    label: str, key: str, names: Sequence[str], about: str, example: str | None = None
) -> tuple[str, ...]:
    text = st.text_area(
        f"{label}, one a line",
        key=f"connection-{key}",
        value="\n".join(names),
        placeholder=example,
        help=about,
    )
    return tuple(text.splitlines())


def _draw_sizes(connection: Connection) -> None:
    if told := sizes_in_words(connection):
        st.caption(f"The last test showed: {told}.")


def sizes_in_words(connection: Connection) -> str:
    """The contexts and the sizes of vectors that a test showed; empty when there are none."""
    contexts = [
        f"{markdown.literal(model)} takes {figures.count(size, 'token')}"
        for model, size in connection.contexts.items()
    ]
    vectors = [
        f"{markdown.literal(model)} gives {figures.count(size, 'number')} a vector"
        for model, size in connection.dimensions.items()
    ]
    return ", ".join((*contexts, *vectors))


def _save(connection: Connection, name: str, filled: Filled) -> None:
    given, key, forget = filled
    try:
        kept = "" if forget or key else key_for(connection, given.base_url)
        stored = save_connection(
            state.workspace().settings,
            Connection(
                name,
                given.base_url,
                key or kept,
                given.models,
                "saved",
                given.embedding_models,
                given.reranker_models,
                given.kind,
                given.api_version,
                connection.contexts,
                connection.dimensions,
            ),
            key_entered=bool(key),
        )
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return
    connection_test.forget(stored.name)
    dialogs.close()
    st.rerun()


@dialogs.dialog("Delete the connection?")
def delete(connection: Connection) -> None:
    """Ask whether a connection is to be forgotten."""
    st.markdown(
        f"**{markdown.literal(connection.name)}** and its key are forgotten. "
        "Chats that used its models stay."
    )
    if told := default_model.after_deletion(connection):
        st.warning(told, icon=":material/warning:")
    if dialogs.confirm("delete-connection", "Delete"):
        try:
            delete_connection(state.workspace().settings, connection.name)
            default_model.forget_deleted(connection)
        except AgentkitError as error:
            st.error(markdown.literal(str(error)), icon=":material/error:")
            return
        connection_test.forget(connection.name)
        dialogs.close()
        st.rerun()
