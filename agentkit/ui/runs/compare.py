"""Two runs beside each other: differences first, what is the same folded."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import streamlit as st

from agentkit import runs
from agentkit.core.given import join_filled
from agentkit.errors import NotFound, ReplayDiffers
from agentkit.ledger import run_list
from agentkit.ledger.comparing import Comparison, Side
from agentkit.ledger.sides import read_side
from agentkit.ui.runs import differences, overview, words
from agentkit.ui.runs.differences import Group, Row
from agentkit.ui.shared import components, dialogs, state
from agentkit.ui.shared.state import PAGES
from agentkit.ui.text import figures, markdown, times

_GOING_ON = ("running", "waiting")
_LOOKS, _LOOK_S = 100, 0.01
"""How often, and after how long, it is looked whether the ledger knows a run that has begun."""
_MOST_ROWS = 200
"""Of a group: of those that differ, and of the same."""


def draw_comparison(first: str, second: str) -> None:
    """The runs of these ids beside each other; of one that is not there, that it is not."""
    st.button(
        "The run alone",
        key="compare-close",
        icon=":material/arrow_back:",
        on_click=overview.open_run,
        args=(first,),
    )
    state.page_head("Two runs compared", "What differs stands first; what is the same is folded.")
    one, other = _read(first), _read(second)
    if one is None or other is None:
        return
    found = Comparison(one, other)
    left, right = st.columns(2)
    with left:
        _draw_side("A", found.first)
    with right:
        _draw_side("B", found.second)
    _draw_failed(first, second)
    _draw_told(found)
    if overview.find_at_work(first) and _draw_going_on("A", found.first):
        return
    if _draw_going_on("B", found.second):
        return
    _draw_groups(found)


def _read(run_id: str) -> Side | None:
    run = overview.find_at_work(run_id)
    for _ in range(_LOOKS if run else 1):
        try:
            return read_side(state.workspace().ledger, state.owner(), run_id)
        except NotFound:
            if run:  # it has just begun, and its own thread tells the ledger of it
                run.wait(_LOOK_S)
    problem = runs.find_error(run_id, state.owner())
    why = f" {markdown.literal(problem)}" if problem else ""
    named = markdown.literal(run_id)
    st.markdown(f":material/search_off: There is no run '{named}'.{why}")
    return None


def _draw_failed(first: str, second: str) -> None:
    """Where the second run, which was to begin from the first one, differed, if it did."""
    failed = runs.find_failure(second, state.owner())
    if not isinstance(failed, ReplayDiffers):
        return
    told = markdown.literal(str(failed))
    st.error(f"It was not run again. {told}", icon=":material/error:")
    st.button(
        "Show the call that differs",
        key="compare-differs",
        icon=":material/arrow_forward:",
        on_click=_open_step,
        args=(first, failed.call_id),
    )


def _draw_side(name: str, side: Side) -> None:
    run = side.run
    title = " ".join(run.title.split()) or words.of_kind(run.kind)
    end = run_list.ends(state.workspace().ledger, state.owner(), [run.id]).get(run.id)
    about = [
        words.of_team(run.team),
        words.of_state(run.state),
        times.format_time(run.started_at),
        words.why_ended(run, end),
    ]
    with st.container(border=True, gap="xsmall", width="stretch"):
        st.button(
            f"**{name}** {markdown.literal(title[:120])}",
            key=f"compared-{name}",
            type="tertiary",
            on_click=overview.open_run,
            args=(run.id,),
        )
        st.caption(markdown.literal(join_filled(" · ", about)))


def _draw_told(found: Comparison) -> None:
    if early := differences.describe_early(found):
        st.warning(markdown.literal(early), icon=":material/warning:")
    st.markdown(f"**{markdown.literal(differences.describe_beginning(found))}**")


def _draw_going_on(name: str, side: Side) -> bool:
    """While a run goes on: that it does; the comparison comes when it has ended."""
    if side.run.state not in _GOING_ON:
        return False
    told = f"{name} goes on. When it has ended, both are compared here."
    st.markdown(f":material/hourglass_top: {told}")
    if side.run.chat_id:
        address = {"chat": side.run.chat_id}
        label = "Open the chat, where it may ask you something"
        st.page_link(PAGES / "chat.py", label=label, icon=":material/forum:", query_params=address)
    _wait(side.run.id)
    return True


@st.fragment(run_every=1.0)
def _wait(run_id: str) -> None:
    """Draw the page anew once the run has ended."""
    if has_ended(run_id):
        dialogs.redraw()


def has_ended(run_id: str) -> bool:
    """Whether the run goes on no more: one that differed too early is gone."""
    try:
        run = run_list.one(state.workspace().ledger, state.owner(), run_id)
    except NotFound:
        return True
    return run.state not in _GOING_ON


def _draw_groups(found: Comparison) -> None:
    groups = list(map(_group_to_data, differences.list_groups(found)))
    sides = [
        {"name": "A", "run": found.first.run.id},
        {"name": "B", "run": found.second.run.id},
    ]
    components.comparison(_open_step, {"sides": sides, "groups": groups})


def _open_step(run_id: str, step: str) -> None:
    overview.open_run(run_id)
    st.query_params["step"] = step


def _group_to_data(group: Group) -> dict[str, Any]:
    differing = group.differing
    same = list(filter(attrgetter("is_same"), group.rows))
    left = len(differing[_MOST_ROWS:])
    return {
        "name": group.name,
        "told": figures.count(len(differing), "difference") if differing else "no difference",
        "differing": list(map(_row_to_data, differing[:_MOST_ROWS])),
        "same": list(map(_row_to_data, same[:_MOST_ROWS])),
        "left": f"and {figures.count(left, 'difference')} more" if left else "",
    }


def _row_to_data(row: Row) -> dict[str, Any]:
    read = attrgetter("how", "text")
    return {
        "name": row.name,
        "first": list(map(read, row.first)),
        "second": list(map(read, row.second)),
        "steps": list(row.steps),
    }
