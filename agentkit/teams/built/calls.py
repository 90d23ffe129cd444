"""How many calls of models a question to a team takes, as far as its document says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

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

Limits = tuple[int, int]
"""The fewest and the most."""
Range = tuple[int, int | None]
"""The same; None where nothing limits them."""
_MOST_STEPS = 10
"""Steps of a plan that read something by the model, where the plan has no limit of its own."""


def estimate_calls(document: TeamDocument) -> Range:
    """The fewest and the most calls that one question takes by the team's own limits."""
    return _COUNT[type(document.flow)](document, document.flow)


def _count_single(document: TeamDocument, flow: Single) -> Range:
    agent = document.agent(flow.agent)
    if not any((agent.documents, agent.tools, agent.own_tools, agent.code)):
        return 1, 1
    return 1, flow.max_turns


def _count_pair(document: TeamDocument, flow: TwoAgents) -> Range:
    speakers = _count_speakers(document, [flow.starts, flow.answers])
    _, before_each = _add(map(partial(_count_chat, document), flow.nested))
    return 1, flow.max_turns * (speakers + before_each)


def _count_group(document: TeamDocument, flow: Group) -> Range:
    selects = int(flow.speaker_selection_method == "auto")
    tries = selects * (1 + flow.max_retries_for_selecting_speaker)
    return 1 + selects, flow.max_round * (1 + tries)


def _count_queue(document: TeamDocument, flow: Queue) -> Range:
    return _add(map(partial(_count_chat, document), flow.chats))


def _count_chat(document: TeamDocument, chat: Queued) -> Limits:
    summary = int(chat.summary_method == "reflection_with_llm")
    speakers = _count_speakers(document, [chat.sender, chat.recipient])
    return 1 + summary, chat.max_turns * speakers + summary


def _add(ranges: Iterable[Limits]) -> Limits:
    """The fewest and the most of all of them together."""
    fewest = most = 0
    for low, high in ranges:
        fewest += low
        most += high
    return fewest, most


def _count_retrieve_chat(document: TeamDocument, flow: RetrieveChat) -> Range:
    return 1, flow.max_turns


def _count_plan(document: TeamDocument, flow: Plan) -> Range:
    steps = int(flow.reads_results) * (flow.most_steps or _MOST_STEPS)
    return 2, (flow.max_turn + steps) * (1 + flow.replans) + 1


def _count_dialogue(document: TeamDocument, flow: Dialogue) -> Range:
    fewest, most = _add(map(partial(_count_stage, flow), flow.stages))
    return min(fewest, flow.turns_limit), min(most, flow.turns_limit)


def _count_stage(flow: Dialogue, stage: Stage) -> Limits:
    speakers = len(stage.speakers or flow.agents)
    if stage.kind == "vote":
        return speakers, speakers
    return speakers, speakers * stage.rounds


def _count_answer(document: TeamDocument, flow: CitedAnswer) -> Range:
    return 1, 1


def _count_research(document: TeamDocument, flow: Research) -> Range:
    return 2, 2


def _count_table(document: TeamDocument, flow: FieldTable) -> Range:
    return 1, None


def _count_game(document: TeamDocument, flow: Werewolf) -> Range:
    return len(flow.players), None


def _count_speakers(document: TeamDocument, names: list[str]) -> int:
    """Those for whom a model speaks; there is one at least."""
    models = [document.agent(name).llm for name in names]
    return max(1, len(models) - models.count(None))


_COUNT: Mapping[type, Callable[[TeamDocument, Any], Range]] = {
    Single: _count_single,
    TwoAgents: _count_pair,
    Group: _count_group,
    Queue: _count_queue,
    RetrieveChat: _count_retrieve_chat,
    Plan: _count_plan,
    Dialogue: _count_dialogue,
    CitedAnswer: _count_answer,
    Research: _count_research,
    FieldTable: _count_table,
    Werewolf: _count_game,
}
