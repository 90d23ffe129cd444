"""A chat as a file, and a chat out of a file: the dialogs, and what opens them."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal

import streamlit as st

from agentkit import private
from agentkit.errors import AgentkitError, StoreError
from agentkit.ledger import Chat
from agentkit.retrieval import Source
from agentkit.ui.composer import address
from agentkit.ui.exports import as_markdown, exchanges
from agentkit.ui.shared import dialogs, downloads, state, uploads
from agentkit.ui.text import markdown
from agentkit.workspace import Workspace, intake
from agentkit.workspace.sharing import LARGEST_MB

EXPORT, IMPORT = "Export the chat", "Import a chat"
Form = Literal["md", "html", "json"]
_FORMS: dict[Form, tuple[str, str]] = {
    "md": (
        "Markdown",
        "The questions and answers that are shown, their sources as footnotes, pictures and tables"
        " included.",
    ),
    "html": (
        "Web page",
        "The questions and answers as one page for any browser, with plots, light and dark, also to"
        " print. It loads nothing and has no program in it.",
    ),
    "json": (
        "JSON",
        "All of it: every branch, what agents said and did, and what it took. It can be imported"
        " again, here or elsewhere. Documents and attached files are not in it.",
    ),
}


def draw_button(chat: Chat) -> None:
    """What opens the dialog for this chat, at the top of its page."""
    with st.container(horizontal=True, horizontal_alignment="right", key="chat-export"):
        st.button(
            "Export",
            icon=":material/ios_share:",
            type="tertiary",
            key="export-chat",
            help="This chat as Markdown, as a web page, or as JSON",
            on_click=ask,
            args=(chat,),
        )


def ask(chat: Chat) -> None:
    """Open the dialog for a chat, from the next drawing on."""
    dialogs.ask(EXPORT, chat)


def draw_import() -> None:
    """What opens the dialog for a file, below the list of chats."""
    with st.sidebar:
        st.button(
            IMPORT,
            icon=":material/upload:",
            type="tertiary",
            key="import-chat",
            help="A chat that was exported as JSON",
            on_click=dialogs.ask,
            args=(IMPORT,),
        )


def draw_dialog() -> None:
    """The dialog that is open, if it is one of these."""
    match dialogs.read_open():
        case (name, Chat() as chat) if name == EXPORT:
            _export(chat)
        case (name, _) if name == IMPORT:
            _import()


@dialogs.dialog(EXPORT)
def _export(chat: Chat) -> None:
    st.markdown(f"**{markdown.literal(chat.title)}**")
    form: Form = st.segmented_control(
        "Form",
        list(_FORMS),
        format_func=lambda one: _FORMS[one][0],
        default="md",
        key="export-form",
        required=True,
    )
    st.caption(_FORMS[form][1])
    make = partial(make_file, state.workspace(), chat.owner, chat.id, form)
    name = exchanges.name_file(chat.title, form)
    downloads.draw_link("Download", make, name, key=f"chat-{chat.id}-{form}")


def make_file(workspace: Workspace, owner: str, chat_id: str, form: Form) -> BinaryIO:
    """The chat in this form as an open file, which is gone when it is closed.

    Raises NotFound and StoreError.
    """
    folder = workspace.settings.data / "exports"
    try:
        private.make_folder(folder)
        with tempfile.TemporaryDirectory(prefix=".chat-", dir=folder) as made:
            path = workspace.sharing.export(owner, chat_id, Path(made) / "chat.json")
            if form != "json":
                path.write_text(_write(path.read_bytes(), form), encoding="utf-8")
            return path.open("rb")
    except OSError as error:
        raise StoreError(
            f"The chat cannot be written in {folder} ({error.strerror}); make room there."
        ) from error


def _write(chat: bytes, form: Form) -> str:
    from agentkit.ui.exports import as_html  # what only exports need: pydantic, charts
    from agentkit.workspace.sharing import reading

    file = reading.parse(chat, "the chat")
    return as_html.write_page(file) if form == "html" else as_markdown.write_chat(file)


@dialogs.dialog(IMPORT)
def _import() -> None:
    given = st.file_uploader("File", type="json", max_upload_size=LARGEST_MB, key="chat-file")
    st.caption(
        f"What *Export* wrote as JSON, {LARGEST_MB} MB at most. It becomes a new chat; its"
        " calls were made elsewhere, and do not count on the Usage page."
    )
    pressed = st.button("Import", key="import", type="primary", icon=":material/upload:")
    if pressed and (problem := _load(given)):
        st.error(markdown.literal(problem), icon=":material/error:")
    if not dialogs.read_open()[0]:
        st.rerun()


def _load(given: uploads.Uploaded | None) -> str:
    """Make a chat of an uploaded file and go to it; gives what is wrong with it."""
    if given is None:
        return (
            "There is no file to import; choose one that Export wrote as JSON, of at most"
            f" {LARGEST_MB} MB."
        )
    workspace = state.workspace()
    try:
        [source] = uploads.to_disk([given], workspace.settings)
        chat = _take_in(workspace, source)
    except AgentkitError as error:
        return str(error)
    dialogs.close()
    address.go_to(chat.id)
    return ""


def _take_in(workspace: Workspace, source: Source) -> Chat:
    try:
        return workspace.sharing.load(state.owner(), source.path, source.name)
    finally:
        intake.discard(source.path, workspace.settings.data / "uploads")
