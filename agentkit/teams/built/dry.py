"""A stand-in for every model of a team: what it says shows the way that a question takes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any

from agentkit.core.given import coalesce, find_first
from agentkit.llm.calls.scripted import scripted_model
from agentkit.llm.model import Model
from agentkit.messages import text_of
from agentkit.teams.built.agents import AgentDocument
from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.flows import (
    Dialogue,
    FieldTable,
    Group,
    Plan,
    ReplyField,
    Stage,
    TwoAgents,
)
from agentkit.teams.built.members import DEFAULT_PROMPT
from agentkit.teams.built.team import find_speakers
from agentkit.teams.findings import SEARCH

SAID = "(dry run) Here {name} would answer."
"""What an agent says, so that nobody takes it for an answer."""
_SUM = "calculate[1 + 1]"
_VALUES: Mapping[str, Any] = {
    "text": "(dry run)",
    "number": 1.0,
    "integer": 1,
    "yes or no": True,
    "list": ["(dry run)"],
}
Request = Mapping[str, Any]


def make_stand_in(document: TeamDocument) -> Model:
    """A model that answers any request of this team in the form that it has to have."""
    return scripted_model(_StandIn(document).reply)


class _StandIn:
    """Knows the team, and from a request which of its agents is to speak."""

    def __init__(self, document: TeamDocument) -> None:
        self._document = document
        self._names: Iterator[str] = cycle(_list_speakers(document))

    def reply(self, request: Request) -> str:
        """What is said to this request."""
        messages = request["messages"]
        flow = self._document.flow
        match flow:
            case Dialogue():
                return self._fill_in(flow, _read(messages))
            case FieldTable():
                return _write_json(_fill_row(_read(messages)))
            case Plan() if messages[0].get("role") == "system":
                return self._plan(flow)
        return self._speak(self._find_agent(messages))

    def _speak(self, agent: AgentDocument | None) -> str:
        """What the agent says, or who speaks next where no agent is asked."""
        if agent is not None:
            name = agent.name
        elif isinstance(self._document.flow, Group):
            return next(self._names)
        else:
            *_, name = find_speakers(self._document)
        said = SAID.format(name=name)
        return f"{said} {self._find_ending(name)}".strip()

    def _plan(self, flow: Plan) -> str:
        """One step with what costs nothing."""
        planner = self._document.agent(flow.planner)
        said = SAID.format(name=planner.name)
        step = _SUM
        if planner.documents:
            step = f"{SEARCH}[{said}]"
        return f"Plan: {said}\n#E1 = {step}"

    def _find_agent(self, messages: Sequence[Mapping[str, Any]]) -> AgentDocument | None:
        """Whose system message the request begins with."""
        told = _read(messages[:1])
        return find_first(
            self._document.agents,
            lambda agent: told.startswith(agent.system_message or DEFAULT_PROMPT),
        )

    def _find_ending(self, name: str) -> str:
        """What ends the chat when this agent says it."""
        match self._document.flow:
            case Group(writer=writer, ends_on=ending) if writer == name:
                return ending.text
            case TwoAgents(answers=answers, starts=starts) if answers == name:
                return self._document.agent(starts).is_termination_msg.text
        return ""

    def _fill_in(self, flow: Dialogue, asked: str) -> str:
        """The fields of the stage that is asked for."""
        stage = _find_stage(flow, asked)
        values = {one.name: self._find_value(one, stage) for one in stage.fields}
        if flow.parser == "json":
            return _write_json(values)
        tags = [_to_tag(one, values[one.name]) for one in stage.fields]
        return "\n".join(tags)

    def _find_value(self, field: ReplyField, stage: Stage) -> Any:
        is_counted = field.name == stage.counted
        if is_counted and field.type == "text":
            return next(self._names)
        return _VALUES[field.type]


def _fill_row(asked: str) -> Mapping[str, Any]:
    """One field for whoever reads fields out of a question, and no value for any field of a
    document: which ones, says the schema in the last line.
    """
    _, _, schema = asked.rpartition("\n")
    wanted = json.loads(schema)["properties"]
    if wanted.get("fields", {}).get("type") == "array":
        return {"fields": [{"name": "dry run", "type": "string", "description": ""}]}
    return dict.fromkeys(wanted)


def _write_json(values: Mapping[str, Any]) -> str:
    return f"```json\n{json.dumps(values, ensure_ascii=False)}\n```"


def _list_speakers(document: TeamDocument) -> list[str]:
    """Who takes part, in order; all where the flow does not say."""
    named = getattr(document.flow, "agents", None)
    if named:
        return list(named)
    return [agent.name for agent in document.agents]


def _find_stage(flow: Dialogue, asked: str) -> Stage:
    """The last stage all of whose fields are asked for."""
    asked_for = find_first(
        reversed(flow.stages),
        lambda stage: all(_is_asked(one, asked) for one in stage.fields),
    )
    return coalesce(asked_for, flow.stages[0])


def _is_asked(field: ReplyField, asked: str) -> bool:
    """Whether a request names the field, as JSON or as a tag."""
    as_key, as_tag = f'"{field.name}"', f"[{field.name}]"
    return as_key in asked or as_tag in asked


def _read(messages: Sequence[Mapping[str, Any]]) -> str:
    """What the last message says: there stands in which form the reply is to be."""
    if not messages:
        return ""
    last = messages[-1]
    return text_of(last.get("content"))


def _to_tag(field: ReplyField, value: Any) -> str:
    written = value
    if field.type != "text":
        written = json.dumps(value)
    return f"[{field.name}]{written}[/{field.name}]"
