"""The flow of a team as a picture, drawn anew with each change of the form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import streamlit as st

from agentkit.core.given import join_filled
from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.flows import (
    CitedAnswer,
    Dialogue,
    FieldTable,
    Group,
    Plan,
    Queue,
    Queued,
    Research,
    RetrieveChat,
    Single,
    Stage,
    TwoAgents,
    Werewolf,
)
from agentkit.teams.roster import MODERATOR
from agentkit.ui.steps import voices

_MOST = 40  # arrows that a picture has room for
_CHOOSERS = {
    "auto": "The model chooses",
    "manual": "You choose",
    "random": "Chance chooses",
    "round_robin": "In turn",
}


@dataclass(frozen=True, slots=True)
class Fixed:
    """A box that stands for something else than an agent, also where one is called the same."""

    name: str

    def __str__(self) -> str:
        return self.name


_YOU, _FOUND, _STEPS, _RESULT = map(Fixed, ("You", "Documents", "Steps", "Answer"))


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one to another, and why."""

    start: str | Fixed
    end: str | Fixed
    why: str = ""
    dotted: bool = False


def draw_picture(document: TeamDocument) -> None:
    """The picture, with the same in words."""
    arrows = list_arrows(document)
    if len(arrows) > _MOST:
        st.caption(f"The picture shows the first {_MOST} of {len(arrows)} ways.")
    shown = arrows[:_MOST]
    dark = st.context.theme.type == "dark"
    told = join_filled("; ", map(describe, shown))
    st.graphviz_chart(write(shown, document, dark=dark), width="stretch", alt=f"Graph: {told}.")


def describe(arrow: Arrow) -> str:
    """The arrow in words."""
    return f"{arrow.start} to {arrow.end}" + (f" ({arrow.why})" if arrow.why else "")


def list_arrows(document: TeamDocument) -> list[Arrow]:
    """Who gives what to whom."""
    flow: Any = document.flow
    arrows = list(_LIST[type(flow)](flow))
    if any(_FOUND in (arrow.start, arrow.end) for arrow in arrows):
        return arrows
    looking = [agent.name for agent in document.agents if agent.documents]
    return [*arrows, *(Arrow(name, _FOUND, "looks up", True) for name in looking)]


def _of_single(flow: Single) -> Iterator[Arrow]:
    yield Arrow(_YOU, flow.agent, "question")
    yield Arrow(flow.agent, _RESULT)


def _of_pair(flow: TwoAgents) -> Iterator[Arrow]:
    yield Arrow(_YOU, flow.starts, "question")
    yield Arrow(flow.starts, flow.answers, f"at most {flow.max_turns} turns")
    yield Arrow(flow.answers, flow.starts)
    for one in flow.nested:
        yield Arrow(one.sender, one.recipient, "asks before it replies", True)
    yield Arrow(flow.answers, _RESULT)


def _of_group(flow: Group) -> Iterator[Arrow]:
    chooser = Fixed(_CHOOSERS[flow.speaker_selection_method])
    ways = f"may {'not ' * (flow.speaker_transitions_type == 'disallowed')}speak next"
    yield Arrow(_YOU, chooser, "question")
    yield from (Arrow(chooser, name) for name in flow.agents)
    for one in flow.transitions:
        yield from (Arrow(one.after, name, ways, True) for name in one.speakers)
    yield Arrow(flow.writer, _RESULT)


def _of_queue(flow: Queue) -> Iterator[Arrow]:
    yield Arrow(_YOU, flow.chats[0].sender, "question")
    for number, one in enumerate(flow.chats, start=1):
        yield Arrow(one.sender, one.recipient, f"{number}.{_describe_carryover(one, number)}")
    yield Arrow(flow.chats[-1].recipient, _RESULT)


def _describe_carryover(chat: Queued, number: int) -> str:
    return " with what came before" if chat.carryover and number > 1 else ""


def _of_retrieve_chat(flow: RetrieveChat) -> Iterator[Arrow]:
    proxy = Fixed(flow.proxy)
    yield Arrow(_YOU, proxy, "question")
    yield Arrow(proxy, flow.assistant, "question and passages")
    if flow.retrieve_config.update_context:
        yield Arrow(flow.assistant, proxy, "UPDATE CONTEXT", True)
    yield Arrow(flow.assistant, _RESULT)


