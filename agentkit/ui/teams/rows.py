"""New rows of a list in a team: an agent, a tool, a conversation, a stage, a field."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from agentkit.core.given import list_missing
from agentkit.teams.built.agents import Part
from agentkit.ui.teams.fields import AGENT_FIELDS, default_of, list_fields

_CALLED = {
    "AgentDocument": "Agent",
    "Stage": "Stage",
    "ReplyField": "field",
    "WrittenFunction": "function",
}
"""How a new row is called, with a number."""
_CODE = '''def {}(text: str) -> str:
    """Say here what it does: the model reads it before it calls."""
    return text.upper()
'''
"""The code of a new function."""
_ALL = ("agents", "speakers", "players")
"""Fields that take all agents at first."""
_PLACES = {"recipient": 1, "answers": 1}
"""Fields that take another agent than the first."""
ADD = {
    "AgentDocument": "Add an agent",
    "ToolUse": "Add a tool",
    "Queued": "Add a conversation",
    "Transition": "Add a transition",
    "Stage": "Add a stage",
    "ReplyField": "Add a field",
    "WrittenFunction": "Write a function",
}


def make_row(part: type[Part], agents: Sequence[str], taken: Collection[str] = ()) -> Any:
    """A row with all defaults; what has none gets the first thing that fits."""
    row: dict[str, Any] = {}
    required = {name for name, field in part.model_fields.items() if field.is_required()}
    for known in list_fields(part):
        row[known.key] = known.default
        if known.key in required:
            row[known.key] = _fill(part, known.key, known.shape.part, agents, taken)
    if "after" in row:
        row["speakers"] = leave_out(agents, [row["after"]])
    return row


def rename(value: Any, old: str, new: str) -> Any:
    """A flow in which an agent has another name wherever it is named."""
    if isinstance(value, list):
        return [new if one == old else rename(one, old, new) for one in value]
    if isinstance(value, dict):
        return {key: _rename_at(key, one, old, new) for key, one in value.items()}
    return value


def _rename_at(key: str, value: Any, old: str, new: str) -> Any:
    if value == old and key in AGENT_FIELDS:
        return new
    return rename(value, old, new)


def make_default(part: type[Part]) -> Any:
    """The part with all its defaults."""
    return {field.alias or name: default_of(field) for name, field in part.model_fields.items()}


def describe_row(row: Any) -> str:
    """What a row is called, in plain text."""
    if "sender" in row:
        return f"{row['sender']} to {row['recipient']}"
    if "after" in row:
        return f"After {row['after']}"
    return str(row.get("name") or "unnamed")


def _fill(
    part: type[Part],
    key: str,
    inner: type[Part] | None,
    agents: Sequence[str],
    taken: Collection[str],
) -> Any:
    if inner is not None:
        return [make_row(inner, agents)]
    if key == "name":
        return find_free(_CALLED.get(part.__name__, "Row"), taken)
    if key == "code":
        return _CODE.format(find_free(_CALLED[part.__name__], taken))
    if key in _ALL:
        return list(agents)
    if key == "after":
        return [*leave_out(agents, taken), *agents, ""][0]
    place = _PLACES.get(key, 0)
    return [*agents, ""][min(place, len(agents))]


def leave_out(names: Sequence[str], without: Collection[str]) -> list[str]:
    """The names but for these."""
    return list_missing(names, without)


def list_taken(rows: Sequence[Any]) -> list[str]:
    """What a further row is not to be called, or about."""
    return [str(row.get("name") or row.get("after")) for row in rows]


def find_free(word: str, taken: Collection[str]) -> str:
    """The word with the first number that makes it free."""
    number = len(taken) + 1
    while f"{word}{number}" in taken:
        number += 1
    return f"{word}{number}"
