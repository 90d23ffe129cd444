"""Structured dialogue: agents that answer in fields, stage by stage, and a vote that is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from agentkit.agents.dialog import Msg, msghub
from agentkit.agents.dialog.agents import DictDialogAgent
from agentkit.conversation import announcing
from agentkit.core.given import list_missing
from agentkit.core.io import IOStream, Quiet
from agentkit.messages import text_of
from agentkit.parsers import (
    MarkdownJsonDictParser,
    MultiTaggedContentParser,
    ParserBase,
    TaggedContent,
)
from agentkit.reasons import ANSWERED, EndReason
from agentkit.teams.built.flows import Dialogue, ReplyField, Stage
from agentkit.teams.built.members import Members
from agentkit.teams.conversing import USER, make_opening
from agentkit.teams.findings import Findings
from agentkit.teams.memory.long_memory import tell_turns
from agentkit.teams.task import Answer, Task

HOST = "Host"
_TYPES: Mapping[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "yes or no": {"type": "boolean"},
    "list": {"type": "array", "items": {"type": "string"}},
}


def discuss(flow: Dialogue, members: Members, task: Task, found: Findings) -> Answer:
    """All stages, one after the other; the last vote is the answer, else the last word."""
    agents = {name: members.dialog(name) for name in flow.agents}
    for agent in agents.values():
        heard = [_to_msg(turn) for turn in tell_turns(task)]
        agent.observe(heard)
    table = _Table(flow, agents)
    with IOStream.set_default(Quiet()), announcing.following(task.parent_id) as last:
        try:
            text = table.run(_to_msg(make_opening(task)))
        finally:
            task.parent_id = last()
    evidence = task.evidence(text, found.hits)
    return task.conclude(HOST, text, evidence, ANSWERED, told=table.end)


def _to_msg(turn: Mapping[str, Any]) -> Msg:
    who = str(turn.get("name") or USER)
    said = text_of(turn.get("content"))
    role = turn.get("role", "user")
    if role != "user":
        role = "assistant"
    return Msg(who, said, role)


class _Table:
    """The agents around their stages; counts replies, and knows what was said last."""

    def __init__(self, flow: Dialogue, agents: Mapping[str, DictDialogAgent]) -> None:
        self.end: EndReason | None = None
        """Why it ended before it was done, where it did."""
        self._flow, self._agents = flow, agents
        self._replies = 0
        self._said = Msg(HOST, "", "assistant")

    def run(self, question: Msg) -> str:
        """What came of it, as Markdown."""
        result = ""
        opening = [question]
        for stage in self._flow.stages:
            speakers = stage.speakers or list(self._agents)
            if stage.opening:
                opening.append(Msg(HOST, stage.opening, "assistant"))
            self._tell(speakers, opening)
            opening = []
            result = self._hold(stage, speakers)
        return result

    def _tell(self, names: Sequence[str], messages: Sequence[Msg]) -> None:
        """Let them hear what the host says."""
        agents = self._find_agents(names)
        for said in messages:
            with msghub(agents, said):
                pass

    def _find_agents(self, names: Sequence[str]) -> list[DictDialogAgent]:
        return list(map(self._agents.__getitem__, names))

    def _hold(self, stage: Stage, speakers: Sequence[str]) -> str:
        parser = build_parser(stage.fields, self._flow.parser)
        with ExitStack() as stack:
            if self._flow.hub:
                hub = msghub(self._find_agents(speakers))
                stack.enter_context(hub)
            if stage.kind == "vote":
                return self._vote(stage, speakers, parser)
            self._talk(stage, speakers, parser)
        return text_of(self._said.content)

    def _talk(self, stage: Stage, speakers: Sequence[str], parser: ParserBase) -> None:
        ends_when = stage.ends_when
        for _ in range(stage.rounds):
            told = [self._hear(name, parser) for name in speakers]
            agrees = [one.get(ends_when) is True for one in told]
            if ends_when and all(agrees):
                return

    def _vote(self, stage: Stage, speakers: Sequence[str], parser: ParserBase) -> str:
        votes: dict[str, str] = {}
        for name in speakers:
            told = self._hear(name, parser)
            if stage.counted in told:  # else the talk was over before, or the field was left out
                votes[name] = " ".join(str(told[stage.counted]).split())
        return describe_votes(votes)

    def _hear(self, name: str, parser: ParserBase) -> Mapping[str, Any]:
        """What the program is told of an agent's reply."""
        if self._replies >= self._flow.turns_limit:
            self.end = EndReason("rounds", HOST, self._flow.turns_limit)
            return {}
        self._replies += 1
        agent = self._agents[name]
        agent.set_parser(parser)
        self._said = agent()
        told = self._said.metadata
        if isinstance(told, Mapping):
            return told
        return {}


def build_parser(fields: Sequence[ReplyField], form: str) -> ParserBase:
    """The parser for replies of these fields: which are heard, remembered, and told."""
    keys = {
        "keys_to_memory": list_names(fields, "remembered"),
        "keys_to_content": list_names(fields, "heard"),
        "keys_to_metadata": list_names(fields, "told"),
        "keys_allow_missing": list_optional(fields),
    }
    needed = select_names(fields, "required")
    if form == "tags":
        return MultiTaggedContentParser(*map(to_tagged, fields), **keys)
    hint = {one.name: one.about for one in fields}
    properties = {one.name: to_schema(one) for one in fields}
    schema = {
        "type": "object",
        "properties": properties,
        "required": needed,
    }
    return MarkdownJsonDictParser(hint, needed, json_schema=schema, **keys)


def list_names(fields: Sequence[ReplyField], where: str) -> Any:
    """The fields that go there: one by itself as its value, none as False."""
    names = select_names(fields, where)
    is_heard = where == "heard"
    if is_heard and len(names) == 1:
        [only] = names
        return only
    return names or False


def list_optional(fields: Sequence[ReplyField]) -> list[str]:
    """The names of the fields that a reply may leave out."""
    names = [one.name for one in fields]
    return list_missing(names, select_names(fields, "required"))


def select_names(fields: Sequence[ReplyField], marked: str) -> list[str]:
    """The names of the fields that are marked so."""
    return [one.name for one in fields if getattr(one, marked)]


def to_schema(field: ReplyField) -> dict[str, Any]:
    """The field as JSON schema."""
    return {**_TYPES[field.type], "description": field.hint or field.name}


def to_tagged(field: ReplyField) -> TaggedContent:
    """The field as it stands between tags."""
    is_json = field.type != "text"
    begin, end = f"[{field.name}]", f"[/{field.name}]"
    return TaggedContent(field.name, begin, field.about, end, is_json)


def describe_votes(votes: Mapping[str, str]) -> str:
    """The result in a line, and who voted for what as a table."""
    if not votes:
        return "Nobody voted."
    counts = Counter(votes.values())
    most = max(counts.values())
    first = [f"**{vote}**" for vote, count in counts.items() if count == most]
    result = f"{first[0]} ({most} of {len(votes)} votes)"
    if len(first) > 1:
        result = f"A draw between {', '.join(first)} ({most} votes each)"
    rows = [f"| {_to_cell(name)} | {_to_cell(vote)} |" for name, vote in votes.items()]
    lines = [
        result,
        "",
        "| Agent | Vote |",
        "| --- | --- |",
        *rows,
    ]
    return "\n".join(lines)


def _to_cell(text: str) -> str:
    return text.replace("|", r"\|")
