"""A structured dialogue in the script of its team: its stages, with the parsers of replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from agentkit.core.given import list_missing
from agentkit.teams.built.dialogue import HOST, list_names, select_names, to_schema, to_tagged
from agentkit.teams.built.flows import Dialogue, ReplyField, Stage
from agentkit.teams.built.writing import write_call
from agentkit.teams.conversing import USER

_INDENT = " " * 4


def write_dialogue(flow: Dialogue, write_list: Callable[[Sequence[str]], str]) -> Iterator[str]:
    """The lines of all stages; `write_list` gives the list of the agents of these names."""
    yield f"everybody = {write_list(flow.agents)}"
    yield f"turns = iter(range({flow.turns_limit}))  # replies in all at most"
    told = [f"Msg({USER!r}, question, 'user')"]
    for number, stage in enumerate(flow.stages, start=1):
        yield f"\n# {' '.join(stage.name.split())}"
        yield f"parser_{number} = {_write_parser(stage.fields, flow.parser)}"
        yield f"speakers = {write_list(stage.speakers) if stage.speakers else 'everybody'}"
        if stage.opening:
            told.append(f"Msg({HOST!r}, {stage.opening!r}, 'assistant')")
        yield from _write_stage(stage, number, told, flow.hub)
        told = []


def _write_stage(stage: Stage, number: int, told: Sequence[str], hub: bool) -> Iterator[str]:
    """What the host tells the speakers, then what they say; in a hub they hear it."""
    is_vote = stage.kind == "vote"
    yield "votes = {}" if is_vote else "said = []"
    heard = f"speakers, [{', '.join(told)}]" if told else "speakers"
    write = _write_vote if is_vote else _write_talk
    if hub:
        yield f"with msghub({heard}):"
        yield from map(_indent, write(stage, number))
    else:
        if told:
            yield f"with msghub({heard}):\n{_INDENT}pass"
        yield from write(stage, number)
    if is_vote:
        yield "print(votes)"
    else:
        yield f"if said:\n{_INDENT}print(said[-1].content)"


def _indent(line: str) -> str:
    return f"{_INDENT}{line}"


def _write_vote(stage: Stage, number: int) -> Iterator[str]:
    yield "for agent, turn in zip(speakers, turns):"
    yield f"    agent.set_parser(parser_{number})"
    yield f"    votes[agent.name] = agent().metadata.get({stage.counted!r})"


def _write_talk(stage: Stage, number: int) -> Iterator[str]:
    yield f"for _ in range({stage.rounds}):"
    yield "    for agent, turn in zip(speakers, turns):"
    yield f"        agent.set_parser(parser_{number})"
    yield "        said.append(agent())"
    if stage.ends_when:
        yield "    latest = said[-len(speakers):]"
        yield f"    if all(one.metadata[{stage.ends_when!r}] is True for one in latest):"
        yield "        break"


def _write_parser(fields: Sequence[ReplyField], form: str) -> str:
    filters = {
        "keys_to_memory": repr(list_names(fields, "remembered")),
        "keys_to_content": repr(list_names(fields, "heard")),
        "keys_to_metadata": repr(list_names(fields, "told")),
    }
    needed = select_names(fields, "required")
    if form == "tags":
        left = list_missing([one.name for one in fields], needed)
        tagged = f",\n{_INDENT}".join(map(_write_tagged, fields))
        arguments = {**filters, "keys_allow_missing": repr(left)}
        return write_call("MultiTaggedContentParser", arguments, tagged)
    schema = {
        "type": "object",
        "properties": {one.name: to_schema(one) for one in fields},
        "required": needed,
    }
    arguments = {
        "content_hint": repr({one.name: one.about for one in fields}),
        "required_keys": repr(needed),
        **filters,
        "json_schema": repr(schema),
    }
    return write_call("MarkdownJsonDictParser", arguments)


def _write_tagged(field: ReplyField) -> str:
    tagged = to_tagged(field)
    given = (tagged.name, tagged.tag_begin, tagged.content_hint, tagged.tag_end, tagged.parse_json)
    return f"TaggedContent({', '.join(map(repr, given))})"