def _of_plan(flow: Plan) -> Iterator[Arrow]:
    yield Arrow(_YOU, flow.planner, "question")
    yield Arrow(flow.planner, _STEPS, "plan")
    if flow.replans:
        yield Arrow(_STEPS, flow.planner, f"anew at most {_count(flow.replans)}", True)
    yield Arrow(_STEPS, flow.solver, "evidence")
    yield Arrow(flow.solver, _RESULT)


def _count(times: int) -> str:
    return "once" if times == 1 else f"{times} times"


def _of_dialogue(flow: Dialogue) -> Iterator[Arrow]:
    steps = [_YOU, *(_name(number, one) for number, one in enumerate(flow.stages, 1)), _RESULT]
    yield from (Arrow(start, end) for start, end in pairwise(steps))
    for number, stage in enumerate(flow.stages, 1):
        who = stage.speakers or flow.agents
        yield from (Arrow(name, _name(number, stage), "", True) for name in who)


def _of_answer(flow: CitedAnswer) -> Iterator[Arrow]:
    yield Arrow(_YOU, _FOUND, "question")
    yield Arrow(_FOUND, flow.agent, "passages")
    yield Arrow(flow.agent, _RESULT)


def _of_research(flow: Research) -> Iterator[Arrow]:
    yield Arrow(_YOU, flow.researcher, "question")
    yield Arrow(flow.researcher, _FOUND, f"at most {flow.parts} parts")
    yield Arrow(_FOUND, flow.writer, f"at most {flow.passages} passages")
    yield Arrow(flow.writer, _RESULT)


def _of_table(flow: FieldTable) -> Iterator[Arrow]:
    yield Arrow(_YOU, flow.planner, "question")
    yield Arrow(flow.planner, flow.reader, "fields")
    yield Arrow(_FOUND, flow.reader, "each document")
    yield Arrow(flow.reader, _RESULT, "table")


def _of_werewolf(flow: Werewolf) -> Iterator[Arrow]:
    moderator = Fixed(MODERATOR)
    yield Arrow(_YOU, moderator, "begins it")
    yield from (Arrow(moderator, name) for name in flow.players)


def _name(number: int, stage: Stage) -> Fixed:
    how = f"at most {stage.rounds} rounds" if stage.kind == "talk" else "vote"
    return Fixed(f"{number}. {stage.name}: {how}")


_LIST: dict[type, Any] = {
    Single: _of_single,
    TwoAgents: _of_pair,
    Group: _of_group,
    Queue: _of_queue,
    RetrieveChat: _of_retrieve_chat,
    Plan: _of_plan,
    Dialogue: _of_dialogue,
    CitedAnswer: _of_answer,
    Research: _of_research,
    FieldTable: _of_table,
    Werewolf: _of_werewolf,
}


def write(arrows: list[Arrow], document: TeamDocument, *, dark: bool) -> str:
    """The graph in Graphviz's language."""
    ink, colours = ("#bdb6a8", voices.DARK) if dark else ("#57524a", voices.LIGHT)
    agents = [agent.name for agent in document.agents]
    boxes = dict.fromkeys(box for arrow in arrows for box in (arrow.start, arrow.end))
    numbers = {box: number for number, box in enumerate(boxes)}

    def node(box: str | Fixed) -> str:
        colour, form = ink, "dashed"
        if box in agents:
            colour, form = colours[voices.find_colour(str(box), agents)], "rounded"
        label = _quote(str(box))
        return f'{numbers[box]} [label={label}, style={form}, color="{colour}"];'

    edges = [
        f"{numbers[one.start]} -> {numbers[one.end]} [label={_quote(f' {one.why} ')}"
        f"{', style=dotted' * one.dotted}];"
        for one in arrows
    ]
    return (
        "digraph { rankdir=TB; bgcolor=transparent; nodesep=0.3; ranksep=0.35; pad=0.05; "
        'node [shape=box, penwidth=2, height=0.35, margin="0.12,0.05", fontname="sans-serif",'
        f' fontsize=12, fontcolor="{ink}"]; edge [color="{ink}", fontcolor="{ink}",'
        ' fontname="sans-serif", fontsize=10, arrowsize=0.6];'
        f" {' '.join([*map(node, boxes), *edges])} }}"
    )


def _quote(text: str) -> str:
    """A string of Graphviz, whatever stands in it; a backslash would begin a sign of its own."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{plain}"'
