"""What a change in the form brings with it, so that the team goes on fitting together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentkit.teams.built.agents import ModelChoice
from agentkit.teams.built.planning import list_prompts
from agentkit.ui.teams.rows import rename

Json = dict[str, Any]
Path = tuple[str | int, ...]
_MODEL = ModelChoice().model_dump(mode="json")
_PERSON = {"llm": None, "human_input_mode": "ALWAYS"}
_OTHERS = {"llm": _MODEL, "human_input_mode": "NEVER"}


def follow(document: Json, path: Path, before: Any) -> bool:
    """Change what follows from a value that was just set at a place; whether something did.

    `before` is what had stood there.
    """
    pattern = tuple("*" if isinstance(part, int) else part for part in path)
    change = _FOLLOWS.get(pattern)
    return change is not None and change(document, path, before)


def _rename_agent(document: Json, path: Path, before: Any) -> bool:
    """The flow names it as it is called now."""
    name = str(document["agents"][path[1]]["name"])
    document["flow"] = rename(document["flow"], str(before), name)
    return False  # each field that names an agent looks for itself


def _fit_role(document: Json, path: Path, before: Any) -> bool:
    """Nobody speaks for a person, who is asked instead; for others it is as before."""
    agent = document["agents"][path[1]]
    if agent["role"] == "person":
        agent.update(_PERSON)
        return True
    if before == "person":
        agent.update(_OTHERS)
        return True
    return False


def _join(document: Json, path: Path, before: Sequence[Json]) -> bool:
    """Who is new takes part where all do."""
    old = {agent["name"] for agent in before}
    members = document["flow"].get("agents", [])
    members += [name for agent in document["agents"] if (name := agent["name"]) not in old]
    return False  # rows that change are drawn anew by themselves


def _begin_prompts(document: Json, path: Path, before: Any) -> bool:
    """One's own prompts begin as those that were chosen."""
    flow = document["flow"]
    if flow["prompts"] != "own":
        return False
    for name, text in list_prompts(str(before)).items():
        flow[name] = flow[name] or text
    return True


_FOLLOWS: Mapping[Path, Callable[[Json, Path, Any], bool]] = {
    ("agents",): _join,
    ("agents", "*", "name"): _rename_agent,
    ("agents", "*", "role"): _fit_role,
    ("flow", "prompts"): _begin_prompts,
}
"""By place, where a star stands for any row."""
