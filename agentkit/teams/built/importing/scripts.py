"""Python scripts that make agents: read from their text, never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from agentkit.core.given import pick, pick_given
from agentkit.errors import ConfigError
from agentkit.teams.built.agents import RetrieveConfig
from agentkit.teams.built.document import describe_errors
from agentkit.teams.built.importing.functions import Script
from agentkit.teams.built.importing.taken import MOST, SILENT, Imported, Taken

LONGEST_SCRIPT = 200_000
"""Characters of a script."""
_AGENTS = ("ConversableAgent", "AssistantAgent", "UserProxyAgent", "CompressibleAgent")
_RETRIEVING = {"RetrieveAssistantAgent": "AssistantAgent"}
"""Classes that are others by another name."""
_PROXY = "RetrieveUserProxyAgent"
_OF_RETRIEVAL = frozenset(
    [
        *("task", "context_max_tokens", "customized_prompt", "customized_answer_prefix"),
        *("update_context", "distance_threshold"),
    ]
)
"""Keys of `retrieve_config` that say something where passages come from a collection."""
_NONE = ast.dump(ast.Constant(None))
_TAKEN = ("register_for_llm", "register_for_execution", "register_function")
"""Methods and functions that are read as functions which agents may call."""


def import_script(text: str) -> Imported:
    """The agents that a Python script makes with arguments that stand there as they are."""
    if len(text) > LONGEST_SCRIPT:
        raise ConfigError(
            f"The script has {len(text):,} characters; more than {LONGEST_SCRIPT:,} are not read."
        )
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(f"The script cannot be read as Python: {error}.") from error
    return _Reader(tree, text).read()


@dataclass(frozen=True, slots=True)
class _Made:
    """What a script keeps in a variable."""

    kind: str
    given: Mapping[str, Any]
    nodes: Mapping[str, ast.expr]


_NOTHING = _Made("", {}, {})
"""What is kept in a variable that the script does not know."""


class _Reader:
    """Reads a script from top to bottom."""

    def __init__(self, tree: ast.Module, source: str) -> None:
        self._tree, self._source = tree, source
        self._taken = Taken()
        self._values: dict[str, Any] = {}
        self._made: dict[str, _Made] = {}
        self._names: dict[str, str] = {}
        self._written: dict[str, ast.expr] = {}
        self._looked_up: dict[str, Any] = {}

    def read(self) -> Imported:
        """The team; raises ConfigError for a script that makes no agents."""
        for target, value in self._list_assigned():
            self._take(target, value)
        if not self._names:
            raise ConfigError("The script makes no agents whose arguments stand there as they are.")
        self._take_functions()
        flow = self._find_flow()
        for target, what in dict.fromkeys(self._list_left()):
            self._taken.remark(target, f"{what} was not taken")
        return self._taken.finish("Imported team", "Read from a script.", flow)

    def _list_left(self) -> Iterator[tuple[str, str]]:
        """What else is done with the agents: whose method it is and its name, and chats after the
        first.
        """
        begun = 0
        for node in ast.walk(self._tree):
            match node:
                case ast.Call(func=ast.Name(id="initiate_chats")):
                    yield "script", "initiate_chats"
                case ast.Call(func=ast.Attribute(attr="initiate_chat", value=agent)):
                    if begun:
                        yield _name_of(agent), "a further chat"
                    begun += 1
                case ast.Call(func=ast.Attribute(attr=method, value=ast.Name(id=agent))):
                    if agent in self._names and method not in _TAKEN:
                        yield agent, method

    def _take_functions(self) -> None:
        """Those that agents may call, and what they need."""
        script = Script(self._tree, self._source)
        left = list(script.functions)
        for name, offered in pick(script.offered, script.functions).items():
            code = script.write(name)
            callers = pick(self._names, offered.callers)
            missing = script.list_missing(code)
            self._taken.bring(name, code, list(callers.values()), missing)
            left = [other for other in left if f"def {other}(" not in code]
        if left:
            text = f"functions that no agent may call were not taken ({', '.join(left)[:200]})"
            self._taken.remark("script", text)

    def _list_assigned(self) -> Iterator[tuple[str, ast.expr]]:
        for node in self._tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name), *_], value=value):
                    yield name, value

    def _take(self, target: str, value: ast.expr) -> None:
        if not isinstance(value, ast.Call):
            self._values[target] = self._evaluate(value)
            self._written[target] = value
            return
        written = _name_of(value.func)
        kind = _RETRIEVING.get(written, written)
        given, nodes = self._read_arguments(target, value)
        self._made[target] = _Made(kind, given, nodes)
        if kind in _AGENTS:
            arguments = {"name": target, **given}
            self._names[target] = self._taken.agent(kind, arguments)
            return
        is_other_agent = kind.endswith("Agent") and kind != _PROXY
        if is_other_agent:
            self._taken.remark(target, f"an agent of the kind {kind[:60]} was not taken")

    def _read_arguments(
        self, target: str, call: ast.Call
    ) -> tuple[dict[str, Any], dict[str, ast.expr]]:
        """What stands there as it is, and all of it as it is written."""
        first = "name" if _name_of(call.func).endswith("Agent") else "agents"
        nodes = dict(zip((first, "system_message"), call.args, strict=False))
        nodes |= _list_keywords(call)
        values = {key: self._evaluate(node) for key, node in nodes.items()}
        given = pick_given(values)
        computed = nodes.keys() - given.keys() - set(SILENT)
        for key in computed:
            self._note_computed(target, key, nodes[key])
        if "llm_config" in nodes:
            given.setdefault("llm_config", True)
        return given, nodes

    def _note_computed(self, target: str, key: str, node: ast.expr) -> None:
        written = ast.dump(node)
        is_usual_ending = key == "is_termination_msg" and "TERMINATE" in written
        if is_usual_ending or written == _NONE:
            return
        told = f"{key} is computed, so it was not taken"
        self._taken.remark(target, told)

    def _evaluate(self, node: ast.expr) -> Any:
        """The value that is written there, or that a variable was given; None for any other."""
        if isinstance(node, ast.Name):
            return self._values.get(node.id)
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return None

    def _find_flow(self) -> dict[str, Any]:
        starts, answers, turns = self._find_opening()
        managed = self._made.get(answers, _NOTHING)
        if managed.kind == "GroupChatManager":
            return self._find_group(managed, self._names.get(starts, ""))
        proxy = self._made.get(starts, _NOTHING)
        if answers not in self._names:
            return self._guess_flow()
        if proxy.kind == _PROXY:
            return self._find_retrieval(proxy, answers)
        if starts not in self._names:
            return self._guess_flow()
        return {
            "kind": "two_agents",
            "starts": self._names[starts],
            "answers": self._names[answers],
            **turns,
        }

    def _guess_flow(self) -> dict[str, Any]:
        """A flow for agents of whom it is not said who begins."""
        self._taken.remark("script", "no chat is begun there, so its agents talk as they come")
        names = list(self._names.values())
        if len(names) > 2:
            return self._taken.group({}, names, "")
        if len(names) == 1:
            return {"kind": "single", "agent": names[0]}
        first, last = names
        return {
            "kind": "two_agents",
            "starts": first,
            "answers": last,
        }

    def _find_retrieval(self, proxy: _Made, answers: str) -> dict[str, Any]:
        """RetrieveChat over the collection of the chat: nothing is read that the script names."""
        pairs = _list_pairs(proxy.nodes.get("retrieve_config"))
        values = {self._evaluate(key): self._evaluate(value) for key, value in pairs}
        known = pick(values, _OF_RETRIEVAL)
        taken = pick_given(known)
        left = sorted(map(str, values.keys() - taken.keys()))
        if left:
            told = f"it looks into the chat's collection; not taken: {', '.join(left)[:200]}"
            self._taken.remark("retrieve_config", told)
        config = self._check_retrieval({**self._looked_up, **taken})
        return {
            "kind": "retrieve_chat",
            "proxy": str(proxy.given.get("name") or "Documents"),
            "assistant": self._names[answers],
            "retrieve_config": config,
        }

    def _check_retrieval(self, taken: dict[str, Any]) -> dict[str, Any]:
        try:
            return RetrieveConfig.model_validate(taken).model_dump()
        except ValidationError as error:
            self._taken.remark("retrieve_config", f"not taken: {describe_errors(error)}")
            return {}

    def _find_transitions(self, chat: _Made) -> list[dict[str, Any]]:
        """Who may follow whom, where it stands there by the agents' variables."""
        node = chat.nodes.get("allowed_or_disallowed_speaker_transitions")
        if isinstance(node, ast.Name):
            node = self._written.get(node.id)
        transitions: list[dict[str, Any]] = []
        for key, speakers in _list_pairs(node):
            after = self._names.get(_name_of(key))
            if after is None:
                continue
            followers = self._list_named(speakers)
            transitions.append({"after": after, "speakers": followers})
        return transitions

    def _list_named(self, node: ast.expr | None) -> list[str]:
        """The agents in a list of variables."""
        variables = _list_variables(node)
        return [self._names[variable] for variable in variables if variable in self._names]

    def _find_group(self, manager: _Made, starts: str) -> dict[str, Any]:
        node = manager.nodes.get("groupchat") or manager.nodes.get("agents")
        chat = self._made.get(_name_of(node))
        if chat is None:
            raise ConfigError("The group of the script's GroupChatManager was not found.")
        names = self._list_named(chat.nodes.get("agents"))
        if not names:
            raise ConfigError("The agents of the script's GroupChat do not stand there by name.")
        flow = self._taken.group(chat.given, names, starts)
        return {**flow, "transitions": self._find_transitions(chat)}

    def _find_opening(self) -> tuple[str, str, dict[str, Any]]:
        """Who begins the first chat with whom, by their variables, and its turns."""
        for node in ast.walk(self._tree):
            match node:
                case ast.Call(func=called) if _name_of(called) == "initiate_chat":
                    return self._read_opening(node)
        return "", "", {}

    def _read_opening(self, call: ast.Call) -> tuple[str, str, dict[str, Any]]:
        words = _list_keywords(call)
        recipient = words.get("recipient", next(iter(call.args), None))
        sender = ""
        if isinstance(call.func, ast.Attribute):
            sender = _name_of(call.func.value)
        nothing = ast.Constant(None)
        hits = self._evaluate(words.get("n_results", nothing))
        self._looked_up = pick_given({"n_results": hits})
        turns = self._evaluate(words.get("max_turns", nothing))
        most: dict[str, Any] = {}
        has_limit = isinstance(turns, int) and turns > 0
        if has_limit:
            most["max_turns"] = min(turns, MOST["max_turns"])
        return sender, _name_of(recipient), most


def _list_variables(node: ast.expr | None) -> list[str]:
    """The names that stand in a list; none of anything else."""
    if not isinstance(node, ast.List):
        return []
    return list(map(_name_of, node.elts))


def _list_keywords(call: ast.Call) -> dict[str, ast.expr]:
    """The arguments of a call that are given by name."""
    return {str(word.arg): word.value for word in call.keywords}


def _list_pairs(node: ast.expr | None) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Keys and values of a dict as it is written there; none of anything else."""
    if not isinstance(node, ast.Dict):
        return
    for key, value in zip(node.keys, node.values, strict=True):
        if key is not None:  # else another dict is unpacked there
            yield key, value


def _name_of(node: ast.expr | None) -> str:
    """The last part of a dotted name; empty for anything else."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
