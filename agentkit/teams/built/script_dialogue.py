"""A structured dialogue in the script of its team: its stages, with the parsers of replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from agentkit.teams.built.dialogue import (
    HOST,
    list_names,
    list_optional,
    select_names,
    to_schema,
    to_tagged,
)
from agentkit.teams.built.flows import Dialogue, ReplyField, Stage
from agentkit.teams.built.writing import write_call
from agentkit.teams.conversing import USER

_INDENT = " " * 4
_COUNTED = (
    "for name, vote in votes.items():",
    '    print(f"{name}: {vote}")',
    "given = list(votes.values())",
    "for vote in sorted(dict.fromkeys(given), key=given.count, reverse=True):",
    '    print(f"{given.count(vote)} of {len(given)} votes: {vote}")',
    "if not given:",
    '    print("Nobody voted.")',
)


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
        yield from _COUNTED
    else:
        yield f"if said:\n{_INDENT}print(said[-1].content)"


def _indent(line: str) -> str:
    return f"{_INDENT}{line}"


def _write_vote(stage: Stage, number: int) -> Iterator[str]:
    yield "for agent, turn in zip(speakers, turns):"
    yield f"    agent.set_parser(parser_{number})"
    yield "    told = agent().metadata or {}"
    yield f"    if {stage.counted!r} in told:"
    yield f"        votes[agent.name] = ' '.join(str(told[{stage.counted!r}]).split())"


def _write_talk(stage: Stage, number: int) -> Iterator[str]:
    yield f"for _ in range({stage.rounds}):"
    yield "    for agent, turn in zip(speakers, turns):"
    yield f"        agent.set_parser(parser_{number})"
    yield "        said.append(agent())"
    if stage.ends_when:
        yield "    latest = [one.metadata or {} for one in said[-len(speakers):]]"
        yield f"    if all(told.get({stage.ends_when!r}) is True for told in latest):"
        yield "        break"


def _write_parser(fields: Sequence[ReplyField], form: str) -> str:
    filters = {
        "keys_to_memory": repr(list_names(fields, "remembered")),
        "keys_to_content": repr(list_names(fields, "heard")),
        "keys_to_metadata": repr(list_names(fields, "told")),
        "keys_allow_missing": repr(list_optional(fields)),
    }
    needed = select_names(fields, "required")
    if form == "tags":
        tagged = f",\n{_INDENT}".join(map(_write_tagged, fields))
        return write_call("MultiTaggedContentParser", filters, tagged)
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
