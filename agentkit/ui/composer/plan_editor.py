"""A plan that waits for the person: its steps as rows that can be changed, its picture, what it
will take, and what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from agentkit.agents.rewoo import Plan, Step
from agentkit.core.replay import hash_of
from agentkit.events import HumanInputRequested
from agentkit.messages import new_id
from agentkit.runs import Run
from agentkit.teams.planning.review import Proposal, write_change
from agentkit.ui.shared import kept, state
from agentkit.ui.steps.plan import draw_graph
from agentkit.ui.text import figures, markdown

Row = dict[str, str]
"""A step that is being changed: label, thought, tool and arguments, and an id of its own."""
Give = Callable[[str], object]
"""Gives the run an answer."""


def draw(run: Run[Any], request: HumanInputRequested, give: Give) -> None:
    """The plan with all that can be done about it; it is drawn again and again, and keeps what was
    changed.
    """
    editor = _Editor(run.chat_id, request, give)
    if st.session_state.get(editor.key("again")):
        editor.draw_refusal()
        return
    for place in range(len(editor.rows)):
        editor.draw_row(place)
    editor.draw_foot()


class _Editor:
    """One plan in its question."""

    def __init__(self, chat_id: str | None, request: HumanInputRequested, give: Give) -> None:
        self.request, self.give = request, give
        self.proposal = Proposal.from_draft(request.draft)
        self._chat_id = chat_id
        self._planned = hash_of(request.draft)
        self.rows = self._read_rows()

    def key(self, *parts: object) -> str:
        """The key of a widget of this plan."""
        return "-".join(["plan", *map(str, parts), self.request.request_id])

    def _read_rows(self) -> list[Row]:
        """As they were changed in this session, else in an earlier one, else as planned."""
        rows: list[Row] | None = st.session_state.get(self.key("rows"))
        if rows is None:
            before: Any = kept.get(self._chat_id, "plan") or {}
            rows = before["rows"] if before.get("of") == self._planned else self._planned_rows()
            st.session_state[self.key("rows")] = rows
        return rows

    def _planned_rows(self) -> list[Row]:
        return [_to_row(step) for step in self.proposal.plan.steps]

    @property
    def plan(self) -> Plan:
        """The plan as the rows have it."""
        return Plan(tuple(map(_to_step, self.rows)))

    @property
    def is_changed(self) -> bool:
        """Whether it is another plan than the planner's."""
        return self.plan != Plan(tuple(map(_without_flags, self.proposal.plan.steps)))

    def draw_row(self, place: int) -> None:
        """One step: what it is for, its tool and its input."""
        row = self.rows[place]
        label = row["label"]
        with st.container(border=True, gap="xsmall", key=self.key("row", row["id"])):
            with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
                st.markdown(f"**{markdown.literal(label)}**", width="content")
                self._draw_text(row, "thought", f"What {label} is for")
                self._draw_moves(place)
            with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
                self._draw_tool(row)
                self._draw_text(row, "arguments", f"Input of {label}")

    def _draw_text(self, row: Row, name: str, label: str) -> None:
        st.text_input(
            label,
            row[name],
            key=self.key(name, row["id"]),
            label_visibility="collapsed",
            placeholder=label,
            width="stretch",
            on_change=self._note,
            args=(row["id"], name),
        )

    def _draw_tool(self, row: Row) -> None:
        tools = list(dict.fromkeys([*self.proposal.tools, row["tool"]]))
        st.selectbox(
            f"Tool of {row['label']}",
            tools,
            tools.index(row["tool"]),
            key=self.key("tool", row["id"]),
            label_visibility="collapsed",
            width=190,
            on_change=self._note,
            args=(row["id"], "tool"),
        )

    def _draw_moves(self, place: int) -> None:
        label, last = self.rows[place]["label"], len(self.rows) - 1
        moves = (
            ("up", f"Move {label} up", ":material/arrow_upward:", place == 0, -1),
            ("down", f"Move {label} down", ":material/arrow_downward:", place == last, 1),
        )
        with st.container(horizontal=True, gap=None, width="content"):  # they stay together
            for what, about, icon, disabled, by in moves:
                change = partial(_move, place=place, by=by)
                self._draw_icon(what, place, about, icon, change, disabled=disabled)
            drop = partial(_drop, place=place)
            self._draw_icon("drop", place, f"Leave {label} out", ":material/delete:", drop)

    def _draw_icon(
        self,
        what: str,
        place: int,
        about: str,
        icon: str,
        change: Callable[[Sequence[Row]], list[Row]],
        *,
        disabled: bool = False,
    ) -> None:
        st.button(
            about,
            key=self.key(what, self.rows[place]["id"]),
            icon=icon,
            type="tertiary",
            disabled=disabled,
            on_click=self._change,
            args=(change,),
        )

    def draw_foot(self) -> None:
        """What can be added, the picture, what it takes and what is wrong, and the ways on."""
        with st.container(horizontal=True, gap="small"):
            self._draw_way("add", "Add a step", ":material/add:", self._add)
            if self.is_changed:
                self._draw_way("undo", "As planned", ":material/undo:", self._undo)
        plan, problems = self.plan, self.proposal.find_problems(self.plan)
        if problems:
            told = "".join(f"\n- {markdown.literal(one)}" for one in problems)
            st.error(f"It cannot run so:\n{told}", icon=":material/error:")
        else:
            draw_graph([step.to_json() for step in plan.steps])
            st.caption(f":material/calculate: {_describe_estimate(self.proposal, plan)}")
        with st.container(horizontal=True, gap="small"):
            st.button(
                "Run this plan",
                key=self.key("run"),
                type="primary",
                icon=":material/play_arrow:",
                shortcut="Mod+Enter",
                disabled=bool(problems),
                on_click=self._run,
            )
            if "reject" in self.request.options:
                self._draw_way("other", "Another plan", ":material/refresh:", self._open_refusal)

    def _draw_way(
        self, what: str, label: str, icon: str, do: Callable[[], None], kind: Any = "secondary"
    ) -> None:
        st.button(label, key=self.key(what), icon=icon, on_click=do, type=kind)

    def draw_refusal(self) -> None:
        """What is to be different in another plan."""
        with st.form(self.key("refusal"), border=False):
            st.text_input(
                "What is to be different? The planner is told, and makes another plan.",
                key=self.key("reason"),
            )
            with st.container(horizontal=True, gap="small"):
                st.form_submit_button(
                    "Plan again",
                    key=self.key("refuse"),
                    type="primary",
                    icon=":material/refresh:",
                    on_click=self._refuse,
                )
                st.form_submit_button("Back", key=self.key("back"), on_click=self._close_refusal)

    def _run(self) -> None:
        if self.proposal.find_problems(self.plan):
            return
        steps = [step.to_json() for step in self.plan.steps]
        self._answer(write_change(steps) if self.is_changed else "approve")

    def _refuse(self) -> None:
        reason = " ".join(str(st.session_state.get(self.key("reason"), "")).split())
        self._answer(f"reject\n{reason}")

    def _answer(self, text: str) -> None:
        kept.put(self._chat_id, "plan", None)
        self.give(text)

    def _open_refusal(self) -> None:
        st.session_state[self.key("again")] = True

    def _close_refusal(self) -> None:
        st.session_state[self.key("again")] = False

    def _add(self) -> None:
        label = _find_free_label([row["label"] for row in self.rows], self.proposal.known)
        tool = next(iter(self.proposal.tools), "")
        self._keep([*self.rows, _make_row(label, "", tool, "")])

    def _undo(self) -> None:
        self._keep(self._planned_rows())

    def _note(self, row_id: str, name: str) -> None:
        value = str(st.session_state.get(self.key(name, row_id), ""))
        self._keep([{**row, name: value} if row["id"] == row_id else row for row in self.rows])

    def _change(self, change: Callable[[Sequence[Row]], list[Row]]) -> None:
        if not state.is_repeated(change):  # a second click would mean the row that comes there
            self._keep(change(self.rows))

    def _keep(self, rows: list[Row]) -> None:
        """Keep the rows for this session and, in case it ends, with the chat."""
        st.session_state[self.key("rows")] = self.rows = rows
        kept.put(self._chat_id, "plan", {"of": self._planned, "rows": rows})


