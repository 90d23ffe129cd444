"""How many calls of models a question to a team takes, as far as its document says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

Range = tuple[int, int | None]
"""The fewest and the most; None where nothing limits them."""
_MOST_STEPS = 10
"""Steps of a plan that read something by the model, where the plan has no limit of its own."""


def estimate_calls(document: TeamDocument) -> Range:
    """The fewest and the most calls that one question takes by the team's own limits."""
    return _COUNT[type(document.flow)](document, document.flow)


def _count_single(document: TeamDocument, flow: Single) -> Range:
    agent = document.agent(flow.agent)
    calls_tools = agent.documents or agent.tools or agent.own_tools or agent.code
    return 1, flow.max_turns if calls_tools else 1


def _count_pair(document: TeamDocument, flow: TwoAgents) -> Range:
    speakers = _count_speakers(document, [flow.starts, flow.answers])
    nested = [_count_chat(document, chat) for chat in flow.nested]
    before_each = sum(most for _, most in nested)
    return 1, flow.max_turns * (speakers + before_each)


def _count_group(document: TeamDocument, flow: Group) -> Range:
    selects = flow.speaker_selection_method == "auto"
    tries = 1 + flow.max_retries_for_selecting_speaker if selects else 0
    return 1 + int(selects), flow.max_round * (1 + tries)


def _count_queue(document: TeamDocument, flow: Queue) -> Range:
    counted = [_count_chat(document, chat) for chat in flow.chats]
    return sum(fewest for fewest, _ in counted), sum(most for _, most in counted)


def _count_chat(document: TeamDocument, chat: Queued) -> tuple[int, int]:
    summary = int(chat.summary_method == "reflection_with_llm")
    speakers = _count_speakers(document, [chat.sender, chat.recipient])
    return 1 + summary, chat.max_turns * speakers + summary


def _count_retrieve_chat(document: TeamDocument, flow: RetrieveChat) -> Range:
    return 1, flow.max_turns


def _count_plan(document: TeamDocument, flow: Plan) -> Range:
    reading = (flow.most_steps or _MOST_STEPS) if flow.reads_results else 0
    return 2, (flow.max_turn + reading) * (1 + flow.replans) + 1


def _count_dialogue(document: TeamDocument, flow: Dialogue) -> Range:
    counted = [_count_stage(flow, stage) for stage in flow.stages]
    fewest = sum(low for low, _ in counted)
    most = sum(high for _, high in counted)
    return min(fewest, flow.turns_limit), min(most, flow.turns_limit)


def _count_stage(flow: Dialogue, stage: Stage) -> tuple[int, int]:
    speakers = len(stage.speakers or flow.agents)
    rounds = 1 if stage.kind == "vote" else stage.rounds
    return speakers, speakers * rounds


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
    speaking = [name for name in names if document.agent(name).llm is not None]
    return max(1, len(speaking))


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
