"""The variables of agents in scripts: nothing else in the script has their names."""

from __future__ import annotations

import ast
import builtins
import io
import itertools
import tokenize
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from agentkit.mcp.servers import AllowedTool, ToolServer
from agentkit.teams.built.document import MOST_AGENTS, read_document
from agentkit.teams.built.offers.catalog import CATALOG
from agentkit.teams.built.script import write_script
from tests.teams.built import drafts

COUNT = """from math import floor as rounded

LIMIT = 3

class Counter:
    pass

def measure(text: str, *, least: int = 0) -> int:
    \"\"\"Count it.\"\"\"
    try:
        return min(LIMIT, rounded(len(text)))
    except ValueError as problem:
        raise problem
"""
SERVER = ToolServer("shop", ("run",), tools={"stock": AllowedTool("stock", "How many.", {})})
TOOLS = [*CATALOG, "measure", "shop/stock"]


def _with_tools() -> dict[str, Any]:
    draft = drafts.single(tools=[{"name": name} for name in TOOLS], own_tools=True)
    return draft | {"functions": [{"name": "measure", "code": COUNT, "marked": "harmless"}]}


def _with_runner() -> dict[str, Any]:
    draft = drafts.pair(nested=[{"sender": "Helper", "recipient": "Runner"}])
    draft["agents"] += [
        drafts.agent("Runner", role="runner", llm=None, code={}),
        drafts.agent("Brief", compress_config={"mode": "CUSTOMIZED"}),
    ]
    return draft


DRAFTS = {
    "tools": _with_tools(),
    "runner": _with_runner(),
    "group": drafts.group(reads_results=True, allow_repeat_speaker=["Ann"]),
    "queue": drafts.queue(),
    "retrieve_chat": drafts.retrieve_chat(),
    "plan": drafts.plan(),
    "cited_answer": drafts.cited_answer(),
    "research": drafts.research(),
    "dialogue": drafts.discussion(),
}


def _write(draft: dict[str, Any]) -> str:
    return write_script(read_document(draft), [SERVER])


def _list_names() -> list[str]:
    """Every name in any of the scripts, and those that Python has."""
    names = dict.fromkeys(dir(builtins))
    for script in map(_write, DRAFTS.values()):
        for token in tokenize.generate_tokens(io.StringIO(script).readline):
            if token.type == tokenize.NAME:
                names[token.string] = None
    return list(names)


NAMES = _list_names()


def _list_bound(tree: ast.Module) -> Iterator[str]:
    """The names that code gives a value, as often as it does."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.ExceptHandler(name=str(name)):
                yield name


def _find_variables(tree: ast.Module) -> dict[str, str]:
    """The variables that hold agents, by the agents' names."""
    found: dict[str, str] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=variable)], value=ast.Call(keywords=given)):
                named = {one.arg: one.value for one in given}
                match named.get("name"):
                    case ast.Constant(value=str(name)):
                        found.setdefault(name, variable)
    return found


def _draw_up(draft: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The team with agents of these names beside those who are in it."""
    there = {agent["name"] for agent in draft["agents"]}
    more = [drafts.agent(name) for name in names if name not in there]
    return {**draft, "agents": [*draft["agents"], *more]}


@pytest.mark.parametrize("kind", ["tools", "runner", "group", "queue", "retrieve_chat", "dialogue"])
def test_an_agent_called_as_anything_in_a_script_has_a_variable_of_its_own(kind: str) -> None:
    rest = iter(NAMES)
    while names := list(itertools.islice(rest, MOST_AGENTS - 4)):
        tree = ast.parse(_write(_draw_up(DRAFTS[kind], names)))
        variables = _find_variables(tree)
        assert variables.keys() >= set(names)
        bound = Counter(_list_bound(tree))
        assert {name: bound[name] for name in variables.values() if bound[name] != 1} == {}
        assert not set(variables.values()).intersection(dir(builtins))