def _move(rows: Sequence[Row], *, place: int, by: int) -> list[Row]:
    moved = list(rows)
    moved.insert(place + by, moved.pop(place))
    return moved


def _drop(rows: Sequence[Row], *, place: int) -> list[Row]:
    return [*rows[:place], *rows[place + 1 :]]


def _find_free_label(taken: Sequence[str], known: Sequence[str]) -> str:
    numbers = [int(label.removeprefix("#E")) for label in (*taken, *known)]
    return f"#E{max(numbers, default=0) + 1}"


def _make_row(label: str, thought: str, tool: str, arguments: str) -> Row:
    return {
        "id": new_id(),
        "label": label,
        "thought": thought,
        "tool": tool,
        "arguments": arguments,
    }


def _to_row(step: Step) -> Row:
    return _make_row(step.label, step.thought, step.tool, step.arguments)


def _to_step(row: Row) -> Step:
    return Step(row["label"], row["thought"], row["tool"], row["arguments"])


def _without_flags(step: Step) -> Step:
    """What of a step its row has."""
    return _to_step(_to_row(step))


def _describe_estimate(proposal: Proposal, plan: Plan) -> str:
    takes = proposal.estimate(plan)
    lookups, calls = (
        figures.count(takes.lookups, "look-up"),
        figures.count(takes.calls, "model call"),
    )
    tokens = figures.count(round(takes.tokens, -2) or takes.tokens)
    return f"By estimate {lookups}, {calls} and {tokens} tokens."
