"""A team taken away: as JSON, as a Python script and as a notebook; and one brought in."""

from __future__ import annotations

import json
import re

import streamlit as st

from agentkit.errors import AgentkitError, ConfigError
from agentkit.mcp.servers import ToolServers
from agentkit.teams.built.document import TeamDocument, read_document
from agentkit.teams.built.offers.catalog import ask_always
from agentkit.teams.built.script import write_notebook, write_script
from agentkit.ui.shared import state
from agentkit.ui.teams import drafts
from agentkit.ui.text import markdown

_UNSAFE = re.compile(r"[^\w.,()+-]+")
_IMPORTED = "team-import"
_ASKS = "You are asked before each call of its dangerous tools, whatever the file says."


def name_file(document: TeamDocument, ending: str) -> str:
    """A name for a file with the team, whatever its own name has in it."""
    name = _UNSAFE.sub("-", document.name).strip("-.")[:60]
    return f"{name or 'team'}.{ending}"


def write_json(document: TeamDocument) -> str:
    """The document as people read it."""
    return json.dumps(document.to_json(), ensure_ascii=False, indent=2) + "\n"


def draw_export(document: TeamDocument | None, key: str) -> None:
    """What the team can be taken away as; a team with problems only as what it is."""
    with st.popover("Export", icon=":material/download:", key=f"export-{key}"):
        if document is None:
            st.caption("What is wrong in the form has to be put right first.")
            return
        _draw_download("JSON", write_json(document), document, "team.json", key)
        try:
            servers = ToolServers(state.workspace().settings.data).all()
            script, notebook = write_script(document, servers), write_notebook(document, servers)
        except ConfigError as error:
            st.caption(markdown.literal(str(error)))
            return
        _draw_download("Python script", script, document, "py", key)
        _draw_download("Notebook", notebook, document, "ipynb", key)
        st.caption("The script and the notebook need agentkit alone; a model's key is in none.")


def _draw_download(label: str, text: str, document: TeamDocument, ending: str, key: str) -> None:
    st.download_button(
        label,
        text.encode(),
        name_file(document, ending),
        key=f"download-{ending}-{key}",
        icon=":material/download:",
        on_click="ignore",
        width="stretch",
    )


def draw_import() -> None:
    """The place for a file with a team: it is read and checked, and nothing of it runs."""
    number = st.session_state.get(_IMPORTED, 0)
    given = st.file_uploader(
        "A team as JSON", type="json", max_upload_size=8, key=f"team-file-{number}"
    )
    st.caption("It is read and checked; nothing of it runs before you ask it.")
    if given is None:
        return
    try:
        read = read_document(given.getvalue())
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return
    document = ask_always(read)
    if document != read:
        st.toast(_ASKS, icon=":material/info:")
    st.session_state[_IMPORTED] = number + 1
    st.query_params["team"] = drafts.begin(document.to_json())
    st.rerun()
