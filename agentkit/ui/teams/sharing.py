"""A team taken away: as JSON, as a Python script and as a notebook; and one brought in."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import streamlit as st

from agentkit.errors import AgentkitError, ConfigError
from agentkit.mcp.servers import ToolServers
from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.importing import Remark, import_team, list_teams
from agentkit.teams.built.script import write_notebook, write_script
from agentkit.ui.shared import state
from agentkit.ui.teams import drafts
from agentkit.ui.text import figures, markdown

_UNSAFE = re.compile(r"[^\w.,()+-]+")
_IMPORTED = "team-import"
_REMARKS = "team-remarks-"


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
        "A team as JSON, a workflow of AutoGen Studio, or a Python script",
        type=["json", "py"],
        max_upload_size=8,
        key=f"team-file-{number}",
    )
    st.caption("It is read and checked; nothing of it runs before you ask it.")
    if given is None:
        return
    try:
        wanted = _choose_workflow(list_teams(given.getvalue()))
        if wanted is None:
            return
        found = import_team(given.getvalue(), wanted)
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return
    st.session_state[_IMPORTED] = number + 1
    draft_id = drafts.begin(found.document.to_json())
    st.session_state[_REMARKS + draft_id] = found.remarks
    st.query_params.from_dict({"team": draft_id})
    st.rerun()


def _choose_workflow(names: Sequence[str]) -> int | None:
    """Which of several workflows is to be a team; None until one was chosen."""
    if len(names) < 2:
        return 0
    wanted: int | None = st.radio(
        f"The file has {len(names)} workflows; which is to be a team?",
        range(len(names)),
        None,
        format_func=lambda number: markdown.literal(names[number]),
        key="team-workflow",
    )
    return wanted


def draw_remarks(draft_id: str) -> None:
    """What of an imported team did not fit, until it is closed."""
    key = _REMARKS + draft_id
    remarks: Sequence[Remark] = st.session_state.get(key, ())
    if not remarks:
        return
    lines = [f"\n- {markdown.literal(f'{one.place}: {one.text}')}" for one in remarks]
    with st.container(border=True, gap="xsmall", key="import-remarks"):
        st.markdown(f"**Not taken as it was: {figures.count(len(remarks), 'thing')}**")
        st.markdown("".join(lines))
        st.button(
            "Close",
            key="close-remarks",
            type="tertiary",
            icon=":material/close:",
            on_click=st.session_state.pop,
            args=(key,),
        )
