"""What a change in the form brings with it, so that the team goes on fitting together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentkit.core.tools import find_only, rename_only
from agentkit.teams.built.agents import ModelChoice
from agentkit.teams.built.offers.catalog import CATALOG
from agentkit.teams.built.planning import list_prompts
from agentkit.ui.teams.rows import rename

Json = dict[str, Any]
Path = tuple[str | int, ...]
_MODEL = ModelChoice().model_dump(mode="json")
_BY_ROLE: Mapping[tuple[bool, bool], Json] = {
    (False, True): {"llm": None, "human_input_mode": "ALWAYS"},
    (True, False): {"llm": _MODEL, "human_input_mode": "NEVER"},
}
"""What becomes of an agent by whether it was a person, and whether it is one now."""


def follow(document: Json, path: Path, before: Any) -> bool:
    """Change what follows from a value that was just set at a place; whether fields show another
    value now.

    `before` is what had stood there.
    """
    change = _FOLLOWS.get((path[0], path[-1], len(path)), _nothing)
    return change(document, path, before)


def _nothing(document: Json, path: Path, before: Any) -> bool:
    return False


def _rename_agent(document: Json, path: Path, before: Any) -> bool:
    """The flow names it as it is called now."""
    name = str(document["agents"][path[1]]["name"])
    document["flow"] = rename(document["flow"], str(before), name)
    return True


def _fit_role(document: Json, path: Path, before: Any) -> bool:
    """Nobody speaks for a person, who is asked instead; for others it is as before."""
    agent = document["agents"][path[1]]
    changed = _BY_ROLE.get((before == "person", agent["role"] == "person"), {})
    agent.update(changed)
    return bool(changed)


def _join(document: Json, path: Path, before: Sequence[Json]) -> bool:
    """Who is new takes part where all do."""
    members = document["flow"].get("agents", [])
    names = _list_names(document["agents"])
    new = set(names) - {*_list_names(before), *members}
    members += sorted(new, key=names.index)
    return False  # rows that change are drawn anew by themselves


def _list_names(agents: Sequence[Json]) -> list[str]:
    return [agent["name"] for agent in agents]


def _begin_prompts(document: Json, path: Path, before: Any) -> bool:
    """One's own prompts begin as those that were chosen."""
    flow = document["flow"]
    if flow["prompts"] != "own":
        return False
    for name, text in list_prompts(str(before)).items():
        flow[name] = flow[name] or text
    return True


def _name_code(document: Json, path: Path, before: Any) -> bool:
    """The code of a function, and the agents that may call it, call it as it is called now."""
    function = document["functions"][path[1]]
    name = str(function["name"])
    function["code"] = rename_only(str(function["code"]), name)
    _rename_tool(document, str(before), name)
    return True


def _name_by_code(document: Json, path: Path, before: Any) -> bool:
    """A function is called as its code calls it."""
    function = document["functions"][path[1]]
    old, name = str(function["name"]), find_only(str(function["code"]))
    if name in ("", old):
        return False
    function["name"] = name
    _rename_tool(document, old, name)
    return True


def _rename_tool(document: Json, old: str, name: str) -> None:
    """Agents may call it by its new name; built-in ones keep theirs."""
    others = [*CATALOG, *_list_names(document["functions"])]
    if old in others:
        return
    renamed = {old: name}
    for agent in document["agents"]:
        for use in agent.get("tools", ()):
            known = use["name"]
            use["name"] = renamed.get(known, known)


_FOLLOWS: Mapping[tuple[str | int, str | int, int], Callable[[Json, Path, Any], bool]] = {
    ("agents", "agents", 1): _join,
    ("agents", "name", 3): _rename_agent,
    ("agents", "role", 3): _fit_role,
    ("flow", "prompts", 2): _begin_prompts,
    ("functions", "code", 3): _name_by_code,
    ("functions", "name", 3): _name_code,
}
"""By where a path begins and ends, and how long it is."""
