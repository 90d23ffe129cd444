"""The kernel of a chat: what is alive in it, and after its end what is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from agentkit.coding.chat_kernel.pool import shared_pool
from agentkit.core.given import list_missing
from agentkit.errors import AgentkitError
from agentkit.events import CodeRan
from agentkit.ledger import Chat
from agentkit.teams.cells import (
    BRANCH,
    describe_variables,
    drop_modules,
    find_codes,
    find_end,
    find_variables,
    is_alive,
)
from agentkit.ui.shared import state
from agentkit.ui.steps.cells import ENDS
from agentkit.ui.steps.turns import Turn
from agentkit.ui.text import figures, markdown
from agentkit.workspace import kernels

_CELLS = "cells-of-runs"
_HEADS: dict[str, str] = {BRANCH: "This branch has no kernel"}
"""What is said of a kernel that is gone, where it has not ended."""


def cells_of(turns: Sequence[Turn]) -> list[CodeRan]:
    """The cells that ran for stored turns, oldest first. They do not change while a turn stands as
    it does: they are looked up once in a session.
    """
    known: dict[tuple[str, str], list[CodeRan]] = st.session_state.setdefault(_CELLS, {})
    keys = [(turn.run_id, turn.status) for turn in turns]
    unknown = list_missing(keys, known)
    if unknown:
        run_ids = [run_id for run_id, _ in unknown]
        found = kernels.find_cells(state.workspace().ledger, state.owner(), run_ids)
        for key in unknown:
            known[key] = found[key[0]]
    cells: list[CodeRan] = []
    for key in keys:
        cells += known[key]
    return cells


def draw_kernel(chat: Chat, turns: Sequence[Turn]) -> None:
    """The line about the kernel that the cells of these turns ran in; nothing where none ran."""
    ran = cells_of(turns)
    if not ran:
        return
    if is_alive(shared_pool(), chat.id, ran):
        _draw_alive(chat, find_variables(ran))
    else:
        _draw_gone(chat, ran)


def _draw_alive(chat: Chat, variables: Sequence[dict[str, Any]]) -> None:
    shown = drop_modules(variables)
    label = f"Python kernel · {figures.count(len(shown), 'variable')}"
    line = st.container(horizontal=True)  # to its left
    icon = ":material/memory:"
    with line.popover(label, icon=icon, type="tertiary", key=f"kernel-{chat.id}"):
        st.caption("What code has made lives on from question to question.")
        st.dataframe(
            shown,
            column_config={"name": "Name", "type": "Type", "size": "Size"},
            hide_index=True,
            alt="The variables of the kernel",
        )
        st.button(
            "End kernel",
            key=f"end-kernel-{chat.id}",
            icon=":material/stop:",
            help="Its variables go; files stay. The next code begins with an empty one.",
            on_click=shared_pool().end,
            args=(chat.id,),
        )


def _draw_gone(chat: Chat, ran: Sequence[CodeRan]) -> None:
    end = find_end(shared_pool(), chat.id, ran)
    head, why = _HEADS.get(end, "The kernel has ended"), ENDS.get(end, "it is gone")
    gone = markdown.literal(describe_variables(find_variables(ran)))
    codes = find_codes(ran)
    with st.container(key=f"kernel-gone-{chat.id}", border=True, gap="xsmall"):
        told = f":material/memory: **{head}:** {why}."
        st.markdown(f"{told} Gone: {gone}.")
        st.button(
            f"Run the cells again ({len(codes)})",
            key=f"cells-again-{chat.id}",
            icon=":material/replay:",
            help="All code of this chat that went well, in order, until something fails.",
            on_click=_run_again,
            args=(chat,),
            disabled=not codes,
        )


def _run_again(chat: Chat) -> None:
    workspace = state.workspace()
    try:
        kernels.run_again(workspace.settings.data, workspace.ledger, state.owner(), chat)
    except AgentkitError as error:  # it is answering by now, or no kernel can run any more
        st.toast(markdown.literal(str(error)))
